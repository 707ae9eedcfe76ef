//! What a reader must find in each file of a generated library.

use serde::{Deserialize, Serialize};

/// Its name in the library's folder.
pub(crate) const MANIFEST: &str = "manifest.jsonl";

/// One file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Line {
    /// Bytes that are no UTF-8, and the percent sign, as `%E9`.
    pub(crate) path: String,
    pub(crate) expected: Expected,
}

/// What is in it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Expected {
    /// Music.
    Music {
        duration_ms: u64,
        sample_rate_hz: u32,
        channels: u16,
        /// Names as in Vorbis comments, and values.
        fields: Vec<(String, String)>,
        cover_bytes: Option<u64>,
    },
    /// Something that cannot be read, with the kind of error.
    Verdict(String),
}

impl Line {
    pub(crate) fn new(path: &[u8], expected: Expected) -> Line {
        let mut text = String::new();
        for chunk in path.utf8_chunks() {
            text.push_str(&chunk.valid().replace('%', "%25"));
            text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
        }
        Line {
            path: text,
            expected,
        }
    }

    /// The path's bytes.
    pub(crate) fn path(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = self.path.as_bytes();
        while let Some((&byte, behind)) = rest.split_first() {
            let code = behind.get(..2).filter(|_| byte == b'%');
            let code =
                code.and_then(|code| u8::from_str_radix(str::from_utf8(code).ok()?, 16).ok());
            match code {
                Some(code) => {
                    out.push(code);
                    rest = &behind[2..];
                }
                None => {
                    out.push(byte);
                    rest = behind;
                }
            }
        }
        out
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always become JSON")
    }
}
