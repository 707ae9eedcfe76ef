//! Tests of effects in whole jobs: their order, their sizes, and transparency in every format.

use super::pictures::{
    AVIF, ENCODINGS, JPEG, PNG, WEBP, distance, done, jpeg, png, read, scene, seen_through, whole,
};
use std::num::NonZeroU8;

use image_plan::{
    Angle, Effects, Encoding, Format, Kernel, Layout, Orientation, Packed, Padding, Plan, Raster,
    Rgba, Size, Subsampling, Tone, Unsharp,
};
use pixel::{
    Area, blend_over, blur, pixelate, rotate, round_corners, scale_by, to_packed, tone, unsharp,
};

const SIZE: Size = Size::new(90, 60);
const SMALL: Size = Size::new(45, 30);
const BLUE: Rgba = Rgba([20, 40, 220, 255]);

/// Returns a plan that scales a PNG of `SIZE` to `SMALL` and applies `effects`.
fn plan(encoding: Encoding, effects: Effects) -> Plan {
    let rotated = effects.angle.frame(SMALL);
    Plan {
        inner: SMALL,
        target: effects.pad.around(rotated),
        effects,
        ..whole(Format::Png, SIZE, encoding)
    }
}

fn converted(picture: &Packed, encoding: Encoding, effects: Effects) -> Packed {
    let plan = plan(encoding, effects);
    read(&plan, &done(&plan, &png(picture, None)).bytes).0
}

fn pixel(picture: &Packed, x: u32, y: u32) -> &[u8] {
    let channels = picture.layout.channels();
    let at = (y * picture.size.width_px + x) as usize * channels;
    &picture.data[at..at + channels]
}

#[test]
fn effects_are_applied_in_their_documented_order() {
    let effects = Effects {
        kernel: Kernel::Cubic,
        angle: Angle {
            centidegrees: 33_000,
        },
        tone: Tone {
            brightness_pct: 30,
            saturation_pct: -50,
            ..Tone::default()
        },
        blur_centipx: 120,
        unsharp: Some(Unsharp {
            sigma_centipx: 200,
            amount_pct: 150,
            threshold: 2,
        }),
        pixelate_px: 3,
        pad: Padding {
            top_px: 1,
            right_px: 2,
            bottom_px: 3,
            left_px: 4,
        },
        background: Some(BLUE),
        round_px: 9,
    };
    let made = converted(&scene(SIZE), PNG, effects);

    let whole = Area::whole(SIZE);
    let raster = Raster::Packed(scene(SIZE));
    let mut expected = to_packed(scale_by(
        Kernel::Cubic,
        raster,
        whole,
        SMALL,
        Subsampling::S444,
    ));
    expected = rotate(expected, effects.angle, effects.angle.frame(SMALL));
    expected = tone(expected, &effects.tone);
    expected = blur(expected, 1.2);
    expected = unsharp(expected, &effects.unsharp.expect("set above"));
    expected = pixelate(expected, 3);
    expected = blend_over(expected, BLUE);
    let framed = effects.pad.around(expected.size);
    let mut frame = Packed {
        size: framed,
        layout: Layout::Rgb,
        data: BLUE.0[..3].repeat(framed.pixels() as usize),
    };
    for (y, row) in expected
        .data
        .chunks_exact(3 * expected.size.width_px as usize)
        .enumerate()
    {
        let start = ((y + 1) * framed.width_px as usize + 4) * 3;
        frame.data[start..start + row.len()].copy_from_slice(row);
    }
    assert_eq!(made, round_corners(frame, 9));
}

#[test]
fn every_effect_alone_reaches_every_format() {
    let none = Effects::NONE;
    let tone = |tone| Effects { tone, ..none };
    let picture = scene(SIZE);
    let plain = converted(&picture, PNG, none);
    for effects in [
        Effects {
            angle: Angle { centidegrees: 200 },
            background: Some(BLUE),
            ..none
        },
        tone(Tone {
            gamma_pct: Some(180),
            ..Tone::default()
        }),
        tone(Tone {
            saturation_pct: -100,
            ..Tone::default()
        }),
        tone(Tone {
            sepia: true,
            ..Tone::default()
        }),
        tone(Tone {
            bitonal: NonZeroU8::new(128),
            ..Tone::default()
        }),
        tone(Tone {
            invert: true,
            ..Tone::default()
        }),
        Effects {
            blur_centipx: 800,
            ..none
        },
        Effects {
            pixelate_px: 9,
            ..none
        },
    ] {
        let exact = converted(&picture, PNG, effects);
        assert_ne!(exact, plain, "{effects:?}");
        for encoding in ENCODINGS {
            let made = converted(&picture, encoding, effects);
            let distance = distance(&made, &exact);
            assert!(
                distance <= 4.0,
                "{effects:?} to {encoding:?}: {distance:.2}"
            );
        }
    }
}

#[test]
fn transparency_is_filled_or_kept() {
    let round = Effects {
        round_px: 15,
        ..Effects::NONE
    };
    let padded = Effects {
        pad: Padding {
            top_px: 6,
            right_px: 6,
            bottom_px: 6,
            left_px: 6,
        },
        ..Effects::NONE
    };
    let on_blue = |effects| Effects {
        background: Some(BLUE),
        ..effects
    };
    let tilted = Effects {
        angle: Angle {
            centidegrees: 4_500,
        },
        ..Effects::NONE
    };
    let is_near =
        |pixel: &[u8], colour: [u8; 3]| pixel.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 12);
    let (white, blue) = ([255; 3], [20, 40, 220]);
    for encoding in [PNG, WEBP, AVIF] {
        for effects in [round, on_blue(round), tilted] {
            let made = converted(&scene(SIZE), encoding, effects);
            assert!(pixel(&made, 0, 0)[3] <= 3, "{encoding:?} {effects:?}");
            let middle = pixel(&made, made.size.width_px / 2, made.size.height_px / 2);
            assert!(252 <= middle[3], "{encoding:?} {effects:?}");
        }
        let made = converted(&seen_through(SIZE), encoding, padded);
        assert!(pixel(&made, 0, 0)[3] <= 3, "{encoding:?}");
        let veil = Effects {
            background: Some(Rgba([20, 40, 220, 128])),
            ..padded
        };
        let made = converted(&scene(SIZE), encoding, veil);
        assert!(pixel(&made, 0, 0)[3].abs_diff(128) <= 2, "{encoding:?}");
    }
    for encoding in [PNG, WEBP, AVIF, JPEG] {
        for effects in [on_blue(padded), on_blue(tilted)] {
            for picture in [scene(SIZE), seen_through(SIZE)] {
                let made = converted(&picture, encoding, effects);
                assert_eq!(made.layout, Layout::Rgb, "{encoding:?} {effects:?}");
                assert!(
                    is_near(pixel(&made, 0, 0), blue),
                    "{encoding:?} {effects:?}"
                );
            }
        }
        let made = converted(&scene(SIZE), encoding, padded);
        assert!(is_near(pixel(&made, 0, 0), white), "{encoding:?}");
    }
    for (effects, colour) in [(round, white), (on_blue(round), blue), (tilted, white)] {
        let made = converted(&scene(SIZE), JPEG, effects);
        assert!(
            is_near(pixel(&made, 0, 0), colour),
            "{effects:?}: {:?}",
            pixel(&made, 0, 0)
        );
    }
}

#[test]
fn a_frame_is_centred_between_the_margins() {
    let plan = Plan {
        target: Size::new(70, 50),
        effects: Effects {
            pad: Padding {
                top_px: 5,
                right_px: 1,
                bottom_px: 0,
                left_px: 3,
            },
            background: Some(BLUE),
            ..Effects::NONE
        },
        ..plan(PNG, Effects::NONE)
    };
    let (made, _) = read(&plan, &done(&plan, &png(&scene(SIZE), None)).bytes);
    // The frame has 66 × 45 pixels inside the margins; the picture has 45 × 30.
    let is_blue = |x, y| pixel(&made, x, y) == [20, 40, 220];
    let corners = [(13, 12), (13 + 44, 12), (13, 12 + 29), (13 + 44, 12 + 29)];
    for (x, y) in corners {
        assert!(!is_blue(x, y), "{x}, {y}");
    }
    assert!(is_blue(12, 20) && is_blue(58, 20) && is_blue(30, 11) && is_blue(30, 42));
}

#[test]
fn effects_work_on_the_upright_picture_of_a_photograph() {
    let lying = to_packed(pixel::orient(
        Raster::Packed(scene(SIZE)),
        Orientation::Turn270,
    ));
    let original = jpeg(&lying, Subsampling::S420);
    let effects = Effects {
        pixelate_px: 15,
        ..Effects::NONE
    };
    let plan = Plan {
        orientation: Orientation::Turn90,
        crop: whole(Format::Png, SIZE, PNG).crop,
        source: Format::Jpeg,
        stored: lying.size,
        ..plan(PNG, effects)
    };
    let (made, _) = read(&plan, &done(&plan, &original).bytes);
    let expected = converted(&scene(SIZE), PNG, effects);
    let distance = distance(&made, &expected);
    assert!(distance <= 2.0, "{distance:.2}");
}
