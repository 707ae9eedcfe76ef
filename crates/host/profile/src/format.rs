//! Formats of a profile as a file.

use std::io;

use crate::profile::Profile;
use crate::{folded, pprof, svg};

/// Format of a file with a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Protobuf, compressed with gzip, for `go tool pprof`.
    Pprof,
    /// Text with a line per stack.
    Folded,
    /// Flame graph.
    Svg,
}

impl Format {
    /// All formats with their names in queries and on the command line.
    pub const NAMES: [(&str, Format); 3] = [
        ("pprof", Format::Pprof),
        ("folded", Format::Folded),
        ("svg", Format::Svg),
    ];

    /// Returns the format with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Format> {
        let found = Format::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format)
    }

    /// Returns the format's name in queries and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Format::NAMES.iter().find(|(_, format)| *format == self);
        found.expect("every format has a name").0
    }

    /// Returns the media type of the file.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Pprof => "application/octet-stream",
            Format::Folded => "text/plain; charset=utf-8",
            Format::Svg => "image/svg+xml",
        }
    }

    /// Returns the profile as a file of this format. May take some 100 ms.
    ///
    /// # Errors
    /// Never in practice: the files are written to memory.
    pub fn encode(self, profile: &Profile) -> io::Result<Vec<u8>> {
        match self {
            Format::Pprof => pprof(profile),
            Format::Folded => Ok(folded(profile).into_bytes()),
            Format::Svg => Ok(svg(profile).into_bytes()),
        }
    }
}
