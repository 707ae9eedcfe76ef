//! Properties of a music file that are known before the file is opened.

/// Audio codec that can be decoded from its usual container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Codec {
    Flac = 1,
    /// MPEG audio of any layer.
    Mpeg = 2,
    /// Vorbis in Ogg.
    Vorbis = 3,
    /// Opus in Ogg.
    Opus = 4,
    Wav = 5,
    Aiff = 6,
    /// ALAC in MP4.
    Alac = 7,
}

impl Codec {
    /// All codecs, in the order of their numbers.
    pub const ALL: [Codec; 7] = [
        Codec::Flac,
        Codec::Mpeg,
        Codec::Vorbis,
        Codec::Opus,
        Codec::Wav,
        Codec::Aiff,
        Codec::Alac,
    ];

    /// Returns whether the codec is lossless.
    #[must_use]
    pub const fn is_lossless(self) -> bool {
        matches!(self, Codec::Flac | Codec::Wav | Codec::Aiff | Codec::Alac)
    }
}

/// Properties of a music file, as the catalog states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Codec of the file, or `None` if the server has no decoder for it.
    pub codec: Option<Codec>,
    /// Average bit rate of the whole file, in kilobits per second; 0 if unknown.
    pub bit_rate_kbps: u32,
    /// Length of the track in milliseconds; 0 if unknown.
    pub duration_ms: u64,
    /// Number of channels; 0 if unknown.
    pub channels: u8,
}
