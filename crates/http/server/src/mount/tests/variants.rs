//! Tests of replies by which a mount lets the server send a picture, but never its original.

use std::pin::Pin;
use std::sync::Arc;

use jpeg_encoder::{ColorType, Encoder};

use super::InternalRedirect;
use super::peer::TestServer;
use crate::mount::{Mount, MountRequest, Mounts, Reply};

/// Text in the GPS metadata of [`photo`].
const PLACE: &[u8] = b"Secret Place, 52.5 N 13.4 E";

/// Mount that responds with a variant of the picture that the query of the request names.
struct Converted;

impl Mount for Converted {
    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        Box::pin(async move {
            Reply::Variant {
                target: request.query.unwrap_or("").to_owned(),
                fields: vec![("x-robots-tag".into(), "noindex".into())],
            }
        })
    }
}

fn open() -> TestServer {
    TestServer::open(Mounts::new(vec![
        ("/to".to_owned(), Arc::new(InternalRedirect)),
        ("/converted".to_owned(), Arc::new(Converted)),
    ]))
}

/// Returns a JPEG with GPS metadata, 64 pixels high. It is noise of low quality, so that no variant
/// of the same size is smaller.
fn photo() -> Vec<u8> {
    // TIFF 6.0: a directory with a pointer to the GPS directory, which has the entries
    // GPSLatitudeRef (1) and GPSMapDatum (0x12), followed by the text of GPSMapDatum.
    let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01".to_vec();
    exif.extend([0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 26, 0, 0, 0, 0]);
    exif.extend([0, 2, 0, 1, 0, 2, 0, 0, 0, 2, b'N', 0, 0, 0]);
    exif.extend([0, 0x12, 0, 2, 0, 0, 0, PLACE.len() as u8, 0, 0, 0, 56]);
    exif.extend([0, 0, 0, 0]);
    exif.extend(PLACE);
    let mut rgb = vec![0; 64 * 64 * 3];
    blake3::Hasher::new().finalize_xof().fill(&mut rgb);
    let mut jpeg = Vec::new();
    let mut encoder = Encoder::new(&mut jpeg, 30);
    let added = encoder.add_app_segment(1, exif);
    added.expect("a segment of a few bytes fits");
    let encoded = encoder.encode(&rgb, 64, 64, ColorType::Rgb);
    encoded.expect("the pixels fit the size");
    jpeg
}

fn has_place(body: &[u8]) -> bool {
    body.windows(PLACE.len()).any(|bytes| bytes == PLACE)
}

#[test]
fn a_picture_without_its_original_has_no_metadata_even_if_the_original_is_smaller() {
    let server = open();
    let photo = photo();
    server.write("photo.jpg", &photo);
    for accept in [
        "accept: image/jpeg\r\n",
        "accept: image/avif,image/webp\r\n",
        "",
    ] {
        for query in ["", "?h=480", "?format=jpeg", "?h=480&format=avif", "?h=32"] {
            let case = format!("{query}, {accept}");
            let plain = || {
                server
                    .ask_bytes(&format!("/to?/photo.jpg{query}"), accept)
                    .1
            };
            // If the first request leads to a conversion whose result is not smaller, the original
            // is sent, and the index of variants records that the result is not smaller.
            let is_original = !query.contains("avif") && !query.contains("32");
            assert_eq!(plain() == photo, is_original, "{case}");
            for _ in 0..2 {
                let target = format!("/converted?/photo.jpg{query}");
                let (head, body) = server.ask_bytes(&target, accept);
                assert!(head.starts_with("HTTP/1.1 200 "), "{case}: {head}");
                assert!(head.contains("\r\ncontent-type: image/"), "{case}: {head}");
                assert!(head.contains("\r\nx-robots-tag: noindex"), "{case}: {head}");
                assert!(!body.is_empty() && !has_place(&body), "{case}");
            }
            assert_eq!(plain() == photo, is_original, "{case}, afterwards");
        }
    }
}

#[test]
fn a_requested_format_is_sent_although_it_is_known_not_to_be_smaller() {
    let server = open();
    let photo = photo();
    server.write("photo.jpg", &photo);
    let accept = "accept: image/avif,image/webp\r\n";
    let (_, negotiated) = server.ask_bytes("/to?/photo.jpg", accept);
    assert!(negotiated == photo, "the original is the smallest");
    for format in ["avif", "webp"] {
        let target = format!("/to?/photo.jpg?format={format}");
        let (head, _) = server.ask_bytes(&target, accept);
        let media_type = format!("\r\ncontent-type: image/{format}\r\n");
        assert!(head.contains(&media_type), "{format}: {head}");
    }
}

#[test]
fn a_picture_that_cannot_be_converted_is_not_sent_without_its_original() {
    let server = open();
    let mut animation = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff".to_vec();
    for _ in 0..2 {
        animation.extend(b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0");
    }
    animation.push(b';');
    server.write("animation.gif", &animation);
    server.write(
        "drawing.svg",
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
    );
    let mut damaged = photo();
    damaged.truncate(200);
    server.write("damaged.jpg", &damaged);
    for name in ["animation.gif", "damaged.jpg", "digits.txt"] {
        let plain = server.ask_bytes(&format!("/to?/{name}"), "");
        assert!(plain.0.starts_with("HTTP/1.1 200 "), "{name}: {}", plain.0);
        for query in ["", "?h=480"] {
            let (head, body) = server.ask_bytes(&format!("/converted?/{name}{query}"), "");
            assert!(head.starts_with("HTTP/1.1 404 "), "{name}{query}: {head}");
            let text = String::from_utf8(body).expect("text");
            let title = "this picture cannot be converted, and its original may not be sent";
            assert!(text.contains(title), "{name}{query}: {text}");
        }
    }
    let (head, _) = server.ask_bytes("/converted?/none.jpg", "");
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
}
