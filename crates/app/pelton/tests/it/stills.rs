//! Originals that browsers do not show: TIFF, TGA, QOI, PNM, Radiance HDR, PSD, HEIC and camera
//! raw; and icons.

use testkit::stills::{self, HEIGHT, Page, Tiff, WIDTH};

use crate::harness::{Home, Server};

#[test]
fn every_client_gets_a_picture_that_it_can_show() {
    let files = stills::all();
    let names: Vec<String> = (0..files.len())
        .map(|index| format!("{index}.{}", files[index].0))
        .collect();
    let home = Home::new();
    for (name, (_, bytes)) in names.iter().zip(&files) {
        home.put(name, bytes);
    }
    let server = Server::plain(&home, &[]);
    let pictures = names.iter().zip(&files);
    for (name, (extension, bytes)) in pictures {
        let turned = image_plan::probe(&bytes[..], bytes.len() as u64).expect("a picture");
        let baseline = if turned.lossless {
            "image/png"
        } else {
            "image/jpeg"
        };
        let size = match turned.orientation.transposes() {
            true => (HEIGHT, WIDTH),
            false => (WIDTH, HEIGHT),
        };
        for (accept, media_type) in [
            ("", baseline),
            ("*/*", baseline),
            ("image/png", baseline),
            ("image/webp", "image/webp"),
            ("image/avif", "image/avif"),
        ] {
            let response = server.get_as(&format!("/{name}"), accept);
            // Icons are sent as they are, in all their sizes.
            let expected = match *extension {
                "ico" => "image/vnd.microsoft.icon",
                _ => media_type,
            };
            assert_eq!(
                (response.status, response.content_type()),
                (200, expected),
                "{name} for {accept}"
            );
            match *extension {
                "ico" => assert_eq!(&response.body, bytes),
                _ => assert_eq!(response.size(), size, "{name} for {accept}"),
            }
        }
        let small = server.get_as(&format!("/{name}?w=9&format=webp"), "*/*");
        assert_eq!((small.status, small.content_type()), (200, "image/webp"));
        assert_eq!(small.size().0, 9, "{name}");
    }
    server.stop();
}

/// Returns a TIFF with pages of one level of grey each.
fn scans() -> Vec<u8> {
    let page = |(width, height): (u32, u32), level| {
        let data = vec![level; (width * height) as usize];
        Page::new((width, height), &[8], 1, 1, vec![data])
    };
    let tiff = Tiff {
        pages: vec![page((30, 20), 50), page((20, 40), 100), page((10, 10), 200)],
        ..Tiff::default()
    };
    tiff.to_bytes()
}

#[test]
fn pages_of_a_tiff_are_requested_by_number() {
    let home = Home::with(&[("scan.tif", &scans()), ("one.qoi", &stills::all()[3].1)]);
    let server = Server::plain(&home, &[]);
    for (query, size) in [
        ("", (30, 20)),
        ("?page=1", (30, 20)),
        ("?page=2", (20, 40)),
        ("?page=2&w=10", (10, 20)),
        ("?rotate=90&page=2", (40, 20)),
        ("?page=3", (10, 10)),
    ] {
        let response = server.get_as(&format!("/scan.tif{query}"), "image/webp");
        assert_eq!((response.status, response.size()), (200, size), "{query}");
    }
    let etag = |query: &str| {
        server
            .get_as(&format!("/scan.tif{query}"), "image/webp")
            .etag()
            .to_owned()
    };
    assert_eq!(etag(""), etag("?page=1"));
    assert_ne!(etag("?w=10"), etag("?w=10&page=3"));
    let jobs = server.metrics().jobs();
    for (target, status, detail) in [
        (
            "/scan.tif?page=4",
            404,
            "original has no such page, its pages are numbered from 1 to 3",
        ),
        (
            "/one.qoi?page=2",
            404,
            "original has no such page, its pages are numbered from 1 to 1",
        ),
        (
            "/scan.tif?page=two",
            400,
            "page: must be a whole number from 1 to 65535",
        ),
        (
            "/scan.tif?page=0",
            400,
            "page: must be a whole number from 1 to 65535",
        ),
    ] {
        let response = server.get_as(target, "image/webp");
        assert_eq!(response.status, status, "{target}");
        assert_eq!(response.content_type(), "application/problem+json");
        assert!(response.text().contains(detail), "{}", response.text());
    }
    assert_eq!(server.metrics().jobs(), jobs, "a refusal needs no worker");
    server.stop();
}

#[test]
fn the_description_of_a_tiff_counts_its_pages() {
    let home = Home::with(&[("scan.tif", &scans())]);
    let server = Server::plain(&home, &[]);
    let described = |query: &str| -> serde_json::Value {
        let response = server.get(&format!("/scan.tif?meta=full{query}"));
        serde_json::from_str(response.text()).expect("JSON")
    };
    let first = described("");
    assert_eq!((&first["width"], &first["pages"]), (&30.into(), &3.into()));
    assert_eq!(first["colour"], "#323232");
    let second = described("&page=2");
    assert_eq!(
        (&second["width"], &second["pages"]),
        (&20.into(), &3.into())
    );
    // The placeholder of a file shows its first page.
    assert_eq!(second["colour"], serde_json::Value::Null);
    server.stop();
}

#[test]
fn a_tiff_that_cannot_be_converted_is_sent_as_it_is() {
    let fax = Page::new((30, 20), &[1], 0, 4, vec![vec![0; 9]]);
    let fax = Tiff::of(fax).to_bytes();
    let home = Home::with(&[("fax.tif", &fax)]);
    let server = Server::plain(&home, &[]);
    let response = server.get_as("/fax.tif", "image/avif,image/webp");
    assert_eq!((response.status, &response.body), (200, &fax));
    assert_eq!(response.content_type(), "image/tiff");
    assert_eq!(server.metrics().jobs(), 0);
    server.stop();
}

#[test]
fn heic_and_camera_raw_without_a_preview_are_refused() {
    let raw = Page::new((30, 20), &[8], 1, 1, vec![vec![0; 600]]).with_bytes(50_706, &[1, 4, 0, 0]);
    let raw = Tiff::of(raw).to_bytes();
    let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";
    let home = Home::with(&[("camera.dng", &raw), ("phone.heic", heic)]);
    let server = Server::plain(&home, &[]);
    for target in [
        "/camera.dng",
        "/phone.heic",
        "/phone.heic?w=9",
        "/camera.dng?format=png",
    ] {
        for accept in ["", "*/*", "image/avif,image/webp"] {
            let response = server.get_as(target, accept);
            assert_eq!(response.status, 415, "{target} for {accept}");
            assert!(
                response.text().contains("without an embedded JPEG preview"),
                "{}",
                response.text()
            );
        }
    }
    // A client that names HEIC can show the original.
    let response = server.get_as("/phone.heic", "image/heic,image/webp");
    assert_eq!((response.status, &response.body[..]), (200, &heic[..]));
    assert_eq!(response.content_type(), "image/heic");
    assert_eq!(response.field("vary"), Some("Accept"));
    for target in [
        "/camera.dng",
        "/phone.heic?format=webp",
        "/phone.heic?format=jpeg&w=9",
    ] {
        let response = server.get_as(target, "image/heic,image/webp");
        assert_eq!(response.status, 415, "{target}");
    }
    assert_eq!(server.metrics().jobs(), 0);
    server.stop();
}

/// JPEG XL of 32 × 48 pixels, which states an orientation.
const JXL: &[u8] = include_bytes!("../../../../images/codec/testdata/turned.jxl");

#[test]
fn jpeg_xl_is_converted_for_clients_that_do_not_name_it() {
    let home = Home::with(&[("a.jxl", JXL), ("misnamed.jpg", JXL)]);
    let server = Server::plain(&home, &[]);
    for target in ["/a.jxl", "/misnamed.jpg"] {
        for (accept, media_type) in [
            ("", "image/png"),
            ("image/avif,image/webp", "image/avif"),
            ("image/webp", "image/webp"),
        ] {
            let response = server.get_as(target, accept);
            assert_eq!(
                (response.status, response.content_type()),
                (200, media_type)
            );
            assert_eq!(response.size(), (32, 48), "{target} for {accept}");
        }
        let original = server.get_as(target, "image/jxl");
        assert_eq!((original.status, &original.body[..]), (200, JXL));
        assert_eq!(original.content_type(), "image/jxl");
        let small = server.get_as(&format!("{target}?w=8"), "image/jxl");
        assert_eq!((small.content_type(), small.size()), ("image/png", (8, 12)));
    }
    server.stop();
}
