//! The IIIF Image API: its URLs, statuses, fields and info.json, and the rules that apply to it.

use serde_json::{Value, json};

use crate::harness::{Home, Response, Server, media};

const ON: &str = "--images-iiif=on";

/// Requests `url` as a viewer of another origin does.
fn view(server: &Server, url: &str) -> Response {
    let fields = "origin: https://viewer.example\r\naccept: */*\r\n";
    server.send("GET", url, fields)
}

fn information(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_str(response.text()).expect("JSON")
}

#[test]
fn both_spellings_of_a_recipe_are_one_variant() {
    let home = Home::with(&[("dir/a b.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[ON]);
    let by_query = server.get("/dir/a%20b.jpg?crop=8,4,64,32&w=32&format=webp");
    assert_eq!(by_query.status, 200);
    let jobs = server.metrics().jobs();
    for rest in [
        "8,4,64,32/32,/0/default.webp",
        "8,4,64,32/32,/0/default.webp",
        "8,4,64,32/,16/0/color.webp",
        "8,4,64,32/32,16/360/default.webp",
        "8,4,64,32/!32,32/0/default.webp",
        "8%2C4%2C64%2C32/pct:50/0/default.webp",
        "pct:8.3333333333,6.25,66.6666666667,50/32,/0/default.webp",
    ] {
        let response = view(&server, &format!("/-/iiif/dir%2Fa%20b.jpg/{rest}"));
        assert_eq!(response.status, 200, "{rest}: {}", response.text());
        assert_eq!(response.body, by_query.body, "{rest}");
        assert_eq!(response.field("etag"), by_query.field("etag"), "{rest}");
        assert_eq!(response.or_dash("access-control-allow-origin"), "*");
        assert_eq!(
            response.or_dash("link"),
            "<../../../8,4,64,32/32,16/0/default.webp>;rel=\"canonical\", \
             <http://iiif.io/api/image/3/level2.json>;rel=\"profile\""
        );
    }
    assert_eq!(server.metrics().jobs(), jobs);
}

#[test]
fn sizes_of_upright_pictures() {
    // The file states that the picture lies on its side: upright, it has 64 × 96 pixels.
    let home = Home::with(&[
        ("t.jpg", &media::turned_photo(96, 64, 6)),
        ("a.gif", &media::gif(40, 30, 3)),
    ]);
    let server = Server::plain(&home, &[ON]);
    let info = information(&view(&server, "/-/iiif/t.jpg/info.json"));
    assert_eq!((&info["width"], &info["height"]), (&json!(64), &json!(96)));
    for (rest, size, media_type) in [
        ("t.jpg/full/max/0/default.png", (64, 96), "image/png"),
        ("t.jpg/square/max/0/gray.png", (64, 64), "image/png"),
        ("t.jpg/0,80,64,64/max/0/default.jpg", (64, 16), "image/jpeg"),
        (
            "t.jpg/0,80,64,64/32,/90/default.avif",
            (8, 32),
            "image/avif",
        ),
        ("t.jpg/full/20,70/!270/bitonal.png", (70, 20), "image/png"),
        ("t.jpg/full/^128,/0/default.webp", (128, 192), "image/webp"),
        ("t.jpg/full/max/45/default.png", (114, 114), "image/png"),
        ("a.gif/full/20,/0/default.jpg", (20, 15), "image/jpeg"),
    ] {
        let response = view(&server, &format!("/-/iiif/{rest}"));
        assert_eq!(response.status, 200, "{rest}: {}", response.text());
        assert_eq!(response.size(), size, "{rest}");
        assert_eq!(response.content_type(), media_type, "{rest}");
    }
}

#[test]
fn statuses() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1)), ("b.mp4", b"video")]);
    let server = Server::plain(&home, &[ON]);
    for (rest, status) in [
        ("a.jpg", 303),
        ("a.jpg/", 404),
        ("", 404),
        ("a.jpg/info.xml", 404),
        ("a/a.jpg/full/max/0/default.jpg", 404),
        ("b.jpg/info.json", 404),
        ("b.mp4/info.json", 404),
        ("..%2Fa.jpg/info.json", 404),
        ("%2Fa.jpg/info.json", 404),
        ("-%2Fart%2Fx/info.json", 404),
        ("a.jpg%00/info.json", 404),
        ("a.jpg%zz/info.json", 404),
        ("a.jpg/full/97,/0/default.jpg", 400),
        ("a.jpg/full/full/0/default.jpg", 400),
        ("a.jpg/96,0,1,1/max/0/default.jpg", 400),
        ("a.jpg/full/max/361/default.jpg", 400),
        ("a.jpg/full/max/0/native.jpg", 400),
        ("a.jpg/full/max/0/default.xyz", 400),
        ("a.jpg/full/max/0/default.tif", 501),
        ("a.jpg/full/!9999,9999/0/default.jpg", 200),
    ] {
        let response = view(&server, &format!("/-/iiif/{rest}"));
        assert_eq!(response.status, status, "{rest}: {}", response.text());
        let allowed = response.or_dash("access-control-allow-origin");
        assert_eq!(allowed, "*", "{rest}");
    }
    let redirect = view(&server, "/-/iiif/a.jpg");
    assert_eq!(redirect.or_dash("location"), "./a.jpg/info.json");
    let other_server = view(&server, "/-/iiif/https:example.org");
    let location = other_server.or_dash("location");
    assert_eq!(location, "./https:example.org/info.json");
    assert_eq!(server.send("POST", "/-/iiif/a.jpg", "").status, 405);
    server.stop();
    let server = Server::plain(&home, &[]);
    assert_eq!(view(&server, "/-/iiif/a.jpg/info.json").status, 404);
}

#[test]
fn information_of_a_picture() {
    let home = Home::with(&[("a.jpg", &media::photo(1300, 600, 1))]);
    let server = Server::plain(&home, &[ON, "--limits-target-pixels-max=500000"]);
    let response = view(&server, "/-/iiif/a.jpg/info.json");
    let expected = json!({
        "@context": "http://iiif.io/api/image/3/context.json",
        "id": "http://pelton/-/iiif/a.jpg",
        "type": "ImageService3",
        "protocol": "http://iiif.io/api/image",
        "profile": "level2",
        "width": 1300,
        "height": 600,
        "maxWidth": 16383,
        "maxArea": 500_000,
        "sizes": [{"width": 325, "height": 150}, {"width": 650, "height": 300}],
        "tiles": [{"width": 512, "scaleFactors": [1, 2, 4]}],
        "preferredFormats": ["webp", "jpg"],
        "extraFormats": ["webp", "avif"],
        "extraQualities": ["color", "gray", "bitonal"],
        "extraFeatures": [
            "canonicalLinkHeader",
            "mirroring",
            "profileLinkHeader",
            "rotationArbitrary",
            "sizeUpscaling"
        ]
    });
    assert_eq!(information(&response), expected);
    assert_eq!(response.content_type(), "application/json");
    assert_eq!(response.or_dash("vary"), "Accept, Accept-Encoding");
    let json_ld = server.get_as("/-/iiif/a.jpg/info.json", "application/ld+json");
    assert_eq!(
        json_ld.content_type(),
        "application/ld+json;profile=\"http://iiif.io/api/image/3/context.json\""
    );
    let largest = view(&server, "/-/iiif/a.jpg/full/max/0/default.jpg");
    let (width, height) = largest.size();
    assert_eq!((width, height), (1040, 480));
    let too_large = view(&server, "/-/iiif/a.jpg/full/1300,600/0/default.jpg");
    assert_eq!(too_large.status, 400, "{}", too_large.text());
}

#[test]
fn the_id_is_the_url_that_clients_use() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let id = |server: &Server, fields: &str| {
        let response = server.send("GET", "/-/iiif/a.jpg/info.json", fields);
        information(&response)["id"].clone()
    };
    let server = Server::plain(&home, &[ON]);
    let secure = "x-forwarded-proto: https\r\n";
    let expected = "https://pelton/-/iiif/a.jpg";
    assert_eq!(id(&server, secure), expected);
    server.stop();
    let server = Server::plain(&home, &[ON, "--proxies=192.0.2.1"]);
    let expected = "http://pelton/-/iiif/a.jpg";
    assert_eq!(id(&server, secure), expected);
    server.stop();
    let server = Server::plain(&home, &["--images-iiif=https://example.org/pictures/"]);
    let expected = "https://example.org/pictures/-/iiif/a.jpg";
    assert_eq!(id(&server, ""), expected);
}

#[test]
fn the_rules_of_the_operator_apply() {
    let home = Home::with(&[("a.jpg", &media::photo(96, 64, 1))]);
    let statuses = |flags: &[&str], urls: &[&str]| -> Vec<u16> {
        let server = Server::plain(&home, &[&[ON], flags].concat());
        let view = |rest: &&str| view(&server, &format!("/-/iiif/a.jpg/{rest}")).status;
        urls.iter().map(view).collect()
    };
    let urls = [
        "info.json",
        "full/48,/0/default.jpg",
        "full/24,/0/default.jpg",
    ];
    let widths = statuses(&["--images-allowed-widths=48"], &urls);
    assert_eq!(widths, [200, 200, 403]);
    let presets = ["--images-presets=s=w=48", "--images-presets-only=true"];
    assert_eq!(statuses(&presets, &urls), [200, 403, 403]);
    let quota = ["--limits-address-conversions-max=1", "--proxies=192.0.2.1"];
    let others = [
        "info.json",
        "full/47,/0/default.jpg",
        "full/23,/0/default.jpg",
    ];
    assert_eq!(statuses(&quota, &others), [200, 200, 429]);
    let operations = ["--images-allowed-operations=w,format"];
    let urls = ["full/48,/0/default.jpg", "full/48,/90/default.jpg"];
    assert_eq!(statuses(&operations, &urls), [200, 403]);
    assert_eq!(statuses(&["--require-login=all"], &urls), [401, 401]);
    assert_eq!(statuses(&["--only-types=png"], &urls), [404, 404]);
}
