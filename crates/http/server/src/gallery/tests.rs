use std::ffi::OsString;

use variants::library::{LibraryPath, Listed};

use super::{FolderPage, render};

#[test]
fn names_of_files_stay_text() {
    let names = |names: &[&str]| names.iter().map(OsString::from).collect();
    let listed = Listed {
        folders: names(&["<b>", "tag\"s"]),
        files: names(&["a b.jpg", "x\"><script>.png", "notes.txt", "100%.WEBP"]),
        is_truncated: true,
    };
    let folder = LibraryPath::from_target("/holiday & more");
    let folder_page = |folder| FolderPage {
        root: "../../../",
        folder,
    };
    let folder_pictures = [None, Some("a?.jpg".into())];
    let page = render(
        folder_page(folder.as_ref()),
        &listed,
        &folder_pictures,
        true,
        |path| {
            path.as_path()
                .ends_with("a b.jpg")
                .then(|| "#102030".to_owned())
        },
    );
    assert!(
        !page.contains("<script>") && !page.contains("<b>"),
        "{page}"
    );
    assert!(!page.contains("notes.txt"), "{page}");
    for expected in [
        "<title>holiday &amp; more · Pelton</title>",
        "<a href=\"../../../-/at/\">Pelton</a>/ holiday &amp; more</nav>",
        "<a href=\"../../../-/at/holiday%20%26%20more/%3Cb%3E/\">&lt;b&gt;</a>",
        "<a href=\"../../../-/at/holiday%20%26%20more/tag%22s/\"><img loading=\"lazy\" alt=\"tag&quot;s/\" \
         src=\"../../../holiday%20%26%20more/tag%22s/a%3F.jpg?w=480&amp;h=360&amp;fit=cover\">",
        "src=\"../../../holiday%20%26%20more/a%20b.jpg?w=480&amp;h=360&amp;fit=cover\"",
        "alt=\"x&quot;&gt;&lt;script&gt;.png\"",
        "href=\"../../../holiday%20%26%20more/100%25.WEBP\"",
        "This folder has more files than this page shows.",
        "<img style=\"background:#102030\" loading=\"lazy\" alt=\"a b.jpg\"",
        "<img loading=\"lazy\" alt=\"100%.WEBP\"",
    ] {
        assert!(page.contains(expected), "{expected} in {page}");
    }
    let deep = LibraryPath::from_target("/a b/c");
    let page = render(
        folder_page(deep.as_ref()),
        &listed,
        &folder_pictures,
        false,
        |_| None,
    );
    let path = "<a href=\"../../../-/at/\">Pelton</a>/ <a href=\"../../../-/at/a%20b/\">a b</a>/ c";
    assert!(page.contains(path), "{page}");
    // Only the page of the root folder links to the music page, and only if there is music.
    assert!(!page.contains("/-/plain/music"));
    let first = |has_music| {
        render(
            folder_page(None),
            &listed,
            &folder_pictures,
            has_music,
            |_| None,
        )
    };
    assert!(first(true).contains("<a href=\"../../../-/plain/music\">♪ Music</a>"));
    assert!(!first(false).contains("/-/plain/music"));
}
