//! Conversions between planes, RGB and CMYK.

use crate::range::{exceeds_limited, with_range};
use crate::scale::with_subsampling;
use image_plan::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
use yuv::{
    BufferStoreMut, YuvConversionMode, YuvGrayImage, YuvPlanarImage, YuvPlanarImageMut, YuvRange,
    YuvStandardMatrix,
};

/// Converts planes to RGB, or to RGBA if they have alpha. Returns interleaved pictures unchanged.
#[must_use]
pub fn to_packed(raster: Raster) -> Packed {
    let yuv = match raster {
        Raster::Packed(packed) => return packed,
        Raster::Yuv(yuv) => with_subsampling(yuv, Subsampling::S444),
    };
    let (size, stride) = (yuv.size, yuv.size.width_px * 3);
    let mut rgb = vec![0; size.pixels() as usize * 3];
    let (range, matrix) = (range_of(yuv.range), matrix_of(yuv.matrix));
    let converted = match &yuv.chroma {
        None => yuv::yuv400_to_rgb(&grey_image(&yuv.luma), &mut rgb, stride, range, matrix),
        // Planes that exceed the limited range need the conversion of this crate: the kernels of
        // the crate `yuv` turn luma below 16 into black, regardless of chroma.
        Some(chroma) if exceeds_limited(&yuv) => {
            limited_to_rgb(&yuv.luma, chroma, yuv.matrix, &mut rgb);
            Ok(())
        }
        Some(chroma) => {
            let image = planar_image(&yuv.luma, chroma);
            yuv::yuv444_to_rgb(&image, &mut rgb, stride, range, matrix)
        }
    };
    converted.expect("planes and buffer have the sizes the picture states");
    match &yuv.alpha {
        None => Packed {
            size,
            layout: Layout::Rgb,
            data: rgb,
        },
        Some(alpha) => Packed {
            size,
            layout: Layout::Rgba,
            data: with_alpha(&rgb, alpha),
        },
    }
}

/// Converts the picture to planes. Planes in the requested matrix are resampled to `subsampling`
/// and converted to `range`. Other planes go through RGB, as do planes with samples outside the
/// limited range. Grey planes stay grey.
///
/// # Panics
/// For CMYK, and for conversions from RGB to subsamplings other than 4:2:0 and 4:4:4.
#[must_use]
pub fn to_planes(raster: Raster, subsampling: Subsampling, range: Range, matrix: Matrix) -> Yuv {
    match raster {
        Raster::Yuv(yuv)
            if (yuv.matrix == matrix || yuv.chroma.is_none())
                && (range == yuv.range || !exceeds_limited(&yuv)) =>
        {
            with_range(with_subsampling(yuv, subsampling), range)
        }
        other => with_range(to_yuv(&to_packed(other), subsampling, matrix), range),
    }
}

/// Converts to planes of full range. If limited range is needed, [`with_range`] converts them
/// afterwards, with better rounding than a direct conversion to limited range.
fn to_yuv(packed: &Packed, subsampling: Subsampling, matrix: Matrix) -> Yuv {
    let Size {
        width_px: width,
        height_px: height,
    } = packed.size;
    let chroma_size = subsampling.chroma(packed.size);
    let mut luma = Plane::filled(packed.size, 0);
    let mut chroma = [0, 1].map(|_| Plane::filled(chroma_size, 0));
    let [cb, cr] = &mut chroma;
    let mut image = YuvPlanarImageMut {
        y_plane: BufferStoreMut::Borrowed(&mut luma.data),
        y_stride: width,
        u_plane: BufferStoreMut::Borrowed(&mut cb.data),
        u_stride: chroma_size.width_px,
        v_plane: BufferStoreMut::Borrowed(&mut cr.data),
        v_stride: chroma_size.width_px,
        width,
        height,
    };
    let convert = match (packed.layout, subsampling) {
        (Layout::Rgb, Subsampling::S420) => yuv::rgb_to_yuv420,
        (Layout::Rgb, Subsampling::S444) => yuv::rgb_to_yuv444,
        (Layout::Rgba, Subsampling::S420) => yuv::rgba_to_yuv420,
        (Layout::Rgba, Subsampling::S444) => yuv::rgba_to_yuv444,
        (layout, other) => panic!("cannot convert {layout:?} to {other:?}"),
    };
    convert(
        &mut image,
        &packed.data,
        width * packed.layout.channels() as u32,
        YuvRange::Full,
        matrix_of(matrix),
        YuvConversionMode::Balanced,
    )
    .expect("planes and buffer have the sizes the picture states");
    let mut yuv = Yuv {
        size: packed.size,
        subsampling,
        range: Range::Full,
        matrix,
        luma,
        chroma: Some(chroma),
        alpha: None,
    };
    if packed.layout == Layout::Rgba {
        yuv.alpha = Some(alpha_of(packed));
        if subsampling == Subsampling::S420 {
            weigh_chroma(&mut yuv, packed);
        }
    }
    yuv
}

/// Converts limited-range planes at 4:4:4 to RGB exactly as in ITU-T H.273 §8.3. Only the result is
/// clamped.
fn limited_to_rgb(luma: &Plane, [cb, cr]: &[Plane; 2], matrix: Matrix, rgb: &mut [u8]) {
    const ONE: f32 = 65_536.0;
    let Coefficients { red, blue } = Coefficients::of(matrix);
    let green = 1.0 - red - blue;
    let fixed = |factor: f32| (factor * ONE).round() as i32;
    let luma_scale = fixed(255.0 / 219.0);
    let (of_red, of_blue) = (
        2.0 * (1.0 - red) * 255.0 / 224.0,
        2.0 * (1.0 - blue) * 255.0 / 224.0,
    );
    let (red_cr, blue_cb) = (fixed(of_red), fixed(of_blue));
    let (green_cr, green_cb) = (fixed(of_red * red / green), fixed(of_blue * blue / green));
    let level = |sum: i32| (sum >> 16).clamp(0, 255) as u8;
    let width = luma.size.width_px as usize;
    for (y, row) in (0..luma.size.height_px).zip(rgb.chunks_exact_mut(3 * width)) {
        let samples = luma.row(y).iter().zip(cb.row(y)).zip(cr.row(y));
        for (pixel, ((y, cb), cr)) in row.as_chunks_mut::<3>().0.iter_mut().zip(samples) {
            let grey = (i32::from(*y) - 16) * luma_scale + (1 << 15);
            let (cb, cr) = (i32::from(*cb) - 128, i32::from(*cr) - 128);
            *pixel = [
                level(grey + red_cr * cr),
                level(grey - green_cr * cr - green_cb * cb),
                level(grey + blue_cb * cb),
            ];
        }
    }
}

/// Converts CMYK without a profile to RGB: each ink absorbs its share of the light. Viewers without
/// colour management do the same.
///
/// # Panics
/// If the picture is not [`Layout::Cmyk`].
#[must_use]
pub fn cmyk_to_rgb(packed: &Packed) -> Packed {
    assert_eq!(packed.layout, Layout::Cmyk);
    let light = |ink: u8, black: u8| {
        let product = u16::from(255 - ink) * u16::from(255 - black);
        ((product + 127) / 255) as u8
    };
    Packed {
        size: packed.size,
        layout: Layout::Rgb,
        data: packed
            .data
            .as_chunks()
            .0
            .iter()
            .flat_map(|&[c, m, y, k]| [light(c, k), light(m, k), light(y, k)])
            .collect(),
    }
}

/// Replaces the chroma of blocks that are partly transparent by the alpha-weighted mean chroma of
/// their pixels.
///
/// The plain mean gives equal weight to the colours of transparent pixels, which are arbitrary.
/// Those colours would show as a fringe around every cut-out.
fn weigh_chroma(yuv: &mut Yuv, packed: &Packed) {
    let (width, height) = (
        packed.size.width_px as usize,
        packed.size.height_px as usize,
    );
    let pixels = packed.data.as_chunks::<4>().0;
    let Some([cb, cr]) = &mut yuv.chroma else {
        return;
    };
    let coefficients = Coefficients::of(yuv.matrix);
    for block_y in 0..cb.size.height_px as usize {
        let top = &pixels[2 * block_y * width..][..width];
        let bottom = &pixels[(2 * block_y + 1).min(height - 1) * width..][..width];
        for block_x in 0..cb.size.width_px as usize {
            let left = 2 * block_x;
            let right = (left + 1).min(width - 1);
            let block = [top[left], top[right], bottom[left], bottom[right]];
            if let Some(rgb) = visible_mean(block) {
                let at = block_y * cb.stride + block_x;
                (cb.data[at], cr.data[at]) = coefficients.chroma(rgb);
            }
        }
    }
}

/// Returns the mean colour of a block, weighted by alpha. Returns `None` if all alphas are equal:
/// the plain mean is then correct.
fn visible_mean(block: [[u8; 4]; 4]) -> Option<[f32; 3]> {
    let alpha = block[0][3];
    if block.iter().all(|pixel| pixel[3] == alpha) {
        return None;
    }
    let weight: f32 = block.iter().map(|pixel| f32::from(pixel[3])).sum();
    Some([0, 1, 2].map(|channel| {
        let sum: f32 = block
            .iter()
            .map(|pixel| f32::from(pixel[channel]) * f32::from(pixel[3]))
            .sum();
        sum / weight
    }))
}

/// Luma coefficients of red and blue (ITU-T H.273 §8.3).
struct Coefficients {
    red: f32,
    blue: f32,
}

impl Coefficients {
    fn of(matrix: Matrix) -> Coefficients {
        let (red, blue) = match matrix {
            Matrix::Bt601 => (0.299, 0.114),
            Matrix::Bt709 => (0.2126, 0.0722),
            Matrix::Bt2020 => (0.2627, 0.0593),
        };
        Coefficients { red, blue }
    }

    fn chroma(&self, [r, g, b]: [f32; 3]) -> (u8, u8) {
        let luma = self.red * r + (1.0 - self.red - self.blue) * g + self.blue * b;
        let scale = |difference: f32, weight: f32| {
            // No clamp is needed, because `as` saturates at 0 and 255.
            (128.0 + difference / (2.0 * (1.0 - weight))).round() as u8
        };
        (scale(b - luma, self.blue), scale(r - luma, self.red))
    }
}

fn alpha_of(packed: &Packed) -> Plane {
    let pixels = packed.data.as_chunks::<4>().0;
    Plane {
        size: packed.size,
        stride: packed.size.width_px as usize,
        data: pixels.iter().map(|pixel| pixel[3]).collect(),
    }
}

fn with_alpha(rgb: &[u8], alpha: &Plane) -> Vec<u8> {
    let alphas = (0..alpha.size.height_px).flat_map(|y| alpha.row(y));
    rgb.as_chunks()
        .0
        .iter()
        .zip(alphas)
        .flat_map(|(&[r, g, b], &a)| [r, g, b, a])
        .collect()
}

fn planar_image<'a>(luma: &'a Plane, [cb, cr]: &'a [Plane; 2]) -> YuvPlanarImage<'a, u8> {
    YuvPlanarImage {
        y_plane: &luma.data,
        y_stride: luma.stride as u32,
        u_plane: &cb.data,
        u_stride: cb.stride as u32,
        v_plane: &cr.data,
        v_stride: cr.stride as u32,
        width: luma.size.width_px,
        height: luma.size.height_px,
    }
}

fn grey_image(luma: &Plane) -> YuvGrayImage<'_, u8> {
    YuvGrayImage {
        y_plane: &luma.data,
        y_stride: luma.stride as u32,
        width: luma.size.width_px,
        height: luma.size.height_px,
    }
}

const fn range_of(range: Range) -> YuvRange {
    match range {
        Range::Full => YuvRange::Full,
        Range::Limited => YuvRange::Limited,
    }
}

const fn matrix_of(matrix: Matrix) -> YuvStandardMatrix {
    match matrix {
        Matrix::Bt601 => YuvStandardMatrix::Bt601,
        Matrix::Bt709 => YuvStandardMatrix::Bt709,
        Matrix::Bt2020 => YuvStandardMatrix::Bt2020,
    }
}
