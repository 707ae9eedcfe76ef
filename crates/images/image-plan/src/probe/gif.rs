//! GIF: parses the screen descriptor, then all blocks, and counts the images. In the table, 21, 2C
//! and 3B are the hexadecimal bytes with which blocks start; bracketed fields are optional.
//!
//! ```text
//! "GIF89a" · screen: width u16 · height u16 · flags · background · aspect · [global colours]
//! 21 label sub-blocks… 0                                                          extension
//! 2C x y width height u16 · flags · [local colours] · code size · sub-blocks… 0   image
//! 3B                                                                              end
//! ```
//! Source: GIF89a specification. Decoders differ on truncated files, so the end of the file counts
//! as the end of the picture.

use super::facts::{Colour, Facts, Frames, ProbeError, ProbeErrorKind};
use super::head::HeaderReader;
use crate::{Format, Size};

/// Maximum number of bytes in which images are counted. If the first image extends beyond this
/// limit, the file counts as animated. For a still picture this mistake only costs time: the
/// picture is converted to an animation of one frame. The opposite mistake would lose the frames of
/// an animation.
const WALK_BYTES_MAX: u64 = 2 << 20;

const SCREEN_END: u64 = 13;
const EXTENSION: u8 = 0x21;
const GRAPHIC_CONTROL: u8 = 0xf9;
const IMAGE: u8 = 0x2c;
const END: u8 = 0x3b;

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let [w0, w1, h0, h1, flags]: [u8; 5] = head.array(6)?;
    let screen = Size::new(
        u16::from_le_bytes([w0, w1]).into(),
        u16::from_le_bytes([h0, h1]).into(),
    );
    let mut facts = Facts {
        lossless: true,
        ..Facts::new(Format::Gif, screen, Colour::Rgb)
    };
    let mut at = SCREEN_END + colours_bytes(flags);
    head.enlarge_window();
    while at < head.len_bytes() {
        if WALK_BYTES_MAX < at {
            facts.frames = Frames::AtLeast(1);
            facts.animated = true;
            return Ok(facts);
        }
        let [kind] = head.array(at)?;
        match kind {
            EXTENSION => {
                let [_, label] = head.array(at)?;
                if label == GRAPHIC_CONTROL {
                    // The two bytes are the length of the block and its flags. The lowest flag
                    // means that one colour is transparent.
                    let [_, flags] = head.array(at + 2)?;
                    facts.alpha |= flags & 1 != 0;
                }
                at = skip_sub_blocks(head, at + 2)?;
            }
            IMAGE => {
                let [x0, x1, y0, y1, w0, w1, h0, h1, flags] = head.array(at + 1)?;
                let [x, y, width, height] = [[x0, x1], [y0, y1], [w0, w1], [h0, h1]]
                    .map(|bytes| u32::from(u16::from_le_bytes(bytes)));
                // An image that extends beyond the screen enlarges the picture, as in viewers.
                facts.stored = Size::new(
                    screen.width_px.max(x + width),
                    screen.height_px.max(y + height),
                );
                facts.alpha |= facts.stored != Size::new(width, height);
                at = skip_sub_blocks(head, at + 10 + colours_bytes(flags) + 1)?;
                facts.frames = count_images(head, at)?;
                facts.animated = facts.frames != Frames::Exactly(1);
                return Ok(facts);
            }
            END => return Err(ProbeError::malformed("gif without an image")),
            _ => return Err(ProbeError::malformed("gif with an unknown block")),
        }
    }
    Err(ProbeError::truncated())
}

/// Counts the images of the file, including the first one, which ends at `at`.
fn count_images(head: &mut HeaderReader<'_>, mut at: u64) -> Result<Frames, ProbeError> {
    let mut images = 1;
    while at < head.len_bytes() {
        if WALK_BYTES_MAX < at {
            return Ok(Frames::AtLeast(images));
        }
        match skip_block(head, at) {
            Ok(Some((kind, end))) => {
                images += u32::from(kind == IMAGE);
                at = end;
            }
            Ok(None) => break,
            Err(err) if err.kind == ProbeErrorKind::Io => return Err(err),
            // The file is cut off inside a block.
            Err(err) if err.kind == ProbeErrorKind::Truncated => break,
            // To continue would take too many reads.
            Err(_) => return Ok(Frames::AtLeast(images)),
        }
    }
    Ok(Frames::Exactly(images))
}

/// Returns the kind and the end of the block at `at`. Returns `None` at the end of the picture.
fn skip_block(head: &mut HeaderReader<'_>, at: u64) -> Result<Option<(u8, u64)>, ProbeError> {
    let [kind] = head.array(at)?;
    let data = match kind {
        EXTENSION => at + 2,
        IMAGE => {
            let [flags] = head.array(at + 9)?;
            at + 10 + colours_bytes(flags) + 1
        }
        // Padding and garbage after an image are common. Browsers stop at such bytes, and so does
        // the probe.
        _ => return Ok(None),
    };
    Ok(Some((kind, skip_sub_blocks(head, data)?)))
}

/// Returns the length of the colour table that `flags` announce.
fn colours_bytes(flags: u8) -> u64 {
    match flags & 0x80 {
        0 => 0,
        _ => 3 << ((flags & 7) + 1),
    }
}

/// Returns the offset after the chain of sub-blocks at `at`. Stops early if the offset exceeds the
/// length of the file or [`WALK_BYTES_MAX`].
fn skip_sub_blocks(head: &mut HeaderReader<'_>, mut at: u64) -> Result<u64, ProbeError> {
    while at < head.len_bytes() && at <= WALK_BYTES_MAX {
        let [length] = head.array(at)?;
        at += 1 + u64::from(length);
        if length == 0 {
            break;
        }
    }
    Ok(at)
}
