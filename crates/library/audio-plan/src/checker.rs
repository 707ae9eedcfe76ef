//! Whether bytes are Opus in Ogg, as a plan wants it: what a worker made is read, page by page, before anybody gets it.
//!
//! ```text
//! page    0 "OggS" · 0 u8 · flags u8 · granule u64 · serial u32 · number u32 · CRC u32 · segments u8 · their lengths · data
//! first   its flag 2 · one packet: "OpusHead" · version u8 · channels u8 · pre-skip u16 · rate u32 · gain i16 · mapping u8
//! second  "OpusTags" …
//! last    its flag 4 · the granule tells the length
//! ```

use crate::plan::Plan;

const HEAD_BYTES: usize = 27;
const SEGMENTS_MAX: usize = 255;
/// A page of the most and longest segments.
const PAGE_BYTES_MAX: usize = HEAD_BYTES + SEGMENTS_MAX + SEGMENTS_MAX * 255;
const OPUS_HEAD_BYTES: usize = 19;

const CONTINUED: u8 = 1;
const FIRST: u8 = 2;
const LAST: u8 = 4;

/// Something that no honest worker makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// No page, where there must be one.
    NoPage,
    /// A page's checksum is not that of its bytes.
    Checksum,
    /// A page of another stream, out of order, behind the last, or with a flag that does not belong there.
    Order,
    /// The stream's head is not what the plan wants.
    Head,
    /// It plays longer than the track, or goes back.
    Time,
    /// It ends before its end.
    Cut,
}

/// Reads what was made. Feed it what there is; it tells how much of that it believes.
#[derive(Clone, Debug)]
pub struct Checker {
    channels: u8,
    samples_max: u64,
    pages: u32,
    serial: u32,
    granule: u64,
    pre_skip: u64,
    ended: bool,
}

impl Checker {
    /// One for what `plan` makes.
    #[must_use]
    pub fn new(plan: &Plan) -> Checker {
        Checker {
            channels: plan.channels,
            samples_max: plan.samples_max(),
            pages: 0,
            serial: 0,
            granule: 0,
            pre_skip: 0,
            ended: false,
        }
    }

    /// How many of these bytes, which follow those that it took before, are whole pages and fit. What is left is to be
    /// given again, with more behind it.
    ///
    /// # Errors
    /// The first [`Lie`].
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Lie> {
        let mut taken = 0;
        loop {
            match self.take_page(&bytes[taken..])? {
                0 => return Ok(taken),
                page => taken += page,
            }
        }
    }

    /// The same for the first page alone: 0 where it is not whole. After an error, this checker knows no more what it has
    /// seen.
    ///
    /// # Errors
    /// The first [`Lie`].
    pub fn take_page(&mut self, bytes: &[u8]) -> Result<usize, Lie> {
        match page(bytes)? {
            Some(page) => {
                self.judge(&page)?;
                Ok(page.bytes.len())
            }
            None if PAGE_BYTES_MAX <= bytes.len() => Err(Lie::NoPage),
            None => Ok(0),
        }
    }

    /// How many samples a channel it plays, once all of it was taken.
    ///
    /// # Errors
    /// [`Lie::Cut`] when the last page is missing.
    pub fn finish(&self) -> Result<u64, Lie> {
        match self.ended {
            true => Ok(self.granule - self.pre_skip),
            false => Err(Lie::Cut),
        }
    }

    fn judge(&mut self, page: &Page<'_>) -> Result<(), Lie> {
        if page_crc(page.bytes) != page.u32_at(22) {
            return Err(Lie::Checksum);
        }
        let flags = page.bytes[5];
        let serial = page.u32_at(14);
        let is_next = page.u32_at(18) == self.pages
            && (self.pages == 0 || serial == self.serial)
            && (flags & FIRST != 0) == (self.pages == 0)
            && (flags & CONTINUED == 0 || 2 <= self.pages)
            && flags < 8
            && !self.ended;
        if !is_next {
            return Err(Lie::Order);
        }
        match self.pages {
            0 => self.head(page)?,
            1 if page.data.starts_with(b"OpusTags") => {}
            1 => return Err(Lie::Head),
            _ => self.time(page.u64_at(6))?,
        }
        self.serial = serial;
        self.pages += 1;
        self.ended = flags & LAST != 0;
        match self.ended && self.granule < self.pre_skip {
            true => Err(Lie::Time),
            false => Ok(()),
        }
    }

    fn head(&mut self, page: &Page<'_>) -> Result<(), Lie> {
        let head: &[u8; OPUS_HEAD_BYTES] = page.data.try_into().map_err(|_| Lie::Head)?;
        let is_ours =
            head.starts_with(b"OpusHead\x01") && head[9] == self.channels && head[18] == 0;
        if !is_ours {
            return Err(Lie::Head);
        }
        self.pre_skip = u64::from(u16::from_le_bytes([head[10], head[11]]));
        Ok(())
    }

    fn time(&mut self, granule: u64) -> Result<(), Lie> {
        /// RFC 3533 §6: no packet ends on this page.
        const NO_TIME: u64 = u64::MAX;
        if granule == NO_TIME {
            return Ok(());
        }
        if granule < self.granule || self.samples_max + self.pre_skip < granule {
            return Err(Lie::Time);
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
        u32::from_le_bytes(*field.expect("lies in the head"))
    }

    fn u64_at(&self, at: usize) -> u64 {
        let field = self.bytes[at..].first_chunk();
        u64::from_le_bytes(*field.expect("lies in the head"))
    }
}

/// The page that `bytes` begin with, unless more are needed to tell.
fn page(bytes: &[u8]) -> Result<Option<Page<'_>>, Lie> {
    const MAGIC: &[u8] = b"OggS\0";
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(Lie::NoPage);
    }
    let Some(&segments) = bytes.get(HEAD_BYTES - 1) else {
        return Ok(None);
    };
    let begin = HEAD_BYTES + usize::from(segments);
    let Some(lengths) = bytes.get(HEAD_BYTES..begin) else {
        return Ok(None);
    };
    let data: usize = lengths.iter().map(|length| usize::from(*length)).sum();
    let page = bytes.get(..begin + data);
    Ok(page.map(|bytes| Page {
        bytes,
        data: &bytes[begin..],
    }))
}

/// The checksum of a page, its own field taken as zero: CRC of polynomial 0x04c11db7, from the highest bit on (RFC 3533 §6).
///
/// # Panics
/// When the page has no head.
#[must_use]
pub fn page_crc(page: &[u8]) -> u32 {
    let (before, rest) = page.split_at(22);
    let (_, behind) = rest.split_at(4);
    let bytes = before.iter().chain(&[0; 4]).chain(behind);
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
