//! Comparisons, through the JSON API, of the picture that a client gets with its original.

use std::fs;

use serde_json::Value;

use crate::harness::{Home, Response, Server, eventually, media};

const AVIF: &str = "accept: image/avif\r\n";

/// Waits until the library's only picture is indexed. Returns the target of a request that compares
/// the picture's variant with its original.
fn comparison(server: &Server) -> String {
    eventually("the library is indexed", || {
        let response = server.get("/-/api/pictures");
        let response: Value = serde_json::from_str(response.text()).expect("JSON");
        let id = response["items"][0]["id"].as_str()?.to_owned();
        Some(format!("/-/api/pictures/{id}/compare"))
    })
}

fn json(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_str(response.text()).expect("JSON")
}

#[test]
fn the_variant_of_a_client_is_compared_with_the_original() {
    let photo = media::photo(480, 320, 1);
    let home = Home::with(&[("photo.jpg", &photo)]);
    let server = Server::plain(&home, &[]);
    let target = format!("{}?w=240", comparison(&server));
    let compared = eventually("the best variant is compared", || {
        let compared = json(&server.send("GET", &target, AVIF));
        (compared["sent"]["isProvisional"] == false).then_some(compared)
    });
    let original = &compared["original"];
    assert_eq!(original["format"], "jpg");
    assert_eq!(original["bytes"], photo.len());
    assert_eq!([&original["width"], &original["height"]], [480, 320]);
    let sent = &compared["sent"];
    assert_eq!([&sent["format"], &sent["encoder"]], ["avif", "libaom"]);
    assert_eq!([&sent["width"], &sent["height"]], [240, 160]);
    assert!(sent["quality"].is_u64() && sent["speed"].is_u64(), "{sent}");
    let variant = server.send("GET", "/photo.jpg?w=240", AVIF);
    assert_eq!(sent["bytes"], variant.body.len());
    assert_eq!(compared["isOriginal"], false);
    let score = compared["ssimulacra2"].as_f64().expect("a score");
    assert!((50.0..=100.0).contains(&score), "{score}");
    // A lower quality has a lower score.
    let low = json(&server.send("GET", &format!("{target}&q=10"), AVIF));
    let low = low["ssimulacra2"].as_f64().expect("a score");
    assert!(low + 10.0 < score, "{low} and {score}");
    let metrics = server.metrics();
    assert!(2 <= metrics.get("pelton_scores_total"));
    server.stop();
}

#[test]
fn an_original_that_is_sent_has_no_score() {
    let home = Home::with(&[("photo.jpg", &media::photo(480, 320, 1))]);
    let server = Server::plain(&home, &[]);
    let jpeg_only = "accept: image/jpeg\r\n";
    let compared = json(&server.send("GET", &comparison(&server), jpeg_only));
    assert_eq!(compared["isOriginal"], true);
    assert_eq!(compared["sent"], compared["original"]);
    assert_eq!(compared.get("ssimulacra2"), None);
    server.stop();
}

#[test]
fn a_damaged_variant_does_not_bring_its_original_into_quarantine() {
    /// Number of comparisons: one more than the crashes that put an original into quarantine.
    const TRIES: usize = 4;
    let home = Home::with(&[("photo.jpg", &media::photo(480, 320, 1))]);
    let server = Server::plain(&home, &[]);
    let target = format!("{}?w=240", comparison(&server));
    eventually("the best variant is stored", || {
        let compared = json(&server.send("GET", &target, AVIF));
        (compared["sent"]["isProvisional"] == false).then_some(())
    });
    for path in home.variants() {
        let mut bytes = fs::read(&path).expect("the variant is readable");
        let half = bytes.len() / 2;
        bytes[half..].fill(0x55);
        fs::write(&path, &bytes).expect("the home can be written");
    }
    for _ in 0..TRIES {
        let response = server.send("GET", &target, AVIF);
        assert!(matches!(response.status, 500..), "{}", response.text());
    }
    let quarantine = server.get("/-/api/quarantine");
    assert_eq!(quarantine.text(), "{\"quarantine\":[]}\n");
    server.stop();
}

#[test]
fn comparisons_that_are_impossible_say_why() {
    let photo = media::photo(480, 320, 1);
    let home = Home::with(&[("photo.jpg", &photo)]);
    let server = Server::plain(&home, &["--limits-comparisons-max", "0"]);
    let target = comparison(&server);
    let refused = server.send("GET", &format!("{target}?w=240"), AVIF);
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.field("retry-after").is_some());
    assert_eq!(server.get(&format!("{target}?w=x")).status, 400);
    let unknown = "/-/api/pictures/ph-0000000000000000/compare";
    assert_eq!(server.get(unknown).status, 404);
    let removed = fs::remove_file(home.library().join("photo.jpg"));
    removed.expect("the home can be written");
    assert_eq!(server.get(&target).status, 404);
    server.stop();
}
