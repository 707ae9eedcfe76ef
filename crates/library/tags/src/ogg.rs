//! Ogg with Vorbis, Opus, FLAC or Speex: the first two packets of the first stream, and its last
//! page. In a file of chained streams, the first packets and the last page of each stream are read.
//! In the table, `@` precedes the offset of a field in bytes.
//!
//! ```text
//! page: @0 "OggS" · @4 version · @5 flags · @6 granule u64 · @14 serial u32 · @18 sequence u32
//!       @22 CRC · @26 number of segments u8 · @27 length of each segment u8 · segments
//! packet: segments of 255 bytes, and a last segment of fewer bytes
//! ```
//! Little-endian. A picture in the comments fills many pages, most of which have the same size, so
//! the page after the picture is expected at the offset that this size implies. The sequence number
//! found there proves the number of pages in between. All segments of these pages are 255 bytes
//! long, since the packet continues from each page to the next. So the distance determines how many
//! bytes of the packet the pages contain, and the pages need not be read. Sources: RFC 3533, RFC
//! 7845, the Vorbis I specification §4.2, RFC 9639 §10.1, the Speex manual's header.

mod chain;

use crate::comments::{self, Flow};
use crate::input::Input;
use crate::media::{Audio, AudioHash, Codec, Container, Stored};
use crate::{Error, Media};

pub(crate) const MAGIC: &[u8; 4] = b"OggS";

const HEAD_BYTES: u64 = 27;
/// Maximum number of failed attempts to skip pages of a packet. An attempt fails if the expected
/// page does not begin at the computed offset. After that, the pages are read one by one.
const MISSES_MAX: u32 = 4;
/// Numbers of bytes that are searched for the last page of a file or link, counted back from its
/// end. They are tried in this order; the last one is larger than any page.
const TAIL_BYTES: [u64; 3] = [8 << 10, 32 << 10, 68 << 10];
/// Sample rate of Opus granule positions, which is fixed.
const OPUS_RATE_HZ: u32 = 48_000;

/// Bytes of a stream's first packet that are parsed.
const IDENT_BYTES: u64 = 64;

const CONTINUED: u8 = 1;
const FIRST: u8 = 2;

pub(crate) fn read(input: &mut Input<'_>) -> Result<Media, Error> {
    let serial = u32::from_le_bytes(input.array(14)?);
    let mut packet = Packet::begin(input, 0, serial)?;
    let head = packet
        .take(packet.body_left.min(IDENT_BYTES) as usize)?
        .to_vec();
    let mut media = Media::new(Container::Ogg, Codec::Other);
    let start = identify(&head, &mut media.audio)?;
    let second = packet.page_end;
    let mut packet = Packet::begin(input, second, serial)?;
    match comment_packet(&mut packet, &mut media) {
        Err(err) if err.is_local() => {
            media.issue("the comment packet of the Ogg stream is malformed")
        }
        other => other?,
    }
    let len = input.len();
    let last = last_page(input, len, |page| {
        page.serial == serial && page.ends_packet()
    })?;
    let chain = match last_page(input, len, |_| true)? {
        Some(other) if other.serial != serial => chain::measure(input, media.audio, &other)?,
        _ => None,
    };
    media.audio.exact = chain.as_ref().map_or(last.is_some(), |chain| chain.exact);
    let samples = match (chain, &last) {
        (Some(chain), _) => Some(chain.samples),
        (None, Some(last)) => Some(last.granule.saturating_sub(start.into())),
        // The whole file was searched and no last page was found, so there is no audio.
        (None, None) if len <= TAIL_BYTES[TAIL_BYTES.len() - 1] => Some(0),
        (None, None) => None,
    };
    match samples {
        Some(0) => {
            return Err(Error::truncated(
                "the Ogg file ends before its audio begins",
            ));
        }
        Some(samples) => media.audio.measure(samples, len.saturating_sub(second)),
        None => media.issue("the duration is unknown, because the last Ogg page was not found"),
    }
    media.audio_hash = AudioHash::of(
        "ogg",
        last.map_or(0, |page| page.granule),
        &[&head, &serial.to_le_bytes()[..]].concat(),
    );
    Ok(media)
}

/// Parses the first packet. Returns the number of samples that a decoder discards at the start.
fn identify(head: &[u8], audio: &mut Audio) -> Result<u16, Error> {
    let short = || Error::malformed("the identification header of the Ogg stream is truncated");
    let u32_at = |at: usize| head.get(at..).and_then(<[u8]>::first_chunk);
    if head.starts_with(b"\x01vorbis") {
        audio.codec = Codec::Vorbis;
        audio.channels = (*head.get(11).ok_or_else(short)?).into();
        audio.sample_rate_hz = u32::from_le_bytes(*u32_at(12).ok_or_else(short)?);
    } else if head.starts_with(b"OpusHead") {
        audio.codec = Codec::Opus;
        audio.channels = (*head.get(9).ok_or_else(short)?).into();
        audio.sample_rate_hz = OPUS_RATE_HZ;
        let skip = head.get(10..).and_then(<[u8]>::first_chunk);
        return Ok(u16::from_le_bytes(*skip.ok_or_else(short)?));
    } else if head.starts_with(b"\x7fFLAC") {
        // In Ogg, the first packet consists of a mapping header of 9 bytes, FLAC's magic number, a
        // block header, and STREAMINFO from offset 17 on. The sample rate is at offset 10 of
        // STREAMINFO.
        let word = head.get(27..).and_then(<[u8]>::first_chunk);
        let word = u64::from_be_bytes(*word.ok_or_else(short)?);
        audio.codec = Codec::Flac;
        audio.sample_rate_hz = (word >> 44) as u32;
        audio.channels = (word >> 41 & 7) as u16 + 1;
        audio.bits = (word >> 36 & 31) as u8 + 1;
    } else if head.starts_with(b"Speex   ") {
        let word = |at: usize| Ok::<u32, Error>(u32::from_le_bytes(*u32_at(at).ok_or_else(short)?));
        audio.codec = Codec::Speex;
        audio.sample_rate_hz = word(36)?;
        audio.channels = word(48)? as u16;
    } else {
        return Err(Error::new(
            crate::ErrorKind::Unknown,
            "the codec of the Ogg stream is not Vorbis, Opus, FLAC or Speex",
        ));
    }
    if audio.sample_rate_hz == 0 {
        return Err(Error::malformed(
            "the sample rate of the Ogg stream is missing",
        ));
    }
    Ok(0)
}

fn comment_packet(packet: &mut Packet<'_, '_>, media: &mut Media) -> Result<(), Error> {
    let head_bytes = match media.audio.codec {
        Codec::Opus => 8,
        Codec::Vorbis => 7,
        // In a comment packet of Speex, the comments begin at offset 0.
        Codec::Speex => 0,
        _ => 4,
    };
    let head = packet.take(head_bytes)?;
    let is_comments = match media.audio.codec {
        Codec::Opus => head == b"OpusTags",
        Codec::Vorbis => head == b"\x03vorbis",
        Codec::Speex => true,
        _ => head[0] & 0x7f == 4,
    };
    if !is_comments {
        return Err(Error::malformed("the Ogg stream has no comment packet"));
    }
    let limits = packet.input.limits;
    comments::read(packet, limits, Stored::OggBase64, media)
}

/// Reader of one packet that may span several pages.
pub(crate) struct Packet<'a, 'b> {
    input: &'a mut Input<'b>,
    serial: u32,
    sequence: u32,
    /// File offset of the packet's next byte, in the current page.
    at: u64,
    /// Bytes of the packet that are left in the current page.
    body_left: u64,
    /// True if the packet continues in the next page.
    goes_on: bool,
    page_end: u64,
    /// Length of the current page's body in bytes.
    body_bytes: u64,
    misses_left: u32,
    /// Buffer in which `take` joins bytes of several pages.
    joined: Vec<u8>,
}

impl<'a, 'b> Packet<'a, 'b> {
    /// Returns a reader of the packet that begins in the first page of stream `serial` at or after
    /// offset `at`.
    pub(crate) fn begin(
        input: &'a mut Input<'b>,
        at: u64,
        serial: u32,
    ) -> Result<Packet<'a, 'b>, Error> {
        let mut packet = Packet {
            input,
            serial,
            sequence: 0,
            at,
            body_left: 0,
            goes_on: true,
            page_end: at,
            body_bytes: 0,
            misses_left: MISSES_MAX,
            joined: Vec::new(),
        };
        packet.open(at)?;
        Ok(packet)
    }

    /// Opens the next page of the stream at or after `page` and continues the packet there.
    fn open(&mut self, mut page: u64) -> Result<(), Error> {
        loop {
            self.input.part()?;
            let head: [u8; HEAD_BYTES as usize] = self.input.array(page)?;
            if &head[..4] != MAGIC {
                return Err(Error::malformed(
                    "the Ogg file has other data where a page should begin",
                ));
            }
            let segments = usize::from(head[26]);
            let lengths = self.input.bytes(page + HEAD_BYTES, segments)?;
            let body_bytes: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
            let ends = lengths.iter().position(|&length| length < 255);
            let mine = &lengths[..ends.map_or(segments, |last| last + 1)];
            let mine_bytes = mine.iter().map(|&length| u64::from(length)).sum();
            let body = page + HEAD_BYTES + segments as u64;
            if head[14..18] != self.serial.to_le_bytes() {
                page = body + body_bytes;
                continue;
            }
            let sequence = head[18..22]
                .first_chunk()
                .expect("the slice has four bytes");
            self.sequence = u32::from_le_bytes(*sequence);
            self.at = body;
            self.body_left = mine_bytes;
            self.goes_on = ends.is_none();
            self.page_end = body + body_bytes;
            self.body_bytes = body_bytes;
            return Ok(());
        }
    }

    /// Advances to the next page if the current page has no bytes of the packet left.
    fn advance(&mut self) -> Result<(), Error> {
        while self.body_left == 0 {
            if !self.goes_on {
                return Err(Error::malformed("an Ogg packet is truncated"));
            }
            self.open(self.page_end)?;
        }
        Ok(())
    }

    /// Tries to skip whole pages of the packet's next `count` bytes, by jumping to the offset that
    /// the size of the current page implies. Returns the number of bytes skipped: 0 if the expected
    /// page is not there.
    fn leap(&mut self, count: u64) -> Result<u64, Error> {
        let pages = count.checked_div(self.body_bytes).unwrap_or(0);
        if pages == 0 || !self.goes_on || self.misses_left == 0 {
            return Ok(0);
        }
        let page_bytes = HEAD_BYTES + self.body_bytes / 255 + self.body_bytes;
        let page = self.page_end + pages * page_bytes;
        let head = self.input.up_to(page, HEAD_BYTES as usize)?;
        let sequence = u64::from(self.sequence) + 1 + pages;
        let is_there = head.len() == HEAD_BYTES as usize
            && head.starts_with(MAGIC)
            && head[5] & CONTINUED != 0
            && head[14..18] == self.serial.to_le_bytes()
            && u64::from_le_bytes([head[18], head[19], head[20], head[21], 0, 0, 0, 0]) == sequence;
        if !is_there {
            self.misses_left -= 1;
            return Ok(0);
        }
        let left_out = pages * self.body_bytes;
        self.open(page)?;
        Ok(left_out)
    }
}

impl Flow for Packet<'_, '_> {
    fn left(&self) -> u64 {
        match self.goes_on {
            true => self.input.len().saturating_sub(self.at),
            false => self.body_left,
        }
    }

    fn offset(&mut self) -> Result<u64, Error> {
        if self.body_left == 0 && self.goes_on {
            self.advance()?;
        }
        Ok(self.at)
    }

    fn take(&mut self, count: usize) -> Result<&[u8], Error> {
        if count as u64 <= self.body_left {
            let at = self.at;
            self.at += count as u64;
            self.body_left -= count as u64;
            return self.input.bytes(at, count);
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        while joined.len() < count {
            self.advance()?;
            let now = self.body_left.min((count - joined.len()) as u64);
            joined.extend_from_slice(self.input.bytes(self.at, now as usize)?);
            self.at += now;
            self.body_left -= now;
        }
        self.joined = joined;
        Ok(&self.joined)
    }

    fn skip(&mut self, mut count: u64) -> Result<(), Error> {
        while self.body_left < count {
            count -= self.body_left;
            self.at += self.body_left;
            self.body_left = 0;
            match self.leap(count)? {
                0 => self.advance()?,
                left_out => count -= left_out,
            }
        }
        self.at += count;
        self.body_left -= count;
        Ok(())
    }

    fn part(&mut self) -> Result<(), Error> {
        self.input.part()
    }
}

/// Fields of the header of an Ogg page.
struct Page {
    at: u64,
    serial: u32,
    /// Number of samples up to the end of the last packet that ends in this page; all ones if no
    /// packet ends in it.
    granule: u64,
}

impl Page {
    fn read(at: u64, head: &[u8]) -> Option<Page> {
        let granule = head.get(6..)?.first_chunk()?;
        let serial = head.get(14..)?.first_chunk()?;
        head.starts_with(MAGIC).then_some(Page {
            at,
            serial: u32::from_le_bytes(*serial),
            granule: u64::from_le_bytes(*granule),
        })
    }

    fn ends_packet(&self) -> bool {
        self.granule != u64::MAX
    }
}

/// Returns the last page before `end` that satisfies `is_wanted`. Searches at most as many bytes
/// before `end` as the largest of `TAIL_BYTES`.
fn last_page(
    input: &mut Input<'_>,
    end: u64,
    is_wanted: impl Fn(&Page) -> bool,
) -> Result<Option<Page>, Error> {
    for tail_bytes in TAIL_BYTES {
        let start = end.saturating_sub(tail_bytes);
        let tail = input.bytes(start, (end - start) as usize)?;
        let mut heads = tail.windows(HEAD_BYTES as usize).enumerate().rev();
        let found = heads.find_map(|(skip, head)| {
            let page = Page::read(start + skip as u64, head)?;
            is_wanted(&page).then_some(page)
        });
        if found.is_some() || start == 0 {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the pieces, as offset and length, of a value that begins at `offset` in a page and may
/// continue in the next pages.
pub(crate) fn runs(
    input: &mut Input<'_>,
    offset: u64,
    bytes: u64,
) -> Result<Vec<(u64, u64)>, Error> {
    let (page, serial) = page_of(input, offset)?;
    let mut packet = Packet::begin(input, page, serial)?;
    let before = offset
        .checked_sub(packet.at)
        .filter(|before| *before <= packet.body_left)
        .ok_or(Error::malformed(
            "the Ogg page that contains the picture was not found",
        ))?;
    packet.at += before;
    packet.body_left -= before;
    let mut runs = Vec::new();
    let mut left = bytes;
    while left != 0 {
        packet.advance()?;
        let now = packet.body_left.min(left);
        runs.push((packet.at, now));
        packet.at += now;
        packet.body_left -= now;
        left -= now;
    }
    Ok(runs)
}

/// Returns the offset and the serial number of the page that holds the byte at `offset`.
fn page_of(input: &mut Input<'_>, offset: u64) -> Result<(u64, u32), Error> {
    let mut page = 0;
    loop {
        input.part()?;
        let head: [u8; HEAD_BYTES as usize] = input.array(page)?;
        if &head[..4] != MAGIC {
            return Err(Error::malformed(
                "the Ogg file has other data where a page should begin",
            ));
        }
        let segments = usize::from(head[26]);
        let lengths = input.bytes(page + HEAD_BYTES, segments)?;
        let body_bytes: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        let end = page + HEAD_BYTES + segments as u64 + body_bytes;
        if offset < end {
            let serial = head[14..18]
                .first_chunk()
                .expect("the slice has four bytes");
            return Ok((page, u32::from_le_bytes(*serial)));
        }
        page = end;
    }
}
