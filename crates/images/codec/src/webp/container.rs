//! Container of VP8 and VP8L (RFC 9649 §2): extracts and embeds the ICC profile.
//!
//! ```text
//! "RIFF" len "WEBP"  ┌ "VP8 " or "VP8L"                              simple
//!                    └ "VP8X" ["ICCP"] ["ALPH"] "VP8 " or "VP8L" …   extended
//! chunk = fourcc, len as u32 little-endian, payload, a zero byte if len is odd
//! ```

use image_plan::Size;

use crate::{Error, ErrorKind, buffer};

/// Offset of the loop count in the payload of `ANIM`, behind the background colour.
const LOOPS_AT: usize = 4;
/// Offset of the image of a frame in the payload of `ANMF`.
const FRAME_IMAGE_AT: usize = 16;

/// Flag of `VP8X`: the file has an ICC profile.
const HAS_PROFILE: u8 = 0x20;
/// Flag of `VP8X`, in the same byte as `HAS_PROFILE`: the picture has alpha.
const HAS_ALPHA: u8 = 0x10;

const RIFF_HEADER_BYTES: usize = 12;
const CHUNK_HEADER_BYTES: usize = 8;
const VP8X_BYTES: usize = 10;

/// Name and payload of a chunk.
type Chunk<'a> = (&'a [u8; 4], &'a [u8]);

/// Returns the embedded profile, if the extended header announces one and its chunk is complete.
pub(super) fn profile(file: &[u8]) -> Option<&[u8]> {
    let mut chunks = chunks(file);
    let announced = match chunks.next()? {
        (b"VP8X", header) => header.first()? & HAS_PROFILE != 0,
        _ => false,
    };
    if !announced {
        return None;
    }
    let (_, profile) = chunks.find(|(name, _)| *name == b"ICCP")?;
    Some(profile)
}

/// Returns `file`, which libwebp wrote for a picture of `size`, with `profile` embedded.
pub(super) fn with_profile(file: &[u8], size: Size, profile: &[u8]) -> Result<Vec<u8>, Error> {
    let other_chunks = || chunks(file).filter(|(name, _)| *name != b"VP8X");
    let has_alpha = other_chunks().any(|(name, payload)| match name {
        b"ALPH" => true,
        b"VP8L" => vp8l_uses_alpha(payload),
        _ => false,
    });
    let mut header = [0; VP8X_BYTES];
    header[0] = HAS_PROFILE | if has_alpha { HAS_ALPHA } else { 0 };
    // The header stores the canvas width and height minus one, 24 bits each.
    header[4..7].copy_from_slice(&(size.width_px - 1).to_le_bytes()[..3]);
    header[7..10].copy_from_slice(&(size.height_px - 1).to_le_bytes()[..3]);

    let added: [Chunk<'_>; 2] = [(b"VP8X", &header), (b"ICCP", profile)];
    let all = || added.into_iter().chain(other_chunks());
    let body_bytes = 4 + all().map(stored_bytes).sum::<usize>();
    let Ok(riff_len) = u32::try_from(body_bytes) else {
        return Err(Error::new(ErrorKind::TooLarge, "webp: file exceeds 4 GiB"));
    };
    let mut extended = Vec::new();
    buffer::reserve(&mut extended, 8 + body_bytes)?;
    extended.extend_from_slice(b"RIFF");
    extended.extend_from_slice(&riff_len.to_le_bytes());
    extended.extend_from_slice(b"WEBP");
    for (name, payload) in all() {
        extended.extend_from_slice(name);
        // The cast is lossless, because `body_bytes`, which includes this length, fits into u32.
        extended.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        extended.extend_from_slice(payload);
        extended.extend_from_slice(&[0][..payload.len() % 2]);
    }
    Ok(extended)
}

/// Header of a frame, and the chunks of its image.
pub(super) struct FrameChunk<'a> {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) size: Size,
    pub(super) duration_ms: u32,
    /// True if the frame is drawn over the canvas, false if its pixels replace those of the canvas.
    pub(super) is_blended: bool,
    /// True if the area of the frame becomes transparent before the next frame.
    pub(super) is_cleared: bool,
    pub(super) image: &'a [u8],
}

/// Frames of an animation, and the number of times that it is played.
pub(super) struct Frames<'a> {
    /// Chunks that follow, up to the end that the file states.
    rest: &'a [u8],
    /// True if the file ends before the end that it states.
    is_cut: bool,
    pub(super) plays: u16,
}

impl<'a> Frames<'a> {
    pub(super) fn of(file: &'a [u8]) -> Frames<'a> {
        let stated = file.get(4..8).and_then(|length| length.first_chunk());
        let stated = stated.map_or(0, |length| u32::from_le_bytes(*length) as usize);
        let end = 8_usize.saturating_add(stated);
        let rest = &file[..end.min(file.len())];
        Frames {
            rest: rest.get(RIFF_HEADER_BYTES..).unwrap_or(&[]),
            is_cut: file.len() < end,
            plays: 1,
        }
    }

    /// Returns the next frame, or `None` at the end of the file.
    pub(super) fn next_frame(&mut self) -> Result<Option<FrameChunk<'a>>, Error> {
        while let Some((name, payload)) = self.next_chunk()? {
            match name {
                b"ANIM" => {
                    let loops = payload
                        .get(LOOPS_AT..)
                        .and_then(|loops| loops.first_chunk());
                    self.plays = loops.map_or(1, |loops| u16::from_le_bytes(*loops));
                }
                b"ANMF" => return frame(payload).map(Some),
                _ => {}
            }
        }
        Ok(None)
    }

    fn next_chunk(&mut self) -> Result<Option<Chunk<'a>>, Error> {
        let cut_off = || Error::new(ErrorKind::Undecodable, "webp: the file is cut off");
        let Some((name, after)) = self.rest.split_first_chunk::<4>() else {
            return match self.is_cut {
                true => Err(cut_off()),
                false => Ok(None),
            };
        };
        let (length, after) = after.split_first_chunk::<4>().ok_or_else(cut_off)?;
        let length = u32::from_le_bytes(*length) as usize;
        let payload = after.get(..length).ok_or_else(cut_off)?;
        self.rest = after.get(length.next_multiple_of(2)..).unwrap_or(&[]);
        Ok(Some((name, payload)))
    }
}

fn frame(payload: &[u8]) -> Result<FrameChunk<'_>, Error> {
    let Some((
        [
            x0,
            x1,
            x2,
            y0,
            y1,
            y2,
            w0,
            w1,
            w2,
            h0,
            h1,
            h2,
            d0,
            d1,
            d2,
            flags,
        ],
        image,
    )) = payload.split_first_chunk::<FRAME_IMAGE_AT>()
    else {
        let detail = "webp: a frame has no header";
        return Err(Error::new(ErrorKind::Undecodable, detail));
    };
    let number = |a: &u8, b: &u8, c: &u8| u32::from_le_bytes([*a, *b, *c, 0]);
    Ok(FrameChunk {
        x: 2 * number(x0, x1, x2),
        y: 2 * number(y0, y1, y2),
        size: Size::new(number(w0, w1, w2) + 1, number(h0, h1, h2) + 1),
        duration_ms: number(d0, d1, d2),
        is_blended: flags & 2 == 0,
        is_cleared: flags & 1 != 0,
        image,
    })
}

/// Sets how often the animation `file` is played; 0 means endlessly. A still picture stays as it
/// is.
pub(super) fn set_plays(file: &mut [u8], plays: u16) {
    let mut at = RIFF_HEADER_BYTES;
    while let Some((name, after)) = file
        .get(at..)
        .and_then(|rest| rest.split_first_chunk::<4>())
        && let Some(length) = after.first_chunk::<4>()
    {
        let payload_at = at + CHUNK_HEADER_BYTES;
        if name == b"ANIM" {
            if let Some(field) = file.get_mut(payload_at + LOOPS_AT..payload_at + LOOPS_AT + 2) {
                field.copy_from_slice(&plays.to_le_bytes());
            }
            return;
        }
        at = payload_at + (u32::from_le_bytes(*length) as usize).next_multiple_of(2);
    }
}

fn stored_bytes((_, payload): Chunk<'_>) -> usize {
    CHUNK_HEADER_BYTES + payload.len().next_multiple_of(2)
}

/// Returns the complete chunks of a file, up to the first truncated one.
fn chunks(file: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    let mut rest = file.get(RIFF_HEADER_BYTES..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let (name, after) = rest.split_first_chunk::<4>()?;
        let (len, after) = after.split_first_chunk::<4>()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        let payload = after.get(..len)?;
        rest = after.get(len.next_multiple_of(2)..).unwrap_or(&[]);
        Some((name, payload))
    })
}

/// Returns whether a VP8L stream declares that it uses alpha: bit 28 of the 32 bits after the
/// signature byte (RFC 9649 §3.4).
fn vp8l_uses_alpha(payload: &[u8]) -> bool {
    payload.get(4).is_some_and(|bits| bits & 0x10 != 0)
}
