//! HTTP steps of a cache hit: parsing a browser's request, choosing a response, and writing the
//! response's head.

use std::hint::black_box;

use http1::{Limits, Template, accept, conditional, date, parse, range};

use crate::Operation;

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "http-hit",
        count: 1_000,
        run: |count| repeat(count, HIT),
    },
    Operation {
        name: "http-revalidate",
        count: 1_000,
        run: |count| repeat(count, REVALIDATE),
    },
    Operation {
        name: "http-range",
        count: 1_000,
        run: |count| repeat(count, RANGE),
    },
];

const HIT: &[u8] = b"GET /photos/2024/beach.jpg?w=640 HTTP/1.1\r\n\
    Host: media.example.org\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
    Accept: image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5\r\n\
    Accept-Language: en-GB,en;q=0.5\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Connection: keep-alive\r\n\
    Referer: https://media.example.org/photos/\r\n\r\n";
const REVALIDATE: &[u8] = b"GET /photos/2024/beach.jpg HTTP/1.1\r\n\
    Host: media.example.org\r\n\
    Accept: image/avif,image/webp,*/*;q=0.5\r\n\
    If-None-Match: \"0123456789abcdef\", \"fedcba9876543210\"\r\n\
    If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n";
const RANGE: &[u8] = b"GET /music/track.flac HTTP/1.1\r\n\
    Host: media.example.org\r\n\
    Accept: */*\r\n\
    Range: bytes=1000-1999\r\n\
    If-Range: \"fedcba9876543210\"\r\n\r\n";

/// Formats that the server could send, best first.
const FORMATS: [&str; 3] = ["image/avif", "image/webp", "image/jpeg"];
const LENGTH_BYTES: u64 = 123_456;
/// Modification time of the representation: 1 January 2026.
const MODIFIED_UNIX_S: i64 = 1_767_225_600;

fn repeat(count: usize, request: &[u8]) -> u64 {
    let limits = Limits::default();
    let validators = conditional::Validators {
        etag: "\"fedcba9876543210\"",
        last_modified_unix_s: Some(MODIFIED_UNIX_S),
        last_modified_is_strong: true,
    };
    let template = Template::new(200, |head| {
        head.field("etag", validators.etag)
            .field("vary", "accept")
            .content_length(LENGTH_BYTES)
    });
    let date = date::format(MODIFIED_UNIX_S);
    let mut out = Vec::with_capacity(4096);
    let mut sum = 0;
    for _ in 0..count {
        out.clear();
        let parsed = parse(black_box(request), &limits);
        let request = parsed
            .expect("the request is valid")
            .expect("the request is complete");
        let formats = accept::fold(request.accept(), &FORMATS);
        let verdict = conditional::evaluate(&request, &validators);
        let served = range::evaluate(&request, &validators, LENGTH_BYTES);
        template.write(&mut out, &date, request.connection());
        black_box((formats, verdict, served));
        sum += out.len() as u64;
    }
    sum
}
