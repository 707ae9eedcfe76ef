use super::*;
use crate::range::with_range;
use crate::{cmyk_to_rgb, to_packed, to_planes};

const RANGES: [Range; 2] = [Range::Full, Range::Limited];
const MATRICES: [Matrix; 3] = [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020];

#[test]
fn planes_become_the_rgb_of_the_definition() {
    for range in RANGES {
        for matrix in MATRICES {
            for (width, height) in [(1, 1), (7, 3), (64, 5), (33, 17)] {
                let size = Size::new(width, height);
                let mut outputs = Vec::new();
                for poison in [0, 255] {
                    let noise = noise_yuv(size, Subsampling::S444, true, Some(poison));
                    // Brings the samples into `range`, because the kernels of the crate `yuv` turn
                    // all luma below the black level into black.
                    let yuv = Yuv {
                        matrix,
                        ..with_range(noise, range)
                    };
                    let [cb, cr] = yuv.chroma.as_ref().expect("4:4:4");
                    let mut expected = Vec::new();
                    for y in 0..height {
                        for x in 0..width as usize {
                            let sample = [yuv.luma.row(y)[x], cb.row(y)[x], cr.row(y)[x]];
                            expected.extend(naive::rgb_of(sample, range, matrix));
                            expected.push(yuv.alpha.as_ref().expect("alpha").row(y)[x]);
                        }
                    }
                    let packed = to_packed(Raster::Yuv(yuv));
                    assert_eq!((packed.size, packed.layout), (size, Layout::Rgba));
                    assert_near(&packed.data, &expected, 1.0, 1);
                    outputs.push(packed);
                }
                assert_eq!(outputs[0], outputs[1], "padding leaks");
            }
        }
    }
}

/// VP8 files may have samples outside the limited range (for example libwebp's test vectors 006 and
/// 014), and decoders do not clamp them. The conversion to RGB must not clamp them either.
#[test]
fn samples_outside_the_limited_range_are_not_clamped() {
    for matrix in MATRICES {
        for subsampling in [Subsampling::S444, Subsampling::S420] {
            let noise = noise_yuv(Size::new(66, 34), subsampling, false, None);
            let mut yuv = Yuv {
                matrix,
                range: Range::Limited,
                ..noise
            };
            // Each chroma plane has one value, so that resampling has no effect.
            for (plane, value) in yuv.chroma.iter_mut().flatten().zip([3, 251]) {
                plane.data.fill(value);
            }
            let luma = yuv.luma.clone();
            let rows = (0..luma.size.height_px).flat_map(|y| luma.row(y));
            let expected: Vec<u8> = rows
                .flat_map(|&y| naive::rgb_of([y, 3, 251], Range::Limited, matrix))
                .collect();
            let packed = to_packed(Raster::Yuv(yuv.clone()));
            assert_near(&packed.data, &expected, 1.0, 1);
            let full = to_planes(
                Raster::Yuv(yuv.clone()),
                Subsampling::S444,
                Range::Full,
                matrix,
            );
            assert_near(&to_packed(Raster::Yuv(full)).data, &expected, 1.0, 3);
            let kept = to_planes(
                Raster::Yuv(yuv.clone()),
                subsampling,
                Range::Limited,
                matrix,
            );
            assert_eq!(kept, yuv, "the range that it is in holds all of it");
        }
    }
}

#[test]
fn grey_planes_become_equal_channels() {
    for range in RANGES {
        let noise = noise_yuv(Size::new(19, 5), Subsampling::S400, false, Some(9));
        let yuv = with_range(noise, range);
        let mut expected = Vec::new();
        for y in 0..5 {
            for &luma in yuv.luma.row(y) {
                expected.extend(naive::rgb_of([luma, 128, 128], range, Matrix::Bt601));
            }
        }
        let packed = to_packed(Raster::Yuv(yuv));
        assert!(
            packed
                .data
                .as_chunks()
                .0
                .iter()
                .all(|[r, g, b]| r == g && g == b)
        );
        assert_near(&packed.data, &expected, 1.0, 1);
    }
}

#[test]
fn rgb_becomes_the_planes_of_the_definition() {
    for range in RANGES {
        for matrix in MATRICES {
            for (width, height) in [(1, 1), (7, 3), (64, 5), (33, 17)] {
                let packed = noise_packed(Size::new(width, height), Layout::Rgb);
                let yuv = to_planes(
                    Raster::Packed(packed.clone()),
                    Subsampling::S444,
                    range,
                    matrix,
                );
                let mut expected = [Vec::new(), Vec::new(), Vec::new()];
                for &pixel in packed.data.as_chunks().0 {
                    let sample = naive::yuv_of(pixel, range, matrix);
                    for (plane, value) in expected.iter_mut().zip(sample) {
                        plane.push(value.round().clamp(0.0, 255.0) as u8);
                    }
                }
                let [cb, cr] = yuv.chroma.expect("4:4:4");
                // Samples of limited range are dithered, so they may be rounded in the other
                // direction.
                let worst = if range == Range::Full { 1 } else { 2 };
                for (plane, expected) in [yuv.luma, cb, cr].iter().zip(&expected) {
                    assert_near(&plane.data, expected, 1.0, worst);
                }
            }
        }
    }
}

#[test]
fn chroma_of_420_is_the_mean_of_its_block_with_edges_repeated() {
    for (width, height) in [(2, 2), (7, 3), (64, 6), (33, 17)] {
        let packed = noise_packed(Size::new(width, height), Layout::Rgb);
        let yuv = to_planes(
            Raster::Packed(packed.clone()),
            Subsampling::S420,
            Range::Full,
            Matrix::Bt601,
        );
        let pixels = packed.data.as_chunks::<3>().0;
        let mut expected = [Vec::new(), Vec::new()];
        for y in 0..height.div_ceil(2) {
            for x in 0..width.div_ceil(2) {
                let block = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| {
                    let x = (2 * x + dx).min(width - 1);
                    let y = (2 * y + dy).min(height - 1);
                    naive::yuv_of(pixels[(y * width + x) as usize], Range::Full, Matrix::Bt601)
                });
                for (channel, plane) in expected.iter_mut().enumerate() {
                    let sum: f64 = block.iter().map(|sample| sample[channel + 1]).sum();
                    plane.push((sum / 4.0).round().clamp(0.0, 255.0) as u8);
                }
            }
        }
        for (plane, expected) in yuv.chroma.expect("4:2:0").iter().zip(&expected) {
            assert_near(&plane.data, expected, 0.6, 2);
        }
    }
}

#[test]
fn each_ink_absorbs_its_share_of_light() {
    let packed = Packed {
        size: Size::new(4, 1),
        layout: Layout::Cmyk,
        data: vec![0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 255, 0, 128, 255, 128],
    };
    let rgb = cmyk_to_rgb(&packed);
    assert_eq!(rgb.layout, Layout::Rgb);
    assert_eq!(rgb.data, [255, 255, 255, 0, 255, 255, 0, 0, 0, 127, 63, 0]);
}

proptest! {
    #[test]
    fn planes_and_back_lose_at_most_rounding(size in any_size(40)) {
        let packed = smooth_rgb(size);
        let yuv = to_planes(Raster::Packed(packed.clone()), Subsampling::S444, Range::Full, Matrix::Bt601);
        assert_near(&to_packed(Raster::Yuv(yuv)).data, &packed.data, 0.8, 3);
    }
}
