//! Placeholder of a picture: dominant colour, BlurHash and ThumbHash.
//!
//! ```text
//! decoded ─ thin ─► ≤ 128 px ─ scale ─► ≤ 32 px ─ (caller: colour, orient) ─► placeholder
//! ```
//! Both hashes are computed at 32 pixels, which preserves all detail that a hash can store.
//! Sources: BlurHash's Algorithm.md and ThumbHash's reference description, by their authors; no
//! code was copied.

mod blurhash;
mod colour;
mod thumbhash;

use crate::scale::{Area, scale};
use image_plan::{Layout, Packed, Placeholder, Plane, Raster, Size, Subsampling, Yuv};

/// Maximum side, in pixels, of the picture from which the placeholder is computed.
const SIDE_PX: u32 = 32;
/// Maximum side, in pixels, of a picture that is filtered. Larger pictures are first thinned to
/// this size: only every n-th row and column is read.
const THIN_SIDE_PX: u32 = 128;

/// Reduces the picture to the size that [`placeholder`] needs. The caller must convert the colours
/// and apply the orientation.
#[must_use]
pub fn shrink_for_placeholder(raster: &Raster) -> Raster {
    let thin = thin_out(raster);
    let size = thin.size();
    let longest = u64::from(size.width_px.max(size.height_px));
    if longest <= u64::from(SIDE_PX) {
        return thin;
    }
    let side = |side: u32| {
        let scaled = (u64::from(side) * u64::from(SIDE_PX) + longest / 2) / longest;
        scaled.max(1) as u32
    };
    let small = Size::new(side(size.width_px), side(size.height_px));
    scale(thin, Area::whole(size), small, Subsampling::S444)
}

/// Computes the placeholder of a small upright picture.
///
/// # Panics
/// If the picture is larger than the result of [`shrink_for_placeholder`], or is CMYK.
#[must_use]
pub fn placeholder(small: &Packed) -> Placeholder {
    let pixels = Pixels::of(small);
    Placeholder::new(
        colour::of(&pixels),
        &blurhash::of(&pixels),
        &thumbhash::of(&pixels),
    )
}

/// Pixels of a small picture in RGBA, row by row.
struct Pixels {
    width: usize,
    height: usize,
    rgba: Vec<[u8; 4]>,
}

impl Pixels {
    fn of(small: &Packed) -> Pixels {
        let Size {
            width_px,
            height_px,
        } = small.size;
        assert!(
            width_px.max(height_px) <= SIDE_PX,
            "{width_px} x {height_px}"
        );
        let rgba = match small.layout {
            Layout::Rgb => {
                let pixels = small.data.as_chunks::<3>().0.iter();
                pixels.map(|&[r, g, b]| [r, g, b, 255]).collect()
            }
            Layout::Rgba => small.data.as_chunks::<4>().0.to_vec(),
            Layout::Cmyk => panic!("CMYK pictures must be converted first"),
        };
        Pixels {
            width: width_px as usize,
            height: height_px as usize,
            rgba,
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[[u8; 4]]> {
        self.rgba.chunks_exact(self.width)
    }
}

/// Keeps every `step`-th row and column of each plane. Thinned chroma still has the size that fits
/// thinned luma: for a width w, a step s and a chroma divisor k, ⌈⌈w/s⌉/k⌉ = ⌈⌈w/k⌉/s⌉.
fn thin_out(raster: &Raster) -> Raster {
    let size = raster.size();
    let step = size.width_px.max(size.height_px).div_ceil(THIN_SIDE_PX);
    let thin = Size::new(size.width_px.div_ceil(step), size.height_px.div_ceil(step));
    let step = step as usize;
    let plane = |plane: &Plane| {
        let size = plane.size;
        let thin = Size::new(
            size.width_px.div_ceil(step as u32),
            size.height_px.div_ceil(step as u32),
        );
        // Each row is appended by one call of `extend`. The length of its iterator is known, so the
        // capacity of `data` is not checked for every sample.
        let mut data = Vec::with_capacity(thin.pixels() as usize);
        for y in (0..size.height_px).step_by(step) {
            data.extend(plane.row(y).chunks(step).map(|samples| samples[0]));
        }
        Plane {
            size: thin,
            stride: thin.width_px as usize,
            data,
        }
    };
    match raster {
        Raster::Yuv(yuv) => Raster::Yuv(Yuv {
            size: thin,
            luma: plane(&yuv.luma),
            chroma: yuv
                .chroma
                .as_ref()
                .map(|chroma| chroma.each_ref().map(plane)),
            alpha: yuv.alpha.as_ref().map(plane),
            ..*yuv
        }),
        Raster::Packed(packed) => {
            let channels = packed.layout.channels();
            let rows = packed.data.chunks_exact(channels * size.width_px as usize);
            let rows = rows.step_by(step);
            let data = rows.flat_map(|row| row.chunks_exact(channels).step_by(step).flatten());
            Raster::Packed(Packed {
                size: thin,
                layout: packed.layout,
                data: data.copied().collect(),
            })
        }
    }
}
