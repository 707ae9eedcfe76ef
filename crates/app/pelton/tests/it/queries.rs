//! Sizes, qualities and formats in queries, including the parameter names of WebP Server Go.

use std::fs;

use crate::harness::{Home, Server, media};

/// Queries, and the size that each yields for a photograph of 240 × 160 pixels.
const SIZES: [(&str, (u32, u32)); 68] = [
    ("", (240, 160)),
    ("w=120", (120, 80)),
    ("h=80", (120, 80)),
    ("w=121", (121, 81)),
    ("w=1", (1, 1)),
    ("w=120&h=120", (120, 80)),
    ("w=60&h=120", (60, 40)),
    ("w=120&h=120&fit=inside", (120, 80)),
    ("w=120&h=120&fit=cover", (120, 120)),
    ("w=120&h=120&fit=contain", (120, 120)),
    ("w=120&h=120&fit=fill", (120, 120)),
    ("w=33&h=77&fit=cover", (33, 77)),
    ("w=33&h=77&fit=contain", (33, 77)),
    ("w=33&h=77&fit=fill", (33, 77)),
    // Pictures are not enlarged unless `enlarge` is set.
    ("w=480", (240, 160)),
    ("w=480&h=480", (240, 160)),
    ("w=480&h=480&fit=cover", (160, 160)),
    ("w=480&h=480&fit=contain", (480, 480)),
    ("w=480&h=480&fit=fill", (160, 160)),
    ("w=480&enlarge=1", (480, 320)),
    ("w=480&enlarge=true", (480, 320)),
    ("w=480&enlarge=false", (240, 160)),
    ("w=480&h=480&fit=cover&enlarge=1", (480, 480)),
    ("w=480&h=480&fit=fill&enlarge=1", (480, 480)),
    ("w=480&h=480&fit=contain&enlarge=1", (480, 480)),
    // Device pixel ratio: a factor for the requested width and height.
    ("w=60&dpr=2", (120, 80)),
    ("w=40&h=40&dpr=1.5&fit=cover", (60, 60)),
    ("w=60&dpr=1.25", (75, 50)),
    ("w=100&dpr=8", (240, 160)),
    // Parameters in any order, percent-encoded, or empty.
    ("fit=cover&h=50&w=50", (50, 50)),
    ("%77=5%30&h=50&fit=c%6Fver", (50, 50)),
    ("w=50&&h=50&", (50, 33)),
    // The picture is rotated and mirrored, then cropped, then fitted into the requested size.
    ("rotate=90", (160, 240)),
    ("rotate=180&flop=1", (240, 160)),
    ("rotate=270&w=80", (80, 120)),
    ("crop=10,20,100,50", (100, 50)),
    ("crop=200,100,100,100", (40, 60)),
    ("crop=0.5,0,0.5,1", (120, 160)),
    ("crop=1:1", (160, 160)),
    ("crop=3:1&gravity=north", (240, 80)),
    ("crop=3:1&rotate=90", (160, 53)),
    ("crop=10,20,100,50&w=50", (50, 25)),
    ("crop=10,20,100,50&w=20&h=20&fit=cover&focus=0,1", (20, 20)),
    ("w=40&h=40&fit=cover&gravity=west", (40, 40)),
    // A rotation by another angle and margins come after the box.
    ("rotate=45&w=120", (142, 142)),
    ("rotate=-30&w=120&flop=1", (144, 130)),
    ("w=120&pad=10", (140, 100)),
    ("w=120&pad=1,2,3,4&dpr=2", (252, 168)),
    ("w=100&h=100&fit=contain&pad=5&bg=f00", (110, 110)),
    ("w=120&kernel=nearest&round=max", (120, 80)),
    ("blur=3&sharpen=1&pixelate=4", (240, 160)),
    (
        "gamma=2&brightness=5&contrast=-5&saturation=9&sepia=1&invert=1&duotone=000,fff",
        (240, 160),
    ),
    // With this threshold, all pixels belong to a border, and such a picture is not trimmed.
    ("trim=255", (240, 160)),
    ("trim=255&w=120", (120, 80)),
    // Parameter names of WebP Server Go.
    ("width=120", (120, 80)),
    ("height=80", (120, 80)),
    ("width=120&height=120", (120, 120)),
    ("width=480", (240, 160)),
    ("width=480&height=80", (240, 160)),
    ("max_width=120", (120, 80)),
    ("max_height=80", (120, 80)),
    ("max_width=120&max_height=40", (60, 40)),
    ("max_width=480&max_height=480", (240, 160)),
    // Quality and format do not affect the size.
    ("q=30", (240, 160)),
    ("q=auto", (240, 160)),
    ("max_bytes=900", (240, 160)),
    ("w=120&format=auto", (120, 80)),
    ("w=120&q=100", (120, 80)),
];

#[test]
fn sizes_come_out_exactly() {
    let home = Home::with(&[("p.jpg", &media::photo(240, 160, 1))]);
    let server = Server::plain(&home, &[]);
    for (query, size) in SIZES {
        for accept in ["image/webp", "*/*"] {
            let response = server.get_as(&format!("/p.jpg?{query}"), accept);
            assert_eq!(response.status, 200, "{query}: {}", response.text());
            assert_eq!(response.size(), size, "{query}, {accept}");
        }
    }
    server.stop();
}

#[test]
fn an_automatic_quality_is_a_variant_of_its_own() {
    let home = Home::with(&[("p.jpg", &media::photo(240, 160, 1))]);
    let server = Server::plain(&home, &[]);
    for accept in ["image/avif", "image/webp", "*/*"] {
        let default = server.get_as("/p.jpg?w=200", accept);
        let auto = server.get_as("/p.jpg?w=200&q=auto", accept);
        assert_eq!(auto.status, 200, "{accept}");
        assert_eq!(auto.size(), (200, 133), "{accept}");
        assert_eq!(auto.content_type(), default.content_type(), "{accept}");
    }
    for wrong in ["q=Auto", "q=0", "q=101", "q=", "q=auto&q=80"] {
        let response = server.get_as(&format!("/p.jpg?{wrong}"), "*/*");
        assert_eq!(response.status, 400, "{wrong}");
        assert!(
            response.text().contains("q:"),
            "{wrong}: {}",
            response.text()
        );
    }
    server.stop();
}

#[test]
fn responses_are_no_longer_than_max_bytes() {
    let home = Home::with(&[
        ("p.jpg", &media::photo(240, 160, 1)),
        ("d.png", &media::png(240, 160)),
    ]);
    let server = Server::plain(&home, &[]);
    for accept in ["image/avif", "image/webp", "*/*"] {
        let whole = server.get_as("/p.jpg?w=200", accept).body.len();
        let bytes_max = whole * 3 / 4;
        let reduced = server.get_as(&format!("/p.jpg?w=200&max_bytes={bytes_max}"), accept);
        assert_eq!(reduced.status, 200, "{accept}");
        assert_eq!(reduced.size(), (200, 133), "{accept}");
        assert!(
            reduced.body.len() <= bytes_max,
            "{accept}: {}",
            reduced.body.len()
        );
    }
    // The original is longer than the maximum, so it is reduced although nothing else changes.
    let original = fs::metadata(home.library().join("p.jpg")).expect("written above");
    let bytes_max = original.len() as usize * 2 / 3;
    let reduced = server.get_as(&format!("/p.jpg?max_bytes={bytes_max}"), "*/*");
    assert_eq!(reduced.content_type(), "image/jpeg");
    assert!(reduced.body.len() <= bytes_max, "{}", reduced.body.len());
    // A PNG cannot be reduced, so an opaque one becomes a JPEG.
    let reduced = server.get_as("/d.png?w=120&max_bytes=100000", "*/*");
    assert_eq!(reduced.content_type(), "image/jpeg");
    for wrong in ["max_bytes=0", "max_bytes=1k", "max_bytes=9&format=png"] {
        let response = server.get_as(&format!("/p.jpg?{wrong}"), "*/*");
        assert_eq!(response.status, 400, "{wrong}");
        assert!(
            response.text().contains("max_bytes"),
            "{wrong}: {}",
            response.text()
        );
    }
    server.stop();
}

#[test]
fn sizes_are_those_of_the_upright_picture() {
    for orientation in 1..=8 {
        let photo = media::turned_photo(120, 80, orientation);
        let home = Home::with(&[("p.jpg", &photo)]);
        let server = Server::plain(&home, &[]);
        let upright = if orientation < 5 { (60, 40) } else { (40, 60) };
        for accept in ["image/avif", "image/webp", "*/*"] {
            let response = server.get_as("/p.jpg?w=60&h=60", accept);
            assert_eq!(response.size(), upright, "{orientation}, {accept}");
            let facts = response.facts();
            assert_eq!(facts.stored, facts.oriented(), "no second turn is left");
        }
        server.stop();
    }
}

#[test]
fn a_crop_or_turn_is_another_picture_and_two_spellings_are_one() {
    let home = Home::with(&[("p.png", &media::png(96, 64))]);
    let server = Server::plain(&home, &[]);
    let png = |query: &str| server.get(&format!("/p.png?format=png&{query}"));
    let whole = png("");
    assert_eq!(
        whole.body,
        media::png(96, 64),
        "the original is the smallest"
    );
    // All four pictures differ: the left half, the right half, and the two mirrored pictures.
    let parts = ["crop=0.0,0,0.5,1", "crop=0.5,0,0.5,1", "flip=1", "flop=1"];
    let parts = parts.map(|query| png(query).body);
    for (at, part) in parts.iter().enumerate() {
        assert!(!parts[..at].contains(part), "{at}");
    }
    for (one, other) in [
        ("crop=0,0,48,64", "crop=0.0,0,0.5,1"),
        ("crop=48:64&gravity=east", "crop=48,0,48,64"),
        ("rotate=180", "flip=1&flop=1"),
        ("rotate=90&w=32", "w=32&rotate=90"),
        ("rotate=-270", "rotate=90"),
        ("w=32&sharpen=1", "w=32&unsharp=1.0,1,0"),
        ("grayscale=1", "saturation=-100"),
        ("w=32&bg=fff&pad=2", "w=32&bg=ffffffff&pad=2,2"),
        ("w=32&blur=0&round=0", "w=32"),
    ] {
        let (one, other) = (png(one), png(other));
        assert_eq!(one.etag(), other.etag());
        assert_eq!(one.body, other.body);
    }
    server.stop();
}

#[test]
fn formats_are_given_as_named() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    for (format, media_type) in [
        ("avif", "image/avif"),
        ("webp", "image/webp"),
        ("jpeg", "image/jpeg"),
        ("jpg", "image/jpeg"),
        ("png", "image/png"),
    ] {
        for accept in ["*/*", "image/avif,image/webp"] {
            let response = server.get_as(&format!("/p.jpg?w=48&format={format}"), accept);
            assert_eq!(
                (response.status, response.content_type()),
                (200, media_type)
            );
            assert_eq!(response.facts().format.media_type(), media_type);
            assert_eq!(response.size(), (48, 32));
        }
    }
    server.stop();
}

#[test]
fn a_lower_quality_takes_fewer_bytes() {
    let home = Home::with(&[("p.jpg", &media::photo(240, 160, 1))]);
    let server = Server::plain(&home, &[]);
    for format in ["avif", "webp", "jpeg"] {
        let bytes = [20, 50, 80].map(|quality| {
            let target = format!("/p.jpg?w=200&q={quality}&format={format}");
            server.get(&target).body.len()
        });
        assert!(
            bytes.is_sorted_by(|less, more| less < more),
            "{format}: {bytes:?}"
        );
    }
    server.stop();
}

#[test]
fn queries_that_mean_the_same_are_converted_once() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    let queries = [
        "w=48&h=32",
        "h=32&w=48",
        "w=4%38&h=32&fit=inside",
        "w=24&h=16&dpr=2",
        "w=48",
        "max_width=48",
        "width=48",
        "w=48&format=webp",
        "w=48&q=70",
    ];
    let tags = queries.map(|query| {
        let response = server.get_as(&format!("/p.jpg?{query}"), "image/webp");
        assert_eq!(
            (response.status, response.size()),
            (200, (48, 32)),
            "{query}"
        );
        response.etag().to_owned()
    });
    assert!(tags.iter().all(|tag| *tag == tags[0]), "{tags:#?}");
    assert_eq!(server.metrics().conversions(), 1);
    server.stop();
}

/// Invalid queries, and the parameter that the error message must name.
const REFUSALS: [(&str, &str); 37] = [
    ("w=0", "w: "),
    ("w=-1", "w: "),
    ("w=%2B1", "w: "),
    ("w=1e3", "w: "),
    ("w=", "w: "),
    ("w", "w: "),
    ("w=16385", "w: "),
    ("w=99999999999999999999", "w: "),
    ("h=abc", "h: "),
    ("w=1&w=2", "w: "),
    ("w=1&w=1", "w: "),
    ("fit=cover", "fit: "),
    ("w=10&fit=cover", "fit: "),
    ("w=10&h=10&fit=squeeze", "fit: "),
    ("dpr=2", "dpr: "),
    ("w=10&dpr=0", "dpr: "),
    ("w=10&dpr=9", "dpr: "),
    ("w=10&dpr=1.255", "dpr: "),
    ("w=10000&dpr=4", "dpr: "),
    ("enlarge=1", "enlarge: "),
    ("w=10&enlarge=maybe", "enlarge: "),
    ("q=0", "q: "),
    ("q=101", "q: "),
    ("format=gif", "format: "),
    ("format=jxl", "format: "),
    ("meta=some", "meta: "),
    ("w=10&width=10", "w: "),
    ("width=10&max_width=10", "width: "),
    ("blur=300", "blur: "),
    ("trim=256", "trim: "),
    ("trim=10&meta=full", "trim: "),
    ("trim=10&w=10&enlarge=1", "enlarge: "),
    ("watermark=1", "watermark: "),
    ("with=10", "with: unknown parameter, did you mean width?"),
    ("utm_source=mail", "utm_source: unknown parameter"),
    ("w=%zz", "w: "),
    ("w=%ff", "w: "),
];

#[test]
fn parameters_that_do_not_fit_are_named() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &["--strict-query", "true"]);
    for (query, named) in REFUSALS {
        let response = server.get_as(&format!("/p.jpg?{query}"), "image/webp");
        assert_eq!(response.status, 400, "{query}");
        assert_eq!(response.content_type(), "application/problem+json");
        assert_eq!(response.field("cache-control"), Some("no-store"));
        let problem: serde_json::Value =
            serde_json::from_slice(&response.body).expect("a problem is JSON");
        assert_eq!(problem["status"], 400);
        assert_eq!(problem["title"], "a query parameter is invalid");
        let detail = problem["detail"].as_str().expect("it says what is wrong");
        assert!(detail.starts_with(named), "{query}: {detail}");
        let instance = problem["instance"].as_str().expect("it has a number");
        assert!(instance.starts_with("urn:pelton:request:"), "{instance}");
    }
    assert_eq!(server.metrics().jobs(), 0);
    server.stop();
}

#[test]
fn an_answer_that_would_be_too_large_is_refused() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    let target = "/p.jpg?w=16384&h=16384&fit=fill&enlarge=1";
    let response = server.get_as(target, "image/avif");
    assert_eq!(response.status, 400, "{}", response.text());
    assert_eq!(server.metrics().jobs(), 0);
    server.stop();
}

#[test]
fn meta_describes_the_picture() {
    let home = Home::with(&[
        ("p.jpg", &media::turned_photo(96, 64, 6)),
        ("moving.gif", &media::gif(30, 20, 2)),
        ("broken.jpg", b"\xff\xd8\xff\xe0garbage"),
    ]);
    let server = Server::plain(&home, &[]);
    let described = |target: &str| -> serde_json::Value {
        let response = server.get(target);
        assert_eq!(
            (response.status, response.content_type()),
            (200, "application/json")
        );
        serde_json::from_slice(&response.body).expect("a description is JSON")
    };
    let photo = described("/p.jpg?meta=full");
    assert_eq!(photo["width"], 64);
    assert_eq!(photo["height"], 96);
    assert_eq!(photo["format"], "jpg");
    assert_eq!(photo["animated"], false);
    assert_eq!(photo["size"], media::turned_photo(96, 64, 6).len());
    let text = |name: &str| photo[name].as_str().expect("a text").to_owned();
    // In upright orientation, the picture is taller than wide, so its hash has 3 × 4 components.
    assert_eq!((text("blurhash").len(), &text("blurhash")[..1]), (28, "T"));
    assert_eq!((text("colour").len(), &text("colour")[..1]), (7, "#"));
    assert!(16 <= text("thumbhash").len());
    let smaller = described("/p.jpg?meta=full&w=32");
    assert_eq!(
        (&smaller["width"], &smaller["height"]),
        (&32.into(), &48.into())
    );
    let moving = described("/moving.gif?meta=full");
    assert_eq!(moving["animated"], true);
    // The placeholder shows the first frame.
    assert!(moving["blurhash"].is_string(), "{moving}");
    assert_eq!(server.get("/broken.jpg?meta=full").status, 422);
    assert_eq!(server.get("/missing.jpg?meta=full").status, 404);
    server.stop();
}

/// Unknown parameters, such as cache busters and tracking parameters, do not change the response.
#[test]
fn unknown_parameters_change_nothing() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &[]);
    for known in ["", "w=48"] {
        let made = server.get_as(&format!("/p.jpg?{known}"), "image/webp");
        assert_eq!(
            made.field("cache-status"),
            Some("Pelton; fwd=uri-miss; stored")
        );
        for other in [
            "v=123",
            "utm_source=a&utm_medium=b",
            "fbclid=%ff",
            "_",
            "%zz=1",
        ] {
            for query in [format!("{known}&{other}"), format!("{other}&{known}")] {
                let response = server.get_as(&format!("/p.jpg?{query}"), "image/webp");
                assert_eq!(
                    (response.status, response.etag()),
                    (200, made.etag()),
                    "{query}"
                );
                assert_eq!(
                    response.field("cache-status"),
                    Some("Pelton; hit"),
                    "{query}"
                );
            }
        }
    }
    assert_eq!(server.get("/p.jpg?width=abc").status, 400);
    assert_eq!((server.metrics().jobs(), home.variants().len()), (2, 2));
    server.stop();
}

/// Starts a server with a `config.json` with these JSON members.
fn as_webp_server_go(home: &Home, members: &str) -> Server {
    let path = home.directory().join("config.json");
    fs::write(&path, format!("{{{members}}}")).expect("the home can be written");
    let path = path.to_str().expect("paths of tests are text");
    Server::plain(home, &["--config", path])
}

#[test]
fn webp_server_go_s_configuration_means_what_it_means_there() {
    let home = Home::with(&[
        ("p.jpg", &media::photo(96, 64, 1)),
        ("p.png", &media::png(96, 64)),
    ]);
    let members = r#""CONVERT_TYPES": ["webp"], "ENABLE_EXTRA_PARAMS""#;
    let server = as_webp_server_go(&home, &format!("{members}: true"));
    for (query, size) in [
        ("width=48", (48, 32)),
        ("width=abc", (96, 64)),
        ("width=abc&height=16", (24, 16)),
        ("width=-1&v=2", (96, 64)),
        ("w=0", (96, 64)),
    ] {
        let response = server.get_as(&format!("/p.jpg?{query}"), "image/webp");
        assert_eq!((response.status, response.size()), (200, size), "{query}");
    }
    server.stop();

    let types = r#""ALLOWED_TYPES": ["jpg", "JPEG"]"#;
    let server = as_webp_server_go(&home, &format!("{members}: false, {types}"));
    for query in ["width=48", "w=48", "max_width=20"] {
        let response = server.get_as(&format!("/p.jpg?{query}"), "image/webp");
        assert_eq!(
            (response.status, response.size()),
            (200, (96, 64)),
            "{query}"
        );
    }
    let described = server.get("/p.jpg?meta=full&width=48");
    assert!(described.text().starts_with("{\"width\":96,"));
    for target in ["/p.png", "/p.png?meta=full", "//p.png"] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
    let page = server.get("/-/at/");
    assert!(page.text().contains("/p.jpg") && !page.text().contains("/p.png"));
    server.stop();
}
