//! Container of VP8 and VP8L (RFC 9649 §2): extracts and embeds the ICC profile.
//!
//! ```text
//! "RIFF" len "WEBP"  ┌ "VP8 " or "VP8L"                              simple
//!                    └ "VP8X" ["ICCP"] ["ALPH"] "VP8 " or "VP8L" …   extended
//! chunk = fourcc, len as u32 little-endian, payload, a zero byte if len is odd
//! ```

use image_plan::Size;

use crate::{Error, ErrorKind, buffer};

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
