use super::scene::{NOW_MS, Scene, ids};
use crate::{Params, Response};

fn page(scene: &Scene, path: &str, query: &str) -> String {
    match scene
        .server()
        .page("/m", path, &Params::parse(query), NOW_MS)
    {
        Response::Document { status, body, .. } => format!("{status} {body}"),
        other => panic!("no page: {other:?}"),
    }
}

#[test]
fn albums_are_shown_searched_and_played() {
    let scene = Scene::new("page");
    let [_, album, _] = ids(&scene);
    let all = page(&scene, "", "");
    assert!(
        all.starts_with("200 ") && all.contains("Über") && all.contains("Night"),
        "{all}"
    );
    assert!(all.contains(&format!("href=\"/m/{album}\"")), "{all}");
    // One album has a cover, with the cover's average colour as background; the other album has a
    // note symbol.
    assert_eq!(all.matches("<img style=\"background:#1f2e3d\"").count(), 1);
    assert_eq!(all.matches("<i>♪</i>").count(), 1, "{all}");
    let found = page(&scene, "/", "q=erstes");
    assert!(
        found.contains("Über") && !found.contains("Night"),
        "{found}"
    );
    let quoted = page(&scene, "", "q=%22%3E%3Cscript%3E");
    assert!(
        quoted.contains("value=\"&quot;&gt;&lt;script&gt;\""),
        "{quoted}"
    );
    let one = page(&scene, &format!("/{album}"), "");
    assert!(
        one.contains("src=\"/B/%C3%9Cber/1.flac\"></audio>"),
        "{one}"
    );
    assert!(page(&scene, "/al-0000000000000099", "").starts_with("404 "));
    assert!(page(&scene, "/odd", "").starts_with("404 "));
}
