use crate::Tags;
use std::borrow::Cow;

/// Seconds that a byte lasts at most: Monkey's Audio codes half a minute of silence in some twenty bytes.
const SECONDS_A_BYTE_MAX: u64 = 8;

/// What one music file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// What holds the audio.
    pub container: Container,
    /// The audio itself.
    pub audio: Audio,
    /// Text, by field.
    pub tags: Tags,
    /// Where pictures lie. The first that is a front cover ends the search in a FLAC file.
    pub pictures: Vec<Picture>,
    /// Tells the audio apart from other audio.
    pub essence: Essence,
    /// What was wrong and cost a part of the tags only.
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
            essence: Essence(0),
            issues: Vec::new(),
        }
    }

    /// Notes what was wrong, once.
    pub(crate) fn issue(&mut self, issue: &'static str) {
        if !self.issues.iter().any(|known| known == issue) {
            self.issues.push(Cow::Borrowed(issue));
        }
    }

    /// Takes the duration for unknown that no file of so many bytes can have. Of digital silence, a byte may last for seconds.
    pub(crate) fn doubt_duration(&mut self, file_bytes: u64) {
        let duration_s = self.audio.duration_ms / 1000;
        let is_beyond = u64::from(u32::MAX) < self.audio.duration_ms;
        if is_beyond || file_bytes.saturating_mul(SECONDS_A_BYTE_MAX) < duration_s {
            self.audio.measure(0, 0);
            self.audio.exact = false;
            self.issue("the duration is longer than its bytes can last");
        }
    }

    /// The picture to show: the front cover, else the first that is no icon.
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

/// A hash of what a new tag or another path leaves as it is: FLAC's stream information with its MD5, the first frame of
/// an MP3, the sample sizes of an MP4, the serial number and length of an Ogg stream, samples from the middle of PCM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Essence(pub u64);

impl Essence {
    /// Of a name for the kind, a number and some bytes.
    pub(crate) fn of(kind: &str, number: u64, bytes: &[u8]) -> Essence {
        let mut hasher = blake3::Hasher::new();
        hasher.update(kind.as_bytes());
        hasher.update(&number.to_le_bytes());
        hasher.update(bytes);
        let hash = hasher.finalize();
        let word = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
        Essence(u64::from_le_bytes(*word))
    }
}

/// What holds audio and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Container {
    /// FLAC.
    Flac = 0,
    /// Bare MPEG audio with tags around it.
    Mpeg = 1,
    /// MP4 and its relatives.
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
    /// Bare AAC.
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

/// How samples are coded.
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
    /// Something that this crate has no name for.
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
    /// All, by number.
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
    /// All, by number.
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

/// The audio of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audio {
    /// How samples are coded.
    pub codec: Codec,
    /// Time it plays, without an encoder's delay and padding where the file states them.
    pub duration_ms: u64,
    /// Whether the duration follows from what the file states, and was not estimated from samples of it.
    pub exact: bool,
    /// Samples a second of one channel.
    pub sample_rate_hz: u32,
    /// Channels.
    pub channels: u16,
    /// Bits a sample; 0 for codecs that have none.
    pub bits: u8,
    /// Mean over the whole file, of the audio alone.
    pub bitrate_bps: u32,
}

impl Audio {
    /// Sets duration and bit rate from a count of samples and the bytes they take.
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

/// A picture inside a music file: what it is, and where its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What it shows.
    pub kind: PictureKind,
    /// Its format, as the tag says.
    pub mime: Mime,
    /// How its bytes are kept.
    pub stored: Stored,
    /// Where they begin in the file.
    pub offset: u64,
    /// How many of the file's bytes they take, by what the tag says; held against the file's length.
    pub bytes: u64,
    /// Bytes of a block of fields before the picture, once decoded.
    pub skip: u32,
}

/// ID3v2's number for what a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureKind(pub u8);

impl PictureKind {
    /// The front cover.
    pub const FRONT: PictureKind = PictureKind(3);
    /// What shows something that has no number.
    pub const OTHER: PictureKind = PictureKind(0);

    /// A few pixels of ornament.
    #[must_use]
    pub const fn is_icon(self) -> bool {
        matches!(self.0, 1 | 2)
    }
}

/// Formats that tags name.
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
    /// Not a picture but a link to one.
    Link = 6,
}

impl Mime {
    /// Reads `image/jpeg`, and what ID3v2.2 and others write instead.
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

/// How the bytes of a picture are kept in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Stored {
    /// As they are.
    Plain = 0,
    /// In base64, in one piece.
    Base64 = 1,
    /// In base64, interrupted by the heads of Ogg pages.
    OggBase64 = 2,
    /// With a zero byte behind each FF, as ID3v2 does it.
    Unsynchronised = 3,
}
