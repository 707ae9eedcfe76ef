use super::*;
use crate::{upright, without_borders};
use image_plan::{Orientation, Rect};

fn rect(x: u32, y: u32, width: u32, height: u32) -> Rect {
    Rect {
        x,
        y,
        size: Size::new(width, height),
    }
}

/// Returns a picture of `size` in which all pixels are `outside`, except those of `part`.
fn framed(size: (u32, u32), part: Rect, outside: &[u8], inside: &[u8]) -> Raster {
    let size = Size::new(size.0, size.1);
    let mut data = Vec::new();
    for y in 0..size.height_px {
        for x in 0..size.width_px {
            let is_inside = (part.x..part.x + part.size.width_px).contains(&x)
                && (part.y..part.y + part.size.height_px).contains(&y);
            data.extend_from_slice(if is_inside { inside } else { outside });
        }
    }
    Raster::Packed(Packed {
        size,
        layout: match outside.len() {
            3 => Layout::Rgb,
            _ => Layout::Rgba,
        },
        data,
    })
}

#[test]
fn a_part_at_every_position_is_found() {
    for part in [
        rect(3, 2, 5, 4),
        rect(0, 0, 9, 3),
        rect(11, 0, 1, 11),
        rect(0, 10, 12, 1),
        rect(6, 6, 1, 1),
        rect(0, 3, 12, 5),
    ] {
        let picture = framed((12, 11), part, &[250, 250, 250], &[10, 250, 250]);
        // If the part covers the top left corner, borders must have the colour of the part. No row
        // or column at an edge has only that colour, so nothing is removed.
        let expected = match (part.x, part.y) {
            (0, 0) => rect(0, 0, 12, 11),
            _ => part,
        };
        assert_eq!(without_borders(&picture, 10), expected, "{part:?}");
    }
}

#[test]
fn pixels_up_to_the_threshold_belong_to_a_border() {
    let picture = framed((9, 9), rect(2, 3, 4, 5), &[200, 100, 50], &[200, 107, 50]);
    assert_eq!(without_borders(&picture, 6), rect(2, 3, 4, 5));
    assert_eq!(without_borders(&picture, 7), rect(0, 0, 9, 9));
    assert_eq!(without_borders(&picture, 255), rect(0, 0, 9, 9));
}

#[test]
fn a_picture_of_one_colour_is_kept_whole() {
    for size in [(1, 1), (1, 40), (33, 2)] {
        let picture = framed(size, rect(0, 0, 0, 0), &[7, 8, 9], &[0; 3]);
        assert_eq!(without_borders(&picture, 0), rect(0, 0, size.0, size.1));
    }
}

#[test]
fn transparent_pixels_are_alike_whatever_their_colour() {
    let size = Size::new(4, 3);
    let mut data = noise(3, 4 * 12);
    data.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 0);
    // The pixel at column 2 of row 1 is visible.
    data[4 * 6..4 * 7].copy_from_slice(&[0, 0, 0, 90]);
    let picture = Raster::Packed(Packed {
        size,
        layout: Layout::Rgba,
        data,
    });
    assert_eq!(without_borders(&picture, 89), rect(2, 1, 1, 1));
    assert_eq!(without_borders(&picture, 90), rect(0, 0, 4, 3));
}

#[test]
fn planes_are_compared_with_all_their_components() {
    for (subsampling, of_chroma) in [
        (Subsampling::S444, rect(4, 3, 1, 1)),
        (Subsampling::S422, rect(4, 3, 2, 1)),
        (Subsampling::S440, rect(4, 2, 1, 2)),
        (Subsampling::S420, rect(4, 2, 2, 2)),
        (Subsampling::S411, rect(4, 3, 4, 1)),
    ] {
        let size = Size::new(11, 7);
        let mut yuv = noise_yuv(size, subsampling, false, Some(77));
        for plane in std::iter::once(&mut yuv.luma).chain(yuv.chroma.iter_mut().flatten()) {
            let (stride, width) = (plane.stride, plane.size.width_px as usize);
            let rows = plane.data.chunks_mut(stride);
            rows.for_each(|row| row[..width].fill(128));
        }
        let whole = rect(0, 0, 11, 7);
        assert_eq!(without_borders(&Raster::Yuv(yuv.clone()), 3), whole);
        let (across, down) = subsampling.divisors();
        let [_, cr] = yuv.chroma.as_mut().expect("a picture with colours");
        cr.data[(3 / down) as usize * cr.stride + (4 / across) as usize] = 133;
        let found = without_borders(&Raster::Yuv(yuv.clone()), 4);
        assert_eq!(found, of_chroma, "{subsampling:?}");
        yuv.luma.data[5 * yuv.luma.stride + 10] = 255;
        let found = without_borders(&Raster::Yuv(yuv), 4);
        let corner = rect(of_chroma.x, of_chroma.y, 11 - of_chroma.x, 6 - of_chroma.y);
        assert_eq!(found, corner, "{subsampling:?}");
    }
}

/// Computes the part that remains directly from the definition, pixel by pixel.
fn naive(packed: &Packed, threshold: u8) -> Rect {
    let channels = packed.layout.channels();
    let (width, height) = (packed.size.width_px, packed.size.height_px);
    let component = |x: u32, y: u32, channel: usize| {
        let pixel = &packed.data[(y * width + x) as usize * channels..][..channels];
        let of = |alpha: u8| f64::from(pixel[channel]) * f64::from(alpha) / 255.0;
        match packed.layout {
            Layout::Rgba if channel < 3 => of(pixel[3]).round(),
            _ => f64::from(pixel[channel]),
        }
    };
    let is_like = |x: u32, y: u32| {
        (0..channels).all(|channel| {
            let difference = component(x, y, channel) - component(0, 0, channel);
            difference.abs() <= f64::from(threshold)
        })
    };
    let others: Vec<(u32, u32)> = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .filter(|(x, y)| !is_like(*x, *y))
        .collect();
    if others.is_empty() {
        return rect(0, 0, width, height);
    }
    let (columns, rows) = (others.iter().map(|it| it.0), others.iter().map(|it| it.1));
    let left = columns.clone().min().expect("not empty");
    let top = rows.clone().min().expect("not empty");
    let right = columns.max().expect("not empty");
    let bottom = rows.max().expect("not empty");
    rect(left, top, right + 1 - left, bottom + 1 - top)
}

proptest! {
    #[test]
    fn borders_are_those_of_the_definition(
        width in 1..40u32,
        height in 1..20u32,
        seed in any::<u64>(),
        threshold in any::<u8>(),
        layout in 0..3usize,
        sparse in 1..60usize,
    ) {
        let layout = [Layout::Rgb, Layout::Rgba, Layout::Cmyk][layout];
        let size = Size::new(width, height);
        let count = size.pixels() as usize * layout.channels();
        // Most samples are equal, so that the picture has borders.
        let noise = noise(seed, count);
        let data = (0..count).map(|at| match noise[at] as usize % sparse {
            0 => noise[count - 1 - at],
            _ => 100,
        });
        let packed = Packed { size, layout, data: data.collect() };
        let expected = naive(&packed, threshold);
        prop_assert_eq!(without_borders(&Raster::Packed(packed), threshold), expected);
    }

    #[test]
    fn upright_is_the_inverse_of_stored(
        orientation in 1..=8u16,
        x in 0..9u32,
        y in 0..9u32,
        width in 1..9u32,
        height in 1..9u32,
    ) {
        let orientation = Orientation::from_exif(orientation).expect("1 to 8");
        let part = rect(x, y, width, height);
        let size = Size::new(17, 23);
        let turned = upright(part, size, orientation);
        prop_assert_eq!(crate::stored(turned, size, orientation), part);
    }
}
