//! Manifest of a generated library: the properties that a tag reader must find in each file.

#[cfg(test)]
mod tests;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

/// Name of the manifest in the library's folder.
pub const MANIFEST: &str = "manifest.jsonl";

/// Line of the manifest, which describes one file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Line {
    /// Path in the library's folder. Bytes that are not UTF-8, and the percent sign, are written
    /// like `%E9`.
    pub path: String,
    /// Result that a tag reader must get from the file.
    pub expected: Expected,
}

/// Result that a tag reader must get from a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Expected {
    /// Music that can be read, with the properties that a tag reader must find.
    Music {
        /// Duration in milliseconds.
        duration_ms: u64,
        /// Samples per second.
        sample_rate_hz: u32,
        /// Number of channels.
        channels: u16,
        /// Tags, each as the name of a Vorbis comment and a value.
        fields: Vec<(String, String)>,
        /// Size of the cover in bytes, if there is one.
        cover_bytes: Option<u64>,
    },
    /// Kind of the error for a file that cannot be read.
    Verdict(String),
}

impl Line {
    /// Returns the entry for the file at `path`.
    pub fn new(path: &[u8], expected: Expected) -> Line {
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

    /// Returns the path's bytes.
    pub fn path(&self) -> Vec<u8> {
        percent_decode_str(&self.path).collect()
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always become JSON")
    }
}
