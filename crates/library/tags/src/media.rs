use crate::Tags;
use std::borrow::Cow;

/// Maximum duration of one byte of audio, in seconds. Monkey's Audio codes half a minute of silence
/// in about 20 bytes, which is 1.5 seconds per byte.
const SECONDS_PER_BYTE_MAX: u64 = 8;

/// Metadata of one music file.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// The container format.
    pub container: Container,
    /// Properties of the audio.
    pub audio: Audio,
    /// Text values, by field.
    pub tags: Tags,
    /// Locations of pictures. In a FLAC file, pictures after the first front cover are not listed.
    pub pictures: Vec<Picture>,
    /// Hash that identifies the audio, regardless of tags and path.
    pub audio_hash: AudioHash,
    /// Faults that did not prevent reading the file, such as a broken tag or a truncated chunk.
    pub issues: Vec<Cow<'static, str>>,
}

impl Media {
    pub(crate) fn new(container: Container, codec: Codec) -> Media {
        Media {
            container,
            audio: Audio {
                codec,
                duration_ms: 0,
                exact: true,
                sample_rate_hz: 0,
                channels: 0,
                bits: 0,
                bitrate_bps: 0,
            },
            tags: Tags::default(),
            pictures: Vec::new(),
            audio_hash: AudioHash(0),
            issues: Vec::new(),
        }
    }

    /// Records a fault. The same text is recorded only once.
    pub(crate) fn issue(&mut self, issue: &'static str) {
        if !self.issues.iter().any(|known| known == issue) {
            self.issues.push(Cow::Borrowed(issue));
        }
    }

    /// Discards a duration that is implausibly long for a file of this size, even for a file that
    /// contains only silence.
    pub(crate) fn doubt_duration(&mut self, file_bytes: u64) {
        let duration_s = self.audio.duration_ms / 1000;
        let is_beyond = u64::from(u32::MAX) < self.audio.duration_ms;
        if is_beyond || file_bytes.saturating_mul(SECONDS_PER_BYTE_MAX) < duration_s {
            self.audio.measure(0, 0);
            self.audio.exact = false;
            self.issue("the duration is implausible for the file's size");
        }
    }

    /// Returns the picture to show: the front cover, or else the first picture that is not an icon.
    #[must_use]
    pub fn cover(&self) -> Option<&Picture> {
        let mut fronts = self.pictures.iter();
        let front = fronts.find(|picture| picture.kind == PictureKind::FRONT);
        front.or_else(|| {
            let mut others = self.pictures.iter();
            others.find(|picture| !picture.kind.is_icon())
        })
    }
}

/// Audio hash: a hash of data that neither a new tag nor another path changes. It covers FLAC's
/// stream information with its MD5, the first frame of an MP3, the sample sizes of an MP4, the
/// serial number and length of an Ogg stream, or samples from the middle of PCM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AudioHash(pub u64);

impl AudioHash {
    /// Computes the hash of a format name, a number and some bytes.
    pub(crate) fn of(kind: &str, number: u64, bytes: &[u8]) -> AudioHash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(kind.as_bytes());
        hasher.update(&number.to_le_bytes());
        hasher.update(bytes);
        let hash = hasher.finalize();
        let word = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
        AudioHash(u64::from_le_bytes(*word))
    }
}

/// Container format of audio and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Container {
    /// FLAC.
    Flac = 0,
    /// MPEG audio frames without a container, with tags around them.
    Mpeg = 1,
    /// MP4 and related formats.
    Mp4 = 2,
    /// Ogg.
    Ogg = 3,
    /// WAV, RF64.
    Wav = 4,
    /// AIFF, AIFF-C.
    Aiff = 5,
    /// WavPack.
    WavPack = 6,
    /// Monkey's Audio.
    Monkey = 7,
    /// Musepack.
    Musepack = 8,
    /// AAC frames without a container (ADTS).
    Adts = 9,
    /// DSF.
    Dsf = 10,
    /// True Audio.
    TrueAudio = 11,
    /// ASF.
    Asf = 12,
    /// Matroska, WebM.
    Matroska = 13,
}

/// Audio codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Codec {
    Flac = 0,
    Mp1 = 1,
    Mp2 = 2,
    Mp3 = 3,
    Aac = 4,
    Alac = 5,
    Vorbis = 6,
    Opus = 7,
    Pcm = 8,
    /// Any codec without a variant of its own.
    Other = 9,
    WavPack = 10,
    Monkey = 11,
    Musepack = 12,
    Speex = 13,
    Dsd = 14,
    TrueAudio = 15,
    Wma = 16,
}

impl Container {
    /// All containers, in the order of their numbers.
    pub const ALL: [Container; 14] = [
        Container::Flac,
        Container::Mpeg,
        Container::Mp4,
        Container::Ogg,
        Container::Wav,
        Container::Aiff,
        Container::WavPack,
        Container::Monkey,
        Container::Musepack,
        Container::Adts,
        Container::Dsf,
        Container::TrueAudio,
        Container::Asf,
        Container::Matroska,
    ];
}

impl Codec {
    /// All codecs, in the order of their numbers.
    pub const ALL: [Codec; 17] = [
        Codec::Flac,
        Codec::Mp1,
        Codec::Mp2,
        Codec::Mp3,
        Codec::Aac,
        Codec::Alac,
        Codec::Vorbis,
        Codec::Opus,
        Codec::Pcm,
        Codec::Other,
        Codec::WavPack,
        Codec::Monkey,
        Codec::Musepack,
        Codec::Speex,
        Codec::Dsd,
        Codec::TrueAudio,
        Codec::Wma,
    ];
}

/// Properties of a file's audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audio {
    /// Audio codec.
    pub codec: Codec,
    /// Playing time, without the encoder's delay and padding if the file states them.
    pub duration_ms: u64,
    /// True if the file states the values from which the duration is computed, false if the
    /// duration is an estimate.
    pub exact: bool,
    /// Samples per second and channel.
    pub sample_rate_hz: u32,
    /// Number of channels.
    pub channels: u16,
    /// Bits per sample; 0 for codecs without a bit depth.
    pub bits: u8,
    /// Mean bit rate of the audio over the whole file.
    pub bitrate_bps: u32,
}

impl Audio {
    /// Computes duration and bit rate from a number of samples and the bytes that they occupy.
    pub(crate) fn measure(&mut self, samples: u64, audio_bytes: u64) {
        let rate = u128::from(self.sample_rate_hz.max(1));
        let ms = (u128::from(samples) * 1000 + rate / 2) / rate;
        self.duration_ms = u64::try_from(ms).unwrap_or(u64::MAX);
        self.bitrate_bps = if samples == 0 {
            0
        } else {
            let bps = u128::from(audio_bytes) * 8 * rate / u128::from(samples);
            u32::try_from(bps).unwrap_or(u32::MAX)
        };
    }
}

/// Location and properties of a picture inside a music file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Kind of picture.
    pub kind: PictureKind,
    /// Format of the picture, according to the tag.
    pub mime: Mime,
    /// Encoding of the picture's bytes in the file.
    pub stored: Stored,
    /// Offset of the picture in the file.
    pub offset: u64,
    /// Length of the picture in the file, as the tag states it. The picture lies within the file.
    pub bytes: u64,
    /// Number of decoded bytes before the picture: fields of the tag. 0 if no fields precede the
    /// picture.
    pub skip: u32,
}

/// Kind of a picture, as numbered by ID3v2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureKind(pub u8);

impl PictureKind {
    /// The front cover.
    pub const FRONT: PictureKind = PictureKind(3);
    /// A picture of any other kind.
    pub const OTHER: PictureKind = PictureKind(0);

    /// Returns whether the picture is an icon of a few pixels.
    #[must_use]
    pub const fn is_icon(self) -> bool {
        matches!(self.0, 1 | 2)
    }
}

/// Picture formats that a tag can state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Mime {
    Unknown = 0,
    Jpeg = 1,
    Png = 2,
    Gif = 3,
    Bmp = 4,
    Webp = 5,
    /// A link to a picture instead of a picture.
    Link = 6,
}

impl Mime {
    /// Parses a type such as `image/jpeg`, or one of the short names of ID3v2.2 and other tags.
    pub(crate) fn parse(text: &[u8]) -> Mime {
        let text = text.trim_ascii();
        let name = text.strip_prefix(b"image/").unwrap_or(text);
        let known: &[(&[u8], Mime)] = &[
            (b"jpeg", Mime::Jpeg),
            (b"jpg", Mime::Jpeg),
            (b"pjpeg", Mime::Jpeg),
            (b"png", Mime::Png),
            (b"gif", Mime::Gif),
            (b"bmp", Mime::Bmp),
            (b"webp", Mime::Webp),
            (b"-->", Mime::Link),
        ];
        let mut known = known.iter();
        known
            .find(|(known, _)| name.eq_ignore_ascii_case(known))
            .map_or(Mime::Unknown, |(_, mime)| *mime)
    }
}

/// Encoding of a picture's bytes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Stored {
    /// The bytes are not encoded.
    Plain = 0,
    /// Base64, in one contiguous piece.
    Base64 = 1,
    /// Base64, interrupted by the headers of Ogg pages.
    OggBase64 = 2,
    /// Plain bytes, but with a zero byte inserted after each FF, as in ID3v2.
    Unsynchronised = 3,
}
