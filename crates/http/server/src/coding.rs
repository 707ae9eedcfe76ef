//! Content codings of text: selection by the client's fields, and encoding of bodies (RFC 9110
//! §8.4, §12.5.3).
//!
//! Pictures and audio are compressed already. Text is compressed in memory, on the blocking pool,
//! up to a limit.

use std::io::Write as _;

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use http1::{Request, accept};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::answer::{Answer, Fields, Payload};
use crate::core::Core;
use crate::mount::Field;
use crate::service::blocking;

/// Smallest body whose compression is worth its cost, in bytes.
pub(crate) const CODED_BYTES_MIN: u64 = 256;
/// Brotli's quality, from 0 to 11. Quality 5 takes 20 ms per megabyte of JSON.
const BROTLI_QUALITY: i32 = 5;
/// Brotli's window, from 10 to 24, as a power of two.
const BROTLI_WINDOW: i32 = 20;

/// Content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Brotli,
    Gzip,
    Zstd,
}

impl Coding {
    /// Number of content codings.
    pub(crate) const COUNT: usize = 3;
    /// Codings in order of preference, the smallest result first.
    const ALL: [Coding; Coding::COUNT] = [Coding::Brotli, Coding::Gzip, Coding::Zstd];

    /// Returns the name in Content-Encoding.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
            Coding::Zstd => "zstd",
        }
    }

    /// Returns the preferred coding that the client of `request` accepts, if any.
    pub(crate) fn wanted(request: &Request<'_>) -> Option<Coding> {
        let names = Coding::ALL.map(Coding::name);
        let reads = accept::fold(request.values("accept-encoding"), &names);
        let mut wanted = Coding::ALL.into_iter().zip(reads);
        wanted.find_map(|(coding, reads)| reads.then_some(coding))
    }

    /// Encodes `bytes`. Returns `None` if that saves nothing. Slow.
    pub(crate) fn encode(self, bytes: &[u8]) -> Option<Vec<u8>> {
        const IN_MEMORY: &str = "memory takes what is written to it";
        let coded = match self {
            Coding::Brotli => {
                let params = BrotliEncoderParams {
                    quality: BROTLI_QUALITY,
                    lgwin: BROTLI_WINDOW,
                    size_hint: bytes.len(),
                    ..BrotliEncoderParams::default()
                };
                let mut out = Vec::new();
                brotli::BrotliCompress(&mut &*bytes, &mut out, &params).expect(IN_MEMORY);
                out
            }
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes).expect(IN_MEMORY);
                encoder.finish().expect(IN_MEMORY)
            }
            Coding::Zstd => compress_to_vec(bytes, CompressionLevel::Fastest),
        };
        (coded.len() < bytes.len()).then_some(coded)
    }
}

/// Returns whether bodies of this media type are text, so that compression helps.
pub(crate) fn is_text(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or("").trim();
    name.starts_with("text/")
        || name.ends_with("+xml")
        || name.ends_with("+json")
        || matches!(
            name,
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/openmetrics-text"
        )
}

/// Returns the entity tag for a coding of the representation with `etag`: RFC 9110 §8.8.3.3.
pub(crate) fn coded_etag(etag: &str, coding: Coding) -> String {
    let tag = etag.strip_suffix('"').unwrap_or(etag);
    format!("{tag}-{}\"", coding.name())
}

/// Returns the value of Vary extended by `name`.
pub(crate) fn extended_vary(vary: &str, name: &str) -> String {
    let mut names = vary.split(',').map(str::trim);
    if vary.is_empty() {
        name.to_owned()
    } else if names.any(|known| known == "*" || known.eq_ignore_ascii_case(name)) {
        vary.to_owned()
    } else {
        format!("{vary}, {name}")
    }
}

impl Core {
    /// Compresses the body of `answer` if the client accepts a coding and the text is the server's
    /// or a mount's.
    pub(crate) async fn encoded(&self, mut answer: Answer, request: &Request<'_>) -> Answer {
        let Some(length) = self.compressible_length(&answer) else {
            return answer;
        };
        let Fields::Listed(fields) = &mut answer.fields else {
            return answer;
        };
        let vary = value(fields, "vary").map_or(String::new(), str::to_owned);
        set(fields, "vary", extended_vary(&vary, "Accept-Encoding"));
        let Some(coding) = Coding::wanted(request) else {
            return answer;
        };
        let Payload::Owned(body) = &answer.payload else {
            // The length of a GET response is unknown for HEAD: RFC 9110 §8.6.
            fields.retain(|(name, _)| name != "content-length");
            return answer;
        };
        debug_assert_eq!(length, body.len() as u64);
        let body = body.clone();
        let coded = blocking(move || coding.encode(&body)).await;
        // Without memory for the encoded body, the plain one is sent, which is counted already.
        if let Some(coded) = coded.and_then(|coded| self.hold(coded.into())) {
            set(fields, "content-length", coded.len().to_string());
            set(fields, "content-encoding", coding.name().to_owned());
            if let Some(etag) = value(fields, "etag").map(|etag| coded_etag(etag, coding)) {
                set(fields, "etag", etag);
            }
            answer.payload = Payload::Owned(coded);
        }
        answer
    }

    /// Returns the length of a body that may be compressed.
    fn compressible_length(&self, answer: &Answer) -> Option<u64> {
        let Fields::Listed(fields) = &answer.fields else {
            return None;
        };
        let length = value(fields, "content-length")?.parse().ok()?;
        let is_fit =
            (CODED_BYTES_MIN..=self.service.settings.limits.coded_bytes_max).contains(&length);
        let is_text = value(fields, "content-type").is_some_and(is_text);
        let is_raw = value(fields, "content-encoding").is_none() && answer.status != 206;
        let may_change =
            !value(fields, "cache-control").is_some_and(|it| it.contains("no-transform"));
        let is_here = matches!(answer.payload, Payload::Owned(_) | Payload::None);
        (is_fit && is_text && is_raw && may_change && is_here).then_some(length)
    }
}

fn value<'f>(fields: &'f [Field], name: &str) -> Option<&'f str> {
    let found = fields.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| &**value)
}

/// Sets the only field of this name.
fn set(fields: &mut Vec<Field>, name: &'static str, value: String) {
    fields.retain(|(known, _)| known != name);
    fields.push((name.into(), value.into()));
}

#[cfg(test)]
mod tests;
