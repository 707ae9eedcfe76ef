use std::ffi::OsString;

use super::render;
use crate::library::{LibraryPath, Listed};

#[test]
fn names_of_files_stay_text() {
    let names = |names: &[&str]| names.iter().map(OsString::from).collect();
    let listed = Listed {
        folders: names(&["<b>", "tag\"s"]),
        files: names(&["a b.jpg", "x\"><script>.png", "notes.txt", "100%.WEBP"]),
        cut: true,
    };
    let folder = LibraryPath::from_target("/holiday & more");
    let page = render(folder.as_ref(), &listed);
    assert!(
        !page.contains("<script>") && !page.contains("<b>"),
        "{page}"
    );
    assert!(!page.contains("notes.txt"), "{page}");
    for expected in [
        "<title>holiday &amp; more · Pelton</title>",
        "<a href=\"/-/\">↑</a>",
        "<a href=\"/-/holiday%20%26%20more/%3Cb%3E/\">&lt;b&gt;</a>",
        "src=\"/holiday%20%26%20more/a%20b.jpg?w=480&amp;h=360&amp;fit=cover\"",
        "alt=\"x&quot;&gt;&lt;script&gt;.png\"",
        "href=\"/holiday%20%26%20more/100%25.WEBP\"",
        "more than is shown",
    ] {
        assert!(page.contains(expected), "{expected} in {page}");
    }
}
