//! Tests of users' playlists in the JSON API. Players read and change the same playlists.

use serde_json::{Value, json};

use super::scene::{Scene, ids};

const FIRST: &str = "Erstes Lied";
const SECOND: &str = "Zweites Lied";
const NIGHT: &str = "夜";

/// Fixture with an API key of the user Ann.
struct Ann {
    scene: Scene,
    bearer: String,
    album: String,
    /// Ids of the tracks [`FIRST`] and [`NIGHT`].
    first: String,
    night: String,
}

impl Ann {
    fn new(name: &str) -> Ann {
        let scene = Scene::new(name);
        let [_, album, first] = ids(&scene);
        let bearer = bearer(&scene, "ann");
        Ann {
            scene,
            bearer,
            album,
            first,
            night: "tr-0000000000000003".to_owned(),
        }
    }

    fn ask(&self, method: &str, target: &str) -> (String, Value) {
        let response = self.scene.api(method, target, Some(&self.bearer));
        let (status, body) = response.split_once(' ').expect("a status");
        (status.to_owned(), serde_json::from_str(body).expect("JSON"))
    }

    fn status(&self, method: &str, target: &str) -> String {
        self.ask(method, target).0
    }

    fn ok(&self, method: &str, target: &str) -> Value {
        let (status, body) = self.ask(method, target);
        assert_eq!(status, "200", "{method} {target}: {body}");
        body
    }

    /// Creates a playlist of these tracks, and returns its id.
    fn create(&self, name: &str, tracks: &[&str]) -> String {
        let tracks: String = tracks.iter().map(|id| format!("&track={id}")).collect();
        let made = self.ok("POST", &format!("/playlists?name={name}{tracks}"));
        made["id"].as_str().expect("an id").to_owned()
    }

    /// Returns the titles of a playlist's tracks, and checks that players get the same tracks.
    fn titles(&self, id: &str) -> Vec<String> {
        let whole = self.ok("GET", &format!("/playlists/{id}"));
        let tracks = whole["tracks"].as_array().expect("a list");
        let titles = tracks.iter().map(|it| it["title"].as_str().expect("text"));
        let titles: Vec<String> = titles.map(str::to_owned).collect();
        let request = format!("getPlaylist?id={id}");
        assert_eq!(self.scene.all(&request, "entry.title"), titles);
        titles
    }
}

fn bearer(scene: &Scene, user: &str) -> String {
    let key = scene.store().add_key(user, "page", 1).expect("a key");
    format!("Bearer {key}")
}

#[test]
fn a_playlist_is_created_listed_and_deleted() {
    let ann = Ann::new("api-playlists");
    let made = ann.ok(
        "POST",
        &format!(
            "/playlists?name=+A+%26+B+&track={}&track={}",
            ann.night, ann.album
        ),
    );
    let id = made["id"].as_str().expect("an id");
    assert!(id.starts_with("pl-"), "{id}");
    assert_eq!(
        made,
        json!({
            "id": id, "name": "A & B", "kind": "user", "owner": "ann", "public": false,
            "changeable": true, "changed": made["changed"], "trackCount": 3,
            "durationMs": 366_000, "missingCount": 0
        })
    );
    assert_eq!(ann.titles(id), [NIGHT, FIRST, SECOND]);
    // The user's own playlists come first, sorted by name, followed by the playlists in files.
    ann.create("a", &[]);
    let listed = ann.ok("GET", "/playlists");
    let names = listed["items"].as_array().expect("a list").iter();
    let names = names.map(|it| {
        (
            it["name"].clone(),
            it["kind"].clone(),
            it["changeable"].clone(),
        )
    });
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            (json!("a"), json!("user"), json!(true)),
            (json!("A & B"), json!("user"), json!(true)),
            (json!("Mix"), json!("file"), json!(false)),
        ]
    );
    assert_eq!(listed["total"], json!(3));
    assert_eq!(ann.ok("DELETE", &format!("/playlists/{id}")), json!({}));
    assert_eq!(ann.status("GET", &format!("/playlists/{id}")), "404");
    assert_eq!(ann.status("DELETE", &format!("/playlists/{id}")), "404");
    assert_eq!(ann.scene.all("getPlaylists", "playlist.name"), ["a", "Mix"]);
}

#[test]
fn tracks_are_added_moved_removed_and_replaced() {
    let ann = Ann::new("api-playlist-tracks");
    let (first, night) = (&ann.first, &ann.night);
    let id = ann.create("x", &[first]);
    let edit = |method: &str, rest: &str| ann.ok(method, &format!("/playlists/{id}{rest}"));
    let changed = edit("POST", &format!("/tracks?track={night}"));
    assert_eq!(
        (&changed["trackCount"], &changed["name"]),
        (&json!(2), &json!("x"))
    );
    assert_eq!(ann.titles(&id), [FIRST, NIGHT]);
    edit("POST", &format!("/tracks?track={}&at=1", ann.album));
    assert_eq!(ann.titles(&id), [FIRST, FIRST, SECOND, NIGHT]);
    edit("PUT", "/tracks/3?to=0");
    assert_eq!(ann.titles(&id), [NIGHT, FIRST, FIRST, SECOND]);
    edit("PUT", "/tracks/0?to=2");
    assert_eq!(ann.titles(&id), [FIRST, FIRST, NIGHT, SECOND]);
    edit("DELETE", "/tracks?index=0&index=3");
    assert_eq!(ann.titles(&id), [FIRST, NIGHT]);
    edit("PUT", &format!("/tracks?track={night}&track={night}"));
    assert_eq!(ann.titles(&id), [NIGHT, NIGHT]);
    edit("PUT", "/tracks");
    assert_eq!(ann.titles(&id), [""; 0]);
    assert_eq!(edit("PUT", "?name=new")["name"], json!("new"));
    assert_eq!(
        ann.scene
            .all(&format!("getPlaylist?id={id}"), "playlist.name"),
        ["new"]
    );
}

#[test]
fn tracks_that_are_not_in_the_library_keep_their_places() {
    let ann = Ann::new("api-playlist-gone");
    let id = ann.create("x", &[&ann.first, &ann.night]);
    let number = u64::from_str_radix(&id[3..], 16).expect("digits");
    // Track that was in the library when a user added it to the playlist, but is not there at
    // present.
    let gone = crate::ids::Id::parse("tr-00000000000000ff").expect("an id");
    let changed = ann.scene.store().change(|state| {
        let mut playlist = state.playlists[&number].clone();
        playlist.tracks.insert(1, gone);
        let playlist = Some(playlist);
        let id = number;
        Ok::<_, ()>(vec![crate::store::Change::Playlist { id, playlist }])
    });
    assert!(matches!(changed, Ok(Ok(()))));
    let whole = ann.ok("GET", &format!("/playlists/{id}"));
    assert_eq!(whole["missing"], json!(["tr-00000000000000ff"]));
    let order = |request: &str, method: &str| {
        ann.ok(method, &format!("/playlists/{id}/tracks{request}"));
        let tracks = ann.scene.store().read(|state| {
            let tracks = state.playlists[&number].tracks.iter();
            tracks.map(ToString::to_string).collect::<Vec<_>>()
        });
        tracks.expect("a store")
    };
    let (first, night, gone) = (&ann.first, &ann.night, &gone.to_string());
    assert_eq!(order("/1?to=0", "PUT"), [&**night, first, gone]);
    assert_eq!(
        order(&format!("?track={night}&at=2"), "POST"),
        [&**night, first, gone, night]
    );
    assert_eq!(order("?index=1", "DELETE"), [&**night, gone, night]);
    assert_eq!(ann.titles(&id), [NIGHT, NIGHT]);
    // If a player removes and adds tracks, tracks that are gone keep their places, too.
    let update = format!("updatePlaylist?playlistId={id}&songIndexToRemove=0&songIdToAdd={first}");
    ann.scene.ok(&update);
    assert_eq!(order("/1?to=1", "PUT"), [&**gone, night, first]);
}

#[test]
fn a_request_that_names_an_old_state_changes_nothing() {
    let ann = Ann::new("api-playlist-stale");
    let id = ann.create("x", &[&ann.first, &ann.night]);
    let before = ann.ok("GET", &format!("/playlists/{id}"));
    let before = before["changed"].as_str().expect("a time");
    let remove = format!("/playlists/{id}/tracks?index=0&changed={before}");
    let after = ann.ok("DELETE", &remove);
    assert_ne!(after["changed"], json!(before));
    let (status, body) = ann.ask("DELETE", &remove);
    assert_eq!(status, "409", "{body}");
    assert_eq!(ann.titles(&id), [NIGHT]);
}

#[test]
fn a_position_that_has_another_track_after_a_scan_changes_nothing() {
    let ann = Ann::new("api-playlist-scan");
    let id = ann.create("x", &[&ann.album, &ann.night]);
    let whole = ann.ok("GET", &format!("/playlists/{id}"));
    let second = whole["tracks"][1]["id"].as_str().expect("an id");
    ann.scene.rescan_without(&["B/Über/1.flac"]);
    assert_eq!(ann.titles(&id), [SECOND, NIGHT]);
    let list = format!("/playlists/{id}/tracks");
    let night = &ann.night;
    for (method, target, status) in [
        // Positions that the tracks had before the scan are refused.
        ("DELETE", format!("{list}?index=1&track={second}"), "409"),
        ("DELETE", format!("{list}?index=2&track={night}"), "409"),
        (
            "DELETE",
            format!("{list}?index=0&index=2&track={second}&track={night}"),
            "409",
        ),
        ("PUT", format!("{list}/1?to=0&track={second}"), "409"),
        ("PUT", format!("{list}/2?to=0&track={night}"), "409"),
        // Each position needs a track, if the request names tracks.
        (
            "DELETE",
            format!("{list}?index=0&index=1&track={second}"),
            "400",
        ),
        ("DELETE", format!("{list}?index=0&track=x"), "400"),
    ] {
        assert_eq!(ann.status(method, &target), status, "{method} {target}");
    }
    assert_eq!(ann.titles(&id), [SECOND, NIGHT]);
    ann.ok("PUT", &format!("{list}/1?to=0&track={night}"));
    assert_eq!(ann.titles(&id), [NIGHT, SECOND]);
    ann.ok("DELETE", &format!("{list}?index=1&track={second}"));
    ann.scene.rescan_without(&[]);
    assert_eq!(ann.titles(&id), [FIRST, NIGHT]);
}

#[test]
fn a_change_by_a_player_is_a_new_state_if_the_clock_was_set_back() {
    let ann = Ann::new("api-playlist-clock");
    let id = ann.create("x", &[&ann.first, &ann.night]);
    let number = u64::from_str_radix(&id[3..], 16).expect("digits");
    let changed = ann.scene.store().change(|state| {
        let mut playlist = state.playlists[&number].clone();
        // A time far ahead of the clock of the test.
        playlist.changed_ms = 4_000_000_000_000;
        let (id, playlist) = (number, Some(playlist));
        Ok::<_, ()>(vec![crate::store::Change::Playlist { id, playlist }])
    });
    assert!(matches!(changed, Ok(Ok(()))));
    let before = ann.ok("GET", &format!("/playlists/{id}"))["changed"].clone();
    ann.scene
        .ok(&format!("updatePlaylist?playlistId={id}&name=y"));
    let after = ann.ok("GET", &format!("/playlists/{id}"))["changed"].clone();
    assert_eq!(before, json!("2096-10-02T07:06:40.000Z"));
    assert_eq!(after, json!("2096-10-02T07:06:40.001Z"));
}

#[test]
fn only_the_owner_changes_a_playlist() {
    let ann = Ann::new("api-playlist-owner");
    let id = ann.create("x", &[&ann.first]);
    let bob = bearer(&ann.scene, "bob");
    let status = |method: &str, target: &str, who: Option<&str>| {
        let response = ann.scene.api(method, target, who);
        response.split(' ').next().expect("a status").to_owned()
    };
    let whole = format!("/playlists/{id}");
    let changes = [
        ("PUT", format!("{whole}?name=y")),
        ("DELETE", whole.clone()),
        ("PUT", format!("{whole}/tracks")),
        ("POST", format!("{whole}/tracks?track={}", ann.night)),
        ("DELETE", format!("{whole}/tracks?index=0")),
        ("PUT", format!("{whole}/tracks/0?to=0")),
    ];
    for (method, target) in &changes {
        assert_eq!(status(method, target, None), "401", "{method} {target}");
        // A private playlist is unknown to other users.
        assert_eq!(
            status(method, target, Some(&bob)),
            "404",
            "{method} {target}"
        );
    }
    assert_eq!(status("POST", "/playlists?name=y", None), "401");
    assert_eq!(status("GET", &whole, Some(&bob)), "404");
    assert_eq!(status("GET", &whole, None), "404");
    let guest = ann.scene.api("GET", "/playlists", None);
    assert!(guest.contains("\"total\":1,"), "{guest}");
    ann.scene
        .ok(&format!("updatePlaylist?playlistId={id}&public=true"));
    for (method, target) in &changes {
        assert_eq!(
            status(method, target, Some(&bob)),
            "403",
            "{method} {target}"
        );
    }
    let seen = ann.scene.api("GET", &whole, Some(&bob));
    assert!(
        seen.contains(r#""owner":"ann","public":true,"changeable":false"#),
        "{seen}"
    );
    // Responses to guests contain no names of users.
    let seen = ann.scene.api("GET", &whole, None);
    assert!(seen.starts_with("200 ") && !seen.contains("ann"), "{seen}");
    assert_eq!(ann.titles(&id), [FIRST]);
    // Playlists in files have no owner.
    let file = "/playlists/pf-411f854cbbae90f9";
    assert_eq!(ann.status("PUT", &format!("{file}?name=y")), "403");
    assert_eq!(ann.status("DELETE", file), "403");
    assert_eq!(
        ann.status("DELETE", "/playlists/pf-0000000000000000"),
        "404"
    );
}

#[test]
fn a_user_without_the_role_keeps_no_playlists() {
    let ann = Ann::new("api-playlist-role");
    let bob = bearer(&ann.scene, "bob");
    let made = ann.scene.api("POST", "/playlists?name=x", Some(&bob));
    let made: Value = serde_json::from_str(&made[4..]).expect("JSON");
    let id = made["id"].as_str().expect("an id");
    ann.scene.ok("updateUser?username=bob&playlistRole=false");
    for (method, target) in [
        ("POST", "/playlists?name=y".to_owned()),
        ("PUT", format!("/playlists/{id}?name=y")),
        ("DELETE", format!("/playlists/{id}")),
    ] {
        let response = ann.scene.api(method, &target, Some(&bob));
        assert!(response.starts_with("403 "), "{response}");
    }
    let seen = ann
        .scene
        .api("GET", &format!("/playlists/{id}"), Some(&bob));
    assert!(seen.contains("\"changeable\":false"), "{seen}");
}

#[test]
fn a_method_that_a_path_does_not_offer_is_refused_with_those_that_it_offers() {
    let ann = Ann::new("api-methods");
    let id = ann.create("x", &[]);
    for (target, offered) in [
        ("/playlists".to_owned(), "GET, HEAD, POST"),
        (format!("/playlists/{id}"), "GET, HEAD, PUT, DELETE"),
        (format!("/playlists/{id}/tracks"), "POST, PUT, DELETE"),
        (format!("/playlists/{id}/tracks/0"), "PUT"),
        ("/shares".to_owned(), "GET, HEAD, POST"),
        ("/shares/0".to_owned(), "PATCH, DELETE"),
        ("/scan".to_owned(), "GET, HEAD, POST, DELETE"),
        ("/albums".to_owned(), "GET, HEAD"),
    ] {
        for method in ["TRACE", "OPTIONS"] {
            let refused = ann.scene.api(method, &target, Some(&ann.bearer));
            let title = format!("allowed here: {offered}");
            let is_right = refused.starts_with("405 ") && refused.contains(&title);
            assert!(is_right, "{method} {target}: {refused}");
        }
    }
}

#[test]
fn bad_requests_and_the_limits_of_a_user_are_refused() {
    let ann = Ann::new("api-playlist-bad");
    let id = ann.create("x", &[&ann.first]);
    let name = "n".repeat(crate::Limits::default().text_bytes_max + 1);
    for (method, target, status) in [
        ("POST", "/playlists".to_owned(), "400"),
        ("POST", "/playlists?name=+".to_owned(), "400"),
        ("POST", format!("/playlists?name={name}"), "400"),
        ("POST", "/playlists?name=y&track=tr-0".to_owned(), "400"),
        ("POST", format!("/playlists?name=y&track={id}"), "400"),
        ("PUT", "/playlists".to_owned(), "405"),
        ("POST", format!("/playlists/{id}"), "405"),
        ("POST", format!("/playlists/{id}/tracks/0?to=0"), "405"),
        ("POST", format!("/playlists/{id}/tracks"), "400"),
        (
            "POST",
            format!("/playlists/{id}/tracks?track={}&at=2", ann.first),
            "400",
        ),
        ("DELETE", format!("/playlists/{id}/tracks"), "400"),
        ("DELETE", format!("/playlists/{id}/tracks?index=1"), "400"),
        ("DELETE", format!("/playlists/{id}/tracks?index=-1"), "400"),
        ("PUT", format!("/playlists/{id}/tracks/1?to=0"), "404"),
        ("PUT", format!("/playlists/{id}/tracks/0?to=1"), "400"),
        ("PUT", format!("/playlists/{id}/tracks/0"), "400"),
        ("PUT", format!("/playlists/{id}/odd"), "404"),
        ("GET", format!("/playlists/{id}/tracks"), "404"),
    ] {
        assert_eq!(ann.status(method, &target), status, "{method} {target}");
    }
    assert_eq!(ann.titles(&id), [FIRST]);
    let limits = crate::Limits {
        tracks_max: 2,
        kept_max: 2,
        ..crate::Limits::default()
    };
    let scene = Scene::limited("api-playlist-limits", limits);
    let added = scene.store().add_user("ann", "sesame", false, 1);
    added.expect("a user");
    let ann = Ann {
        bearer: bearer(&scene, "ann"),
        scene,
        ..ann
    };
    let id = ann.create("x", &[&ann.album]);
    let more = format!("track={}", ann.first);
    let append = format!("/playlists/{id}/tracks?{more}");
    assert_eq!(ann.status("POST", &append), "403");
    let replace = format!("/playlists/{id}/tracks?track={}&{more}", ann.album);
    assert_eq!(ann.status("PUT", &replace), "403");
    ann.create("y", &[]);
    assert_eq!(ann.status("POST", "/playlists?name=z"), "403");
}
