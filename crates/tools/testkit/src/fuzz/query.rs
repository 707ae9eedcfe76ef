//! Fuzz target for the query of an image request.

use image_plan::{REQUESTED_SIDE_PX_MAX, parse_query};

/// Checks `bytes` as a query string: an accepted query is within bounds and has one canonical
/// spelling, and the error for a refused query is short, printable ASCII.
pub fn query(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    match parse_query(text) {
        Ok(ask) => {
            let recipe = ask.recipe;
            for side in [recipe.width_px, recipe.height_px].into_iter().flatten() {
                assert!((1..=REQUESTED_SIDE_PX_MAX).contains(&side));
            }
            assert!(
                recipe
                    .quality_pct
                    .is_none_or(|quality| (1..=100).contains(&quality))
            );
            let spelled = recipe.to_string();
            assert_eq!(
                parse_query(&spelled).map(|ask| ask.recipe),
                Ok(recipe),
                "{spelled}"
            );
            assert_eq!(recipe.is_identity(), spelled.is_empty());
        }
        Err(err) => {
            assert!(err.parameter.len() <= 32, "{err}");
            assert!(
                err.to_string()
                    .bytes()
                    .all(|byte| matches!(byte, b' '..=b'~')),
                "{err}"
            );
            assert!(err.problem.len() < 400, "{err}");
        }
    }
}
