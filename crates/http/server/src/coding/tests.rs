use std::io::Read as _;

use http1::{Limits, parse};

use super::{Coding, coded_etag, extended_vary, is_text};

#[test]
fn encoded_text_decodes_to_the_original() {
    let text = "{\"name\":\"a song\",\"year\":1999},".repeat(2_000);
    for coding in Coding::ALL {
        let coded = coding.encode(text.as_bytes()).expect("text gets smaller");
        assert!(coded.len() * 5 < text.len(), "{coding:?}: {}", coded.len());
        let mut read = Vec::new();
        let done = match coding {
            Coding::Brotli => brotli::BrotliDecompress(&mut &*coded, &mut read).map(|()| 0),
            Coding::Gzip => flate2::read::GzDecoder::new(&*coded).read_to_end(&mut read),
            Coding::Zstd => ruzstd::decoding::StreamingDecoder::new(&*coded)
                .expect("a frame")
                .read_to_end(&mut read),
        };
        done.expect("what was encoded is sound");
        assert!(read == text.as_bytes(), "{coding:?}");
    }
    // An encoding that is not smaller than the text is not returned.
    assert_eq!(
        Coding::ALL.map(|coding| coding.encode(b"")),
        [None, None, None]
    );
}

#[test]
fn the_client_chooses_among_codings() {
    let preferred = |fields: &str| {
        let head = format!("GET / HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
        let limits = Limits::default();
        let request = parse(head.as_bytes(), &limits)
            .expect("sound")
            .expect("whole");
        Coding::preferred(&request).map(Coding::name)
    };
    for (fields, name) in [
        ("", None),
        ("Accept-Encoding:\r\n", None),
        ("Accept-Encoding: identity\r\n", None),
        ("Accept-Encoding: gzip, deflate, br, zstd\r\n", Some("br")),
        ("Accept-Encoding: gzip, deflate\r\n", Some("gzip")),
        ("Accept-Encoding: zstd\r\n", Some("zstd")),
        ("Accept-Encoding: br;q=0, gzip;q=0.5\r\n", Some("gzip")),
        (
            "Accept-Encoding: gzip\r\nAccept-Encoding: br\r\n",
            Some("br"),
        ),
        ("Accept-Encoding: *\r\n", None),
        ("Accept-Encoding: gzippy\r\n", None),
    ] {
        assert_eq!(preferred(fields), name, "{fields}");
    }
}

#[test]
fn the_media_type_identifies_text() {
    for text in [
        "text/html; charset=utf-8",
        "image/svg+xml",
        "application/json",
        "application/problem+json",
    ] {
        assert!(is_text(text), "{text}");
    }
    for other in [
        "image/png",
        "application/pdf",
        "application/octet-stream",
        "audio/flac",
        "font/woff2",
        "",
    ] {
        assert!(!is_text(other), "{other}");
    }
}

#[test]
fn codings_have_tags_of_their_own() {
    assert_eq!(coded_etag("\"abc\"", Coding::Brotli), "\"abc-br\"");
    assert_eq!(coded_etag("W/\"abc\"", Coding::Gzip), "W/\"abc-gzip\"");
    assert_eq!(extended_vary("", "Accept-Encoding"), "Accept-Encoding");
    assert_eq!(
        extended_vary("Accept", "Accept-Encoding"),
        "Accept, Accept-Encoding"
    );
    assert_eq!(
        extended_vary("accept-encoding, Origin", "Accept-Encoding"),
        "accept-encoding, Origin"
    );
    assert_eq!(extended_vary("*", "Accept-Encoding"), "*");
}
