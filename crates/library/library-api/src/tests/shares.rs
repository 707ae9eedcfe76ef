use serde_json::Value;

use super::scene::{Scene, ids};
use crate::{Response, ShareRequest};

/// Photograph of the scene, in the folder `2003`.
const PHOTO: &str = "ph-27a53d7aa89ae068";
const DAY_MS: i64 = 86_400_000;

/// Fixture with the API keys of the admin Ann and of Bob.
struct Sharers {
    scene: Scene,
    ann: String,
    bob: String,
}

impl Sharers {
    fn new(name: &str) -> Sharers {
        let scene = Scene::new(name);
        let key = |user| {
            format!(
                "Bearer {}",
                scene.store().add_key(user, "page", 1).expect("a key")
            )
        };
        let (ann, bob) = (key("ann"), key("bob"));
        Sharers { scene, ann, bob }
    }

    /// Sends a request of the API, and returns the status and the body.
    fn ask(&self, method: &str, target: &str, key: Option<&str>) -> (String, Value) {
        let response = self.scene.api(method, target, key);
        let (status, body) = response.split_once(' ').expect("a status");
        (status.to_owned(), serde_json::from_str(body).expect("JSON"))
    }

    /// Creates a share of Bob, and returns its id.
    fn share(&self, query: &str) -> String {
        let (status, made) = self.ask("POST", &format!("/shares?{query}"), Some(&self.bob));
        assert_eq!(status, "200", "{query}: {made}");
        made["id"].as_str().expect("an id").to_owned()
    }

    /// Returns the status and page for a visitor; or 0 and the target of a file, 1 and the path of
    /// an original, 2 and the target of a picture whose original must not be sent, or 3, the path
    /// of a motion photo and the range of its video.
    fn visit(&self, path: &str, now_ms: i64) -> (u16, String) {
        match self.scene.server().share(&visit(path, now_ms)) {
            Response::Document { status, body, .. } => (status, body),
            Response::File { target, .. } => (0, target),
            Response::Original { path, .. } => (1, path),
            Response::Motion { path, video } => (3, format!("{path} {:?}", video.range)),
            Response::Variant { target } => (2, target),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_shared_photograph_is_seen_in_page_sizes_and_nothing_else_is() {
    let they = Sharers::new("shares-of-a-photo");
    let token = they.share(&format!("item={PHOTO}&description=%3Cb%3E&days=2"));
    let (status, page) = they.visit(&token, 5);
    assert_eq!(status, 200);
    assert!(page.contains("<h1 dir=\"auto\">&lt;b&gt;</h1>"), "{page}");
    let heights = |kind: u16| {
        for height in [240, 480, 1440] {
            let found = they.visit(&format!("{token}/{PHOTO}/{height}"), 5);
            assert_eq!(found, (kind, format!("/2003/a%20b.jpg?h={height}")));
        }
    };
    heights(2);
    // Other sizes, the original, other photographs and music are not shared.
    for file in [
        "ph-27a53d7aa89ae068",
        "ph-27a53d7aa89ae068/9000",
        "ph-27a53d7aa89ae068/original",
        "ph-27a53d7aa89ae068/motion",
        "ph-350e605cfea34c45/240",
        "tr-0000000000000001",
        "0",
        "cover",
    ] {
        assert_eq!(they.visit(&format!("{token}/{file}"), 5).0, 404, "{file}");
    }
    let change = format!("/shares/{token}?originals=1");
    assert_eq!(they.ask("PATCH", &change, Some(&they.bob)).0, "200");
    let original = they.visit(&format!("{token}/{PHOTO}/original"), 5);
    assert_eq!(original, (1, "/2003/a%20b.jpg".to_owned()));
    let motion = they.visit(&format!("{token}/{PHOTO}/motion"), 5);
    assert_eq!(motion, (3, "/2003/a%20b.jpg 1000..3000".to_owned()));
    heights(0);
    // The fixture sends the requests of the API at `NOW_MS`, so the share expires two days after
    // that time.
    assert_eq!(they.visit(&token, 2 * DAY_MS).0, 200);
    assert_eq!(
        they.visit(&token, 2 * DAY_MS + 100_000_000).0,
        404,
        "it has expired"
    );
}

#[test]
fn a_share_that_cannot_be_read_is_not_called_revoked() {
    let they = Sharers::new("shares-unreadable");
    let token = they.share("folder=2003");
    they.scene.break_journal();
    for path in [token.clone(), format!("{token}/{PHOTO}/240")] {
        assert_eq!(they.visit(&path, 5).0, 503, "{path}");
    }
}

#[test]
fn a_shared_folder_shows_the_photographs_below_it() {
    let they = Sharers::new("shares-of-a-folder");
    let token = they.share("folder=2003");
    let (_, page) = they.visit(&token, 5);
    assert!(
        page.contains(&format!("/-/share/{token}/{PHOTO}/240")),
        "{page}"
    );
    assert_eq!(they.visit(&format!("{token}/{PHOTO}/240"), 5).0, 2);
    let outside = format!("{token}/ph-350e605cfea34c45/240");
    assert_eq!(they.visit(&outside, 5).0, 404);
    let bob = Some(&*they.bob);
    for (folder, status) in [
        ("2003/..", "400"),
        ("", "400"),
        ("none", "404"),
        ("B", "404"),
    ] {
        let target = format!("/shares?folder={folder}");
        assert_eq!(they.ask("POST", &target, bob).0, status, "{folder}");
    }
}

#[test]
fn videos_of_a_shared_folder_play_if_the_share_allows_originals() {
    let they = Sharers::new("shares-of-videos");
    let token = they.share("folder=2003");
    let video = format!("{token}/video/2003/a%20b.mp4");
    assert_eq!(they.visit(&video, 5).0, 404);
    let (_, page) = they.visit(&token, 5);
    assert!(!page.contains("video"), "{page}");
    they.ask(
        "PATCH",
        &format!("/shares/{token}?originals=1"),
        Some(&they.bob),
    );
    assert_eq!(they.visit(&video, 5), (0, "/2003/a%20b.mp4".to_owned()));
    let (_, page) = they.visit(&token, 5);
    assert!(page.contains("1 photo · 1 video"), "{page}");
    let source = format!("src=\"/-/share/{video}\"></video><bdi>a b.mp4</bdi>");
    assert!(page.contains(&source), "{page}");
    match they
        .scene
        .server()
        .share(&visit(&format!("{token}/archive"), 5))
    {
        Response::Archive { files, .. } => {
            let names: Vec<_> = files.iter().map(|(path, _)| &path[..]).collect();
            assert_eq!(names, ["/2003/a%20b.jpg", "/2003/a%20b.mp4"]);
        }
        other => panic!("{other:?}"),
    }
    for path in [
        "video/2003/c.mp4",
        "video/films/trip/c.mp4",
        "video/2003/../films/trip/c.mp4",
        "video/2003%2F..%2Ffilms%2Ftrip%2Fc.mp4",
        "video/2003/.hidden/a%20b.mp4",
        "video/20033/a%20b.mp4",
        "video/2003",
        "video/",
    ] {
        assert_eq!(they.visit(&format!("{token}/{path}"), 5).0, 404, "{path}");
    }
}

#[test]
fn a_folder_that_has_only_videos_is_shared() {
    let they = Sharers::new("shares-of-films");
    let token = they.share("folder=films&originals=1");
    let (_, page) = they.visit(&token, 5);
    assert!(page.contains("1 video"), "{page}");
    let video = they.visit(&format!("{token}/video/films/trip/c.mp4"), 5);
    assert_eq!(video, (0, "/films/trip/c.mp4".to_owned()));
    let (_, shares) = they.ask("GET", "/shares", Some(&they.bob));
    assert_eq!(shares["items"][0]["name"], "films");
    assert_eq!(shares["items"][0]["count"], 0);
}

#[test]
fn a_shared_playlist_shows_the_present_tracks_until_its_owner_hides_it() {
    let they = Sharers::new("shares-of-playlists");
    let [_, album, song] = ids(&they.scene);
    let [second, first, other] = [1, 2, 3].map(|number| format!("tr-{number:016}"));
    let token = they.share(&format!("item={album}"));
    assert_eq!(they.visit(&format!("{token}/{first}"), 5).0, 0);
    for file in [&*other, "0", &*album] {
        assert_eq!(they.visit(&format!("{token}/{file}"), 5).0, 404, "{file}");
    }
    let (_, made) = they.ask(
        "POST",
        &format!("/playlists?name=Mine&track={song}"),
        Some(&they.ann),
    );
    let list = made["id"].as_str().expect("an id");
    let target = format!("/shares?item={list}");
    assert_eq!(they.ask("POST", &target, Some(&they.bob)).0, "404");
    let public = format!("updatePlaylist?playlistId={list}&public=");
    they.scene.ok(&format!("{public}true"));
    let token = they.share(&format!("item={list}"));
    let found = they.visit(&format!("{token}/{first}"), 5);
    assert_eq!(found, (0, "/B/%C3%9Cber/1.flac".to_owned()));
    assert_eq!(they.visit(&format!("{token}/{second}"), 5).0, 404);
    let more = format!("/playlists/{list}/tracks?track={second}&at=0");
    they.ask("POST", &more, Some(&they.ann));
    assert_eq!(
        they.visit(&format!("{token}/{second}"), 5).0,
        0,
        "it shows the present tracks"
    );
    let same = they.visit(&format!("{token}/{first}"), 5);
    assert_eq!(same, found, "a track keeps its target at another position");
    they.scene.ok(&format!("{public}false"));
    assert_eq!(they.visit(&format!("{token}/{first}"), 5).0, 404);
}

#[test]
fn users_change_and_revoke_their_own_shares_and_admins_those_of_all() {
    let they = Sharers::new("shares-of-users");
    let token = they.share(&format!("item={PHOTO}"));
    let target = format!("/shares/{token}");
    let (ann, bob) = (Some(&*they.ann), Some(&*they.bob));
    assert_eq!(they.ask("GET", "/shares", None).0, "401");
    assert_eq!(they.ask("GET", "/shares", bob).1["total"], 1);
    assert_eq!(they.ask("GET", "/shares", ann).1["total"], 1);
    let (_, of_ann) = they.ask("POST", &format!("/shares?item={PHOTO}"), ann);
    let of_ann = format!("/shares/{}", of_ann["id"].as_str().expect("an id"));
    for (method, status) in [("PATCH", "404"), ("DELETE", "404"), ("PUT", "405")] {
        assert_eq!(they.ask(method, &of_ann, bob).0, status, "{method}");
    }
    for query in ["days=0", "days=367", "days=x", "originals=2"] {
        let target = format!("/shares?item={PHOTO}&{query}");
        assert_eq!(they.ask("POST", &target, bob).0, "400", "{query}");
    }
    // Half of the id, which finds the share, does not open it.
    let guess = format!("{}{}", &token[..16], "0".repeat(16));
    assert_eq!(they.visit(&guess, 5).0, 404);
    assert_eq!(they.visit(&token, 5).0, 200);
    assert_eq!(they.ask("GET", "/shares", bob).1["items"][0]["visits"], 1);
    assert_eq!(they.ask("DELETE", &target, ann).0, "200");
    assert_eq!(they.visit(&token, 5).0, 404);
}

#[test]
fn the_links_of_a_user_who_may_no_longer_share_are_closed_and_can_only_be_revoked() {
    let they = Sharers::new("shares-denied");
    let (token, other) = (
        they.share(&format!("item={PHOTO}")),
        they.share("folder=2003"),
    );
    let target = format!("/shares/{token}");
    let (ann, bob) = (Some(&*they.ann), Some(&*they.bob));
    let as_bob = |request: &str| they.scene.ask_as(request, "u=bob&p=secret");
    they.scene.ok("updateUser?username=bob&shareRole=false");
    for (method, target) in [
        ("POST", format!("/shares?item={PHOTO}")),
        ("PATCH", format!("{target}?days=300&originals=1")),
    ] {
        assert_eq!(they.ask(method, &target, bob).0, "403", "{method}");
    }
    let updated = as_bob(&format!("updateShare?id={token}&expires=0"));
    assert!(updated.contains("code=\"50\""), "{updated}");
    for path in [token.clone(), format!("{token}/{PHOTO}/240")] {
        assert_eq!(they.visit(&path, 5).0, 404, "{path}");
    }
    // An admin may change a share of a user without the role to share, but visitors still cannot
    // open the share. The owner may remove it.
    let described = format!("{target}?description=mine");
    assert_eq!(they.ask("PATCH", &described, ann).0, "200");
    assert_eq!(they.visit(&token, 5).0, 404);
    assert_eq!(they.ask("DELETE", &target, bob).0, "200");
    assert_eq!(they.ask("GET", "/shares", bob).1["total"], 1);
    they.scene.ok("updateUser?username=bob&shareRole=true");
    assert_eq!(they.visit(&other, 5).0, 200);
}

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

/// Returns a request of a visitor to a share.
fn visit(path: &str, now_ms: i64) -> ShareRequest<'_> {
    ShareRequest {
        path,
        offset: 0,
        root: "/",
        assets: "/-/app/dev/",
        nonce: "0",
        languages: "",
        videos: &["mp4"],
        now_ms,
    }
}

#[test]
fn shares_are_heard_by_all_who_have_the_link_until_they_end() {
    let scene = Scene::new("shares");
    let [_, album, song] = ids(&scene);
    let as_bob = |request: &str| scene.ask_as(request, "u=bob&p=secret");
    assert!(as_bob("createShare?description=none").contains("code=\"10\""));
    let made = format!("createShare?id={album}&description=for%20%3Cyou%3E&expires=1000001");
    let share = scene.json(&made)["shares"]["share"][0].clone();
    let token = share["id"].as_str().expect("text").to_owned();
    assert_eq!(share["url"], format!("http://here/-/share/{token}"));
    assert_eq!(
        (&share["username"], &share["visitCount"]),
        (&"ann".into(), &0.into())
    );
    assert_eq!(share["entry"].as_array().expect("a list").len(), 2);
    let page = |path: &str, now_ms| match scene.server().share(&visit(path, now_ms)) {
        Response::Document { status, body, .. } => (status, body),
        Response::File { target, .. } => (0, target),
        other => panic!("{other:?}"),
    };
    let second = "tr-0000000000000001";
    let (status, body) = page(&token, 5);
    assert!(status == 200 && body.contains("for &lt;you&gt;"), "{body}");
    assert!(
        body.contains(&format!("src=\"/-/share/{token}/{second}\"")),
        "{body}"
    );
    assert_eq!(
        page(&format!("{token}/{second}"), 5),
        (0, "/B/%C3%9Cber/2.flac".to_owned())
    );
    for path in [
        &format!("{token}/tr-0000000000000003"),
        &format!("{token}/1"),
        &format!("{token}/x"),
        &token[1..],
        "",
    ] {
        assert_eq!(page(path, 5).0, 404, "{path}");
    }
    assert_eq!(page(&token, 1_000_001).0, 404, "it has ended");
    assert_eq!(
        scene.json("getShares")["shares"]["share"][0]["visitCount"],
        1
    );
    // Other users can neither see nor change the share.
    assert!(!as_bob("getShares").contains(&token));
    for change in ["updateShare", "deleteShare"] {
        assert!(as_bob(&format!("{change}?id={token}")).contains("code=\"70\""));
    }
    scene.ok(&format!(
        "updateShare?id={token}&expires=0&description=again"
    ));
    assert_eq!(page(&token, i64::MAX).0, 200);
    assert_eq!(scene.all("getShares", "share.description"), ["again"]);
    scene.ok(&format!("deleteShare?id={token}"));
    assert_eq!(page(&token, 5).0, 404);
    as_bob(&format!("createShare?id={song}"));
    scene.ok("deleteUser?username=bob");
    assert!(
        scene.all("getShares", "share.id").is_empty(),
        "they go with their owner"
    );
}

#[test]
fn a_share_speaks_the_language_of_the_visitor() {
    let scene = Scene::new("share-languages");
    let [_, album, _] = ids(&scene);
    let share = scene.json(&format!("createShare?id={album}"))["shares"]["share"][0].clone();
    let token = share["id"].as_str().expect("text").to_owned();
    let page = |path: &str, languages: &str| {
        let request = ShareRequest {
            languages,
            ..visit(path, 5)
        };
        match scene.server().share(&request) {
            Response::Document { body, .. } => body,
            other => panic!("{other:?}"),
        }
    };
    for (languages, parts) in [
        (
            "fr",
            [
                "<html lang=\"en\" dir=\"ltr\">",
                "2 tracks",
                "data-play=\"Play\"",
            ],
        ),
        (
            "de-AT",
            [
                "<html lang=\"de\" dir=\"ltr\">",
                "data-close=\"Schließen\"",
                "data-play=\"Abspielen\"",
            ],
        ),
        (
            "ar",
            [
                "<html lang=\"ar\" dir=\"rtl\">",
                "المقاطع: 2",
                "data-play=\"تشغيل\"",
            ],
        ),
    ] {
        let body = page(&token, languages);
        assert!(parts.iter().all(|part| body.contains(part)), "{body}");
    }
    assert!(page("none", "de").contains("abgelaufen"));
}

#[test]
fn visitors_can_download_all_that_they_may_have_in_one_archive() {
    let scene = Scene::new("share-archive");
    let [_, album, _] = ids(&scene);
    let share = scene.json(&format!("createShare?id={album}"))["shares"]["share"][0].clone();
    let token = share["id"].as_str().expect("text").to_owned();
    let archive = format!("{token}/archive");
    match scene.server().share(&visit(&archive, 5)) {
        Response::Archive { files, disposition } => {
            let names: Vec<_> = files.iter().map(|(_, name)| &name[..]).collect();
            assert_eq!(names, ["1 1.flac", "2 2.flac"]);
            assert!(disposition.ends_with(".zip"), "{disposition}");
        }
        other => panic!("{other:?}"),
    }
}
