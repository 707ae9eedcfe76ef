//! Search for borders of one colour. Rows are compared whole, without branches, so that the
//! compiler vectorises the loops.

use crate::rgb::to_packed;
use image_plan::{Layout, Packed, Plane, Raster, Rect, Size, Yuv};
use std::ops::Range;

/// Returns the part of the picture that remains if its borders are removed. A row or column at an
/// edge belongs to a border if all its pixels are like the top left pixel: no component differs by
/// more than `threshold` levels. The components are those of the decoded picture: red, green and
/// blue; luma and chroma; or inks. Colours are multiplied by alpha before they are compared, so
/// that all transparent pixels are alike. If the whole picture is one border, nothing is removed.
#[must_use]
pub fn without_borders(raster: &Raster, threshold: u8) -> Rect {
    let size = raster.size();
    let kept = match raster {
        Raster::Yuv(yuv) if yuv.alpha.is_none() => planes(yuv, threshold),
        Raster::Yuv(_) => pixels(&to_packed(raster.clone()), threshold),
        Raster::Packed(packed) => pixels(packed, threshold),
    };
    let (columns, rows) = kept.unwrap_or((0..size.width_px as usize, 0..size.height_px as usize));
    Rect {
        x: columns.start as u32,
        y: rows.start as u32,
        size: Size::new(columns.len() as u32, rows.len() as u32),
    }
}

/// Columns and rows that are not part of a border.
type Kept = (Range<usize>, Range<usize>);

/// Finds the columns and rows to keep of a picture that has planes and no alpha. Returns `None` if
/// all are part of a border.
fn planes(yuv: &Yuv, threshold: u8) -> Option<Kept> {
    let (across, down) = yuv.subsampling.divisors();
    let (across, down) = (across as usize, down as usize);
    let mut kept = plane(&yuv.luma, threshold);
    for chroma in yuv.chroma.iter().flatten() {
        if let Some((columns, rows)) = plane(chroma, threshold) {
            let columns = columns.start * across..columns.end * across;
            let rows = rows.start * down..rows.end * down;
            kept = Some(match kept {
                None => (columns, rows),
                Some((x, y)) => (union(x, columns), union(y, rows)),
            });
        }
    }
    // The last chroma sample of a row or column may extend beyond the picture.
    kept.map(|(columns, rows)| {
        (
            columns.start..columns.end.min(yuv.size.width_px as usize),
            rows.start..rows.end.min(yuv.size.height_px as usize),
        )
    })
}

fn union(a: Range<usize>, b: Range<usize>) -> Range<usize> {
    a.start.min(b.start)..a.end.max(b.end)
}

fn plane(plane: &Plane, threshold: u8) -> Option<Kept> {
    let background = *plane.row(0).first()?;
    let is_like = |sample: &u8| sample.abs_diff(background) <= threshold;
    find(plane.size, |y| plane.row(y as u32), is_like)
}

fn pixels(packed: &Packed, threshold: u8) -> Option<Kept> {
    match packed.layout {
        Layout::Rgb => opaque::<3>(packed, threshold),
        Layout::Cmyk => opaque::<4>(packed, threshold),
        Layout::Rgba => translucent(packed, threshold),
    }
}

/// Finds the columns and rows to keep of a picture that has `N` interleaved components and no
/// alpha.
fn opaque<const N: usize>(packed: &Packed, threshold: u8) -> Option<Kept> {
    let (pixels, _) = packed.data.as_chunks::<N>();
    let background = *pixels.first()?;
    let is_like = |pixel: &[u8; N]| {
        let mut difference = 0;
        for (sample, of) in pixel.iter().zip(&background) {
            difference = difference.max(sample.abs_diff(*of));
        }
        difference <= threshold
    };
    let width = packed.size.width_px as usize;
    find(packed.size, |y| &pixels[y * width..][..width], is_like)
}

/// Finds the columns and rows to keep of a picture with alpha.
fn translucent(packed: &Packed, threshold: u8) -> Option<Kept> {
    let (pixels, _) = packed.data.as_chunks::<4>();
    let background = premultiplied(*pixels.first()?);
    let is_like = |pixel: &[u8; 4]| {
        let mut difference = 0;
        for (sample, of) in premultiplied(*pixel).into_iter().zip(background) {
            difference = difference.max(sample.abs_diff(of));
        }
        difference <= threshold
    };
    let width = packed.size.width_px as usize;
    find(packed.size, |y| &pixels[y * width..][..width], is_like)
}

/// Multiplies the colours of a pixel by its alpha, rounded to nearest.
fn premultiplied([red, green, blue, alpha]: [u8; 4]) -> [u8; 4] {
    let times = |sample: u8| ((u16::from(sample) * u16::from(alpha) + 127) / 255) as u8;
    [times(red), times(green), times(blue), alpha]
}

/// Finds the columns and rows that contain a pixel for which `is_like` is false. `row` returns the
/// pixels of a row. Returns `None` if there is no such pixel.
fn find<'a, T: 'a>(
    size: Size,
    row: impl Fn(usize) -> &'a [T],
    is_like: impl Fn(&T) -> bool,
) -> Option<Kept> {
    let height = size.height_px as usize;
    let differs = |y: &usize| {
        let pixels = row(*y).iter();
        pixels.fold(false, |differs, pixel| differs | !is_like(pixel))
    };
    let top = (0..height).find(differs)?;
    let bottom = (top..height).rfind(differs)?;
    let (mut left, mut right) = (size.width_px as usize, 0);
    for y in top..=bottom {
        let pixels = row(y);
        let is_other = |pixel: &T| !is_like(pixel);
        if let Some(first) = pixels[..left].iter().position(is_other) {
            left = first;
        }
        if let Some(last) = pixels[right..].iter().rposition(is_other) {
            right += last + 1;
        }
    }
    Some((left..right, top..bottom + 1))
}
