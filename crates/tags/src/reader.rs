use crate::input::Input;
use crate::media::{Codec, Container};
use crate::{Error, ErrorKind, Limits, Media, ReadAt, aiff, flac, id3v2, mp4, mpeg, ogg, wav};

/// Bytes that tell one format from another.
const SNIFF_BYTES: usize = 12;
/// ID3v2 tags in a row; more than one is a tagger's mistake, two are seen.
const TAGS_MAX: usize = 4;

/// Reads files, one after the other, in one buffer.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    window: Vec<u8>,
    spent: Spent,
}

/// What reading cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Positioned reads.
    pub reads: u32,
    /// Bytes asked for.
    pub bytes: u64,
}

impl Reader {
    /// A reader with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Reader {
        Reader {
            limits,
            window: Vec::new(),
            spent: Spent::default(),
        }
    }

    /// Reads what a file of `len` bytes says of itself. Its format is told by its bytes, never by its name.
    ///
    /// # Errors
    /// [`Error`] when the file is no music that is known here, or not sound enough to be played.
    pub fn read(&mut self, source: &(impl ReadAt + ?Sized), len: u64) -> Result<Media, Error> {
        self.read_dyn(&source, len)
    }

    /// What the last call to [`Reader::read`] cost.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.spent
    }

    fn read_dyn(&mut self, source: &dyn ReadAt, len: u64) -> Result<Media, Error> {
        let mut input = Input::new(source, len, &mut self.window, &self.limits);
        let media = dispatch(&mut input);
        self.spent = Spent {
            reads: input.reads,
            bytes: input.read_bytes,
        };
        media
    }
}

fn dispatch(input: &mut Input<'_>) -> Result<Media, Error> {
    if input.len() == 0 {
        return Err(Error::truncated("file is empty"));
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
    let is_tagged = head.starts_with(id3v2::MAGIC);
    if !is_tagged && !matches!(head, [0xff, second, ..] if 0xe0 <= *second) {
        return Err(Error::new(ErrorKind::Unknown, "no known kind of music"));
    }
    // All of the tag while its beginning is at hand; then what it is a tag of.
    let first_end = id3v2::end(input, 0)?;
    let mut audio = first_end.map_or(0, |end| end.min(input.len()));
    let mut media = Media::new(Container::Mpeg, Codec::Mp3);
    media.tags = id3v2::read(input, 0, &mut media)?;
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
    mpeg::read(input, audio, media)
}
