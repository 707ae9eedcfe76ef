//! A picture from far away: the colour most of it has, a BlurHash and a ThumbHash.
//!
//! ```text
//! decoded ─ thin ─► ≤ 128 px ─ scale ─► ≤ 32 px ─ (colour, orient: the caller's) ─► look
//! ```
//! Sources: BlurHash's Algorithm.md and ThumbHash's reference description, by their authors; the code is ours. Both see the
//! picture at 32 pixels, where nothing that they can hold is lost.

mod blurhash;
mod colour;
mod thumbhash;

use crate::scale::{Area, scale};
use image_plan::{Layout, Look, Packed, Plane, Raster, Size, Subsampling, Yuv};

/// Longest side that looks are made of.
const SIDE_PX: u32 = 32;
/// Longest side that is filtered: of what is larger, only every so many rows and columns are looked at.
const THIN_SIDE_PX: u32 = 128;

/// The picture at the size that [`look`] wants, not yet in its colours and not upright.
#[must_use]
pub fn far(raster: &Raster) -> Raster {
    let thin = thinned(raster);
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

/// What a small upright picture looks like.
///
/// # Panics
/// When it has more than [`far`] leaves, or ink for colours.
#[must_use]
pub fn look(small: &Packed) -> Look {
    let pixels = Pixels::of(small);
    Look::new(
        colour::of(&pixels),
        &blurhash::of(&pixels),
        &thumbhash::of(&pixels),
    )
}

/// Pixels with alpha, row after row.
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
            Layout::Cmyk => panic!("ink has no look"),
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

/// Every so many rows and columns. ⌈⌈w/s⌉/k⌉ = ⌈⌈w/k⌉/s⌉, so chroma stays the chroma of its luma.
fn thinned(raster: &Raster) -> Raster {
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
        // Row by row: iterators that know their length are copied without a check for each sample.
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
