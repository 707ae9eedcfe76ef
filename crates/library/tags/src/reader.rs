use crate::input::Input;
use crate::media::{Codec, Container};
use crate::{
    Error, ErrorKind, Limits, Media, ReadAt, adts, aiff, asf, dsf, flac, id3v2, matroska, monkey,
    mp4, mpeg, musepack, ogg, wav, wavpack,
};

/// Bytes at the start of a file that identify its format.
const SNIFF_BYTES: usize = 16;
/// Maximum number of consecutive ID3v2 tags before the audio. More than one is a tagger's mistake;
/// two occur in practice.
const TAGS_MAX: usize = 4;

/// Reader of the metadata of music files. It reads one file after another with the same buffer.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    window: Vec<u8>,
    spent: ReadStats,
}

/// Cost of reading a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Number of read calls.
    pub reads: u32,
    /// Bytes requested by the read calls.
    pub bytes: u64,
}

impl Reader {
    /// Creates a reader with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Reader {
        Reader {
            limits,
            window: Vec::new(),
            spent: ReadStats::default(),
        }
    }

    /// Reads the metadata of a file of `len` bytes. The format is detected from the bytes, never
    /// from the name.
    ///
    /// # Errors
    /// [`Error`] if the file is not music in a known format, or too damaged to be played.
    pub fn read(&mut self, source: &(impl ReadAt + ?Sized), len: u64) -> Result<Media, Error> {
        self.read_dyn(&source, len)
    }

    /// Returns the cost of the last call to [`Reader::read`].
    #[must_use]
    pub fn spent(&self) -> ReadStats {
        self.spent
    }

    fn read_dyn(&mut self, source: &dyn ReadAt, len: u64) -> Result<Media, Error> {
        let mut input = Input::new(source, len, &mut self.window, &self.limits);
        let media = dispatch(&mut input).map(|mut media| {
            media.doubt_duration(len);
            media
        });
        self.spent = ReadStats {
            reads: input.reads,
            bytes: input.read_bytes,
        };
        media
    }
}

fn dispatch(input: &mut Input<'_>) -> Result<Media, Error> {
    if input.len() == 0 {
        return Err(Error::truncated("the file is empty"));
    }
    let head = input.up_to(0, SNIFF_BYTES)?;
    if head.starts_with(flac::MAGIC) {
        return flac::read(input, 0);
    }
    if head.starts_with(ogg::MAGIC) {
        return ogg::read(input);
    }
    if mp4::is_mp4(head) {
        return mp4::read(input);
    }
    if wav::is_wav(head) {
        return wav::read(input);
    }
    if aiff::is_aiff(head) {
        return aiff::read(input);
    }
    if head.starts_with(dsf::DSF_MAGIC) {
        return dsf::read_dsf(input);
    }
    if head.starts_with(asf::MAGIC) {
        return asf::read(input);
    }
    if head.starts_with(matroska::MAGIC) {
        return matroska::read(input);
    }
    let is_tagged = head.starts_with(id3v2::MAGIC);
    let rare = Rare::of(head);
    if !is_tagged && rare.is_none() && !matches!(head, [0xff, second, ..] if 0xe0 <= *second) {
        return recorded(input);
    }
    // Read the tag first, while its start is in the buffer. Only then detect the format of the
    // data that follows the tag.
    let first_end = id3v2::end(input, 0)?;
    let mut audio = first_end.map_or(0, |end| end.min(input.len()));
    let mut media = Media::new(Container::Mpeg, Codec::Mp3);
    if is_tagged {
        media.tags = id3v2::read(input, 0, &mut media)?;
    }
    for _ in 1..TAGS_MAX {
        match id3v2::end(input, audio)? {
            Some(end) => audio = end.min(input.len()),
            None => break,
        }
    }
    if is_tagged && input.up_to(audio, flac::MAGIC.len())? == flac::MAGIC {
        let mut inner = flac::read(input, audio)?;
        inner.tags.fill(&media.tags);
        inner.pictures.append(&mut media.pictures);
        inner.pictures.truncate(input.limits.pictures_max);
        inner.issues.append(&mut media.issues);
        return Ok(inner);
    }
    match Rare::of(input.up_to(audio, SNIFF_BYTES)?) {
        Some(Rare::WavPack) => wavpack::read(input, audio, media),
        Some(Rare::Monkey) => monkey::read(input, audio, media),
        Some(Rare::Musepack) => musepack::read(input, audio, media),
        Some(Rare::TrueAudio) => dsf::read_tta(input, audio, media),
        Some(Rare::Adts) => adts::read(input, audio, media),
        None => mpeg::read(input, audio, media),
    }
}

/// Reads a recorded stream, which begins with the rest of a frame before its first complete frame.
fn recorded(input: &mut Input<'_>) -> Result<Media, Error> {
    let media = Media::new(Container::Mpeg, Codec::Mp3);
    if let Some(at) = mpeg::search(input)? {
        return mpeg::read(input, at, media);
    }
    match adts::search(input)? {
        Some(at) => adts::read(input, at, media),
        None => Err(Error::new(
            ErrorKind::Unknown,
            "the music format of the file is unknown",
        )),
    }
}

/// Format, other than MPEG audio, of the data that may follow an ID3v2 tag.
enum Rare {
    WavPack,
    Monkey,
    Musepack,
    TrueAudio,
    Adts,
}

impl Rare {
    fn of(head: &[u8]) -> Option<Rare> {
        let magics: [(&[u8], Rare); 5] = [
            (wavpack::MAGIC, Rare::WavPack),
            (monkey::MAGIC, Rare::Monkey),
            (musepack::MAGIC_7, Rare::Musepack),
            (musepack::MAGIC_8, Rare::Musepack),
            (dsf::TTA_MAGIC, Rare::TrueAudio),
        ];
        let mut magics = magics.into_iter();
        let found = magics.find(|(magic, _)| head.starts_with(magic));
        let found = found.map(|(_, rare)| rare);
        found.or_else(|| adts::is_adts(head).then_some(Rare::Adts))
    }
}
