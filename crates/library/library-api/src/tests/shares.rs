use super::scene::{Scene, ids};

#[test]
fn artists_and_playlists_are_shared_as_their_songs() {
    let scene = Scene::new("shares-of-lists");
    let [artist, _, song] = ids(&scene);
    let made = scene.json(&format!(
        "createPlaylist?name=Mine&songId={song}&songId={song}"
    ));
    let list = made["playlist"]["id"].as_str().expect("an id").to_owned();
    let shared = |ids: &str| {
        let made = scene.json(&format!("createShare?{ids}"));
        let share = &made["shares"]["share"][0];
        let songs = share["entry"].as_array().map(|songs| songs.iter());
        let songs = songs.into_iter().flatten();
        let titles = songs.map(|song| song["title"].as_str().expect("text").to_owned());
        titles.collect::<Vec<_>>()
    };
    assert_eq!(shared(&format!("id={list}")), ["Erstes Lied"; 2]);
    assert_eq!(
        shared(&format!("id={artist}&id={song}")),
        ["Erstes Lied", "Zweites Lied", "Erstes Lied"]
    );
    for nothing in ["tr-0000000000000099", "al-0000000000000099", "x"] {
        assert!(
            scene
                .ask(&format!("createShare?id={nothing}"))
                .contains("code=\"70\""),
            "{nothing}"
        );
    }
    // A user cannot share a playlist that this user may not see.
    let stranger = scene.ask_as(&format!("createShare?id={list}"), "u=bob&p=secret");
    assert!(
        stranger.contains("code=\"70\"") || stranger.contains("code=\"50\""),
        "{stranger}"
    );
}
