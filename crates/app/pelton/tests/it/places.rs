//! Search for photographs by the names of places in their metadata.

use serde_json::{Value, json};

use crate::downloads::items;
use crate::harness::{Home, Server, media};

/// Returns a photograph with a further segment: its marker and content.
fn with_segment(seed: u32, marker: u8, content: &[u8]) -> Vec<u8> {
    let photo = media::photo(480, 320, seed);
    let length = (content.len() as u16 + 2).to_be_bytes();
    [&photo[..2], &[0xff, marker], &length, content, &photo[2..]].concat()
}

/// Returns a photograph with this city in IPTC-IIM, in ISO 8859-1.
fn with_iptc(seed: u32, city: &[u8]) -> Vec<u8> {
    let length = (city.len() as u16).to_be_bytes();
    let dataset = [b"\x1c\x02\x5a", &length[..], city].concat();
    let length = (dataset.len() as u32).to_be_bytes();
    let content = [b"Photoshop 3.0\x008BIM\x04\x04\0\0", &length[..], &dataset].concat();
    with_segment(seed, 0xed, &content)
}

/// Returns a photograph that shows a place in this city according to its XMP.
fn with_xmp(seed: u32, city: &str) -> Vec<u8> {
    let content = format!(
        "http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'>
        <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
        <rdf:Description xmlns:e='http://iptc.org/std/Iptc4xmpExt/2008-02-29/'>
        <e:LocationShown><rdf:Bag><rdf:li e:City='{city}' e:CountryName='Norway'/></rdf:Bag>
        </e:LocationShown></rdf:Description></rdf:RDF></x:xmpmeta>"
    );
    with_segment(seed, 0xe1, content.as_bytes())
}

#[test]
fn a_picture_is_found_by_its_city() {
    let home = Home::with(&[
        ("2019/a.jpg", &with_iptc(1, b"Z\xfcrich")),
        ("2019/b.jpg", &with_xmp(2, "Troms\u{f8}")),
        ("2019/c.jpg", &media::photo(480, 320, 3)),
    ]);
    let server = Server::plain(&home, &[]);
    assert_eq!(items(&server, "pictures", "").len(), 3);
    let json =
        |target: &str| -> Value { serde_json::from_str(server.get(target).text()).expect("JSON") };
    let found = |query: &str| {
        let found = json(&format!("/-/api/search?kinds=pictures&q={query}"));
        let pictures = found["pictures"].as_array().expect("a list").clone();
        pictures
            .into_iter()
            .map(|it| (it["name"].clone(), it["id"].clone()))
            .collect::<Vec<_>>()
    };
    for (query, name, places) in [
        ("zurich", "a.jpg", json!([{"city": "Z\u{fc}rich"}])),
        ("Z%C3%9CRI", "a.jpg", json!([{"city": "Z\u{fc}rich"}])),
        (
            "tromso+norw",
            "b.jpg",
            json!([{"city": "Troms\u{f8}", "country": "Norway"}]),
        ),
    ] {
        let found = found(query);
        let [(found_name, id)] = &found[..] else {
            panic!("{query}: {found:?}");
        };
        assert_eq!(found_name, name, "{query}");
        let details = json(&format!("/-/api/pictures/{}", id.as_str().expect("text")));
        assert_eq!(details["places"], places, "{query}");
    }
    assert_eq!(found("zurich+norway"), []);
    let timeline = json("/-/api/timeline?q=norway");
    assert_eq!(timeline["total"], 1);
}
