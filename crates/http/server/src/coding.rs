//! Content codings of text: selection by the field Accept-Encoding, and encoding of bodies (RFC
//! 9110 §8.4, §12.5.3).
//!
//! Pictures and audio are compressed already. Text is compressed in memory, on the blocking pool,
//! unless it is too large.

use std::io::Write as _;

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use http1::{Request, accept};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Minimum size of a body that is compressed, in bytes. Compression of smaller bodies saves too
/// little.
pub(crate) const CODED_BYTES_MIN: u64 = 256;
/// Quality setting of Brotli, from 0 to 11. At quality 5, a megabyte of JSON takes 20 ms.
const BROTLI_QUALITY: i32 = 5;
/// Window size of Brotli as a power of two, from 10 to 24.
const BROTLI_WINDOW: i32 = 20;

/// Content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Brotli,
    Gzip,
    Zstd,
}

impl Coding {
    pub(crate) const COUNT: usize = 3;
    /// Codings in order of preference: the coding that gives the smallest result comes first.
    const ALL: [Coding; Coding::COUNT] = [Coding::Brotli, Coding::Gzip, Coding::Zstd];

    /// Returns the name of the coding in Content-Encoding.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
            Coding::Zstd => "zstd",
        }
    }

    /// Returns the preferred coding that the client of `request` accepts, if any.
    pub(crate) fn preferred(request: &Request<'_>) -> Option<Coding> {
        let names = Coding::ALL.map(Coding::name);
        let reads = accept::fold(request.values("accept-encoding"), &names);
        let mut preferred = Coding::ALL.into_iter().zip(reads);
        preferred.find_map(|(coding, reads)| reads.then_some(coding))
    }

    /// Encodes `bytes`. Returns `None` if the result is not smaller. Slow, so call it on the
    /// blocking pool.
    pub(crate) fn encode(self, bytes: &[u8]) -> Option<Vec<u8>> {
        const IN_MEMORY: &str = "writing to memory cannot fail";
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

/// Returns the entity tag of a representation in the content coding `coding`. `etag` is the tag of
/// the same representation without a content coding. RFC 9110 §8.8.3.3.
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

#[cfg(test)]
mod tests;
