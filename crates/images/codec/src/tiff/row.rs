//! Conversion of a row of stored samples to samples of 8 bits.

use image_plan::{TiffColour, TiffPage};

use crate::samples::to_8_bits;

/// Replaces the differences between pixels by the pixels (TIFF 6.0, section 14). `step` is the
/// number of samples per pixel.
pub(super) fn accumulate(row: &mut [u8], page: &TiffPage, step: usize) {
    if page.sample_bits == 8 {
        for at in step..row.len() {
            row[at] = row[at].wrapping_add(row[at - step]);
        }
        return;
    }
    let (samples, _) = row.as_chunks_mut::<2>();
    for at in step..samples.len() {
        let sum = wide(page, samples[at]).wrapping_add(wide(page, samples[at - step]));
        samples[at] = match page.is_big_endian {
            true => sum.to_be_bytes(),
            false => sum.to_le_bytes(),
        };
    }
}

/// Converts a row to samples of 8 bits. Indexes of a palette keep their values.
pub(super) fn unpack(row: &[u8], page: &TiffPage, samples: &mut [u8]) {
    match page.sample_bits {
        8 => {
            for (sample, byte) in samples.iter_mut().zip(row) {
                *sample = *byte;
            }
        }
        16 => {
            for (sample, bytes) in samples.iter_mut().zip(row.as_chunks::<2>().0) {
                *sample = to_8_bits(wide(page, *bytes));
            }
        }
        bits => {
            let (bits, per_byte) = (usize::from(bits), 8 / usize::from(bits));
            let mask = (1_u8 << bits) - 1;
            let factor = match page.colour {
                TiffColour::Palette => 1,
                _ => 255 / mask,
            };
            for (x, sample) in samples.iter_mut().enumerate() {
                let shift = 8 - bits - x % per_byte * bits;
                *sample = (row[x / per_byte] >> shift & mask) * factor;
            }
        }
    }
}

fn wide(page: &TiffPage, bytes: [u8; 2]) -> u16 {
    match page.is_big_endian {
        true => u16::from_be_bytes(bytes),
        false => u16::from_le_bytes(bytes),
    }
}
