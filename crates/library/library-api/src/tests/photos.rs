//! Tests of the timeline, folders, favourites and single photographs.

use catalog::{Content, Entry, Photo};
use serde_json::{Value, json};
use tags::{PhotoMetadata, Place};

use super::scene::{Scene, entry, music};

/// Returns the start of a day in July 2019, in seconds since 1970.
fn july_s(day: i64) -> i64 {
    1_561_939_200 + (day - 1) * 86_400
}

fn photo(number: u64, path: &str, taken_local_s: i64) -> Entry {
    let metadata = PhotoMetadata {
        taken_local_s: Some(taken_local_s),
        model: Some("X100".to_owned()),
        ..PhotoMetadata::default()
    };
    let photo = Photo {
        width_px: 300 * number as u32,
        height_px: 200,
        metadata,
    };
    entry(number, path, Content::Photo(photo))
}

/// Returns five photographs of three months, a cover, and a track.
fn library() -> Vec<Entry> {
    let mut north = photo(3, "trips/3.jpg", july_s(31) + 5);
    if let Content::Photo(photo) = &mut north.content {
        photo.metadata.places.push(Place {
            city: Some("Tromsø".to_owned()),
            ..Place::default()
        });
    }
    vec![
        photo(1, "trips/sea/1.jpg", july_s(1)),
        photo(2, "trips/sea/old/2.jpg", july_s(31)),
        north,
        photo(4, "4.jpg", july_s(0)),
        photo(5, "trips/Ü/cover.jpg", july_s(32)),
        photo(6, "music/cover.jpg", july_s(40)),
        music(7, "music/1.flac", &[]),
    ]
}

fn open(name: &str) -> Scene {
    Scene::with_library(name, library())
}

fn get(scene: &Scene, target: &str) -> Value {
    as_user(scene, target, None)
}

fn as_user(scene: &Scene, target: &str, bearer: Option<&str>) -> Value {
    let response = scene.api("GET", target, bearer);
    let body = response.strip_prefix("200 ");
    let body = body.unwrap_or_else(|| panic!("{target}: {response}"));
    serde_json::from_str(body).expect("JSON")
}

fn key(scene: &Scene) -> String {
    let key = scene.store().add_key("ann", "page", 1);
    format!("Bearer {}", key.expect("a key"))
}

/// Returns the column `file` of the response for a month.
fn files(scene: &Scene, target: &str) -> Value {
    get(scene, target)["file"].clone()
}

#[test]
fn a_timeline_has_months_and_their_photographs_without_covers() {
    let scene = open("timeline");
    let timeline = get(&scene, "/timeline");
    let months = json!([["2019-08", 1], ["2019-07", 3], ["2019-06", 1]]);
    assert_eq!(
        (&timeline["total"], &timeline["months"]),
        (&json!(5), &months)
    );
    let month = get(&scene, "/timeline/2019-07");
    let without_ids = |mut month: Value| {
        let ids = month["id"].take();
        (ids.as_array().expect("a list").len(), month)
    };
    let expected = json!({
        "from": 0, "total": 3, "id": null,
        "file": ["/trips/3.jpg", "/trips/sea/old/2.jpg", "/trips/sea/1.jpg"],
        "day": [31, 31, 1], "ratio": [4500, 3000, 1500],
        "placeholder": [null, null, null], "colour": [null, null, null],
    });
    assert_eq!(without_ids(month), (3, expected));
    let month = get(&scene, "/timeline/2019-08");
    assert_eq!(
        (&month["placeholder"], &month["colour"]),
        (&json!(["HQcG"]), &json!(["#1f2e3d"]))
    );
    assert_eq!(month["file"], json!(["/trips/%C3%9C/cover.jpg"]));
    let rest = get(&scene, "/timeline/2019-07?from=2");
    assert_eq!((&rest["from"], &rest["total"]), (&json!(2), &json!(3)));
    assert_eq!(rest["file"], json!(["/trips/sea/1.jpg"]));
    assert_eq!(files(&scene, "/timeline/2019-07?from=9"), json!([]));
    assert_eq!(files(&scene, "/timeline/1999-01"), json!([]));
}

#[test]
fn a_month_of_another_index_is_refused() {
    let scene = open("generation");
    let generation = &get(&scene, "/timeline")["generation"];
    let generation = generation.as_str().expect("text");
    let month = |generation: &str| {
        scene.api(
            "GET",
            &format!("/timeline/2019-07?generation={generation}"),
            None,
        )
    };
    assert!(month(generation).starts_with("200 "));
    assert!(month("0").starts_with("409 "));
    for (target, status) in [
        ("/timeline/2019-13", "404 "),
        ("/timeline/now", "404 "),
        ("/timeline/2019-07?from=x", "400 "),
        ("/timeline?recursive=2&folder=trips", "400 "),
        ("/timeline?favourites=yes", "400 "),
        ("/timeline?favourites=1", "401 "),
    ] {
        let response = scene.api("GET", target, None);
        assert!(response.starts_with(status), "{target}: {response}");
    }
}

#[test]
fn a_timeline_is_restricted_to_folders_and_words() {
    let scene = open("restricted");
    for (query, months) in [
        ("folder=trips", json!([["2019-08", 1], ["2019-07", 3]])),
        ("folder=/trips/&recursive=0", json!([["2019-07", 1]])),
        ("folder=trips/sea", json!([["2019-07", 2]])),
        ("folder=tri", json!([])),
        ("folder=&recursive=0", json!([["2019-06", 1]])),
        ("folder=music", json!([])),
        ("q=sea", json!([["2019-07", 2]])),
        ("q=2019-07", json!([["2019-07", 3]])),
        (
            "q=+",
            json!([["2019-08", 1], ["2019-07", 3], ["2019-06", 1]]),
        ),
        (
            "q=2019+x100&folder=trips/sea&recursive=0",
            json!([["2019-07", 1]]),
        ),
        ("q=cover", json!([["2019-08", 1]])),
    ] {
        let timeline = get(&scene, &format!("/timeline?{query}"));
        assert_eq!(timeline["months"], months, "{query}");
        let counts = months.as_array().expect("a list").iter();
        let total: i64 = counts.filter_map(|month| month[1].as_i64()).sum();
        assert_eq!(timeline["total"], total, "{query}");
    }
    assert_eq!(
        files(&scene, "/timeline/2019-07?folder=trips/sea&recursive=0"),
        json!(["/trips/sea/1.jpg"])
    );
}

#[test]
fn a_photograph_knows_its_neighbours() {
    let scene = open("neighbours");
    let id = |month: &str, place: usize| {
        let month = get(&scene, &format!("/timeline/{month}"));
        month["id"][place].as_str().expect("an id").to_owned()
    };
    let (first, second, third) = (id("2019-08", 0), id("2019-07", 0), id("2019-07", 1));
    let neighbours = |target: &str| {
        let picture = get(&scene, &format!("/pictures/{target}"));
        (picture["previous"].clone(), picture["next"].clone())
    };
    assert_eq!(neighbours(&first), (Value::Null, json!(second)));
    assert_eq!(neighbours(&second), (json!(first), json!(third)));
    assert_eq!(neighbours(&id("2019-06", 0)).1, Value::Null);
    let within = format!("{third}?folder=trips/sea");
    assert_eq!(neighbours(&within), (Value::Null, json!(id("2019-07", 2))));
    // A photograph outside the folder has the neighbours that it would have if the folder
    // contained it.
    let outside = format!("{second}?folder=trips/sea");
    assert_eq!(neighbours(&outside), (Value::Null, json!(third)));
    for odd in ["ph-0", "ph-0000000000000001", "tr-0000000000000007", "1"] {
        let response = scene.api("GET", &format!("/pictures/{odd}"), None);
        assert!(response.starts_with("404 "), "{odd}: {response}");
    }
}

#[test]
fn folders_have_counts_and_the_latest_photograph() {
    let scene = open("shelves");
    let root = get(&scene, "/folders");
    let expected = json!({
        "path": "", "pictures": 1, "videos": [],
        "folders": [{
            "name": "trips", "path": "trips", "pictures": 4,
            "front": "/trips/%C3%9C/cover.jpg", "placeholder": "HQcG", "colour": "#1f2e3d",
        }],
    });
    assert_eq!(root, expected);
    let trips = get(&scene, "/folders?path=/trips/");
    assert_eq!(
        (&trips["path"], &trips["pictures"]),
        (&json!("trips"), &json!(1))
    );
    let names = trips["folders"].as_array().expect("a list").iter();
    let names: Vec<_> = names.map(|it| (&it["path"], &it["pictures"])).collect();
    let expected = [(json!("trips/sea"), json!(2)), (json!("trips/Ü"), json!(1))];
    assert_eq!(
        names,
        expected.each_ref().map(|(path, count)| (path, count))
    );
    let videos = get(&scene, "/folders?path=2003");
    let expected = json!([{"file": "/2003/a%20b.mp4", "name": "a b.mp4"}]);
    assert_eq!(videos["videos"], expected);
    for (target, status) in [
        ("/folders?path=none", "404 "),
        ("/folders?path=trips/3.jpg", "404 "),
        ("/folders?path=trips/..", "400 "),
        ("/folders?path=trips//sea", "400 "),
    ] {
        let response = scene.api("GET", target, None);
        assert!(response.starts_with(status), "{target}: {response}");
    }
}

#[test]
fn pictures_are_among_the_results_of_a_search() {
    let scene = open("found");
    let found = |query: &str| get(&scene, &format!("/search?{query}"));
    let names = |found: &Value| {
        let pictures = found["pictures"].as_array().expect("a list").iter();
        let names = pictures.map(|it| it["name"].as_str().expect("a name").to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&found("q=sea")), ["2.jpg", "1.jpg"]);
    assert_eq!(names(&found("q=sea&limit=1")), ["2.jpg"]);
    assert_eq!(names(&found("q=2019-08&kinds=pictures")), ["cover.jpg"]);
    assert_eq!(names(&found("q=tromso&kinds=pictures")), ["3.jpg"]);
    let one = found("q=sea&kinds=pictures,tracks");
    let members: Vec<_> = one.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["pictures", "tracks"]);
    assert!(found("q=sea&kinds=albums").get("pictures").is_none());
    let response = scene.api("GET", "/search?q=sea&kinds=films", None);
    assert!(response.starts_with("400 "), "{response}");
}

#[test]
fn favourites_belong_to_a_user_and_last() {
    let scene = open("favourites");
    let bearer = key(&scene);
    let months = get(&scene, "/timeline/2019-07");
    let id = |place: usize| months["id"][place].as_str().expect("an id").to_owned();
    let (first, second) = (id(0), id(1));
    let put = |method: &str, id: &str, bearer: Option<&str>| {
        let response = scene.api(method, &format!("/favourites/{id}"), bearer);
        response.split(' ').next().expect("a status").to_owned()
    };
    assert_eq!(put("PUT", &first, None), "401");
    assert_eq!(put("GET", &first, Some(&bearer)), "405");
    for id in [&first, &second, "tr-0000000000000007"] {
        assert_eq!(put("PUT", id, Some(&bearer)), "200", "{id}");
    }
    for id in ["ph-0000000000000001", "pl-0000000000000001", "first"] {
        assert_eq!(put("PUT", id, Some(&bearer)), "404", "{id}");
    }
    assert_eq!(put("DELETE", "ph-0000000000000001", Some(&bearer)), "200");
    assert_eq!(put("DELETE", &second, Some(&bearer)), "200");
    let listed = as_user(&scene, "/favourites", Some(&bearer));
    let expected = json!({
        "pictures": [first], "albums": [], "artists": [], "tracks": ["tr-0000000000000007"],
    });
    assert_eq!(listed, expected);
    let timeline = as_user(&scene, "/timeline?favourites=1", Some(&bearer));
    assert_eq!(timeline["months"], json!([["2019-07", 1]]));
    let picture = format!("/pictures/{first}");
    assert_eq!(as_user(&scene, &picture, Some(&bearer))["favourite"], true);
    assert_eq!(get(&scene, &picture)["favourite"], false);
    // Players see the starred track, but not the starred photograph.
    let starred = scene.ask("getStarred2");
    assert!(starred.contains("tr-0000000000000007"), "{starred}");
    assert!(!starred.contains("ph-"), "{starred}");
    let response = scene.api("GET", "/favourites", None);
    assert!(response.starts_with("401 "), "{response}");
    // Another server with the same data directory reads the favourites from the journal.
    let again = scene.again();
    let user = again.store().read(|state| state.users["ann"].stars.len());
    assert_eq!(user.expect("a journal"), 2);
}
