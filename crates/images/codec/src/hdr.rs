//! Radiance HDR. The pixels are tone-mapped to sRGB of 8 bits.
//!
//! A scanline is stored as one of three kinds: plain pixels of 4 bytes (red, green, blue,
//! exponent); pixels between which `1 1 1 count` repeats the previous pixel; or `2 2` and the
//! width, followed by the run lengths of each of the four components.
//!
//! Sources: Greg Ward, Real Pixels (Graphics Gems II, 1991), for the file; Reinhard, Stark, Shirley
//! and Ferwerda, Photographic Tone Reproduction for Digital Images (2002), equations 1 to 4, for
//! the tones; IEC 61966-2-1 for sRGB.

use image_plan::{Layout, Packed, Raster, hdr_header};

use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer};

/// Luminance, of the range 0 to 1, that pixels of average luminance get: a grey card reflects 18 %.
const KEY: f32 = 0.18;
/// Number of steps of the table from linear levels to sRGB.
const LEVELS: usize = 1 << 14;

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let Some(header) = hdr_header(bytes) else {
        return Err(Error::new(
            ErrorKind::Undecodable,
            "hdr: the header is missing or malformed",
        ));
    };
    let size = header.size;
    options.limits.admit("hdr", size, options.stored)?;
    if header.is_xyz {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "hdr: XYZ pixels are not supported",
        ));
    }
    let (width, height) = (size.width_px as usize, size.height_px as usize);
    let mut pixels = buffer::zeroed(4 * width * height)?;
    let mut rest = &bytes[header.pixels_at..];
    let mut scanline = buffer::zeroed(4 * width)?;
    let mut read = 0;
    for row in pixels.chunks_exact_mut(4 * width) {
        if read_scanline(&mut rest, row, &mut scanline).is_none() {
            break;
        }
        read += 1;
    }
    if read == 0 {
        return Err(Error::new(
            ErrorKind::Undecodable,
            "hdr: the file has no complete scanline",
        ));
    }
    map_tones(&mut pixels);
    pixels.truncate(3 * width * height);
    Ok(Decoded {
        raster: Raster::Packed(Packed {
            size,
            layout: Layout::Rgb,
            data: pixels,
        }),
        profile: None,
        damaged: read < height,
    })
}

/// Reads one scanline into `row`, pixel by pixel. Returns `None` if it is incomplete or malformed.
/// `planes` is scratch memory of the same length.
fn read_scanline(rest: &mut &[u8], row: &mut [u8], planes: &mut [u8]) -> Option<()> {
    let width = row.len() / 4;
    match **rest {
        [2, 2, high @ 0..=127, low, ref after @ ..] => {
            if usize::from(u16::from_be_bytes([high, low])) != width {
                return None;
            }
            *rest = after;
            read_planes(rest, planes)?;
            for (x, pixel) in row.chunks_exact_mut(4).enumerate() {
                for (component, sample) in pixel.iter_mut().enumerate() {
                    *sample = planes[component * width + x];
                }
            }
            Some(())
        }
        _ => read_pixels(rest, row),
    }
}

/// Reads the run lengths of four components, one after the other. A run does not continue in the
/// next component.
fn read_planes(rest: &mut &[u8], planes: &mut [u8]) -> Option<()> {
    let width = planes.len() / 4;
    for mut plane in planes.chunks_exact_mut(width.max(1)) {
        while !plane.is_empty() {
            let (&code, after) = rest.split_first()?;
            let count = match code {
                0..=128 => usize::from(code),
                _ => usize::from(code) - 128,
            };
            if count == 0 || plane.len() < count {
                return None;
            }
            let (out, left) = plane.split_at_mut(count);
            if code <= 128 {
                let (literal, after) = after.split_at_checked(count)?;
                out.copy_from_slice(literal);
                *rest = after;
            } else {
                let (&value, after) = after.split_first()?;
                out.fill(value);
                *rest = after;
            }
            plane = left;
        }
    }
    Some(())
}

/// Reads pixels, of which `1 1 1 count` repeat the previous one. Repetitions that follow each other
/// are the bytes of one larger count.
fn read_pixels(rest: &mut &[u8], row: &mut [u8]) -> Option<()> {
    let (pixels, _) = row.as_chunks_mut::<4>();
    let (mut x, mut shift) = (0, 0);
    while x < pixels.len() {
        let (pixel, after) = rest.split_first_chunk::<4>()?;
        *rest = after;
        if let [1, 1, 1, count] = *pixel {
            let previous = *pixels.get(x.checked_sub(1)?)?;
            let count = usize::from(count).checked_shl(shift)?;
            let end = x.checked_add(count).filter(|end| *end <= pixels.len())?;
            pixels[x..end].fill(previous);
            x = end;
            shift += 8;
        } else {
            pixels[x] = *pixel;
            x += 1;
            shift = 0;
        }
    }
    Some(())
}

/// Replaces pixels of 4 bytes (red, green, blue, exponent) by pixels of 3 bytes in sRGB, which
/// follow each other at the start of `pixels`.
fn map_tones(pixels: &mut [u8]) {
    let scales = scales();
    let linear = |[red, green, blue, exponent]: [u8; 4]| {
        let scale = scales[usize::from(exponent)];
        [red, green, blue].map(|mantissa| f32::from(mantissa) * scale)
    };
    let (stored, _) = pixels.as_chunks::<4>();
    let (mut logs, mut count, mut white) = (0.0, 0_u64, 0.0_f32);
    for pixel in stored {
        let luminance = luminance(linear(*pixel));
        // Black pixels have no logarithm. They do not count, since many pictures have a black
        // frame.
        if 0.0 < luminance {
            logs += f64::from(luminance.ln());
            count += 1;
            white = white.max(luminance);
        }
    }
    let average = (logs / count.max(1) as f64).exp() as f32;
    let exposure = match count {
        0 => 1.0,
        _ => KEY / average,
    };
    let white = (white * exposure).max(1.0);
    let levels = srgb_levels();
    for index in 0..pixels.len() / 4 {
        let pixel = [0, 1, 2, 3].map(|component| pixels[4 * index + component]);
        let colour = linear(pixel).map(|sample| sample * exposure);
        let luminance = luminance(colour);
        // Equation 4, divided by the luminance: all components are scaled by the same factor.
        let factor = (1.0 + luminance / (white * white)) / (1.0 + luminance);
        for (component, sample) in colour.iter().enumerate() {
            // The cast saturates, also for values that are not finite.
            let level = (sample * factor * (LEVELS - 1) as f32 + 0.5) as usize;
            pixels[3 * index + component] = levels[level.min(LEVELS - 1)];
        }
    }
}

/// Returns the value of a mantissa of 1 for each exponent.
fn scales() -> [f32; 256] {
    let mut scales = [0.0; 256];
    for (exponent, scale) in scales.iter_mut().enumerate().skip(1) {
        *scale = 2.0_f64.powi(exponent as i32 - 136) as f32;
    }
    scales
}

/// Returns the luminance of linear RGB with the primaries of sRGB.
fn luminance([red, green, blue]: [f32; 3]) -> f32 {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Returns the sRGB level of each linear level.
fn srgb_levels() -> Vec<u8> {
    let level = |index: usize| {
        let linear = index as f64 / (LEVELS - 1) as f64;
        let encoded = match linear <= 0.003_130_8 {
            true => 12.92 * linear,
            false => 1.055 * linear.powf(1.0 / 2.4) - 0.055,
        };
        (encoded * 255.0).round() as u8
    };
    (0..LEVELS).map(level).collect()
}

#[cfg(test)]
mod tests;
