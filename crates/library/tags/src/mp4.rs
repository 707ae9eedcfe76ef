//! MP4 and related formats: boxes down to the first sound track and the list of metadata items;
//! sample tables and `mdat` are skipped. In the table, braces enclose the boxes inside a box, and
//! `@` precedes the offset of a field in bytes.
//!
//! ```text
//! ftyp · moov { mvhd ·
//!        trak { tkhd · mdia { mdhd · hdlr · minf { stbl { stsd · stts · stsz … } } } } ·
//!        udta { meta { ilst } } } · mdat
//! box: @0 length u32; 0 means to the end, 1 means that a u64 at @8 holds the length · @4 type · …
//! ilst { ©nam { data … } · covr { data … } · ---- { mean · name · data … } }
//! data: @8 type u32 · @12 locale · @16 value
//! ```
//! Big-endian; `moov` may come last. Sources: ISO 14496-12, 14496-14; Apple's QuickTime file format
//! for the metadata items.

mod fragments;
mod items;
mod sound;

use crate::input::Input;
use crate::media::{Codec, Container};
use crate::{Error, ErrorKind, Limits, Media, ReadAt};
use std::ops::Range;

/// One box: its type and its body.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    pub(crate) kind: [u8; 4],
    pub(crate) body: Range<u64>,
}

/// Returns whether a file with these first bytes is MP4.
pub(crate) fn is_mp4(head: &[u8]) -> bool {
    head.get(4..8).is_some_and(|kind| kind == b"ftyp")
}

pub(crate) fn read(input: &mut Input<'_>) -> Result<Media, Error> {
    let mut media = Media::new(Container::Mp4, Codec::Other);
    let mut at = 0;
    let (mut moov, mut mdat_bytes, mut fragments) = (None, 0, None);
    let len = input.len();
    while at < len {
        let atom = match atom(input, at, len) {
            Ok(Some(atom)) => atom,
            Ok(None) => {
                media.issue("invalid data after the last box of an mp4");
                break;
            }
            // A truncated file can be played up to its last complete sample.
            Err(err) if err.kind == ErrorKind::Truncated && moov.is_some() => {
                media.issue("an mp4 is cut off");
                mdat_bytes += len - at;
                break;
            }
            Err(err) => return Err(err),
        };
        let behind = atom.body.end;
        match &atom.kind {
            b"moov" => moov = Some(atom.body),
            b"mdat" => mdat_bytes += atom.body.end - atom.body.start,
            // An hour of audio may have thousands of fragments, so not every box is read from here
            // on. `fragments::lengthen` finds the last fragment.
            b"moof" if moov.is_some() => {
                fragments = Some(at..len);
                mdat_bytes += len - at;
                break;
            }
            _ => {}
        }
        at = behind;
    }
    let moov = moov.ok_or(Error::malformed("mp4 without a moov box"))?;
    let mut sound = None;
    let mut at = moov.start;
    while let Some(atom) = next(input, &mut at, &moov)? {
        match &atom.kind {
            b"trak" if sound.is_none() => sound = sound::read(input, &atom.body, &mut media)?,
            b"udta" => match items::read(input, &atom.body, &mut media) {
                Err(err) if err.is_local() => media.issue("the items of an mp4 are broken"),
                other => other?,
            },
            _ => {}
        }
    }
    let mut sound = sound.ok_or(Error::malformed("mp4 without a sound track"))?;
    if let Some(fragments) = fragments {
        fragments::lengthen(input, &moov, &fragments, &mut sound, &mut media)?;
    }
    sound.finish(mdat_bytes, &mut media);
    Ok(media)
}

/// Returns whether an MP4 file has a video track. Tracks of chapters and covers, which hold single
/// pictures, do not count.
///
/// # Errors
/// The file cannot be read, or is too damaged to decide.
pub fn has_video(
    source: &(impl ReadAt + ?Sized),
    file_bytes: u64,
    limits: &Limits,
) -> Result<bool, Error> {
    let mut window = Vec::new();
    let mut input = Input::new(&source, file_bytes, &mut window, limits);
    let Some(moov) = find(&mut input, &(0..file_bytes), b"moov")? else {
        return Ok(false);
    };
    let mut at = moov.start;
    while let Some(atom) = next(&mut input, &mut at, &moov)? {
        if &atom.kind == b"trak"
            && let Some(mdia) = find(&mut input, &atom.body, b"mdia")?
            && let Some(handler) = find(&mut input, &mdia, b"hdlr")?
            && &input.field(&handler, 8)? == b"vide"
            && let Some(minf) = find(&mut input, &mdia, b"minf")?
            && let Some(stbl) = find(&mut input, &minf, b"stbl")?
            && let Some(stsd) = find(&mut input, &stbl, b"stsd")?
            && !matches!(
                &input.field(&stsd, 12)?,
                b"jpeg" | b"png " | b"mjpa" | b"mjpb"
            )
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the box at `at`, within a parent that ends at `end`; `None` if no box can begin there.
fn atom(input: &mut Input<'_>, at: u64, end: u64) -> Result<Option<Atom>, Error> {
    input.part()?;
    if end < at + 8 {
        return Ok(None);
    }
    let [l0, l1, l2, l3, kind @ ..]: [u8; 8] = input.array(at)?;
    let (head_bytes, bytes) = match u32::from_be_bytes([l0, l1, l2, l3]) {
        0 => (8, end - at),
        1 if at + 16 <= end => (16, u64::from_be_bytes(input.array(at + 8)?)),
        bytes => (8, u64::from(bytes)),
    };
    if bytes < head_bytes {
        return Ok(None);
    }
    match at.checked_add(bytes) {
        Some(atom_end) if atom_end <= end => Ok(Some(Atom {
            kind,
            body: at + head_bytes..atom_end,
        })),
        _ => Err(Error::truncated("mp4 box is longer than its parent")),
    }
}

/// Returns the next box in `parent` and moves `at` past it.
pub(crate) fn next(
    input: &mut Input<'_>,
    at: &mut u64,
    parent: &Range<u64>,
) -> Result<Option<Atom>, Error> {
    let found = atom(input, *at, parent.end)?;
    if let Some(atom) = &found {
        *at = atom.body.end;
    }
    Ok(found)
}

/// Returns the body of the first box of this type in `parent`.
pub(crate) fn find(
    input: &mut Input<'_>,
    parent: &Range<u64>,
    kind: &[u8; 4],
) -> Result<Option<Range<u64>>, Error> {
    let mut at = parent.start;
    while let Some(atom) = next(input, &mut at, parent)? {
        if atom.kind == *kind {
            return Ok(Some(atom.body));
        }
    }
    Ok(None)
}
