use super::scene::Scene;
use crate::{MotionVideo, Response};

#[test]
fn originals_of_pictures_and_tracks_are_downloads() {
    let scene = Scene::new("originals");
    for (target, path, name) in [
        (
            "/pictures/ph-27a53d7aa89ae068/original",
            "/2003/a%20b.jpg",
            "a%20b.jpg",
        ),
        (
            "/tracks/tr-0000000000000002/original",
            "/B/%C3%9Cber/1.flac",
            "1.flac",
        ),
    ] {
        for method in ["GET", "HEAD"] {
            let expected = Response::Original {
                path: path.to_owned(),
                disposition: format!("attachment; filename*=UTF-8''{name}"),
            };
            assert_eq!(scene.api_file(method, target), expected, "{target}");
        }
        let refused = scene.api("POST", target, None);
        assert!(refused.starts_with("405 "), "{refused}");
    }
    for target in [
        "/pictures/tr-0000000000000002/original",
        "/tracks/ph-27a53d7aa89ae068/original",
        "/pictures/ph-0000000000000000/original",
        "/tracks/x/original",
        "/albums/al-c75012c5b671ac4d/original",
    ] {
        let refused = scene.api("GET", target, None);
        assert!(refused.starts_with("404 "), "{target}: {refused}");
    }
}

#[test]
fn the_video_of_a_motion_photo_is_a_range_of_its_file() {
    let scene = Scene::new("motion");
    let target = "/pictures/ph-27a53d7aa89ae068/motion";
    for method in ["GET", "HEAD"] {
        let expected = Response::Motion {
            path: "/2003/a%20b.jpg".to_owned(),
            video: MotionVideo {
                etag: "\"v1\"".to_owned(),
                range: 1000..3000,
            },
        };
        assert_eq!(scene.api_file(method, target), expected);
    }
    let refused = scene.api("POST", target, None);
    assert!(refused.starts_with("405 "), "{refused}");
    for (id, status) in [
        ("ph-0000000000000000", "404"),
        ("tr-0000000000000002", "404"),
        // The file cannot be read.
        ("ph-350e605cfea34c45", "503"),
    ] {
        let refused = scene.api("GET", &format!("/pictures/{id}/motion"), None);
        assert!(refused.starts_with(status), "{id}: {refused}");
    }
    let unread = scene.api("GET", "/pictures/ph-350e605cfea34c45", None);
    assert!(unread.contains("\"motion\":null"), "{unread}");
}

#[test]
fn a_picture_is_compared_with_the_parameters_of_its_request() {
    let scene = Scene::new("compared");
    for (query, expected) in [("", ""), ("?w=960&format=webp", "?w=960&format=webp")] {
        let target = format!("/pictures/ph-27a53d7aa89ae068/compare{query}");
        let expected = Response::Comparison {
            target: format!("/2003/a%20b.jpg{expected}"),
        };
        assert_eq!(scene.api_file("GET", &target), expected);
        let refused = scene.api("POST", &target, None);
        assert!(refused.starts_with("405 "), "{refused}");
    }
    for target in [
        "/pictures/tr-0000000000000002/compare",
        "/pictures/ph-0000000000000000/compare",
        "/tracks/tr-0000000000000002/compare",
    ] {
        let refused = scene.api("GET", target, None);
        assert!(refused.starts_with("404 "), "{target}: {refused}");
    }
}

#[test]
fn pictures_tracks_and_albums_are_downloaded_together() {
    let scene = Scene::new("together");
    let archive = |ids: &str| match scene.api_file("POST", &format!("/archive?{ids}")) {
        Response::Archive { files, disposition } => {
            let files = files.iter().map(|(path, name)| format!("{path} {name}"));
            let name = disposition.strip_prefix("attachment; filename*=UTF-8''");
            (files.collect::<Vec<_>>(), name.expect("a name").to_owned())
        }
        Response::Document { status, .. } => (Vec::new(), status.to_string()),
        other => panic!("{ids}: {other:?}"),
    };
    let (picture, cover) = ("id=ph-27a53d7aa89ae068", "id=ph-350e605cfea34c45");
    let (song, album) = ("id=tr-0000000000000002", "id=al-c75012c5b671ac4d");
    let (files, name) = archive(&format!("{picture}&{album}&{song}&{album}"));
    let [first, second] = ["1", "2"].map(|it| format!("/B/%C3%9Cber/{it}.flac B/Über/{it}.flac"));
    assert_eq!(
        files,
        ["/2003/a%20b.jpg 2003/a b.jpg".to_owned(), first, second]
    );
    assert_eq!(name, "library.zip");
    let (files, name) = archive(&format!("{cover}&{song}"));
    let expected = [
        "/B/%C3%9Cber/cover.jpg cover.jpg",
        "/B/%C3%9Cber/1.flac 1.flac",
    ];
    assert_eq!(
        (&files[..], &*name),
        (&expected.map(str::to_owned)[..], "%C3%9Cber.zip")
    );
    for (ids, status) in [
        ("", "400"),
        ("id=x", "404"),
        ("id=pf-411f854cbbae90f9", "404"),
        (&format!("{picture}&id=ph-0000000000000000"), "404"),
    ] {
        assert_eq!(archive(ids), (Vec::new(), status.to_owned()), "{ids}");
    }
    let refused = scene.api("GET", &format!("/archive?{picture}"), None);
    assert!(refused.starts_with("405 "), "{refused}");
}
