use std::fs;
use std::path::Path;

use expect_test::expect;
use image_plan::parse_query;

use super::{keys, load};
use crate::Config;
use crate::value::{MaybeFile, Presets, SignatureKeys};

const KEY: &str = "00112233445566778899aabbccddeeff";

#[test]
fn everything_is_permitted_by_default() {
    let permissions = load(&Config::default()).expect("the defaults are sound");
    assert!(permissions.recipes.permits_all() && !permissions.require_signature);
    assert_eq!(permissions.address_conversions_max, 0);
}

#[test]
fn the_sizes_of_the_page_are_permitted() {
    let mut config = Config::default();
    config.library.picture_sizes.0 = vec![123];
    let permissions = load(&config).expect("the settings are sound");
    for query in [
        "h=240",
        "h=240&animation=first",
        "w=3840",
        "w=480&h=360&fit=cover",
        "h=123",
        "h=123&frame=1",
        "w=300",
    ] {
        let parsed = parse_query(query).expect("a sound query");
        assert!(permissions.recipes.is_exempt(&parsed), "{query}");
    }
    let parsed = parse_query("h=124").expect("a sound query");
    assert!(!permissions.recipes.is_exempt(&parsed));
}

/// The sizes in the sources of the page and in `PAGE_QUERIES` must change together.
#[test]
fn the_page_requests_these_sizes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for (file, text) in [
        ("web/src/photos/tile.ts", "const LADDER = [240, 480];"),
        ("web/src/photos/tile.ts", "? \"&animation=first\" : \"\""),
        ("web/src/photos/retry.ts", "?h=8`"),
        ("web/src/photos/zoom.ts", "= [960, 1600, 2560, 3840];"),
        (
            "web/src/photos/folders.tsx",
            "?w=${size}&h=${(size * 3) / 4}&fit=cover`",
        ),
        (
            "web/src/photos/folders.tsx",
            "`${side(320)} 320w, ${side(640)} 640w`",
        ),
        ("web/src/photos/compare.tsx", "?format=png${width > 0 ?"),
        ("web/src/music/cover.tsx", "const WIDTHS = [150, 300, 600];"),
        ("web/src/music/media-session.ts", "?w=600`"),
        ("web/src/playground/picker.tsx", "?h=240`"),
        (
            "crates/http/server/src/gallery.rs",
            "?w=480&amp;h=360&amp;fit=cover",
        ),
        (
            "crates/library/library-api/src/page.rs",
            "cover(library, index, row, 360)",
        ),
        (
            "crates/library/library-api/src/page.rs",
            "cover(library, index, row, 480)",
        ),
    ] {
        let source = fs::read_to_string(root.join(file)).expect("a file of the checkout");
        assert!(source.contains(text), "{file} does not contain {text}");
    }
}

#[test]
fn contradictions_are_refused() {
    let mut config = Config::default();
    config.images.require_signature = true;
    let refused = load(&config).expect_err("there is no key").to_string();
    expect![[r#"
        pelton: images.require_signature is true, but there is no key to verify signatures with
        hint:   openssl rand -hex 32 makes a key for images.signature_keys"#]]
    .assert_eq(&refused);
    config.images.signature_keys = SignatureKeys(vec![KEY.to_owned()]);
    assert!(load(&config).expect("there is a key").require_signature);
    config.images.presets_only = true;
    let refused = load(&config).expect_err("there is no preset").to_string();
    assert!(refused.contains("images.presets_only"), "{refused}");
    config.images.presets = Presets(vec![("a".to_owned(), "w=1".to_owned())]);
    assert!(
        load(&config)
            .expect("there is a preset")
            .recipes
            .presets_only
    );
}

#[test]
fn files_of_keys() {
    let path = std::env::temp_dir().join(format!("pelton-keys-{}", std::process::id()));
    let mut config = Config::default();
    config.images.signature_keys = SignatureKeys(vec![KEY.to_owned()]);
    config.images.signature_key_file = MaybeFile(Some(path.clone()));
    assert!(keys(&config).is_err(), "the file does not exist");
    for (text, expected) in [
        (format!("# old\n\n {KEY}:00 \n{KEY}00\n"), Ok(3)),
        ("# none\n".to_owned(), Err("the file contains no key")),
        (
            format!("{KEY}\nsecret\n"),
            Err("line 2: a key has the form"),
        ),
    ] {
        fs::write(&path, text).expect("the directory can be written");
        match (keys(&config), expected) {
            (Ok(keys), Ok(count)) => assert_eq!(keys.len(), count),
            (Err(err), Err(part)) => {
                let message = err.to_string();
                assert!(
                    message.contains(part) && !message.contains("secret"),
                    "{message}"
                );
            }
            (outcome, _) => panic!("{outcome:?}"),
        }
    }
    fs::remove_file(&path).expect("it was written");
}
