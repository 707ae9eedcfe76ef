//! What is known of a track's file before it is opened.

/// Samples that can be decoded, each in the container that is named after it, or usual for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Codec {
    Flac = 1,
    /// MPEG audio of any layer.
    Mpeg = 2,
    /// In Ogg.
    Vorbis = 3,
    /// In Ogg.
    Opus = 4,
    Wav = 5,
    Aiff = 6,
    /// In MP4.
    Alac = 7,
}

impl Codec {
    /// All, by number.
    pub const ALL: [Codec; 7] = [
        Codec::Flac,
        Codec::Mpeg,
        Codec::Vorbis,
        Codec::Opus,
        Codec::Wav,
        Codec::Aiff,
        Codec::Alac,
    ];

    /// Whether samples come out as they went in.
    #[must_use]
    pub const fn is_lossless(self) -> bool {
        matches!(self, Codec::Flac | Codec::Wav | Codec::Aiff | Codec::Alac)
    }
}

/// A track's file, as the index has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// None where nothing here decodes it.
    pub codec: Option<Codec>,
    /// Of the whole file, on average; 0 where it is not known.
    pub bit_rate_kbps: u32,
    /// 0 where it is not known.
    pub duration_ms: u64,
    /// 0 where it is not known.
    pub channels: u8,
}
