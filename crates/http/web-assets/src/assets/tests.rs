use super::{Assets, FILES, Links, SHELL, media_type};

#[test]
fn every_file_has_a_media_type() {
    for file in FILES {
        assert!(media_type(file.name).is_some(), "{}", file.name);
    }
}

#[test]
fn the_shell_names_only_files_that_exist() {
    let assets = Assets::default();
    let links = Links {
        root: "../",
        plain: "../-/at/a\"&b/",
        language: "de",
        nonce: "abc",
    };
    let shell = assets.shell(links).unwrap();
    let prefix = format!("../-/app/{}/", assets.version());
    let mut count = 0;
    for part in shell.split(&prefix).skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(assets.find(name).is_some(), "{name}");
        count += 1;
    }
    assert!(
        3 <= count,
        "the shell names the script, the style and the icon: {shell}"
    );
    assert!(shell.contains("href=\"../-/at/a&quot;&amp;b/\""), "{shell}");
    assert!(
        !shell.contains('{'),
        "every placeholder is replaced: {shell}"
    );
}

#[test]
fn the_page_has_messages_in_its_languages() {
    let mut languages: Vec<&str> = Assets::languages().collect();
    languages.sort_unstable();
    assert_eq!(languages, ["ar", "de", "en"]);
}

#[test]
fn scripts_and_styles_have_both_compressed_forms() {
    let assets = Assets::default();
    for name in ["app.js", "app.css"] {
        let asset = assets.find(name).unwrap();
        let (gzip, brotli) = (asset.gzip.unwrap(), asset.brotli.unwrap());
        assert!(
            brotli.len() < gzip.len() && gzip.len() < asset.identity.len(),
            "{name}"
        );
    }
}

#[test]
fn unknown_names_and_paths_are_not_found() {
    let folder = Assets::in_folder("/".into());
    for name in [
        "../Cargo.toml",
        "etc/hostname.txt",
        "app.exe",
        "none.js",
        "",
    ] {
        assert!(Assets::default().find(name).is_none(), "{name}");
        assert!(folder.find(name).is_none(), "{name}");
    }
    assert!(folder.find(SHELL).is_none());
}
