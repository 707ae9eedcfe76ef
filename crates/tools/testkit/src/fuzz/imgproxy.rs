//! Fuzz target for the path of an imgproxy URL, after its signature.

use image_plan::imgproxy::{ImgproxyRules, restored_path};
use image_plan::parse_query;

/// Checks `bytes` as a path with presets: the recipe of an accepted path is the recipe of a query,
/// its file has a canonical path, and the error for a refused path is short, printable ASCII.
pub fn imgproxy(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let presets = [
        ("a", "pr:b/w:9/el:1"),
        ("b", "t:3/g:fp:0.3:0.4"),
        ("c", "pr:c"),
    ];
    let presets = presets.map(|(name, options)| (name.to_owned(), options.to_owned()));
    let rules = ImgproxyRules {
        presets: presets.into(),
        ..ImgproxyRules::default()
    };
    let path = restored_path(text);
    match rules.parse(&path) {
        Ok(request) => {
            assert_eq!(restored_path(&path), path);
            assert!(request.path.starts_with('/') && request.path.is_ascii());
            let spelled = request.recipe.to_string();
            let parsed = parse_query(&spelled).map(|query| query.recipe);
            assert_eq!(parsed, Ok(request.recipe), "{spelled}");
        }
        Err(err) => {
            let printable = |byte| matches!(byte, b' '..=b'~');
            assert!(err.problem.len() < 200, "{err}");
            assert!(err.problem.bytes().all(printable), "{err}");
        }
    }
}
