//! Parser of the tables of an MP4 file, which give the positions of the packets of an ALAC track.
//!
//! ```text
//! moov ─ trak ─ mdia ─ minf ─ stbl ─┬─ stsd ─ alac ─ alac   the decoder's configuration ("cookie")
//!                                   ├─ stsz                 bytes of each packet
//!                                   ├─ stsc                 packets of each chunk, in runs
//!                                   └─ stco or co64         offset of each chunk
//! ```
//!
//! Sources: ISO 14496-12 §8.5 to 8.7, and the description of the cookie in the ALAC project.

use thiserror::Error;

/// Maximum number of sibling boxes that are parsed.
const BOXES_MAX: usize = 4_096;

/// Positions of the packets of one track, and the configuration of its decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Configuration of the decoder.
    pub cookie: Vec<u8>,
    /// Offset and length of each packet in bytes, in playing order.
    pub spans: Vec<(u64, u32)>,
}

/// Error of a file whose tables are invalid or contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("MP4: {0}")]
pub struct Malformed(
    /// Description of the error.
    pub &'static str,
);

/// Finds the packets of the first ALAC track. `moov` is the content of the file's box of type
/// `moov`.
///
/// # Errors
/// [`Malformed`] if `moov` contains no ALAC track, or if the tables of the track are invalid or
/// contradict each other.
pub fn packets(moov: &[u8]) -> Result<Packets, Malformed> {
    for (kind, trak) in boxes(moov) {
        if &kind != b"trak" {
            continue;
        }
        let Some(stbl) = path(trak, [b"mdia", b"minf", b"stbl"]) else {
            continue;
        };
        if let Some(cookie) = child(stbl, b"stsd").and_then(cookie) {
            let spans = spans(stbl)?;
            return Ok(Packets { cookie, spans });
        }
    }
    Err(malformed("the file has no ALAC track"))
}

fn path<'b>(mut at: &'b [u8], names: [&[u8; 4]; 3]) -> Option<&'b [u8]> {
    for name in names {
        at = child(at, name)?;
    }
    Some(at)
}

fn child<'b>(siblings: &'b [u8], name: &[u8; 4]) -> Option<&'b [u8]> {
    boxes(siblings)
        .find(|(kind, _)| kind == name)
        .map(|(_, body)| body)
}

/// Iterates over sibling boxes and stops at the first invalid one.
fn boxes(mut siblings: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (head, _) = siblings.split_first_chunk::<8>()?;
        let size = match u32_at(head, 0) as usize {
            0 => siblings.len(),
            size => size,
        };
        let body = siblings.get(8..size)?;
        siblings = &siblings[size..];
        Some(([head[4], head[5], head[6], head[7]], body))
    })
    .take(BOXES_MAX)
}

/// Returns the box with the configuration of the decoder. Includes the header of the box, which the
/// decoder skips.
fn cookie(stsd: &[u8]) -> Option<Vec<u8>> {
    const VERSION_AND_COUNT: usize = 8;
    /// Length of the fields of an audio sample entry that precede its child boxes, in bytes. In
    /// QuickTime files, an entry of version 1 has 16 more bytes.
    const ENTRY_BYTES: usize = 28;
    const VERSION_1_BYTES: usize = 16;
    let (_, entry) = boxes(stsd.get(VERSION_AND_COUNT..)?).find(|(kind, _)| kind == b"alac")?;
    let more = match entry.get(8..10)? {
        [0, 1] => VERSION_1_BYTES,
        _ => 0,
    };
    let inner = child(entry.get(ENTRY_BYTES + more..)?, b"alac")?;
    let mut cookie = vec![0; 4];
    cookie.extend(b"alac");
    cookie.extend(inner);
    Some(cookie)
}

fn spans(stbl: &[u8]) -> Result<Vec<(u64, u32)>, Malformed> {
    let sizes = child(stbl, b"stsz")
        .ok_or_else(|| malformed("the table of packet sizes (stsz) is missing"))?;
    let [_, _, _, _, 0, 0, 0, 0, sizes @ ..] = sizes else {
        return Err(malformed("packets of constant size are not supported"));
    };
    let sizes = table::<4>(sizes)?;
    let mut sizes = sizes.iter().map(|size| u32::from_be_bytes(*size));
    let runs = child(stbl, b"stsc")
        .ok_or_else(|| malformed("the table of packets per chunk (stsc) is missing"))?;
    let runs = table::<12>(runs.get(4..).unwrap_or(&[]))?;
    let chunks: Vec<u64> = match (child(stbl, b"stco"), child(stbl, b"co64")) {
        (Some(short), _) => {
            let offsets = table::<4>(short.get(4..).unwrap_or(&[]))?.iter();
            offsets.map(|at| u32::from_be_bytes(*at).into()).collect()
        }
        (None, Some(long)) => {
            let offsets = table::<8>(long.get(4..).unwrap_or(&[]))?.iter();
            offsets.map(|at| u64::from_be_bytes(*at)).collect()
        }
        (None, None) => {
            return Err(malformed(
                "the table of chunk offsets (stco or co64) is missing",
            ));
        }
    };
    let mut spans = Vec::with_capacity(sizes.len());
    let mut run = 0;
    for (number, &chunk) in (1_u64..).zip(&chunks) {
        while let Some(next) = runs.get(run + 1)
            && u64::from(u32_at(next, 0)) <= number
        {
            run += 1;
        }
        let Some(packets) = runs.get(run).map(|run| u32_at(run, 4)) else {
            break;
        };
        let mut at = chunk;
        // The runs may contain more packets than the table of sizes (`stsz`) has entries. Packets
        // without a size are ignored.
        for size in sizes.by_ref().take(packets as usize) {
            spans.push((at, size));
            at = at
                .checked_add(size.into())
                .ok_or_else(|| malformed("the offset of a packet overflows"))?;
        }
    }
    Ok(spans)
}

/// Returns the rows of a table that begins with its number of rows. Fails if `bytes` contains fewer
/// rows.
fn table<const N: usize>(bytes: &[u8]) -> Result<&[[u8; N]], Malformed> {
    let (count, rows) = bytes
        .split_first_chunk::<4>()
        .ok_or_else(|| malformed("a table ends before its number of rows"))?;
    let (rows, _) = rows.as_chunks();
    rows.get(..u32::from_be_bytes(*count) as usize)
        .ok_or_else(|| malformed("a table has fewer rows than it states"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes[at..].first_chunk();
    u32::from_be_bytes(*field.expect("callers have checked the length"))
}

fn malformed(why: &'static str) -> Malformed {
    Malformed(why)
}
