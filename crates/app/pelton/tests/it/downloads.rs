//! Downloads through the JSON API: originals of pictures and tracks, alone and in archives.

use serde_json::Value;

use crate::harness::{Client, Home, Http2, Response, Server, eventually, media};
use crate::players::user;

const FLAC: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.flac");

const FILM: &[u8] = include_bytes!("../../../../library/tags/testdata/film.mp4");

fn home() -> Home {
    let home = Home::with(&[
        ("Band/1.flac", FLAC),
        ("2019/a b.jpg", &media::photo(480, 320, 1)),
        ("2019/c.jpg", &media::photo(320, 480, 2)),
    ]);
    assert_eq!(user(&home, &["add", "ann"], "sesame\n").0, Some(0));
    home
}

/// Returns the items of a list of the API, once the library is indexed.
pub(crate) fn items(server: &Server, list: &str, fields: &str) -> Vec<Value> {
    eventually("the library is indexed", || {
        let response = server.send("GET", &format!("/-/api/{list}"), fields);
        let response: Value = serde_json::from_str(response.text()).expect("JSON");
        let items = response["items"].as_array().expect("a list").clone();
        (!items.is_empty()).then_some(items)
    })
}

/// Returns the target of the download of an item.
fn original(list: &str, item: &Value) -> String {
    let id = item["id"].as_str().expect("text");
    format!("/-/api/{list}/{id}/original")
}

/// Returns a motion photo in Google's first notation: a JPEG whose XMP says how many bytes before
/// the end of the file the video begins.
fn motion_photo() -> Vec<u8> {
    let photo = media::photo(480, 320, 3);
    let bytes = FILM.len();
    let xmp = format!("http://ns.adobe.com/xap/1.0/\0<x GCamera:MicroVideoOffset=\"{bytes}\"/>");
    let length = (xmp.len() as u16 + 2).to_be_bytes();
    let segment = [&b"\xff\xe1"[..], &length, xmp.as_bytes()].concat();
    [&photo[..2], &segment, &photo[2..], FILM].concat()
}

#[test]
fn the_video_of_a_motion_photo_is_sent_with_validators_of_its_own() {
    let home = home();
    home.put("2019/motion.jpg", &motion_photo());
    let server = Server::plain(&home, &[]);
    let pictures = items(&server, "pictures", "");
    let named = |name: &str| pictures.iter().find(|it| it["name"] == name);
    let id = named("motion.jpg").expect("it is indexed")["id"].clone();
    let id = id.as_str().expect("text");
    let details = server.get(&format!("/-/api/pictures/{id}"));
    let details: Value = serde_json::from_str(details.text()).expect("JSON");
    let target = details["motion"].as_str().expect("it has a video");
    assert_eq!(target, format!("/-/api/pictures/{id}/motion"));
    let whole = server.get(target);
    assert_eq!((whole.status, whole.content_type()), (200, "video/mp4"));
    assert_eq!(whole.body, FILM);
    let part = server.send("GET", target, "range: bytes=4-7\r\n");
    assert_eq!((part.status, &part.body[..]), (206, &b"ftyp"[..]));
    let held = format!("if-none-match: {}\r\n", whole.etag());
    assert_eq!(server.send("GET", target, &held).status, 304);
    let head = server.send("HEAD", target, "");
    let length = FILM.len().to_string();
    assert_eq!(head.field("content-length"), Some(&*length));
    let mut http2 = Http2::connect(server.address());
    assert_eq!(http2.send("GET", target, "").body, FILM);
    let plain = original("pictures", named("c.jpg").expect("it is indexed"));
    let plain = plain.replace("/original", "/motion");
    assert_eq!(server.get(&plain).status, 404);
    server.stop();
}

#[test]
fn originals_are_sent_unchanged_under_their_names() {
    let home = home();
    let server = Server::plain(&home, &[]);
    let photo = media::photo(480, 320, 1);
    let pictures = items(&server, "pictures", "");
    let named = |name: &str| pictures.iter().find(|it| it["name"] == name);
    let target = original("pictures", named("a b.jpg").expect("it is indexed"));
    // A request for the file itself gets WebP.
    let accept = "accept: image/webp,*/*\r\n";
    assert_eq!(
        server.send("GET", "/2019/a%20b.jpg", accept).content_type(),
        "image/webp"
    );
    let whole = server.send("GET", &target, accept);
    assert_eq!((whole.status, whole.content_type()), (200, "image/jpeg"));
    assert_eq!(whole.body, photo);
    assert_eq!(
        whole.field("content-disposition"),
        Some("attachment; filename*=UTF-8''a%20b.jpg")
    );
    let part = server.send("GET", &target, "range: bytes=-4\r\n");
    assert_eq!(
        (part.status, &part.body[..]),
        (206, &photo[photo.len() - 4..])
    );
    let held = format!("if-none-match: {}\r\n", whole.etag());
    assert_eq!(server.send("GET", &target, &held).status, 304);
    let head = server.send("HEAD", &target, "");
    let length = photo.len().to_string();
    assert_eq!(head.field("content-length"), Some(&*length));
    let mut http2 = Http2::connect(server.address());
    assert_eq!(http2.send("GET", &target, accept).body, photo);
    let track = original("tracks", &items(&server, "tracks", "")[0]);
    let track = server.get(&track);
    assert_eq!(
        (track.content_type(), &track.body[..]),
        ("audio/flac", FLAC)
    );
    assert_eq!(
        server
            .get("/-/api/pictures/ph-0000000000000000/original")
            .status,
        404
    );
    let removed = std::fs::remove_file(home.library().join("2019/a b.jpg"));
    removed.expect("the home can be written");
    assert_eq!(server.get(&target).status, 404);
    server.stop();
}

#[test]
fn originals_need_the_login_that_files_need() {
    const ANN: &str = "authorization: Basic YW5uOnNlc2FtZQ==\r\n";
    let home = home();
    let server = Server::plain(
        &home,
        &["--require-login", "all", "--admin-listen", "127.0.0.1:0"],
    );
    let target = original("tracks", &items(&server, "tracks", ANN)[0]);
    assert_eq!(server.get(&target).status, 401);
    let track = server.send("GET", &target, ANN);
    assert_eq!((track.status, &track.body[..]), (200, FLAC));
    let caching = track.field("cache-control").expect("it is said");
    assert!(caching.starts_with("private"), "{caching}");
    // On the administration's listener, the API needs no login, but files do.
    let [_, admin] = server.addresses()[..] else {
        panic!("{:?}", server.addresses());
    };
    let mut admin = Client::connect(admin);
    admin.request("GET", "/-/api/tracks", "");
    assert_eq!(admin.response().status, 200);
    admin.request("GET", &target, "");
    assert_eq!(admin.response().status, 401);
    server.stop();
}

/// Requests an archive, and returns the response.
fn archive(server: &Server, fields: &str, form: &str) -> Response {
    let length = form.len();
    let mut client = server.connect();
    client.send(format!(
        "POST /-/api/archive HTTP/1.1\r\nhost: pelton\r\n{fields}\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n{form}"
    ));
    client.response()
}

#[test]
fn a_selection_is_one_archive() {
    let home = home();
    let server = Server::plain(&home, &["--origins", "https://other.example.org"]);
    let pictures = items(&server, "pictures", "");
    let ids: Vec<_> = pictures
        .iter()
        .map(|it| format!("id={}", it["id"].as_str().expect("text")))
        .collect();
    let form = ids.join("&");
    let zip = archive(&server, "origin: http://pelton\r\n", &form);
    assert_eq!((zip.status, zip.content_type()), (200, "application/zip"));
    assert_eq!(
        zip.field("content-disposition"),
        Some("attachment; filename*=UTF-8''2019.zip")
    );
    assert_eq!(zip.field("access-control-allow-origin"), None);
    let length = zip.body.len().to_string();
    assert_eq!(zip.field("content-length"), Some(&*length));
    for (name, photo) in [
        ("a b.jpg", media::photo(480, 320, 1)),
        ("c.jpg", media::photo(320, 480, 2)),
    ] {
        // In an archive, the bytes of a file that is not compressed follow its name.
        let stored = [name.as_bytes(), &photo].concat();
        let is_there = zip.body.windows(stored.len()).any(|bytes| bytes == stored);
        assert!(is_there, "{name}");
    }
    // A page of another origin may not start the download. A request without a form is refused.
    assert_eq!(
        archive(&server, "origin: http://evil.example\r\n", &form).status,
        403
    );
    assert_eq!(
        server
            .send("POST", "/-/api/archive", "content-length: 0\r\n")
            .status,
        400
    );
    assert_eq!(archive(&server, "", "id=ph-0000000000000000").status, 404);
    assert_eq!(server.get(&format!("/-/api/archive?{form}")).status, 405);
    server.stop();
}

#[test]
fn files_that_are_not_served_are_not_downloaded() {
    let home = home();
    let server = Server::plain(&home, &["--only-types", "flac"]);
    let picture = &items(&server, "pictures", "")[0];
    let id = picture["id"].as_str().expect("text");
    assert_eq!(
        server.get(picture["file"].as_str().expect("text")).status,
        404
    );
    assert_eq!(server.get(&original("pictures", picture)).status, 404);
    assert_eq!(archive(&server, "", &format!("id={id}")).status, 404);
    server.stop();
}

#[test]
fn videos_of_a_folder_are_listed_if_they_are_served() {
    let home = home();
    home.put("2019/v.mp4", b"a video, as far as its name says");
    let videos = |flags: &[&str], expected: &str, status: u16| {
        let server = Server::plain(&home, flags);
        items(&server, "pictures", "");
        let folder = server.get("/-/api/folders?path=2019");
        let folder: Value = serde_json::from_str(folder.text()).expect("JSON");
        assert_eq!(folder["videos"].to_string(), expected);
        let video = server.send("GET", "/2019/v.mp4", "range: bytes=0-6\r\n");
        assert_eq!(video.status, status);
        if status == 206 {
            assert_eq!(
                (video.content_type(), &video.body[..]),
                ("video/mp4", &b"a video"[..])
            );
        }
        server.stop();
    };
    let listed = r#"[{"file":"/2019/v.mp4","name":"v.mp4"}]"#;
    videos(&[], listed, 206);
    videos(&["--allowed-types", "pdf"], "[]", 404);
    videos(&["--only-types", "jpg"], "[]", 404);
}
