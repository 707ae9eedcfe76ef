//! Detection of borders of one colour.

use image_plan::{Layout, Packed, Rect, Size};

/// Returns the smallest rectangle outside of which no sample differs by more than `threshold` from
/// the pixel at `corner`, the column and row of a pixel. Returns `None` if there is no rectangle:
/// the whole picture has one colour.
///
/// Colours are compared after multiplication with alpha, so all transparent pixels are equal.
///
/// # Panics
/// If `corner` is outside the picture.
#[must_use]
pub fn content(packed: &Packed, corner: (u32, u32), threshold: u8) -> Option<Rect> {
    let Size {
        width_px: width,
        height_px: height,
    } = packed.size;
    assert!(corner.0 < width && corner.1 < height, "{corner:?}");
    let channels = packed.layout.channels();
    let row_bytes = width as usize * channels;
    let border_at = corner.1 as usize * row_bytes + corner.0 as usize * channels;
    let border = visible(packed.layout, &packed.data[border_at..border_at + channels]);
    let differs = |pixel: &[u8]| {
        let samples = visible(packed.layout, pixel);
        let mut pairs = samples.iter().zip(border);
        pairs.any(|(sample, border)| threshold < sample.abs_diff(border))
    };
    let (mut left, mut right) = (width, 0);
    let (mut top, mut bottom) = (height, 0);
    for (y, row) in (0..height).zip(packed.data.chunks_exact(row_bytes)) {
        let mut pixels = row.chunks_exact(channels);
        let Some(first) = pixels.position(differs) else {
            continue;
        };
        let last = row.chunks_exact(channels).rposition(differs);
        let last = last.expect("a pixel of the row differs") as u32;
        (left, right) = (left.min(first as u32), right.max(last));
        (top, bottom) = (top.min(y), y);
    }
    (left <= right && top <= bottom).then(|| Rect {
        x: left,
        y: top,
        size: Size::new(right - left + 1, bottom - top + 1),
    })
}

/// Returns the samples of a pixel as they are seen: multiplied with alpha, if there is alpha.
fn visible(layout: Layout, pixel: &[u8]) -> [u8; 4] {
    match (layout, pixel) {
        (Layout::Rgb, &[red, green, blue]) => [red, green, blue, 255],
        (Layout::Rgba, &[red, green, blue, alpha]) => {
            let seen = |sample: u8| ((u16::from(sample) * u16::from(alpha) + 127) / 255) as u8;
            [seen(red), seen(green), seen(blue), alpha]
        }
        (Layout::Cmyk, &[cyan, magenta, yellow, black]) => [cyan, magenta, yellow, black],
        _ => unreachable!("a pixel has as many samples as its layout"),
    }
}
