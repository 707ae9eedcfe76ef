//! PNM: PBM, PGM, PPM and PAM. Source: the manual pages pbm(5), pgm(5), ppm(5) and pam(5) of
//! Netpbm.

use image_plan::{PnmCoding, PnmHeader, pnm_header};

use crate::samples::{self, Channels};
use crate::{DecodeOptions, Decoded, Error, ErrorKind};

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let Some(header) = pnm_header(bytes) else {
        return Err(Error::new(
            ErrorKind::Undecodable,
            "pnm: the header is missing or malformed",
        ));
    };
    options.limits.admit("pnm", header.size, options.stored)?;
    let channels = match header.samples {
        _ if header.is_unsupported => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "pnm: the sample format is not supported",
            ));
        }
        1 => Channels::Grey,
        2 => Channels::GreyAlpha,
        3 => Channels::Rgb,
        _ => Channels::Rgba,
    };
    let mut samples = channels.samples(header.size)?;
    let data = &bytes[header.samples_at..];
    let read = match header.coding {
        PnmCoding::Text => read_text(&header, data, &mut samples),
        PnmCoding::Bits => read_bits(&header, data, &mut samples),
        PnmCoding::Integers => read_integers(&header, data, &mut samples),
    };
    if read == 0 {
        return Err(Error::new(
            ErrorKind::Undecodable,
            "pnm: the file has no samples",
        ));
    }
    if header.is_inverted {
        samples[..read]
            .iter_mut()
            .for_each(|sample| *sample = !*sample);
    }
    Ok(Decoded {
        damaged: read < samples.len(),
        raster: samples::raster(channels, header.size, samples)?,
        profile: None,
    })
}

/// Converts a sample to 8 bits. Samples above the maximum count as the maximum.
fn scaled(header: &PnmHeader, sample: u16) -> u8 {
    let max = u32::from(header.sample_max);
    let sample = u32::from(sample).min(max);
    ((sample * 255 + max / 2) / max) as u8
}

/// Reads samples that are written in decimal digits. Returns the number of samples read.
fn read_text(header: &PnmHeader, data: &[u8], samples: &mut [u8]) -> usize {
    let mut rest = data;
    for (index, sample) in samples.iter_mut().enumerate() {
        match next_number(&mut rest, header.is_inverted) {
            Some(number) => *sample = scaled(header, number),
            None => return index,
        }
    }
    samples.len()
}

/// Returns the next number after white space and comments. If `is_digit` is true, each digit is a
/// number of its own, as in PBM.
fn next_number(rest: &mut &[u8], is_digit: bool) -> Option<u16> {
    loop {
        let (first, after) = rest.split_first()?;
        match first {
            b'#' => {
                let end = after.iter().position(|byte| *byte == b'\n')?;
                *rest = &after[end + 1..];
            }
            byte if byte.is_ascii_whitespace() => *rest = after,
            _ => break,
        }
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
    let count = match is_digit {
        true => digits.take(1).count(),
        false => digits.count(),
    };
    let (digits, after) = rest.split_at(count);
    *rest = after;
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Reads rows of bits, each of which ends with a whole byte. Returns the number of samples read.
fn read_bits(header: &PnmHeader, data: &[u8], samples: &mut [u8]) -> usize {
    let width = header.size.width_px as usize;
    let rows = samples.chunks_exact_mut(width);
    let mut read = 0;
    for (row, bytes) in rows.zip(data.chunks_exact(width.div_ceil(8))) {
        for (x, sample) in row.iter_mut().enumerate() {
            let bit = bytes[x / 8] >> (7 - x % 8) & 1;
            *sample = bit * 255;
        }
        read += width;
    }
    read
}

/// Reads samples of one or two bytes. Returns the number of samples read.
fn read_integers(header: &PnmHeader, data: &[u8], samples: &mut [u8]) -> usize {
    if header.sample_max <= 255 {
        let count = data.len().min(samples.len());
        for (sample, byte) in samples.iter_mut().zip(data) {
            *sample = match header.sample_max {
                255 => *byte,
                _ => scaled(header, (*byte).into()),
            };
        }
        return count;
    }
    let (wide, _) = data.as_chunks::<2>();
    for (sample, wide) in samples.iter_mut().zip(wide) {
        *sample = scaled(header, u16::from_be_bytes(*wide));
    }
    wide.len().min(samples.len())
}

#[cfg(test)]
mod tests;
