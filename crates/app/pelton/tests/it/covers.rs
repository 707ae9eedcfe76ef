//! Covers of music, which the server finds in folders and in tracks. They are converted like other
//! pictures. A picture that several tracks contain is stored only once.

use std::fs;
use std::sync::Arc;

use scan::Index;

use crate::commands::made_line;
use crate::harness::{Home, Server, eventually, media, pelton};

const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");
/// Length of the beginning of a FLAC file: the magic bytes and the block STREAMINFO. The other
/// blocks may have any order.
const FLAC_HEAD_BYTES: usize = 42;

/// Returns a FLAC track with an embedded picture, whose block precedes the block of the Vorbis
/// comments.
pub(crate) fn with_picture(picture: &[u8]) -> Vec<u8> {
    let mime = b"image/png";
    let mut block = vec![0, 0, 0, 3];
    block.extend((mime.len() as u32).to_be_bytes());
    block.extend(mime);
    block.extend([0; 20]);
    block.extend((picture.len() as u32).to_be_bytes());
    block.extend(picture);
    let length = (block.len() as u32).to_be_bytes();
    let head = [6, length[1], length[2], length[3]];
    [
        &FLAC[..FLAC_HEAD_BYTES],
        &head,
        &block,
        &FLAC[FLAC_HEAD_BYTES..],
    ]
    .concat()
}

/// Creates a library with an album of two tracks with the same embedded picture, an album with a
/// picture in its folder, and a track without a picture.
fn home() -> Home {
    let (inside, beside) = (with_picture(&media::png(96, 64)), media::png(64, 96));
    Home::with(&[
        ("Band/Inside/1.flac", &inside),
        ("Band/Inside/2.flac", &inside),
        ("Band/Beside/1.flac", FLAC),
        ("Band/Beside/Folder.PNG", &beside),
        ("None/Nothing/1.flac", FLAC),
    ])
}

/// Returns the index that the server has written.
fn catalog(home: &Home) -> Arc<Index> {
    eventually("the index", || {
        let loaded = scan::load(&home.data().join("catalog")).ok()?;
        Some(Arc::clone(loaded?.catalog()))
    })
}

/// Returns the ids of the first track in a folder and of its album.
fn ids(catalog: &Index, folder: &str) -> (String, String) {
    let tracks = (0..catalog.counts().tracks).filter_map(|row| catalog.track(row));
    let mut tracks = tracks.filter(|track| {
        let (path, _) = catalog.file(track.file).expect("a row that was given");
        path.starts_with(folder.as_bytes())
    });
    let track = tracks.next().expect("a track in this folder");
    let album = catalog.album(track.album).expect("a row that was given");
    (
        format!("tr-{:016x}", track.id.0),
        format!("al-{:016x}", album.id.0),
    )
}

/// Returns the number of extracted covers.
fn extracted_covers(home: &Home) -> usize {
    let folders = fs::read_dir(home.data().join("covers")).expect("the server made it");
    let files = folders.map(|folder| {
        fs::read_dir(folder.expect("a folder").path())
            .expect("a folder")
            .count()
    });
    files.sum()
}

#[test]
fn covers_are_pictures_like_any_other() {
    let home = home();
    // Disables background conversions, because they would replace the variants by others with
    // different entity tags.
    let server = Server::start(&home, &["--formats", "webp", "--improve", "false"]);
    let catalog = catalog(&home);
    // Wait for the end of the scan, because the server writes the index to its file shortly before
    // it uses the index.
    eventually("the end of the scan", || {
        let scan = server.get("/-/api/scan").text().to_owned();
        scan.contains("\"ended\"").then_some(())
    });
    let (inside, inside_album) = ids(&catalog, "Band/Inside");
    let (_, beside_album) = ids(&catalog, "Band/Beside");
    let (nothing, _) = ids(&catalog, "None");
    for (id, size) in [
        (&inside, (48, 32)),
        (&inside_album, (48, 32)),
        (&beside_album, (32, 48)),
    ] {
        let target = format!("/-/cover/{id}?w=48&h=48");
        let response = server.get_as(&target, "image/webp");
        assert_eq!(
            (response.status, response.content_type()),
            (200, "image/webp"),
            "{id}"
        );
        assert_eq!(response.size(), size, "{id}");
        assert_eq!(response.field("vary"), Some("Accept"), "{id}");
        let same = server.send(
            "GET",
            &target,
            &format!(
                "Accept: image/webp\r\nIf-None-Match: {}\r\n",
                response.etag()
            ),
        );
        assert_eq!(same.status, 304, "{id}");
    }
    assert_eq!(extracted_covers(&home), 1);
    let original = server.get(&format!("/-/cover/{inside}"));
    assert_eq!((original.status, original.body), (200, media::png(96, 64)));
    for (method, id, status) in [
        ("GET", &nothing[..], 404),
        ("GET", "al-0000000000000000", 404),
        ("GET", "al-", 404),
        ("GET", "../../etc/passwd", 404),
        ("HEAD", &inside, 200),
        ("POST", &inside, 405),
    ] {
        let response = server.send(method, &format!("/-/cover/{id}"), "");
        assert_eq!(response.status, status, "{method} {id}");
    }
    assert_eq!(server.get(&format!("/-/cover/{inside}?w=wide")).status, 400);
    let metrics = server.metrics();
    let ways = ["inotify", "polling", "off"]
        .map(|way| metrics.get(&format!("pelton_library_watch{{by=\"{way}\"}}")));
    assert_eq!(ways.iter().sum::<u64>(), 1, "{ways:?}");
    assert_eq!(metrics.get("pelton_library_unreadable_files"), 0);
    server.stop();
}

#[test]
fn prefetch_makes_covers_in_the_sizes_of_the_settings() {
    let home = home();
    let words = ["prefetch", "library", "--data", "data", "--formats", "webp"];
    let sizes = ["--library-cover-sizes", "20,48"];
    let made = pelton(&home, words.iter().chain(&sizes))
        .output()
        .expect("the program that was just built");
    let stderr = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{stderr}");
    // Four variants are covers: those of two albums, in two sizes. The fifth variant is that of the
    // picture `Folder.PNG`, which is also a cover.
    let summary = made_line(&stderr);
    assert!(
        summary.starts_with("5 files, 4 covers: 5 variants created ("),
        "{summary}"
    );
    let server = Server::start(&home, &["--formats", "webp", "--improve", "false"]);
    let (inside, _) = ids(&catalog(&home), "Band/Inside");
    let response = server.get_as(&format!("/-/cover/{inside}?w=48&h=48"), "image/webp");
    assert_eq!((response.status, response.size()), (200, (48, 32)));
    assert_eq!(server.metrics().get("pelton_conversions_total"), 0);
    // The placeholders that the worker computed are in the API and on the page.
    let (listed, page) = (server.get("/-/api/albums"), server.get("/-/plain/music"));
    let (listed, page) = (listed.text(), page.text());
    assert!(
        listed.contains("\"placeholder\":{\"colour\":\"#"),
        "{listed}"
    );
    assert!(page.contains("<img style=\"background:#"), "{page}");
    assert!(page.contains("<i>♪</i>"), "an album without one: {page}");
    server.stop();
}

#[test]
fn quick_variants_are_what_requests_would_get_first() {
    let home = home();
    let words = [
        "prefetch",
        "library",
        "--data",
        "data",
        "--formats",
        "webp",
        "--quick",
    ];
    let made = pelton(&home, words)
        .output()
        .expect("the program that was just built");
    assert!(made.status.success());
    let server = Server::start(&home, &["--formats", "webp", "--improve", "false"]);
    let (inside, _) = ids(&catalog(&home), "Band/Inside");
    let response = server.get_as(&format!("/-/cover/{inside}?w=300&h=300"), "image/webp");
    assert_eq!(response.status, 200);
    assert_eq!(server.metrics().get("pelton_conversions_total"), 0);
    server.stop();
}
