//! Verifier of the Ogg Opus stream that a worker produces. Each page is checked against the plan
//! before any client gets it. In the table, `page` lists the fields of every page; the other rows
//! describe particular pages of the stream.
//!
//! ```text
//! page    "OggS" · version 0 u8 · flags u8 · granule u64 · serial u32 · number u32 · CRC u32
//!         segments u8 · their lengths · data
//! first   flag 2 · one packet: "OpusHead" · version u8 · channels u8 · pre-skip u16 · rate u32
//!         gain i16 · mapping u8
//! second  "OpusTags" …
//! last    flag 4 · its granule is the length of the stream in samples, including the pre-skip
//! ```

use crate::plan::Plan;

const HEAD_BYTES: usize = 27;
const SEGMENTS_MAX: usize = 255;
/// Maximum length of a page in bytes: all segments are present and have their maximum length.
const PAGE_BYTES_MAX: usize = HEAD_BYTES + SEGMENTS_MAX + SEGMENTS_MAX * 255;
const OPUS_HEAD_BYTES: usize = 19;

const CONTINUED: u8 = 1;
const FIRST: u8 = 2;
const LAST: u8 = 4;

/// Violation of the format or of the plan by the output of a worker. A correct worker causes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamViolation {
    /// The bytes do not start with an Ogg page.
    NoPage,
    /// The checksum of a page does not match its bytes.
    Checksum,
    /// A page belongs to another stream, is out of order, follows the last page, or has a flag that
    /// is not allowed at its position.
    Order,
    /// A header of the stream is malformed or contradicts the plan.
    Head,
    /// The stream plays longer than the plan allows or ends within the pre-skip, or a page has a
    /// smaller granule position than the page before it.
    Time,
    /// The stream ends without a page that is marked as the last one.
    Truncated,
}

/// Incremental verifier of a worker's output. [`Checker::take`] returns how many bytes are
/// verified.
#[derive(Clone, Debug)]
pub struct Checker {
    channels: u8,
    samples_max: u64,
    pages: u32,
    serial: u32,
    granule: u64,
    pre_skip: u64,
    has_ended: bool,
}

impl Checker {
    /// Returns a verifier for the output of `plan`.
    #[must_use]
    pub fn new(plan: &Plan) -> Checker {
        Checker {
            channels: plan.channels,
            samples_max: plan.samples_max(),
            pages: 0,
            serial: 0,
            granule: 0,
            pre_skip: 0,
            has_ended: false,
        }
    }

    /// Verifies the complete pages at the start of `bytes` and returns their total length. The
    /// first call gets the start of the stream. Each later call gets the bytes that are not
    /// verified yet, followed by new bytes.
    ///
    /// # Errors
    /// The first [`StreamViolation`].
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, StreamViolation> {
        let mut taken = 0;
        loop {
            match self.take_page(&bytes[taken..])? {
                0 => return Ok(taken),
                page => taken += page,
            }
        }
    }

    /// Verifies only the page at the start of `bytes` and returns its length, or 0 if the page is
    /// incomplete. After an error, the verifier must not be used any more.
    ///
    /// # Errors
    /// The first [`StreamViolation`].
    pub fn take_page(&mut self, bytes: &[u8]) -> Result<usize, StreamViolation> {
        match page(bytes)? {
            Some(page) => {
                self.check_page(&page)?;
                Ok(page.bytes.len())
            }
            None if PAGE_BYTES_MAX <= bytes.len() => Err(StreamViolation::NoPage),
            None => Ok(0),
        }
    }

    /// Returns the number of samples per channel that the stream plays. Must be called only after
    /// the whole stream was verified.
    ///
    /// # Errors
    /// [`StreamViolation::Truncated`] if the last page is missing.
    pub fn finish(&self) -> Result<u64, StreamViolation> {
        match self.has_ended {
            true => Ok(self.granule - self.pre_skip),
            false => Err(StreamViolation::Truncated),
        }
    }

    fn check_page(&mut self, page: &Page<'_>) -> Result<(), StreamViolation> {
        if page_crc(page.bytes) != page.u32_at(22) {
            return Err(StreamViolation::Checksum);
        }
        let flags = page.bytes[5];
        let serial = page.u32_at(14);
        let is_next = page.u32_at(18) == self.pages
            && (self.pages == 0 || serial == self.serial)
            && (flags & FIRST != 0) == (self.pages == 0)
            && (flags & CONTINUED == 0 || 2 <= self.pages)
            && flags < 8
            && !self.has_ended;
        if !is_next {
            return Err(StreamViolation::Order);
        }
        match self.pages {
            0 => self.head(page)?,
            1 if page.data.starts_with(b"OpusTags") => {}
            1 => return Err(StreamViolation::Head),
            _ => self.time(page.u64_at(6))?,
        }
        self.serial = serial;
        self.pages += 1;
        self.has_ended = flags & LAST != 0;
        match self.has_ended && self.granule < self.pre_skip {
            true => Err(StreamViolation::Time),
            false => Ok(()),
        }
    }

    fn head(&mut self, page: &Page<'_>) -> Result<(), StreamViolation> {
        let head: &[u8; OPUS_HEAD_BYTES] =
            page.data.try_into().map_err(|_| StreamViolation::Head)?;
        let is_as_planned =
            head.starts_with(b"OpusHead\x01") && head[9] == self.channels && head[18] == 0;
        if !is_as_planned {
            return Err(StreamViolation::Head);
        }
        self.pre_skip = u64::from(u16::from_le_bytes([head[10], head[11]]));
        Ok(())
    }

    fn time(&mut self, granule: u64) -> Result<(), StreamViolation> {
        /// Granule position of a page on which no packet ends (RFC 3533 §6).
        const NO_TIME: u64 = u64::MAX;
        if granule == NO_TIME {
            return Ok(());
        }
        if granule < self.granule || self.samples_max + self.pre_skip < granule {
            return Err(StreamViolation::Time);
        }
        self.granule = granule;
        Ok(())
    }
}

struct Page<'a> {
    bytes: &'a [u8],
    data: &'a [u8],
}

impl Page<'_> {
    fn u32_at(&self, at: usize) -> u32 {
        let field = self.bytes[at..].first_chunk();
        u32::from_le_bytes(*field.expect("the field lies within the page's head"))
    }

    fn u64_at(&self, at: usize) -> u64 {
        let field = self.bytes[at..].first_chunk();
        u64::from_le_bytes(*field.expect("the field lies within the page's head"))
    }
}

/// Returns the page at the start of `bytes`, or `None` if the page is incomplete.
fn page(bytes: &[u8]) -> Result<Option<Page<'_>>, StreamViolation> {
    const MAGIC: &[u8] = b"OggS\0";
    let available = bytes.len().min(MAGIC.len());
    if bytes[..available] != MAGIC[..available] {
        return Err(StreamViolation::NoPage);
    }
    let Some(&segments) = bytes.get(HEAD_BYTES - 1) else {
        return Ok(None);
    };
    let data_offset = HEAD_BYTES + usize::from(segments);
    let Some(lengths) = bytes.get(HEAD_BYTES..data_offset) else {
        return Ok(None);
    };
    let data: usize = lengths.iter().map(|length| usize::from(*length)).sum();
    let page = bytes.get(..data_offset + data);
    Ok(page.map(|bytes| Page {
        bytes,
        data: &bytes[data_offset..],
    }))
}

/// Returns the checksum of a page (RFC 3533 §6): a CRC with the polynomial 0x04c11db7, most
/// significant bit first. The checksum field itself counts as zero.
///
/// # Panics
/// If the header of the page is incomplete.
#[must_use]
pub fn page_crc(page: &[u8]) -> u32 {
    let (before, rest) = page.split_at(22);
    let (_, after_checksum) = rest.split_at(4);
    let bytes = before.iter().chain(&[0; 4]).chain(after_checksum);
    bytes.fold(0, |crc, byte| {
        crc << 8 ^ TABLE[usize::from((crc >> 24) as u8 ^ byte)]
    })
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            let high = crc >> 31;
            crc <<= 1;
            if high == 1 {
                crc ^= 0x04c1_1db7;
            }
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};
