//! Changes of colour that treat each pixel by itself.

use image_plan::{Duotone, Layout, Packed, Tone};

/// Number of fractional bits of a matrix.
const BITS: u32 = 16;
const ONE: f64 = (1 << BITS) as f64;

/// Changes the colours by `tone`; alpha stays as it is. [`Tone`] defines the operations and their
/// order.
///
/// # Panics
/// If the picture is CMYK.
#[must_use]
pub fn tone(mut packed: Packed, tone: &Tone) -> Packed {
    assert!(packed.layout != Layout::Cmyk, "CMYK is not light");
    let channels = packed.layout.channels();
    let curve = curve(tone);
    let matrix = matrix(tone);
    let duotone = tone.duotone.map(|colours| gradient(&colours));
    for pixel in packed.data.chunks_exact_mut(channels) {
        let mut rgb = [pixel[0], pixel[1], pixel[2]].map(|sample| curve[usize::from(sample)]);
        if let Some(matrix) = &matrix {
            rgb = multiply(matrix, rgb);
        }
        if let Some(level) = tone.bitonal {
            rgb = [if luma(rgb) < level.get() { 0 } else { 255 }; 3];
        }
        if let Some(gradient) = &duotone {
            rgb = gradient[usize::from(luma(rgb))];
        }
        if tone.invert {
            rgb = rgb.map(|sample| 255 - sample);
        }
        pixel[..3].copy_from_slice(&rgb);
    }
    packed
}

/// Returns the table of the first three operations: gamma, brightness, contrast. Only the result is
/// clamped.
fn curve(tone: &Tone) -> [u8; 256] {
    let factor = |change_pct: i16| 1.0 + f64::from(change_pct) / 100.0;
    let (brightness, contrast) = (factor(tone.brightness_pct), factor(tone.contrast_pct));
    std::array::from_fn(|level| {
        let mut value = level as f64 / 255.0;
        if let Some(gamma_pct) = tone.gamma_pct {
            value = value.powf(100.0 / f64::from(gamma_pct));
        }
        value = (value * brightness - 0.5) * contrast + 0.5;
        // The cast saturates at 0 and 255.
        (value * 255.0).round() as u8
    })
}

/// Returns the matrix of saturation and sepia, or `None` if it changes nothing.
fn matrix(tone: &Tone) -> Option<[[i32; 3]; 3]> {
    // Luma coefficients of Filter Effects Module Level 1 §8.4.
    const LUMA: [f64; 3] = [0.213, 0.715, 0.072];
    // Filter Effects Module Level 1 §6.1.2.
    const SEPIA: [[f64; 3]; 3] = [
        [0.393, 0.769, 0.189],
        [0.349, 0.686, 0.168],
        [0.272, 0.534, 0.131],
    ];
    if tone.saturation_pct == 0 && !tone.sepia {
        return None;
    }
    let saturation = 1.0 + f64::from(tone.saturation_pct) / 100.0;
    let mut matrix = [0, 1, 2].map(|row| {
        [0, 1, 2].map(|column| {
            let own = if row == column { saturation } else { 0.0 };
            LUMA[column] * (1.0 - saturation) + own
        })
    });
    if tone.sepia {
        matrix = SEPIA
            .map(|row| [0, 1, 2].map(|column| (0..3).map(|at| row[at] * matrix[at][column]).sum()));
    }
    Some(matrix.map(fixed))
}

/// Converts the row of a matrix to integers. The sum of the integers is the rounded sum of the row,
/// so that grey stays exactly grey if the sum is 1.
fn fixed(row: [f64; 3]) -> [i32; 3] {
    let [red, green, blue] = row.map(|factor| (factor * ONE).round() as i32);
    let sum = (row.iter().sum::<f64>() * ONE).round() as i32;
    [red, green + sum - red - green - blue, blue]
}

fn multiply(matrix: &[[i32; 3]; 3], rgb: [u8; 3]) -> [u8; 3] {
    matrix.map(|row| {
        let products = row
            .iter()
            .zip(rgb)
            .map(|(factor, sample)| factor * i32::from(sample));
        let sum = products.sum::<i32>() + (1 << (BITS - 1));
        (sum >> BITS).clamp(0, 255) as u8
    })
}

/// Returns the colours from `dark` to `light`, which have equal distances in encoded sRGB.
fn gradient(colours: &Duotone) -> [[u8; 3]; 256] {
    std::array::from_fn(|level| {
        [0, 1, 2].map(|channel| {
            let (dark, light) = (colours.dark.0[channel], colours.light.0[channel]);
            let sum = usize::from(dark) * (255 - level) + usize::from(light) * level;
            ((sum + 127) / 255) as u8
        })
    })
}

/// Returns the luma of BT.709.
fn luma([red, green, blue]: [u8; 3]) -> u8 {
    let sum = 54 * u32::from(red) + 183 * u32::from(green) + 19 * u32::from(blue);
    ((sum + 128) >> 8) as u8
}
