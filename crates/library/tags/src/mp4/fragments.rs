//! Fragmented MP4, as streaming servers and recorders write it: the duration of the samples after
//! `moov`.
//!
//! ```text
//! moov { … mvex { trex } } · ( [sidx] · moof { mfhd · traf { tfhd · tfdt · trun … } } · mdat ) …
//! trex: @4 track u32 · @12 duration of a sample u32
//! tfhd: @1 flags u24 · @4 track u32 · [1: offset u64] · [2: description u32]
//!       [8: duration of a sample u32] …
//! tfdt: @0 version u8 · @4 time of the first sample, u32 or u64
//! trun: @1 flags u24 · @4 number of samples u32 · [1: offset u32] · [4: flags u32] · samples
//! sample: [100: duration u32] · [200: u32] · [400: u32] · [800: u32]
//! ```
//! `@` precedes the offset of a field in bytes. Bracketed fields are present if the flag before the
//! colon, in hexadecimal, is set. Source: ISO 14496-12 §8.8.

use super::sound::Sound;
use super::{find, next};
use crate::input::Input;
use crate::{Error, ErrorKind, Media};
use std::ops::Range;

/// Maximum number of boxes that are read from the first fragment on. In a file with more boxes, the
/// last fragment is found by a search from the end of the file.
const WALKED_MAX: usize = 64;
/// Maximum bytes before the end of the file that are searched for the last fragment.
const TAIL_BYTES_MAX: u64 = 1 << 20;
/// Bytes read per step of the search for the last fragment.
const STEP_BYTES: u64 = 64 << 10;
/// Bytes read at a time from a table of sample durations (`trun`).
const SAMPLES_BYTES: u64 = 64 << 10;

/// Extends the duration of `sound` to the end of the last fragment, if this end can be determined.
pub(super) fn lengthen(
    input: &mut Input<'_>,
    moov: &Range<u64>,
    fragments: &Range<u64>,
    sound: &mut Sound,
    media: &mut Media,
) -> Result<(), Error> {
    let usual = match find(input, moov, b"mvex")? {
        Some(mvex) => usual_duration(input, &mvex, sound.id)?,
        None => 0,
    };
    let end = match end_of_last(input, fragments, (sound.id, usual)) {
        Err(err) if err.kind != ErrorKind::Io => {
            media.issue("a fragment of the mp4 is malformed");
            None
        }
        end => end?,
    };
    if let Some(end) = end {
        sound.duration = sound.duration.max(end);
    }
    Ok(())
}

/// Returns the default duration of a sample (`trex`), for fragments that do not state a duration.
fn usual_duration(input: &mut Input<'_>, mvex: &Range<u64>, id: u32) -> Result<u32, Error> {
    let mut at = mvex.start;
    while let Some(atom) = next(input, &mut at, mvex)? {
        if &atom.kind == b"trex" && u32::from_be_bytes(input.field(&atom.body, 4)?) == id {
            return Ok(u32::from_be_bytes(input.field(&atom.body, 12)?));
        }
    }
    Ok(0)
}

/// Returns the end time of a track's last fragment. `track` is the track's id and its default
/// sample duration.
fn end_of_last(
    input: &mut Input<'_>,
    fragments: &Range<u64>,
    track: (u32, u32),
) -> Result<Option<u64>, Error> {
    let (mut at, mut end) = (fragments.start, None);
    for _ in 0..WALKED_MAX {
        match next(input, &mut at, fragments) {
            Ok(Some(atom)) if &atom.kind == b"moof" => {
                end = fragment_end(input, &atom.body, track, end)?.or(end);
            }
            Ok(Some(_)) => {}
            // A truncated file can be played up to its last complete fragment.
            Ok(None) => return Ok(end),
            Err(err) if err.is_local() => return Ok(end),
            Err(err) => return Err(err),
        }
    }
    match last_fragment(input, fragments)? {
        Some(moof) => Ok(fragment_end(input, &moof, track, None)?.or(end)),
        None => Ok(end),
    }
}

/// Finds the last fragment that begins within `TAIL_BYTES_MAX` bytes before the end of the file.
fn last_fragment(
    input: &mut Input<'_>,
    fragments: &Range<u64>,
) -> Result<Option<Range<u64>>, Error> {
    let mut end = fragments.end;
    let first = end.saturating_sub(TAIL_BYTES_MAX).max(fragments.start);
    while first < end {
        let at = end.saturating_sub(STEP_BYTES).max(first);
        // Reads beyond `end`, so that every header that begins before `end` is complete. A header
        // consists of length u32 · "moof" · length u32 · "mfhd".
        let bytes = input.up_to(at, (end - at) as usize + 15)?;
        let mut heads = bytes.windows(16).enumerate().rev();
        let is_head = |head: &[u8]| &head[4..8] == b"moof" && &head[12..] == b"mfhd";
        if let Some((skip, head)) = heads.find(|(_, head)| is_head(head)) {
            let bytes = u32::from_be_bytes(*head.first_chunk().expect("16 bytes"));
            let start = at + skip as u64;
            let body = start + 8..start.saturating_add(bytes.into());
            return Ok(Some(body).filter(|body| body.end <= fragments.end));
        }
        end = at;
    }
    Ok(None)
}

/// Returns the time at which a track's fragment ends. The fragment begins at the time `before`,
/// unless the fragment states its own start.
fn fragment_end(
    input: &mut Input<'_>,
    moof: &Range<u64>,
    (id, usual): (u32, u32),
    before: Option<u64>,
) -> Result<Option<u64>, Error> {
    let (mut at, mut end) = (moof.start, None);
    while let Some(traf) = next(input, &mut at, moof)? {
        if &traf.kind != b"traf" {
            continue;
        }
        let Some(tfhd) = find(input, &traf.body, b"tfhd")? else {
            continue;
        };
        if u32::from_be_bytes(input.field(&tfhd, 4)?) != id {
            continue;
        }
        let each = stated_duration(input, &tfhd)?.unwrap_or(usual);
        let mut time = match find(input, &traf.body, b"tfdt")? {
            Some(tfdt) => start_time(input, &tfdt)?,
            None => end.or(before).unwrap_or(0),
        };
        let mut inner = traf.body.start;
        while let Some(part) = next(input, &mut inner, &traf.body)? {
            if &part.kind == b"trun" {
                time = time.saturating_add(run_duration(input, &part.body, each)?);
            }
        }
        end = Some(time);
    }
    Ok(end)
}

fn stated_duration(input: &mut Input<'_>, tfhd: &Range<u64>) -> Result<Option<u32>, Error> {
    let flags = u32::from_be_bytes(input.field(tfhd, 0)?);
    let skip = if flags & 1 == 0 { 0 } else { 8 } + if flags & 2 == 0 { 0 } else { 4 };
    match flags & 8 {
        0 => Ok(None),
        _ => Ok(Some(u32::from_be_bytes(input.field(tfhd, 8 + skip)?))),
    }
}

fn start_time(input: &mut Input<'_>, tfdt: &Range<u64>) -> Result<u64, Error> {
    let [version] = input.field(tfdt, 0)?;
    match version {
        1 => Ok(u64::from_be_bytes(input.field(tfdt, 4)?)),
        _ => Ok(u32::from_be_bytes(input.field(tfdt, 4)?).into()),
    }
}

/// Returns the total duration of a run of samples.
fn run_duration(input: &mut Input<'_>, trun: &Range<u64>, each: u32) -> Result<u64, Error> {
    let flags = u32::from_be_bytes(input.field(trun, 0)?);
    let samples = u64::from(u32::from_be_bytes(input.field(trun, 4)?));
    if flags & 0x100 == 0 {
        return Ok(samples * u64::from(each));
    }
    let skip = [1, 4].map(|flag| u64::from(flags & flag != 0) * 4);
    let fields = [0x100, 0x200, 0x400, 0x800].map(|flag| u64::from(flags & flag != 0) * 4);
    let sample_bytes = fields.iter().sum::<u64>();
    let start = trun.start + 8 + skip.iter().sum::<u64>();
    let bytes = trun.end.saturating_sub(start).min(samples * sample_bytes);
    let mut rest = start..start + bytes / sample_bytes * sample_bytes;
    let mut duration = 0_u64;
    while rest.start < rest.end {
        let most = SAMPLES_BYTES / sample_bytes * sample_bytes;
        let step = (rest.end - rest.start).min(most) as usize;
        for sample in input
            .bytes(rest.start, step)?
            .chunks_exact(sample_bytes as usize)
        {
            let ticks = sample
                .first_chunk()
                .expect("the entry of a sample begins with its duration");
            duration = duration.saturating_add(u32::from_be_bytes(*ticks).into());
        }
        rest.start += step as u64;
    }
    Ok(duration)
}
