use super::*;
use crate::{blend_over, blur, frame, orient, pixelate, rotate, round_corners, tone, unsharp};
use std::num::NonZeroU8;

use image_plan::{Angle, Duotone, Orientation, Rgb, Rgba, Tone, Unsharp};

const LAYOUTS: [Layout; 2] = [Layout::Rgb, Layout::Rgba];

fn rgb(size: (u32, u32), pixels: &[[u8; 3]]) -> Packed {
    Packed {
        size: Size::new(size.0, size.1),
        layout: Layout::Rgb,
        data: pixels.concat(),
    }
}

fn rgba(size: (u32, u32), pixels: &[[u8; 4]]) -> Packed {
    Packed {
        size: Size::new(size.0, size.1),
        layout: Layout::Rgba,
        data: pixels.concat(),
    }
}

fn constant(size: Size, layout: Layout, pixel: [u8; 4]) -> Packed {
    let pixel = &pixel[..layout.channels()];
    Packed {
        size,
        layout,
        data: pixel.repeat(size.pixels() as usize),
    }
}

fn mirrored(packed: &Packed) -> Packed {
    packed_of(orient(Raster::Packed(packed.clone()), Orientation::Turn180))
}

#[test]
fn a_blur_is_the_plain_gaussian_in_linear_light() {
    for (size, sigma, mean_max, worst_max) in [
        ((31, 22), 0.3, 0.3, 1),
        ((31, 22), 1.0, 0.3, 1),
        ((31, 22), 3.0, 0.3, 1),
        ((31, 22), 3.01, 1.0, 4),
        ((50, 37), 3.7, 1.0, 4),
        ((17, 90), 12.0, 1.0, 4),
        ((1, 5), 4.0, 2.0, 4),
    ] {
        let picture = noise_packed(Size::new(size.0, size.1), Layout::Rgb);
        let blurred = blur(picture.clone(), sigma);
        for channel in 0..3 {
            let channel_of = |packed: &Packed| -> Vec<u8> {
                packed
                    .data
                    .iter()
                    .skip(channel)
                    .step_by(3)
                    .copied()
                    .collect()
            };
            let light: Vec<f64> = channel_of(&picture)
                .iter()
                .map(|level| naive::linear(f64::from(*level)))
                .collect();
            let expected: Vec<u8> = naive::gaussian(&light, size.0 as usize, sigma)
                .into_iter()
                .map(|light| naive::encoded(light).round() as u8)
                .collect();
            assert_near(&channel_of(&blurred), &expected, mean_max, worst_max);
        }
    }
}

#[test]
fn golden_values_of_a_blur() {
    let edge = rgb(
        (6, 1),
        &[[0; 3], [0; 3], [0; 3], [255; 3], [255; 3], [255; 3]],
    );
    let reds = |packed: Packed| -> Vec<u8> { packed.data.iter().step_by(3).copied().collect() };
    assert_eq!(reds(blur(edge.clone(), 0.5)), [0, 1, 92, 243, 255, 255]);
    let blurred = |sigma| reds(blur(edge.clone(), sigma));
    assert_eq!(blurred(3.0), [124, 151, 176, 198, 217, 231]);
    assert_eq!(blurred(4.0), [143, 162, 179, 195, 209, 221]);
    assert_eq!(blurred(250.0), [187, 187, 187, 188, 188, 188]);
}

#[test]
fn colours_of_transparent_pixels_have_no_effect_on_filters() {
    let size = Size::new(23, 19);
    let picture = |hidden: [u8; 3]| {
        let mut packed = noise_packed(size, Layout::Rgba);
        for pixel in packed.data.as_chunks_mut::<4>().0 {
            if pixel[3] < 128 {
                *pixel = [hidden[0], hidden[1], hidden[2], 0];
            }
        }
        packed
    };
    let angle = Angle {
        centidegrees: 3_000,
    };
    let mask = Unsharp {
        sigma_centipx: 150,
        amount_pct: 100,
        threshold: 0,
    };
    let (black, green) = (picture([0; 3]), picture([0, 255, 0]));
    for sigma in [1.0, 5.0] {
        assert_eq!(blur(black.clone(), sigma), blur(green.clone(), sigma));
    }
    assert_eq!(pixelate(black.clone(), 3), pixelate(green.clone(), 3));
    let framed = angle.frame(size);
    assert_eq!(
        rotate(black.clone(), angle, framed),
        rotate(green.clone(), angle, framed)
    );
    let visible = |packed: Packed| -> Vec<[u8; 4]> {
        let pixels = packed.data.as_chunks().0.iter();
        pixels.filter(|pixel| pixel[3] != 0).copied().collect()
    };
    assert_eq!(
        visible(unsharp(black, &mask)),
        visible(unsharp(green, &mask))
    );
}

#[test]
fn an_unsharp_mask_raises_the_contrast_of_edges_alone() {
    let mask = |threshold| Unsharp {
        sigma_centipx: 100,
        amount_pct: 100,
        threshold,
    };
    let (dark, bright) = ([90, 100, 110], [140, 150, 160]);
    let mut row = vec![dark; 8];
    row.extend([bright; 8]);
    let edge = rgb((16, 1), &row);
    let sharp = unsharp(edge.clone(), &mask(0));
    let pixels = sharp.data.as_chunks::<3>().0;
    assert_eq!((pixels[0], pixels[15]), (dark, bright));
    // A Gaussian of standard deviation 1 mixes 30 % of the bright side into the last dark pixel,
    // and 6 % into the pixel before it. The sides differ by 50 levels.
    assert_eq!(pixels[7], [75, 85, 95]);
    assert_eq!(pixels[8], [155, 165, 175]);
    assert_eq!(pixels[6], [87, 97, 107]);
    let partial = unsharp(edge.clone(), &mask(10));
    let pixels = partial.data.as_chunks::<3>().0;
    assert_eq!((pixels[6], pixels[7]), (dark, [75, 85, 95]));
    assert_eq!(unsharp(edge.clone(), &mask(16)), edge);
}

#[test]
fn golden_values_of_colour_changes() {
    let pixels = [[0, 0, 0], [255, 255, 255], [200, 100, 50], [10, 128, 250]];
    let picture = rgb((2, 2), &pixels);
    let changed = |change: Tone| -> Vec<[u8; 3]> {
        tone(picture.clone(), &change).data.as_chunks().0.to_vec()
    };
    let none = Tone::default();
    let check = |change: Tone, expected: [[u8; 3]; 4]| assert_eq!(changed(change), expected);
    check(none, pixels);
    check(
        Tone {
            brightness_pct: 50,
            ..none
        },
        [[0, 0, 0], [255, 255, 255], [255, 150, 75], [15, 192, 255]],
    );
    check(
        Tone {
            brightness_pct: -100,
            ..none
        },
        [[0, 0, 0]; 4],
    );
    check(
        Tone {
            contrast_pct: -50,
            ..none
        },
        [
            [64, 64, 64],
            [191, 191, 191],
            [164, 114, 89],
            [69, 128, 189],
        ],
    );
    check(
        Tone {
            contrast_pct: 300,
            ..none
        },
        [[0, 0, 0], [255, 255, 255], [255, 17, 0], [0, 130, 255]],
    );
    check(
        Tone {
            gamma_pct: Some(200),
            ..none
        },
        [[0, 0, 0], [255, 255, 255], [226, 160, 113], [50, 181, 252]],
    );
    // Luma: 0.213 · 200 + 0.715 · 100 + 0.072 · 50 = 117.7, and 111.65.
    check(
        Tone {
            saturation_pct: -100,
            ..none
        },
        [[0, 0, 0], [255, 255, 255], [118, 118, 118], [112, 112, 112]],
    );
    check(
        Tone {
            saturation_pct: 100,
            ..none
        },
        [[0, 0, 0], [255, 255, 255], [255, 82, 0], [0, 144, 255]],
    );
    check(
        Tone {
            sepia: true,
            ..none
        },
        [[0, 0, 0], [255, 255, 239], [165, 147, 114], [150, 133, 104]],
    );
    // Luma: (54 · 200 + 183 · 100 + 19 · 50) / 256 = 117.4, and 112.2.
    check(
        Tone {
            bitonal: NonZeroU8::new(117),
            ..none
        },
        [[0, 0, 0], [255, 255, 255], [255, 255, 255], [0, 0, 0]],
    );
    check(
        Tone {
            invert: true,
            ..none
        },
        [[255, 255, 255], [0, 0, 0], [55, 155, 205], [245, 127, 5]],
    );
    let duotone = Duotone {
        dark: Rgb([20, 40, 60]),
        light: Rgb([220, 140, 61]),
    };
    check(
        Tone {
            duotone: Some(duotone),
            ..none
        },
        [[20, 40, 60], [220, 140, 61], [112, 86, 60], [108, 84, 60]],
    );
}

#[test]
fn blocks_are_means_in_linear_light() {
    let [black, white] = [[0; 3], [255; 3]];
    let picture = rgb(
        (3, 3),
        &[
            black, white, white, white, black, black, white, white, black,
        ],
    );
    let grey = [188; 3];
    assert_eq!(
        pixelate(picture, 2).data.as_chunks().0,
        [grey, grey, grey, grey, grey, grey, white, white, black]
    );
    let cut_out = rgba((2, 1), &[[255, 0, 0, 255], [0, 255, 0, 0]]);
    assert_eq!(pixelate(cut_out, 9).data, [255, 0, 0, 128, 255, 0, 0, 128]);
}

#[test]
fn a_background_shows_through() {
    let picture = rgba(
        (4, 1),
        &[
            [10, 20, 30, 255],
            [10, 20, 30, 0],
            [200, 100, 0, 51],
            [200, 100, 0, 51],
        ],
    );
    let opaque = blend_over(picture.clone(), Rgba([100, 0, 255, 255]));
    assert_eq!(opaque.layout, Layout::Rgb);
    assert_eq!(
        opaque.data,
        [[10, 20, 30], [100, 0, 255], [120, 20, 204], [120, 20, 204]].concat()
    );
    let half = blend_over(picture.clone(), Rgba([100, 0, 255, 128]));
    // Alpha of the third pixel: 0.2 + 0.8 · 0.502 = 0.602.
    let mixed = [133, 33, 170, 153];
    assert_eq!(
        half.data,
        [[10, 20, 30, 255], [100, 0, 255, 128], mixed, mixed].concat()
    );
    let nothing = blend_over(picture.clone(), Rgba::TRANSPARENT);
    assert_eq!(nothing.data[..4], picture.data[..4]);
    assert_eq!(nothing.data[4..8], [0; 4]);
    assert_eq!(nothing.data[8..], picture.data[8..]);
}

#[test]
fn margins_have_the_background() {
    let pixel = rgb((1, 1), &[[9, 8, 7]]);
    let framed = |colour| {
        let raster = Raster::Packed(pixel.clone());
        packed_of(frame(raster, Size::new(3, 2), (2, 1), colour))
    };
    let red = [255, 0, 0];
    let opaque = framed(Some(Rgba([255, 0, 0, 255])));
    assert_eq!(opaque.layout, Layout::Rgb);
    assert_eq!(opaque.data, [red, red, red, red, red, [9, 8, 7]].concat());
    let veil = [255, 0, 0, 100];
    let translucent = framed(Some(Rgba(veil)));
    assert_eq!(translucent.layout, Layout::Rgba);
    assert_eq!(
        translucent.data,
        [veil, veil, veil, veil, veil, [9, 8, 7, 255]].concat()
    );
}

#[test]
fn corners_are_quarters_of_a_circle() {
    let alphas = |width, height, radius| -> Vec<u8> {
        let picture = constant(Size::new(width, height), Layout::Rgb, [7, 7, 7, 0]);
        let rounded = round_corners(picture, radius);
        rounded.data.iter().skip(3).step_by(4).copied().collect()
    };
    assert_eq!(alphas(1, 1, 1), [255]);
    #[rustfmt::skip]
    assert_eq!(
        alphas(5, 3, 1),
        [
            202, 255, 255, 255, 202,
            255, 255, 255, 255, 255,
            202, 255, 255, 255, 202,
        ]
    );
    for (width, height, radius) in [(100, 80, 40_u32), (101, 81, 1_000), (200, 60, 12)] {
        let alphas = alphas(width, height, radius);
        let visible: f64 = alphas.iter().map(|alpha| f64::from(*alpha) / 255.0).sum();
        let radius = f64::from(radius).min(f64::from(width.min(height)) / 2.0);
        let corners = (4.0 - std::f64::consts::PI) * radius * radius;
        let expected = f64::from(width) * f64::from(height) - corners;
        assert!(
            (visible - expected).abs() < 3.0,
            "{visible}, not {expected}"
        );
        let mut turned = alphas.clone();
        turned.reverse();
        assert_eq!(alphas, turned);
    }
}

#[test]
fn a_rotation_by_quarters_moves_pixels_without_changing_them() {
    for size in [Size::new(13, 8), Size::new(8, 8), Size::new(1, 7)] {
        let picture = noise_packed(size, Layout::Rgb);
        for (centidegrees, orientation) in [
            (0, Orientation::Upright),
            (9_000, Orientation::Turn90),
            (18_000, Orientation::Turn180),
            (27_000, Orientation::Turn270),
        ] {
            let expected = packed_of(orient(Raster::Packed(picture.clone()), orientation));
            let rotated = rotate(picture.clone(), Angle { centidegrees }, expected.size);
            assert_eq!(
                blend_over(rotated, Rgba::WHITE),
                expected,
                "{orientation:?}"
            );
        }
    }
}

#[test]
fn a_rotated_picture_keeps_its_area_and_its_colour() {
    let size = Size::new(60, 40);
    let pixel = [10, 100, 200, 255];
    for centidegrees in [100, 1_234, 4_500, 13_000, 29_990] {
        let angle = Angle { centidegrees };
        let framed = angle.frame(size);
        let rotated = rotate(constant(size, Layout::Rgb, pixel), angle, framed);
        assert_eq!(rotated.size, framed);
        let pixels = rotated.data.as_chunks::<4>().0;
        let area: f64 = pixels.iter().map(|pixel| f64::from(pixel[3]) / 255.0).sum();
        assert!((area - 2_400.0).abs() < 24.0, "{centidegrees}: {area}");
        for shown in pixels.iter().filter(|shown| 16 <= shown[3]) {
            let difference = (0..3).map(|at| shown[at].abs_diff(pixel[at])).max();
            assert!(difference <= Some(1), "{centidegrees}: {shown:?}");
        }
    }
    // Clockwise: the left edge, here red, goes to the top.
    let mut picture = constant(Size::new(40, 40), Layout::Rgb, [0, 0, 255, 255]);
    for row in picture.data.chunks_exact_mut(120) {
        row[..60].copy_from_slice(&[255, 0, 0].repeat(20));
    }
    let angle = Angle {
        centidegrees: 8_900,
    };
    let rotated = rotate(picture, angle, angle.frame(Size::new(40, 40)));
    let column = |y: usize| &rotated.data[4 * (y * rotated.size.width_px as usize + 20)..][..4];
    assert_eq!(
        (column(5), column(35)),
        (&[255, 0, 0, 255][..], &[0, 0, 255, 255][..])
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_constant_stays_constant(
        size in any_size(60),
        rgb: [u8; 3],
        sigma in prop_oneof![1..=300_u16, 1..=25_000_u16],
        amount_pct in 1..=1_000_u16,
        side in 2..=70_u32,
    ) {
        for layout in LAYOUTS {
            let picture = constant(size, layout, [rgb[0], rgb[1], rgb[2], 255]);
            let sigma_px = f64::from(sigma) / 100.0;
            prop_assert_eq!(&blur(picture.clone(), sigma_px), &picture);
            let mask = Unsharp { sigma_centipx: sigma, amount_pct, threshold: 0 };
            prop_assert_eq!(&unsharp(picture.clone(), &mask), &picture);
            prop_assert_eq!(&pixelate(picture.clone(), side), &picture);
        }
    }

    #[test]
    fn filters_treat_all_directions_alike(
        size in any_size(40),
        sigma in prop_oneof![1..=300_u16, 1..=9_000_u16],
    ) {
        for layout in LAYOUTS {
            let picture = noise_packed(size, layout);
            let turned = mirrored(&picture);
            let sigma_px = f64::from(sigma) / 100.0;
            prop_assert_eq!(blur(turned.clone(), sigma_px), mirrored(&blur(picture.clone(), sigma_px)));
            let mask = Unsharp { sigma_centipx: sigma, amount_pct: 130, threshold: 3 };
            prop_assert_eq!(unsharp(turned, &mask), mirrored(&unsharp(picture, &mask)));
        }
    }

    #[test]
    fn alpha_keeps_its_levels_under_changes_of_colour(size in any_size(20), invert: bool, gamma in 10..=99_u16) {
        let picture = noise_packed(size, Layout::Rgba);
        let change = Tone { invert, gamma_pct: Some(gamma), saturation_pct: 40, ..Tone::default() };
        let changed = tone(picture.clone(), &change);
        let alphas = |packed: &Packed| -> Vec<u8> {
            packed.data.iter().skip(3).step_by(4).copied().collect()
        };
        prop_assert_eq!(alphas(&changed), alphas(&picture));
    }
}
