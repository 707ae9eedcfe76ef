//! Responses of the JSON API compared with its OpenAPI document.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::openapi::Document;

use super::scene::{Scene, ids};

const TEXT: &str = include_str!("../../../../../docs/openapi/pelton.json");
const MANUAL: &str = include_str!("../../../../../docs/api.md");

/// Operations that are not compared, because other crates handle them or because their responses
/// are not JSON.
const ELSEWHERE: [&str; 22] = [
    "DELETE /prefetch",
    "DELETE /quarantine/{blake3}",
    "DELETE /session",
    "DELETE /sessions/{id}",
    "DELETE /variants",
    "GET /cells",
    "GET /doctor",
    "GET /openapi.json",
    "GET /ops",
    "GET /pictures/{id}/compare",
    "GET /pictures/{id}/motion",
    "GET /pictures/{id}/original",
    "GET /playlists/{id}.m3u8",
    "GET /prefetch",
    "GET /quarantine",
    "GET /session",
    "GET /sessions",
    "GET /tracks/{id}/original",
    "GET /tracks/{id}/stream",
    "POST /archive",
    "POST /prefetch",
    "POST /session",
];

/// Fixture whose responses are compared with the OpenAPI document.
struct Checked {
    scene: Scene,
    document: Document,
    seen: BTreeSet<String>,
}

impl Checked {
    /// Sends a request, compares the response with the document, and returns the body.
    fn ask(&mut self, method: &str, target: &str, authorization: Option<&str>) -> Value {
        let response = self.scene.api(method, target, authorization);
        let (status, body) = response.split_once(' ').expect("a status");
        let status = status.parse().expect("a number");
        let body = serde_json::from_str(body).expect("JSON");
        let path = target.split('?').next().unwrap_or(target);
        let operation = self.document.check(method, path, status, &body);
        if status == 200 {
            self.seen.insert(operation);
        }
        body
    }
}

#[test]
fn responses_are_those_of_the_openapi_document() {
    let scene = Scene::new("openapi");
    let [artist, album, song] = ids(&scene);
    let key = scene.store().add_key("ann", "page", 1).expect("a key");
    let key = format!("Bearer {key}");
    let document = Document::parse(TEXT);
    let seen = BTreeSet::new();
    let mut checked = Checked {
        scene,
        document,
        seen,
    };
    let picture = "ph-27a53d7aa89ae068";
    for target in [
        "/favourites/ph-27a53d7aa89ae068",
        &format!("/favourites/{song}"),
    ] {
        checked.ask("PUT", target, Some(&key));
    }
    checked.ask("PUT", &format!("/tracks/{song}/rating/4"), Some(&key));
    checked.ask("POST", &format!("/tracks/{song}/plays"), Some(&key));
    for target in [
        "/",
        "/albums",
        "/albums?order=trending&limit=1",
        &format!("/albums/{album}"),
        "/artists",
        &format!("/artists/{artist}"),
        "/tracks",
        &format!("/tracks/{song}"),
        &format!("/tracks/{song}/lyrics"),
        "/genres",
        "/years",
        "/composers",
        "/albums?year=1997&composer=guest",
        "/pictures",
        &format!("/pictures/{picture}"),
        "/pictures/ph-350e605cfea34c45",
        "/timeline",
        "/timeline/2003-05",
        "/folders",
        "/folders?path=2003",
        "/favourites",
        "/playlists",
        "/playlists/pf-411f854cbbae90f9",
        "/search?q=b",
        "/search?q=2003&kinds=pictures",
        "/scan",
    ] {
        checked.ask("GET", target, Some(&key));
    }
    for method in ["POST", "DELETE"] {
        checked.ask(method, "/scan", Some(&key));
    }
    checked.ask("DELETE", "/favourites/ph-27a53d7aa89ae068", Some(&key));
    let made = checked.ask(
        "POST",
        &format!("/playlists?name=x&track={album}"),
        Some(&key),
    );
    let list = format!("/playlists/{}", made["id"].as_str().expect("an id"));
    let stale = format!("{list}?name=y&changed=1970-01-01T00:00:00.000Z");
    for (method, target) in [
        ("GET", "/playlists".to_owned()),
        ("GET", list.clone()),
        ("PUT", format!("{list}?name=y")),
        ("POST", format!("{list}/tracks?track={song}")),
        ("PUT", format!("{list}/tracks/0?to=1")),
        ("DELETE", format!("{list}/tracks?index=0")),
        ("PUT", format!("{list}/tracks?track={song}")),
        ("PUT", stale),
        ("PUT", format!("{list}/tracks/9?to=0")),
        ("DELETE", format!("{list}/tracks")),
        ("DELETE", "/playlists/pf-411f854cbbae90f9".to_owned()),
        ("DELETE", list),
    ] {
        checked.ask(method, &target, Some(&key));
    }
    let target = format!("/shares?item={picture}&description=x");
    let made = checked.ask("POST", &target, Some(&key));
    let share = format!("/shares/{}", made["id"].as_str().expect("an id"));
    for (method, target) in [
        ("POST", "/shares?folder=2003"),
        ("POST", "/shares?item=x"),
        ("POST", "/shares?item=al-0000000000000000"),
        ("PATCH", &format!("{share}?days=2")),
        ("PATCH", &format!("{share}?days=0")),
        ("GET", "/shares"),
        ("DELETE", &*share),
        ("DELETE", &*share),
    ] {
        checked.ask(method, target, Some(&key));
    }
    // The document must describe the status and the body of errors too.
    for (method, target) in [
        ("GET", "/albums?order=odd"),
        ("GET", "/albums/al-0000000000000000"),
        ("GET", "/tracks/x"),
        ("GET", "/timeline/2003-05?generation=x"),
        ("GET", "/pictures/ph-0000000000000000"),
        ("GET", "/search"),
        ("GET", "/folders?path=gone"),
        ("GET", "/favourites"),
        ("POST", "/scan"),
        ("PUT", "/favourites/x"),
        ("POST", "/playlists?name=x"),
        ("GET", "/shares"),
        ("POST", "/shares?folder=2003"),
    ] {
        let refusal = checked.ask(method, target, None);
        assert!(
            refusal["status"].as_u64() >= Some(400),
            "{target}: {refusal}"
        );
    }
    let documented: BTreeSet<_> = checked.document.operations().into_iter().collect();
    let elsewhere = ELSEWHERE.map(str::to_owned);
    checked.seen.extend(elsewhere);
    assert_eq!(checked.seen, documented);
}

/// Targets that the manual's table lists. They must be the operations of the OpenAPI document.
#[test]
fn the_openapi_document_has_the_targets_of_the_manual() {
    let document = Document::parse(TEXT);
    let documented: BTreeSet<String> = document
        .operations()
        .iter()
        .map(|operation| plain(operation))
        .collect();
    let rows = MANUAL.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter(|row| row.contains("/-/api"));
    let mut named = BTreeSet::new();
    for row in rows {
        let cell = row.split(" | ").next().expect("a first part");
        let mut path = "";
        for text in cell
            .split('`')
            .filter(|text| !text.trim_matches([',', ' ', '¹']).is_empty())
        {
            let (method, target) = text.split_once(' ').unwrap_or(("GET", text));
            match (text, target.strip_prefix("/-/api")) {
                // This text in the table names only a method. It applies to the previous target.
                (method, None) => named.insert(plain(&format!("{method} {path}"))),
                (_, Some(target)) => {
                    path = target.split('?').next().unwrap_or(target);
                    named.insert(plain(&format!("{method} {path}")))
                }
            };
        }
    }
    assert!(30 < named.len(), "{named:#?}");
    assert_eq!(named, documented);
}

/// Replaces each variable segment of an operation's path with `*`.
fn plain(operation: &str) -> String {
    let (method, path) = operation.split_once(' ').expect("a path");
    let is_variable = |part: &str| {
        part.starts_with('{')
            || part
                .starts_with(|letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit())
    };
    let parts = path.trim_end_matches('/').split('/');
    let parts = parts.map(|part| match part.rsplit_once('.') {
        Some((name, end)) if is_variable(name) => format!("*.{end}"),
        _ if is_variable(part) => "*".to_owned(),
        _ => part.to_owned(),
    });
    format!("{method} {}", parts.collect::<Vec<_>>().join("/"))
}

#[test]
fn the_openapi_document_is_served() {
    let scene = Scene::new("served");
    let response = scene.api("GET", "/openapi.json", None);
    assert_eq!(response, format!("200 {TEXT}"));
}
