//! Synthetic pictures, and the distance between two pictures.

use image_plan::{Format, Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};

use crate::{DecodeOptions, ErrorKind, decode};

/// Sizes that leave different remainders when divided by the sizes of blocks and of chroma samples.
pub(crate) const SIZES: [Size; 9] = [
    Size::new(1, 1),
    Size::new(1, 9),
    Size::new(17, 1),
    Size::new(2, 3),
    Size::new(5, 5),
    Size::new(8, 8),
    Size::new(15, 17),
    Size::new(33, 31),
    Size::new(64, 48),
];

/// Generates the samples of a smooth gradient, whose direction and levels depend on the channel.
/// Channels 0 to 2 stay within limited range.
fn smooth(size: Size, channel: u32) -> impl Iterator<Item = u8> {
    let scale = move |value: u32, side: u32| value * 150 / side.max(2);
    (0..size.height_px).flat_map(move |y| {
        (0..size.width_px).map(move |x| {
            let (along, across) = (scale(x, size.width_px), scale(y, size.height_px));
            match channel {
                0 => 40 + along,
                1 => 50 + across,
                2 => 200 - along / 2 - across / 2,
                _ => 255 - along / 2,
            }
            .min(255) as u8
        })
    })
}

/// Returns a plane with 3 bytes of padding per row, which no code may read as samples.
pub(crate) fn plane(size: Size, channel: u32) -> Plane {
    let width = size.width_px as usize;
    let samples: Vec<u8> = smooth(size, channel).collect();
    let mut data = Vec::new();
    for row in samples.chunks_exact(width) {
        data.extend_from_slice(row);
        data.extend_from_slice(&[255, 0, 255]);
    }
    Plane {
        size,
        stride: width + 3,
        data,
    }
}

pub(crate) fn yuv(size: Size, subsampling: Subsampling, range: Range) -> Yuv {
    let chroma_size = subsampling.chroma(size);
    Yuv {
        size,
        subsampling,
        range,
        matrix: Matrix::Bt601,
        luma: plane(size, 0),
        chroma: (subsampling != Subsampling::S400)
            .then(|| [plane(chroma_size, 1), plane(chroma_size, 2)]),
        alpha: None,
    }
}

pub(crate) fn with_alpha(mut yuv: Yuv) -> Yuv {
    let mut alpha = plane(yuv.size, 3);
    // At least one pixel is not opaque, so that the alpha plane is not dropped.
    alpha.data[0] = 100;
    yuv.alpha = Some(alpha);
    yuv
}

pub(crate) fn packed(size: Size, layout: Layout) -> Packed {
    let channels = layout.channels();
    let mut data = vec![0; channels * size.pixels() as usize];
    for channel in 0..channels {
        let samples = data.iter_mut().skip(channel).step_by(channels);
        samples
            .zip(smooth(size, channel as u32))
            .for_each(|(out, sample)| *out = sample);
    }
    // At least one pixel is not opaque, so that the alpha channel is not dropped.
    if layout == Layout::Rgba {
        data[3] = 100;
    }
    Packed { size, layout, data }
}

/// Returns pseudorandom bytes, the same for equal seeds.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Returns a picture of noise, which encoders cannot compress well.
pub(crate) fn noisy(size: Size, layout: Layout, seed: u64) -> Packed {
    let data = noise(layout.channels() * size.pixels() as usize, seed);
    Packed { size, layout, data }
}

/// Returns the mean absolute difference of all samples of two pictures with equal layout.
pub(crate) fn distance(left: &Raster, right: &Raster) -> f64 {
    match (left, right) {
        (Raster::Yuv(left), Raster::Yuv(right)) => {
            assert_eq!(properties(left), properties(right));
            let (left, right) = (planes(left), planes(right));
            let both = || left.iter().zip(&right);
            let total: u64 = both().map(|(l, r)| difference(l, r)).sum();
            let samples: u64 = both().map(|(l, _)| l.size.pixels()).sum();
            total as f64 / samples as f64
        }
        (Raster::Packed(left), Raster::Packed(right)) => {
            assert_eq!((left.size, left.layout), (right.size, right.layout));
            let samples = left.data.iter().zip(&right.data);
            let total: u64 = samples.map(|(l, r)| u64::from(l.abs_diff(*r))).sum();
            total as f64 / left.data.len() as f64
        }
        _ => panic!("planes against pixels"),
    }
}

fn properties(yuv: &Yuv) -> (Size, Subsampling, Range, Matrix, bool) {
    let alpha = yuv.alpha.is_some();
    (yuv.size, yuv.subsampling, yuv.range, yuv.matrix, alpha)
}

fn planes(yuv: &Yuv) -> Vec<&Plane> {
    let chroma = yuv.chroma.iter().flatten();
    std::iter::once(&yuv.luma)
        .chain(chroma)
        .chain(&yuv.alpha)
        .collect()
}

fn difference(left: &Plane, right: &Plane) -> u64 {
    assert_eq!(left.size, right.size);
    (0..left.size.height_px)
        .flat_map(|y| left.row(y).iter().zip(right.row(y)))
        .map(|(l, r)| u64::from(l.abs_diff(*r)))
        .sum()
}

/// Asserts that `file`, a picture of `size`, is decoded to `expected` without damage.
#[track_caller]
pub(crate) fn assert_decodes(format: Format, file: &[u8], expected: &Raster) {
    let decoded = decode(format, file, &DecodeOptions::whole(expected.size()));
    let decoded = decoded.unwrap_or_else(|err| panic!("{format:?}: {err}"));
    assert_eq!(&decoded.raster, expected);
    assert_eq!((decoded.profile, decoded.damaged), (None, false));
}

/// Asserts that every truncation of `file`, and every flip of one of its bits, is decoded to a
/// picture of `size` or refused.
#[track_caller]
pub(crate) fn assert_damage_is_harmless(format: Format, file: &[u8], size: Size) {
    let check = |bytes: &[u8]| match decode(format, bytes, &DecodeOptions::whole(size)) {
        Ok(decoded) => assert_eq!(decoded.raster.size(), size),
        Err(err) => assert_ne!(err.kind, ErrorKind::Failed, "{format:?}: {err}"),
    };
    for len in 0..file.len() {
        check(&file[..len]);
    }
    for bit in 0..file.len() * 8 {
        let mut flipped = file.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        check(&flipped);
    }
}

/// Returns a picture of `data`, grey if there is one sample per pixel, else RGB or RGBA.
pub(crate) fn of_samples(size: Size, data: Vec<u8>) -> Raster {
    let layout = match data.len() as u64 / size.pixels() {
        1 => {
            let stride = size.width_px as usize;
            let luma = Plane { size, stride, data };
            return Raster::Yuv(Yuv {
                size,
                subsampling: Subsampling::S400,
                range: Range::Full,
                matrix: Matrix::Bt601,
                luma,
                chroma: None,
                alpha: None,
            });
        }
        3 => Layout::Rgb,
        _ => Layout::Rgba,
    };
    Raster::Packed(Packed { size, layout, data })
}
