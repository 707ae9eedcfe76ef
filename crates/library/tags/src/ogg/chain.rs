//! Chained streams: several links in sequence in one file (RFC 3533 §4), each with its own headers,
//! serial numbers and timestamps. A link consists of one stream or of several concurrent streams.
//!
//! The end of a link is found by bisection, as in libvorbisfile. The searched range begins with a
//! page of the link's streams and ends with a page of other streams; the page in its middle decides
//! which half to search next.

use super::{FIRST, HEAD_BYTES, IDENT_BYTES, Packet, Page, identify, last_page};
use crate::comments::Flow as _;
use crate::input::Input;
use crate::media::Audio;
use crate::{Error, ErrorKind};
use std::ops::Range;

/// Maximum number of measured links.
const LINKS_MAX: usize = 16;
/// Maximum number of concurrent streams in a link.
const STREAMS_MAX: usize = 16;
/// Bytes read per step of the search for a page.
const STEP_BYTES: u64 = 8 << 10;
/// Maximum bytes searched for a page, which are more than the longest page.
const SEARCH_BYTES: u64 = 68 << 10;

/// Playing time of all links together.
pub(super) struct Chain {
    /// Number of samples, converted to the sample rate of the first link.
    pub(super) samples: u64,
    /// True if every link was measured; otherwise the length of the other links is extrapolated
    /// from the measured links.
    pub(super) exact: bool,
}

/// Measures a chain whose last page, `last`, does not belong to the first stream of the file.
/// Returns `None` if the file is not a chain: `last` then belongs to a stream that is concurrent
/// with the first stream. Also returns `None` if not even the first link can be measured.
pub(super) fn measure(
    input: &mut Input<'_>,
    first: Audio,
    last: &Page,
) -> Result<Option<Chain>, Error> {
    let mut walk = Walk {
        first,
        samples: 0,
        at: 0,
    };
    match walk.run(input, last) {
        Ok(()) => {}
        Err(err) if err.kind == ErrorKind::Io => return Err(err),
        // The remaining links are broken or exceed the limits, so their length is extrapolated.
        Err(_) if walk.at != 0 => {
            let samples = u128::from(walk.samples) * u128::from(input.len()) / u128::from(walk.at);
            return Ok(Some(Chain {
                samples: u64::try_from(samples).unwrap_or(u64::MAX),
                exact: false,
            }));
        }
        Err(_) => {}
    }
    Ok((walk.at != 0).then_some(Chain {
        samples: walk.samples,
        exact: true,
    }))
}

struct Walk {
    first: Audio,
    /// Number of samples of the links before `at`, converted to the sample rate of the first link.
    samples: u64,
    /// Start of the first link that is not measured yet.
    at: u64,
}

impl Walk {
    fn run(&mut self, input: &mut Input<'_>, last: &Page) -> Result<(), Error> {
        for _ in 0..LINKS_MAX {
            let serials = streams(input, self.at)?;
            if serials.contains(&last.serial) {
                if self.at != 0 {
                    let samples = self.link(input, serials[0], input.len())?;
                    self.samples = self.samples.saturating_add(samples);
                }
                return Ok(());
            }
            let next = boundary(input, self.at..last.at, &serials)?;
            // RFC 3533 §4: a link begins with the first pages of its streams.
            if input.array::<{ HEAD_BYTES as usize }>(next)?[5] & FIRST == 0 {
                return Err(Error::malformed(
                    "the first page of a chained Ogg stream does not have the flag of first pages",
                ));
            }
            let samples = self.link(input, serials[0], next)?;
            self.samples = self.samples.saturating_add(samples);
            self.at = next;
        }
        Err(Error::limit(
            "the Ogg file has more chained streams than the limit allows",
        ))
    }

    /// Returns the number of samples of the link from `self.at` to `end`, converted to the sample
    /// rate of the first link.
    fn link(&self, input: &mut Input<'_>, serial: u32, end: u64) -> Result<u64, Error> {
        let mut packet = Packet::begin(input, self.at, serial)?;
        let head_bytes = packet.body_left.min(IDENT_BYTES) as usize;
        let mut audio = self.first;
        let start = identify(packet.take(head_bytes)?, &mut audio)?;
        let last = last_page(input, end, |page| {
            page.ends_packet() && page.serial == serial
        })?;
        let samples = last.map_or(0, |page| page.granule.saturating_sub(start.into()));
        let rate = u128::from(audio.sample_rate_hz);
        let scaled = u128::from(samples) * u128::from(self.first.sample_rate_hz) / rate;
        Ok(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// Returns the serial numbers of the streams whose first pages are consecutive from offset `at` on.
/// The page at `at` counts as a first page in any case.
fn streams(input: &mut Input<'_>, mut at: u64) -> Result<Vec<u32>, Error> {
    let mut serials = Vec::new();
    while serials.len() < STREAMS_MAX {
        input.part()?;
        let head: [u8; HEAD_BYTES as usize] = input.array(at)?;
        if !serials.is_empty() && head[5] & FIRST == 0 {
            return Ok(serials);
        }
        let page = Page::read(at, &head).ok_or(Error::malformed(
            "the Ogg file has other data where a page should begin",
        ))?;
        serials.push(page.serial);
        let lengths = input.bytes(at + HEAD_BYTES, head[26].into())?;
        let body_bytes: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        at += HEAD_BYTES + lengths.len() as u64 + body_bytes;
    }
    Err(Error::limit(
        "the Ogg file has more multiplexed streams than the limit allows",
    ))
}

/// Returns the offset of the first page in `range` whose stream is not in `serials`. `range` starts
/// at a page of a stream in `serials`, and ends at a page of another stream.
fn boundary(input: &mut Input<'_>, range: Range<u64>, serials: &[u32]) -> Result<u64, Error> {
    let Range { mut start, mut end } = range;
    let mut found = end;
    while start < end {
        input.part()?;
        let middle = match end - start {
            0..STEP_BYTES => start,
            bytes => start + bytes / 2,
        };
        match next_page(input, middle..end)? {
            Some(page) if serials.contains(&page.serial) => start = page.at + HEAD_BYTES,
            Some(page) => (found, end) = (page.at, middle),
            None => end = middle,
        }
    }
    Ok(found)
}

/// Returns the first page that begins in `range`.
fn next_page(input: &mut Input<'_>, range: Range<u64>) -> Result<Option<Page>, Error> {
    let end = range.end.min(range.start + SEARCH_BYTES);
    let mut at = range.start;
    while at < end {
        let step = (end - at).min(STEP_BYTES);
        let bytes = input.up_to(at, (step + HEAD_BYTES - 1) as usize)?;
        let mut heads = bytes.windows(HEAD_BYTES as usize).enumerate();
        let found = heads.find_map(|(skip, head)| Page::read(at + skip as u64, head));
        if found.is_some() {
            return Ok(found);
        }
        at += step;
    }
    Ok(None)
}
