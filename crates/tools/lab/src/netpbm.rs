//! Binary PPM and PGM files with 8 bits per sample: a common output format of the decoders in
//! Debian's packages.

#[cfg(test)]
mod tests;

use image_plan::{Layout, Packed, Size};

/// Reads a PPM (`P6`) or PGM (`P5`) as RGB; `None` if the bytes are neither, or are truncated.
pub(crate) fn read(bytes: &[u8]) -> Option<Packed> {
    let (magic, rest) = bytes.split_at_checked(2)?;
    let (width_px, rest) = number(rest)?;
    let (height_px, rest) = number(rest)?;
    let (255, rest) = number(rest)? else {
        return None;
    };
    // Exactly one whitespace byte ends the header. Only this byte is skipped, because a sample may
    // have the value of a whitespace byte.
    let samples = rest.get(1..)?;
    let size = Size::new(width_px, height_px);
    let pixels = usize::try_from(size.pixels()).ok()?;
    let data = match magic {
        b"P6" => samples.get(..pixels.checked_mul(3)?)?.to_vec(),
        b"P5" => samples
            .get(..pixels)?
            .iter()
            .flat_map(|grey| [*grey; 3])
            .collect(),
        _ => return None,
    };
    Some(Packed {
        size,
        layout: Layout::Rgb,
        data,
    })
}

/// Skips whitespace and comments, parses a number, and returns the number and the remaining bytes.
fn number(mut bytes: &[u8]) -> Option<(u32, &[u8])> {
    loop {
        bytes = bytes.trim_ascii_start();
        if bytes.first() != Some(&b'#') {
            break;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        bytes = &bytes[end..];
    }
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (number, rest) = bytes.split_at(digits);
    let number = str::from_utf8(number).ok()?.parse().ok()?;
    Some((number, rest))
}

/// Encodes an RGB picture as PPM.
///
/// # Panics
/// Panics if the picture is not RGB; reference pictures always are.
pub(crate) fn write(picture: &Packed) -> Vec<u8> {
    assert_eq!(picture.layout, Layout::Rgb);
    let Size {
        width_px,
        height_px,
    } = picture.size;
    let mut bytes = format!("P6\n{width_px} {height_px}\n255\n").into_bytes();
    bytes.extend_from_slice(&picture.data);
    bytes
}
