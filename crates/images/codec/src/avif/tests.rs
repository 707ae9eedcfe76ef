//! Tests with AVIFs that our own encoder does not write: higher bit depths, premultiplied colours,
//! and colour spaces given by code points (ITU-T H.273).

use image_plan::{Layout, Matrix, Packed, Range, Raster, Size, Subsampling, Yuv};
use libavif_sys as avif;

use super::alpha::unpremultiply;
use super::depth::DepthConversion;
use super::handle::{File, new_encoder, new_image};
use crate::tests::pictures::{distance, with_alpha, yuv};
use crate::{DecodeOptions, Decoded, Error, ErrorKind};

const SIZE: Size = Size::new(33, 31);

/// Encodes a 10-bit picture losslessly; `change` modifies the image before encoding.
fn write(
    format: avif::avifPixelFormat,
    planes: &mut [Vec<u16>; 3],
    change: impl FnOnce(&mut avif::avifImage),
) -> Vec<u8> {
    let mut image = new_image(SIZE, format).expect("an image");
    image.depth = 10;
    image.yuvRange = avif::AVIF_RANGE_FULL;
    for (plane, samples) in planes.iter_mut().enumerate() {
        image.yuvPlanes[plane] = samples.as_mut_ptr().cast();
        // Chroma planes have the stride of luma, although they may be narrower. libavif reads only
        // the samples that belong to chroma.
        image.yuvRowBytes[plane] = 2 * SIZE.width_px;
    }
    change(&mut image);
    let mut encoder = new_encoder().expect("an encoder");
    encoder.speed = 9;
    encoder.quality = 100;
    encoder.qualityAlpha = 100;
    let mut file = File::with_capacity(0).expect("no room takes no memory");
    // SAFETY: each plane has 33 × 31 samples, which is the stride times the number of luma rows. A
    // chroma plane needs no more samples than the luma plane. `change` must keep this true.
    let result = unsafe { avif::avifEncoderWrite(encoder.as_ptr(), image.as_ptr(), file.slot()) };
    assert_eq!(result, avif::AVIF_RESULT_OK);
    file.bytes().to_vec()
}

/// Returns planes that contain all levels of 10 bits in sequence.
fn ramps() -> [Vec<u16>; 3] {
    [0, 300, 700].map(|start| {
        (0..SIZE.pixels() as u16)
            .map(|at| (at + start) % 1024)
            .collect()
    })
}

fn decode(file: &[u8]) -> Result<Decoded, Error> {
    super::decode(file, &DecodeOptions::whole(SIZE))
}

fn planes(decoded: Decoded) -> Yuv {
    match decoded.raster {
        Raster::Yuv(yuv) => yuv,
        Raster::Packed(_) => panic!("pixels where planes were expected"),
    }
}

#[test]
fn ten_bits_are_rounded_to_the_nearest_level() {
    let mut ramps = ramps();
    let file = write(avif::AVIF_PIXEL_FORMAT_YUV444, &mut ramps, |image| {
        image.matrixCoefficients = 1;
    });
    let yuv = planes(decode(&file).expect("decodes"));
    assert_eq!((yuv.range, yuv.matrix), (Range::Full, Matrix::Bt709));
    let luma = ramps[0]
        .iter()
        .map(|sample| (f64::from(*sample) * 255.0 / 1023.0).round() as u8);
    assert!(yuv.luma.data.iter().copied().eq(luma));
    let [cb, cr] = yuv.chroma.expect("chroma");
    for (plane, ramp) in [(cb, &ramps[1]), (cr, &ramps[2])] {
        for (level, sample) in plane.data.iter().zip(ramp) {
            let exact = 128.0 + (f64::from(*sample) - 512.0) * 255.0 / 1023.0;
            assert!(
                (f64::from(*level) - exact.clamp(0.0, 255.0)).abs() <= 0.5,
                "{sample}"
            );
        }
    }
}

#[test]
fn limited_range_keeps_its_ends_and_its_middle() {
    for depth_bits in [10, 12] {
        let wide = |level: u16| (level << (depth_bits - 8)).to_ne_bytes();
        let samples: Vec<u8> = [16, 128, 235].into_iter().flat_map(wide).collect();
        for narrow in [
            DepthConversion::luma(depth_bits, Range::Limited),
            DepthConversion::chroma(depth_bits, Range::Limited),
        ] {
            let mut levels = [0; 3];
            narrow.expect("a depth of AV1").apply(&samples, &mut levels);
            assert_eq!(levels, [16, 128, 235], "{depth_bits}");
        }
    }
}

#[test]
fn grey_of_ten_bits_has_no_chroma() {
    let file = write(avif::AVIF_PIXEL_FORMAT_YUV400, &mut ramps(), |_| {});
    let yuv = planes(decode(&file).expect("decodes"));
    assert_eq!((yuv.subsampling, yuv.chroma), (Subsampling::S400, None));
}

#[test]
fn rgb_of_ten_bits_becomes_pixels() {
    let mut ramps = ramps();
    let file = write(avif::AVIF_PIXEL_FORMAT_YUV444, &mut ramps, |image| {
        image.matrixCoefficients = 0;
    });
    let Raster::Packed(packed) = decode(&file).expect("decodes").raster else {
        panic!("planes where pixels were expected");
    };
    let level = |sample: u16| (f64::from(sample) * 255.0 / 1023.0).round() as u8;
    let [green, blue, red] = &ramps;
    let (pixels, _) = packed.data.as_chunks::<3>();
    for (at, pixel) in pixels.iter().enumerate() {
        assert_eq!(*pixel, [red[at], green[at], blue[at]].map(level));
    }
    assert_eq!(packed.layout, Layout::Rgb);
}

#[test]
fn code_points_become_a_profile() {
    let numbered = |primaries, transfer| {
        let file = write(avif::AVIF_PIXEL_FORMAT_YUV444, &mut ramps(), |image| {
            image.colorPrimaries = primaries;
            image.transferCharacteristics = transfer;
            image.matrixCoefficients = 6;
        });
        decode(&file)
    };
    assert_eq!(numbered(1, 13).expect("sRGB").profile, None);
    assert_eq!(numbered(2, 2).expect("unspecified").profile, None);
    let p3 = numbered(12, 13)
        .expect("Display P3")
        .profile
        .expect("a profile");
    let bt2020 = numbered(9, 14)
        .expect("BT.2020")
        .profile
        .expect("a profile");
    assert_ne!(p3, bt2020);
    for transfer in [16, 18] {
        let refusal = numbered(9, transfer).expect_err("high dynamic range");
        assert_eq!(refusal.kind, ErrorKind::Unsupported);
    }
}

#[test]
fn a_matrix_we_cannot_name_is_not_supported() {
    let file = write(avif::AVIF_PIXEL_FORMAT_YUV444, &mut ramps(), |image| {
        image.matrixCoefficients = 8;
    });
    assert_eq!(
        decode(&file).expect_err("YCgCo").kind,
        ErrorKind::Unsupported
    );
}

/// The decoder ignores the rotation and mirroring stated in the file.
#[test]
fn orientation_is_left_to_the_caller() {
    let plain = write(avif::AVIF_PIXEL_FORMAT_YUV444, &mut ramps(), |_| {});
    let turned = write(avif::AVIF_PIXEL_FORMAT_YUV444, &mut ramps(), |image| {
        image.transformFlags = avif::AVIF_TRANSFORM_IROT | avif::AVIF_TRANSFORM_IMIR;
        image.irot.angle = 1;
    });
    assert_ne!(plain, turned);
    let (plain, turned) = (decode(&plain), decode(&turned));
    assert_eq!(
        plain.expect("decodes").raster,
        turned.expect("decodes").raster
    );
}

/// Premultiplies the planes as programs that write premultiplied files do: each chroma sample is
/// multiplied by the mean alpha of its block.
fn premultiply(yuv: &mut Yuv, zero: (i32, i32)) {
    let alpha = yuv.alpha.clone().expect("alpha");
    let (dx, dy) = yuv.subsampling.divisors();
    let scale = |sample: u8, zero: i32, alpha: f64| {
        let distance = f64::from(i32::from(sample) - zero) * alpha / 255.0;
        (f64::from(zero) + distance).round() as u8
    };
    for y in 0..yuv.size.height_px {
        for x in 0..yuv.size.width_px {
            let at = y as usize * yuv.luma.stride + x as usize;
            let a = f64::from(alpha.row(y)[x as usize]);
            yuv.luma.data[at] = scale(yuv.luma.data[at], zero.0, a);
        }
    }
    for plane in yuv.chroma.iter_mut().flatten() {
        for y in 0..plane.size.height_px {
            for x in 0..plane.size.width_px {
                let rows = (y * dy)..((y + 1) * dy).min(yuv.size.height_px);
                let columns = (x * dx) as usize..((x + 1) * dx).min(yuv.size.width_px) as usize;
                let block: Vec<u8> = rows
                    .flat_map(|y| alpha.row(y)[columns.clone()].to_vec())
                    .collect();
                let sum: f64 = block.iter().map(|a| f64::from(*a)).sum();
                let at = y as usize * plane.stride + x as usize;
                plane.data[at] = scale(plane.data[at], zero.1, sum / block.len() as f64);
            }
        }
    }
}

#[test]
fn premultiplied_planes_become_straight() {
    for subsampling in [Subsampling::S400, Subsampling::S420, Subsampling::S444] {
        for (range, black) in [(Range::Full, 0), (Range::Limited, 16)] {
            let straight = with_alpha(yuv(SIZE, subsampling, range));
            let mut treated = straight.clone();
            premultiply(&mut treated, (black, 128));
            let before = distance(
                &Raster::Yuv(treated.clone()),
                &Raster::Yuv(straight.clone()),
            );
            unpremultiply(&mut treated, false);
            let after = distance(&Raster::Yuv(treated), &Raster::Yuv(straight));
            assert!(
                before > 5.0 && after < 0.6,
                "{subsampling:?} {range:?}: {before} {after}"
            );
        }
    }
}

#[test]
fn premultiplied_rgb_becomes_straight() {
    // One pixel of red 200 at half opacity. Its premultiplied red sample is 100.
    let [mut green, mut blue, mut red] = [0_u8, 0, 100].map(|level| vec![level; 1]);
    let mut alpha = vec![128_u8];
    let size = Size::new(1, 1);
    let mut image = new_image(size, avif::AVIF_PIXEL_FORMAT_YUV444).expect("an image");
    image.matrixCoefficients = 0;
    image.yuvRange = avif::AVIF_RANGE_FULL;
    image.alphaPremultiplied = 1;
    image.yuvPlanes = [green.as_mut_ptr(), blue.as_mut_ptr(), red.as_mut_ptr()];
    image.yuvRowBytes = [1; 3];
    image.alphaPlane = alpha.as_mut_ptr();
    image.alphaRowBytes = 1;
    let mut encoder = new_encoder().expect("an encoder");
    (encoder.quality, encoder.qualityAlpha, encoder.speed) = (100, 100, 9);
    let mut file = File::with_capacity(0).expect("no room takes no memory");
    // SAFETY: the picture has one pixel, and its planes of one byte live until the end of this
    // function.
    let result = unsafe { avif::avifEncoderWrite(encoder.as_ptr(), image.as_ptr(), file.slot()) };
    assert_eq!(result, avif::AVIF_RESULT_OK);
    let decoded = super::decode(file.bytes(), &DecodeOptions::whole(size)).expect("decodes");
    let expected = Packed {
        size,
        layout: Layout::Rgba,
        data: vec![199, 0, 0, 128],
    };
    assert_eq!(decoded.raster, Raster::Packed(expected));
}
