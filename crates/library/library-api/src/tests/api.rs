use expect_test::{Expect, expect};

use super::scene::{Scene, ids};
use crate::Response;

fn check(scene: &Scene, target: &str, expected: Expect) {
    expected.assert_eq(&scene.api("GET", target, None));
}

#[test]
fn everything_is_there_as_plain_json() {
    let scene = Scene::new("api");
    let [artist, album, song] = ids(&scene);
    check(
        &scene,
        "/",
        expect![[
            r#"200 {"tracks":3,"albums":2,"artists":4,"genres":2,"pictures":2,"playlists":1,"files":7,"durationSeconds":366,"plays":0,"users":2,"indexBytes":2600}"#
        ]],
    );
    check(
        &scene,
        "/albums?limit=1",
        expect![[
            r#"200 {"total":2,"offset":0,"items":[{"id":"al-cc171c93958ee620","title":"Night","artist":"The AC","artistIds":["ar-db9de296a7fd9400"],"added":"1970-01-01T00:00:03.000Z","trackCount":1,"durationSeconds":183,"compilation":false,"genres":[],"plays":0}]}"#
        ]],
    );
    check(
        &scene,
        &format!("/albums/{album}"),
        expect![[
            r##"200 {"id":"al-c75012c5b671ac4d","title":"Über","artist":"Björk","artistIds":["ar-6bc24f25fc255825"],"date":"1997","added":"1970-01-01T00:00:02.000Z","trackCount":2,"durationSeconds":183,"compilation":false,"genres":["Pop","Rock"],"cover":"/-/cover/al-c75012c5b671ac4d","placeholder":{"colour":"#1f2e3d","blurhash":"LEHV6nWB2yk8pyo0adR*.7kCMdnj","thumbhash":"HQcG"},"plays":0,"tracks":[{"id":"tr-0000000000000002","title":"Erstes Lied","artist":"Björk feat. Guest","artistIds":["ar-6bc24f25fc255825","ar-69bc8516676d4673"],"albumId":"al-c75012c5b671ac4d","album":"Über","disc":0,"number":1,"durationMs":122000,"kbps":900,"date":"1997","genres":["Pop","Rock"],"contributors":[{"role":"composer","name":"Guest","artistId":"ar-69bc8516676d4673"},{"role":"conductor","name":"???","artistId":"ar-1a0c56eb048ef455"},{"role":"performer","name":"Nobody Else","part":"piano"},{"role":"performer","name":"björk","part":"voice","artistId":"ar-6bc24f25fc255825"},{"role":"producer","name":"Nobody Else"},{"role":"mixer","name":"!!!"}],"replayGain":{"trackGain":-7.25,"trackPeak":0.98},"bytes":30000002,"file":"/B/%C3%9Cber/1.flac","cover":"/-/cover/tr-0000000000000002","plays":0},{"id":"tr-0000000000000001","title":"Zweites Lied","artist":"Björk","artistIds":["ar-6bc24f25fc255825"],"albumId":"al-c75012c5b671ac4d","album":"Über","disc":0,"number":2,"durationMs":61000,"kbps":900,"date":"1997-09-22","genres":["Pop"],"contributors":[],"bytes":30000001,"file":"/B/%C3%9Cber/2.flac","cover":"/-/cover/tr-0000000000000001","plays":0}]}"##
        ]],
    );
    check(
        &scene,
        "/artists",
        expect![[
            r#"200 {"total":2,"offset":0,"items":[{"id":"ar-6bc24f25fc255825","name":"Björk","sortName":"Björk","albumCount":1,"trackCount":2,"cover":"/-/cover/ar-6bc24f25fc255825"},{"id":"ar-db9de296a7fd9400","name":"The AC","sortName":"The AC","albumCount":1,"trackCount":1,"cover":"/-/cover/ar-db9de296a7fd9400"}]}"#
        ]],
    );
    check(
        &scene,
        &format!("/artists/{artist}"),
        expect![[
            r##"200 {"id":"ar-6bc24f25fc255825","name":"Björk","sortName":"Björk","albumCount":1,"trackCount":2,"cover":"/-/cover/ar-6bc24f25fc255825","albums":[{"id":"al-c75012c5b671ac4d","title":"Über","artist":"Björk","artistIds":["ar-6bc24f25fc255825"],"date":"1997","added":"1970-01-01T00:00:02.000Z","trackCount":2,"durationSeconds":183,"compilation":false,"genres":["Pop","Rock"],"cover":"/-/cover/al-c75012c5b671ac4d","placeholder":{"colour":"#1f2e3d","blurhash":"LEHV6nWB2yk8pyo0adR*.7kCMdnj","thumbhash":"HQcG"},"plays":0}]}"##
        ]],
    );
    check(
        &scene,
        &format!("/tracks/{song}"),
        expect![[
            r#"200 {"id":"tr-0000000000000002","title":"Erstes Lied","artist":"Björk feat. Guest","artistIds":["ar-6bc24f25fc255825","ar-69bc8516676d4673"],"albumId":"al-c75012c5b671ac4d","album":"Über","disc":0,"number":1,"durationMs":122000,"kbps":900,"date":"1997","genres":["Pop","Rock"],"contributors":[{"role":"composer","name":"Guest","artistId":"ar-69bc8516676d4673"},{"role":"conductor","name":"???","artistId":"ar-1a0c56eb048ef455"},{"role":"performer","name":"Nobody Else","part":"piano"},{"role":"performer","name":"björk","part":"voice","artistId":"ar-6bc24f25fc255825"},{"role":"producer","name":"Nobody Else"},{"role":"mixer","name":"!!!"}],"replayGain":{"trackGain":-7.25,"trackPeak":0.98},"bytes":30000002,"file":"/B/%C3%9Cber/1.flac","cover":"/-/cover/tr-0000000000000002","plays":0}"#
        ]],
    );
    check(
        &scene,
        "/genres",
        expect![[
            r#"200 {"total":2,"offset":0,"items":[{"name":"Pop","tracks":2,"albums":1},{"name":"Rock","tracks":1,"albums":1}]}"#
        ]],
    );
    check(
        &scene,
        "/pictures",
        expect![[
            r##"200 {"total":2,"offset":0,"items":[{"id":"ph-27a53d7aa89ae068","file":"/2003/a%20b.jpg","name":"a b.jpg","folder":"2003","taken":"2003-05-12T14:30:01","width":640,"height":480,"bytes":30000005,"camera":"Canon"},{"id":"ph-350e605cfea34c45","file":"/B/%C3%9Cber/cover.jpg","name":"cover.jpg","folder":"B/Über","taken":"1970-01-01T00:00:04","width":0,"height":0,"bytes":30000004,"placeholder":{"colour":"#1f2e3d","blurhash":"LEHV6nWB2yk8pyo0adR*.7kCMdnj","thumbhash":"HQcG"}}]}"##
        ]],
    );
    check(
        &scene,
        "/pictures?folder=B/%C3%9Cber",
        expect![[
            r##"200 {"total":1,"offset":0,"items":[{"id":"ph-350e605cfea34c45","file":"/B/%C3%9Cber/cover.jpg","name":"cover.jpg","folder":"B/Über","taken":"1970-01-01T00:00:04","width":0,"height":0,"bytes":30000004,"placeholder":{"colour":"#1f2e3d","blurhash":"LEHV6nWB2yk8pyo0adR*.7kCMdnj","thumbhash":"HQcG"}}]}"##
        ]],
    );
    check(
        &scene,
        "/playlists",
        expect![[
            r#"200 {"total":1,"offset":0,"items":[{"id":"pf-411f854cbbae90f9","name":"Mix","kind":"file","public":true,"changeable":false,"file":"/Lists/Mix.m3u","changed":"1970-01-01T00:00:07.000Z","trackCount":2,"durationMs":305000,"missingCount":1}]}"#
        ]],
    );
    let list = scene.api("GET", "/playlists/pf-411f854cbbae90f9", None);
    let order = [
        "\"tracks\":[",
        "\"title\":\"夜\"",
        "\"title\":\"Erstes Lied\"",
    ];
    let places = order.map(|part| list.find(part).unwrap_or_else(|| panic!("{part}: {list}")));
    assert!(places.is_sorted(), "{list}");
    assert!(list.ends_with("\"missing\":[\"gone.mp3\"]}"), "{list}");
    assert!(
        scene
            .api("GET", "/playlists/pf-0", None)
            .starts_with("404 ")
    );
    check(
        &scene,
        "/playlists/pf-411f854cbbae90f9.m3u8",
        expect![[r#"
        200 #EXTM3U
        #PLAYLIST:Mix
        #EXTINF:183,The AC - 夜
        夜/夜.mp3
        #EXTINF:122,Björk feat. Guest - Erstes Lied
        B/Über/1.flac
    "#]],
    );
    check(
        &scene,
        "/search?q=bjork",
        expect![[
            r##"200 {"artists":[{"id":"ar-6bc24f25fc255825","name":"Björk","sortName":"Björk","albumCount":1,"trackCount":2,"cover":"/-/cover/ar-6bc24f25fc255825"}],"albums":[{"id":"al-c75012c5b671ac4d","title":"Über","artist":"Björk","artistIds":["ar-6bc24f25fc255825"],"date":"1997","added":"1970-01-01T00:00:02.000Z","trackCount":2,"durationSeconds":183,"compilation":false,"genres":["Pop","Rock"],"cover":"/-/cover/al-c75012c5b671ac4d","placeholder":{"colour":"#1f2e3d","blurhash":"LEHV6nWB2yk8pyo0adR*.7kCMdnj","thumbhash":"HQcG"},"plays":0}],"tracks":[],"pictures":[]}"##
        ]],
    );
    check(
        &scene,
        "/scan",
        expect![[
            r#"200 {"scanning":false,"files":7,"ended":"1970-01-01T00:00:00.001Z","watch":{"by":"inotify","folders":4},"unsettled":0,"unreadableCount":1,"unreadable":[{"path":"broken.mp3","reason":"no mpeg audio frame"}],"brokenTagsCount":1,"brokenTags":[{"path":"B/Über/2.flac","reason":"a frame is cut off"}],"missingCount":1,"missing":[{"playlist":"Lists/Mix.m3u","entry":"gone.mp3"}]}"#
        ]],
    );
    check(
        &scene,
        "/albums?order=odd",
        expect![[r#"400 {"title":"parameter order is invalid","status":400}"#]],
    );
    check(
        &scene,
        "/albums?limit=-1",
        expect![[r#"400 {"title":"parameter limit is invalid","status":400}"#]],
    );
    check(
        &scene,
        "/odd",
        expect![[r#"404 {"title":"no such resource","status":404}"#]],
    );
}

#[test]
fn ratings_and_plays_take_a_key_and_make_the_orders() {
    let scene = Scene::new("orders");
    let [_, album, song] = ids(&scene);
    let order = |order: &str| scene.api("GET", &format!("/albums?order={order}"), None);
    assert!(order("trending").contains("\"total\":0"));
    let key = scene.store().add_key("bob", "page", 1).expect("a key");
    let bearer = format!("Bearer {key}");
    let play = format!("/tracks/{song}/plays");
    assert!(scene.api("POST", &play, None).starts_with("401 "));
    assert!(
        scene
            .api("POST", &play, Some("Bearer x"))
            .starts_with("401 ")
    );
    assert!(scene.api("GET", &play, Some(&bearer)).starts_with("405 "));
    assert_eq!(scene.api("POST", &play, Some(&bearer)), "200 {}");
    let rate = format!("/tracks/{song}/rating");
    assert_eq!(
        scene.api("PUT", &format!("{rate}/5"), Some(&bearer)),
        "200 {}"
    );
    assert!(
        scene
            .api("PUT", &format!("{rate}/6"), Some(&bearer))
            .starts_with("400 ")
    );
    for name in ["trending", "discover", "plays", "rating"] {
        let listed = order(name);
        assert!(
            listed.contains("\"total\":1") && listed.contains(&album),
            "{name}: {listed}"
        );
    }
    let track = scene.api("GET", &format!("/tracks/{song}"), None);
    assert!(
        track.contains("\"plays\":1,") && track.contains("\"rating\":5"),
        "{track}"
    );
}

/// Examples in docs/api.md, compared with the server's responses.
#[test]
fn the_documented_answers_are_those_given() {
    const DOCUMENT: &str = include_str!("../../../../../docs/api.md");
    let scene = Scene::new("documented");
    let examples: Vec<&str> = DOCUMENT.split("```http\nGET /-/api").skip(1).collect();
    assert!(5 < examples.len(), "{} examples", examples.len());
    for example in examples {
        let text = example.split("\n```").next().expect("a first part");
        let (target, response) = text.split_once('\n').expect("a response");
        let (status, body) = response.split_once('\n').expect("a status");
        let given = scene.api("GET", target, None);
        let (given_status, given_body) = given.split_once(' ').expect("a status");
        assert_eq!(given_status, status, "{target}");
        let parse = |text| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(parse(given_body), parse(body), "{target}");
    }
}

#[test]
fn playlists_of_users_are_given_as_files_to_those_who_may_see_them() {
    let scene = Scene::new("export");
    let [_, _, song] = ids(&scene);
    let key = scene.store().add_key("bob", "page", 1).expect("a key");
    let bearer = format!("Bearer {key}");
    let made = scene.json(&format!(
        "createPlaylist?name=Mine%0Aall%1B%C2%9B%7F&songId={song}"
    ));
    let id = made["playlist"]["id"].as_str().expect("an id").to_owned();
    let get = |authorization| scene.api("GET", &format!("/playlists/{id}.m3u8"), authorization);
    let file = "200 #EXTM3U\n#PLAYLIST:Mine all   \n#EXTINF:122,Björk feat. Guest - Erstes Lied\nB/Über/1.flac\n";
    assert!(get(None).starts_with("401 "));
    assert!(
        get(Some(&bearer)).starts_with("404 "),
        "bob is somebody else"
    );
    scene.ok(&format!("updatePlaylist?playlistId={id}&public=true"));
    assert_eq!(get(None), file);
    let other = scene.api("GET", "/playlists/pl-0000000000000001.m3u8", Some(&bearer));
    assert!(other.starts_with("404 "));
}

#[test]
fn admins_have_folders_scanned() {
    let scene = Scene::new("folders");
    let bearer = |name: &str| {
        let key = scene.store().add_key(name, "page", 1);
        format!("Bearer {}", key.expect("a key"))
    };
    let (bearer, bobs) = (bearer("ann"), bearer("bob"));
    for method in ["POST", "DELETE"] {
        let refused = scene.api(method, "/scan", Some(&bobs));
        assert!(refused.starts_with("403 "), "{refused}");
    }
    let post = |target: &str, authorization| scene.api("POST", target, authorization);
    assert!(post("/scan?folder=B", None).starts_with("401 "));
    for odd in ["", "..", "B/../C", ".hidden", "B//C"] {
        let refused = post(&format!("/scan?folder={odd}"), Some(&bearer));
        assert!(refused.starts_with("400 "), "{odd}: {refused}");
    }
    assert!(scene.requested_folders().is_empty());
    let response = post("/scan?folder=/B/%C3%9Cber/&folder=C", Some(&bearer));
    let progress = r#"200 {"scanning":true,"files":7,"reading":{"done":3,"of":7,"perSecond":12.5,"secondsLeft":0.32}"#;
    assert!(response.starts_with(progress), "{response}");
    assert_eq!(scene.requested_folders(), ["B/Über".as_bytes(), b"C"]);
    assert!(scene.api("DELETE", "/scan", None).starts_with("401 "));
    assert!(!scene.requested_folders().is_empty());
    let response = scene.api("DELETE", "/scan", Some(&bearer));
    assert!(response.starts_with(progress), "{response}");
    assert!(scene.requested_folders().is_empty());
    post("/scan?folder=C", Some(&bearer));
    post("/scan", Some(&bearer));
    assert!(scene.requested_folders().is_empty());
}

#[test]
fn a_track_without_lyrics_has_an_empty_list_of_lines() {
    let scene = Scene::new("lyrics");
    let response = scene.api("GET", "/tracks/tr-0000000000000001/lyrics", None);
    assert_eq!(response, r#"200 {"synced":false,"lines":[]}"#);
    for id in ["tr-0000000000000099", "al-c75012c5b671ac4d", "x"] {
        let refused = scene.api("GET", &format!("/tracks/{id}/lyrics"), None);
        assert!(refused.starts_with("404 "), "{id}: {refused}");
    }
    let refused = scene.api("PUT", "/tracks/tr-0000000000000001/lyrics", None);
    assert!(refused.starts_with("405 "), "{refused}");
}

#[test]
fn a_track_is_streamed_with_the_bit_rate_that_is_asked_for() {
    let scene = Scene::new("api-stream");
    let [_, _, song] = ids(&scene);
    let stream = |query: &str| {
        let target = format!("/tracks/{song}/stream{query}");
        scene.api_file("GET", &target)
    };
    for query in ["", "?bitrate=500&format=original", "?format=original"] {
        let response = stream(query);
        let is_file =
            matches!(&response, Response::File { target, .. } if target == "/B/%C3%9Cber/1.flac");
        assert!(is_file, "{query}: {response:?}");
    }
    for (query, rate_bps) in [
        ("?bitrate=64", 64_000),
        ("?format=opus", 128_000),
        ("?format=opus&bitrate=510", 510_000),
    ] {
        match stream(query) {
            Response::Transcoded {
                target,
                user,
                plan,
                fallback_to_original,
                ..
            } => {
                assert_eq!(target, "/B/%C3%9Cber/1.flac");
                assert_eq!((&*user, plan.bit_rate_bps), ("", rate_bps), "{query}");
                assert_eq!(plan.gain.track, Some(-3136));
                assert!(fallback_to_original);
            }
            other => panic!("{query}: {other:?}"),
        }
    }
    for query in ["?bitrate=5", "?bitrate=511", "?bitrate=x", "?format=mp3"] {
        let refused = scene.api("GET", &format!("/tracks/{song}/stream{query}"), None);
        assert!(refused.starts_with("400 "), "{query}: {refused}");
    }
    let missing = scene.api("GET", "/tracks/tr-0000000000000099/stream", None);
    assert!(missing.starts_with("404 "), "{missing}");
    let refused = scene.api("POST", &format!("/tracks/{song}/stream"), None);
    assert!(refused.starts_with("405 "), "{refused}");
}

#[test]
fn albums_are_found_by_year_and_by_composer() {
    let scene = Scene::new("groups");
    let get = |target: &str| scene.api("GET", target, None);
    let years = r#"200 {"total":1,"offset":0,"items":[{"year":1997,"tracks":2,"albums":1}]}"#;
    assert_eq!(get("/years"), years);
    let composers = r#"200 {"total":1,"offset":0,"items":[{"name":"Guest","artistId":"ar-69bc8516676d4673","tracks":1,"albums":1}]}"#;
    assert_eq!(get("/composers"), composers);
    for (query, total) in [
        ("year=1997", 1),
        ("year=1998", 0),
        ("composer=GUEST", 1),
        ("composer=Bj%C3%B6rk", 0),
        ("year=1997&composer=Guest&genre=Pop", 1),
        ("year=1997&composer=Guest&genre=Jazz", 0),
    ] {
        let response = get(&format!("/albums?{query}"));
        let expected = format!("200 {{\"total\":{total},");
        assert!(response.starts_with(&expected), "{query}: {response}");
    }
    assert!(get("/albums?year=x").starts_with("400 "));
}
