//! Pictures that have an alpha channel without need.

use picture::{Layout, Packed, Raster};

/// The same picture without its alpha channel when every pixel is opaque: later steps and the encoder then have a
/// quarter less to do, and the answer a channel less to carry.
#[must_use]
pub fn drop_opaque(raster: Raster) -> Raster {
    match raster {
        Raster::Yuv(mut yuv) => {
            let opaque = yuv.alpha.as_ref().is_some_and(|alpha| {
                (0..alpha.size.height_px).all(|y| alpha.row(y).iter().all(|&a| a == 255))
            });
            if opaque {
                yuv.alpha = None;
            }
            Raster::Yuv(yuv)
        }
        Raster::Packed(packed) if packed.layout == Layout::Rgba => {
            let opaque = pixels(&packed).iter().all(|pixel| pixel[3] == 255);
            Raster::Packed(if opaque {
                without_alpha(&packed)
            } else {
                packed
            })
        }
        Raster::Packed(packed) => Raster::Packed(packed),
    }
}

/// The picture as it looks on white, for formats that know no transparency.
#[must_use]
pub fn flatten(mut packed: Packed) -> Packed {
    if packed.layout != Layout::Rgba {
        return packed;
    }
    for [r, g, b, a] in packed.data.as_chunks_mut::<4>().0 {
        for sample in [r, g, b] {
            *sample = over_white(*sample, *a);
        }
    }
    without_alpha(&packed)
}

fn over_white(sample: u8, alpha: u8) -> u8 {
    let (sample, alpha) = (u16::from(sample), u16::from(alpha));
    ((sample * alpha + 255 * (255 - alpha) + 127) / 255) as u8
}

fn without_alpha(packed: &Packed) -> Packed {
    Packed {
        size: packed.size,
        layout: Layout::Rgb,
        data: pixels(packed)
            .iter()
            .flat_map(|&[r, g, b, _]| [r, g, b])
            .collect(),
    }
}

fn pixels(packed: &Packed) -> &[[u8; 4]] {
    let (pixels, rest) = packed.data.as_chunks();
    assert!(
        rest.is_empty() && pixels.len() as u64 == packed.size.pixels(),
        "{} bytes for {:?}",
        packed.data.len(),
        packed.size
    );
    pixels
}
