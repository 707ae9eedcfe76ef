//! Motion photos: JPEG files with a short video after the picture. Three formats state the place of
//! the video:
//!
//! ```text
//! Google, version 1   XMP: MicroVideoOffset, the distance from the video to the end of the file
//! Google, version 2   XMP: a list of items; each item after the first is appended with its length
//! Samsung             trailer: a directory of blocks, one of them called MotionPhoto_Data
//! ```
//!
//! Editors of pictures may drop the video and keep the XMP, so a range counts only if an MP4 file
//! begins there.

use std::ops::Range;

use crate::input::{Input, WINDOW_BYTES_MAX};
use crate::photo_metadata::find::app1;
use crate::xmp::{self, Event};
use crate::{Error, Limits, ReadAt, mp4};

/// Bytes at the beginning of a file that show if it is an MP4 file.
const SNIFF_BYTES: u64 = 16;
/// Maximum number of items that an XMP may list.
const ITEMS_MAX: usize = 32;
/// Maximum number of blocks in a Samsung trailer.
const BLOCKS_MAX: u32 = 128;
/// Name of the block of a Samsung trailer that is the video.
const SAMSUNG_NAME: &[u8] = b"MotionPhoto_Data";

/// Returns the range of the video in a motion photo of `len` bytes. Returns `None` for other files,
/// and for a motion photo without its video.
///
/// # Errors
/// Reading fails, or the file exceeds a limit. A file that contradicts its format counts as
/// one without a video.
pub fn read_motion(
    source: &(impl ReadAt + ?Sized),
    len: u64,
    limits: &Limits,
) -> Result<Option<Range<u64>>, Error> {
    let mut window = Vec::new();
    let mut input = Input::new(&source, len, &mut window, limits);
    if !input.up_to(0, 3)?.starts_with(&[0xff, 0xd8, 0xff]) {
        return Ok(None);
    }
    for find in [google, samsung] {
        let found = match find(&mut input) {
            Err(err) if err.is_local() => None,
            other => other?,
        };
        if let Some(range) = found
            && is_video(&mut input, &range)?
        {
            return Ok(Some(range));
        }
    }
    Ok(None)
}

/// Returns whether an MP4 file begins at the start of `range`.
fn is_video(input: &mut Input<'_>, range: &Range<u64>) -> Result<bool, Error> {
    let is_inside =
        range.start.saturating_add(SNIFF_BYTES) <= range.end && range.end <= input.len();
    Ok(is_inside && mp4::is_mp4(input.bytes(range.start, SNIFF_BYTES as usize)?))
}

/// Item in the list of an XMP.
#[derive(Default)]
struct Item {
    is_video: bool,
    bytes: u64,
    /// Bytes between the item and the next one.
    padding: u64,
}

/// Returns the range of the video that the XMP of a JPEG file states.
fn google(input: &mut Input<'_>) -> Result<Option<Range<u64>>, Error> {
    let Some(segment) = app1(input, xmp::SEGMENT_PREFIX)? else {
        return Ok(None);
    };
    let len = input.len();
    let start = segment.start + xmp::SEGMENT_PREFIX.len() as u64;
    // The length of a segment has 16 bits.
    let bytes = (segment.end.min(len) - start).min(WINDOW_BYTES_MAX as u64);
    let text = String::from_utf8_lossy(input.bytes(start, bytes as usize)?).into_owned();
    let mut listed = Listed::default();
    let mut element = "";
    for event in xmp::events(&text) {
        match event {
            Event::Start(tag) => {
                element = tag.name.local;
                if element == "li" && listed.items.len() < ITEMS_MAX {
                    listed.items.push(Item::default());
                }
                for (name, value) in tag.attributes() {
                    listed.set(name.local, &value.decoded());
                }
            }
            Event::Text(value) => {
                let value = value.decoded();
                let value = value.trim();
                if !value.is_empty() {
                    listed.set(element, value);
                }
            }
            Event::End => element = "",
        }
    }
    let offset = listed.offset;
    Ok(in_items(&listed.items, len).or_else(|| Some(len.checked_sub(offset?)?..len)))
}

/// Statements of an XMP about the video.
#[derive(Default)]
struct Listed {
    /// Items of version 2.
    items: Vec<Item>,
    /// Distance from the video to the end of the file, in version 1.
    offset: Option<u64>,
}

impl Listed {
    /// Takes the value of a simple property, which XMP writes as an attribute or as an element. Its
    /// namespace is ignored, because producers use several prefixes and namespaces.
    fn set(&mut self, name: &str, value: &str) {
        if name == "MicroVideoOffset" {
            self.offset = value.parse().ok();
        }
        let Some(item) = self.items.last_mut() else {
            return;
        };
        match (name, value) {
            ("Semantic", "MotionPhoto") => item.is_video = true,
            ("Length", value) => item.bytes = value.parse().unwrap_or(0),
            ("Padding", value) => item.padding = value.parse().unwrap_or(0),
            _ => {}
        }
    }
}

/// Returns the range of the video among `items`. The last item ends where the file of `len` bytes
/// ends.
fn in_items(items: &[Item], len: u64) -> Option<Range<u64>> {
    let at = items.iter().position(|item| item.is_video)?;
    // The primary item, which is the first, is the picture itself.
    let after = items.get(at.max(1) + 1..).unwrap_or_default();
    let behind = after.iter().try_fold(items[at].padding, |sum, item| {
        sum.checked_add(item.bytes)?.checked_add(item.padding)
    })?;
    let end = len.checked_sub(behind)?;
    Some(end.checked_sub(items[at].bytes)?..end)
}

/// Returns the range of the video that a Samsung trailer states. The file ends with the trailer:
///
/// ```text
/// blocks · SEFH · version u32 · count u32 · entries · bytes from SEFH to here u32 · SEFT
/// entry: 2 bytes · type u16 · distance from the block to SEFH u32 · bytes of the block u32
/// block: 2 bytes · type u16 · bytes of the name u32 · name · data
/// ```
///
/// All numbers are little-endian.
fn samsung(input: &mut Input<'_>) -> Result<Option<Range<u64>>, Error> {
    let Some(tail) = input.len().checked_sub(8) else {
        return Ok(None);
    };
    let [a, b, c, d, magic @ ..] = input.array::<8>(tail)?;
    let directory = tail.checked_sub(u64::from(u32::from_le_bytes([a, b, c, d])));
    let Some(directory) = directory.filter(|_| magic == *b"SEFT") else {
        return Ok(None);
    };
    let head = input.array::<12>(directory)?;
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes[at..].first_chunk().expect("four bytes are left");
        u32::from_le_bytes(*bytes)
    };
    if !head.starts_with(b"SEFH") {
        return Err(Error::malformed(
            "the directory of the Samsung trailer (SEFH) is malformed",
        ));
    }
    for entry in 0..u64::from(number(&head, 8).min(BLOCKS_MAX)) {
        input.part()?;
        let entry = input.array::<12>(directory + 12 + 12 * entry)?;
        let Some(start) = directory.checked_sub(number(&entry, 4).into()) else {
            continue;
        };
        let end = start + u64::from(number(&entry, 8));
        let name_bytes = number(&input.array::<8>(start)?, 4);
        let data = start + 8 + u64::from(name_bytes);
        if name_bytes as usize == SAMSUNG_NAME.len()
            && end <= directory
            && data <= end
            && input.bytes(start + 8, SAMSUNG_NAME.len())? == SAMSUNG_NAME
        {
            return Ok(Some(data..end));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
