use super::scene::Scene;
use crate::Answer;

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
            let expected = Answer::Original {
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
