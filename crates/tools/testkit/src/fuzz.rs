//! Properties that must hold for every input of a parser. A target gets bytes from a fuzzer, a
//! corpus or a generator, and panics if a property does not hold.

mod accept;
mod body;
mod cgi;
mod conditional;
mod control;
mod h2;
mod imgproxy;
mod message;
mod probe;
mod query;
mod range;
mod rdb;
mod request;
mod resp;
mod script;
mod sound;
mod tags;

pub use accept::accept;
pub use body::body;
pub use cgi::cgi;
pub use conditional::conditional;
pub use control::control;
pub use h2::h2;
pub use imgproxy::imgproxy;
pub use message::message;
pub use probe::probe;
pub use query::query;
pub use range::range;
pub use rdb::rdb;
pub use request::request;
pub use resp::resp;
pub use script::script;
pub use sound::{packets, pages};
pub use tags::{tags, tags_exif, tags_flac, tags_mp3, tags_mp4, tags_ogg, tags_rare, tags_riff};

/// Parser under test, with the properties that it must have.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target's program in `fuzz/fuzz_targets` and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Function that parses the bytes and panics if a property does not hold.
    pub check: fn(&[u8]),
}

/// All targets. `fuzz/fuzz_targets` has one program per target.
pub const TARGETS: [Target; 25] = [
    Target {
        name: "accept",
        check: accept,
    },
    Target {
        name: "body",
        check: body,
    },
    Target {
        name: "cgi",
        check: cgi,
    },
    Target {
        name: "conditional",
        check: conditional,
    },
    Target {
        name: "control",
        check: control,
    },
    Target {
        name: "h2",
        check: h2,
    },
    Target {
        name: "imgproxy",
        check: imgproxy,
    },
    Target {
        name: "message",
        check: message,
    },
    Target {
        name: "packets",
        check: packets,
    },
    Target {
        name: "pages",
        check: pages,
    },
    Target {
        name: "probe",
        check: probe,
    },
    Target {
        name: "query",
        check: query,
    },
    Target {
        name: "range",
        check: range,
    },
    Target {
        name: "rdb",
        check: rdb,
    },
    Target {
        name: "request",
        check: request,
    },
    Target {
        name: "resp",
        check: resp,
    },
    Target {
        name: "script",
        check: script,
    },
    Target {
        name: "tags",
        check: tags,
    },
    Target {
        name: "tags_exif",
        check: tags_exif,
    },
    Target {
        name: "tags_flac",
        check: tags_flac,
    },
    Target {
        name: "tags_mp3",
        check: tags_mp3,
    },
    Target {
        name: "tags_mp4",
        check: tags_mp4,
    },
    Target {
        name: "tags_ogg",
        check: tags_ogg,
    },
    Target {
        name: "tags_rare",
        check: tags_rare,
    },
    Target {
        name: "tags_riff",
        check: tags_riff,
    },
];

/// Builds a request of `method` with the field lines `lines`. Calls `check` with the parsed
/// request, or does nothing if the parser refuses it. `lines` may be any bytes. If they end the
/// head early, the request just has fewer fields.
fn with_request(method: &str, lines: &[u8], check: impl FnOnce(&http1::Request<'_>)) {
    let line = format!("{method} / HTTP/1.1\r\nHost: h\r\n");
    let head = [line.as_bytes(), lines, b"\r\n\r\n"].concat();
    if let Ok(Some(request)) = http1::parse(&head, &http1::Limits::default()) {
        check(&request);
    }
}

/// Returns the field lines of `request` whose names `keep` accepts, without Host. The result does
/// not contain the empty line that ends a head, so that more lines can be appended.
fn lines_of(request: &http1::Request<'_>, keep: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in request.fields() {
        if keep(name) && !name.eq_ignore_ascii_case("host") {
            lines.extend_from_slice(name.as_bytes());
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value);
            lines.extend_from_slice(b"\r\n");
        }
    }
    lines
}

/// Returns the values of all fields named `name`, found by a linear search without the parser's
/// index.
fn values<'a>(request: &http1::Request<'a>, name: &str) -> Vec<&'a [u8]> {
    let lines = request.fields();
    lines
        .filter(|(at, _)| at.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .collect()
}
