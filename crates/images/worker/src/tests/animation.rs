//! Tests of animations: each frame must go through the steps of a still picture.

use super::pictures::{WEBP, WEBP_LOSSLESS, distance, done, png, read, scene, whole};
use crate::{ErrorKind, convert, convert_batch};
use codec::{AnimationEncoder, AnimationReader, DecodeOptions};
use image_plan::{
    Batch, Effects, Encoding, Format, Layout, Orientation, Packed, Placeholder, Plan, Rect, Size,
    probe,
};
use pixel::to_packed;
use std::num::NonZeroU32;

const SIZE: Size = Size::new(60, 40);
const DURATIONS_MS: [u32; 3] = [40, 250, 90];

/// Returns three different pictures.
fn pictures() -> Vec<Packed> {
    let first = scene(SIZE);
    let turned = |times: usize| {
        let mut other = first.clone();
        other.data.rotate_left(3 * 20 * times);
        other
    };
    (0..3).map(turned).collect()
}

/// Returns an animated WebP that is played five times.
fn animation() -> Vec<u8> {
    let mut encoder = AnimationEncoder::new(SIZE, None, WEBP_LOSSLESS).expect("an encoder");
    for (picture, duration_ms) in pictures().iter().zip(DURATIONS_MS) {
        encoder.add(picture, duration_ms).expect("added");
    }
    encoder.finish(5).expect("encodes")
}

fn plan(encoding: Encoding) -> Plan {
    Plan {
        frames_max: NonZeroU32::new(3),
        ..whole(Format::Webp, SIZE, encoding)
    }
}

/// Returns the pictures of an animation with their durations, and the number of plays.
fn played(file: &[u8], size: Size) -> (Vec<Packed>, Vec<u32>, u16) {
    let options = DecodeOptions::whole(size);
    let mut reader = AnimationReader::open(Format::Webp, file, &options).expect("an animation");
    let (mut pictures, mut durations_ms) = (Vec::new(), Vec::new());
    while let Some(frame) = reader.next_frame().expect("a sound frame") {
        pictures.push(frame.picture.clone());
        durations_ms.push(frame.duration_ms);
    }
    (pictures, durations_ms, reader.plays())
}

fn opaque(picture: &Packed) -> Packed {
    let (pixels, _) = picture.data.as_chunks::<3>();
    Packed {
        size: picture.size,
        layout: Layout::Rgba,
        data: pixels
            .iter()
            .flat_map(|[r, g, b]| [*r, *g, *b, 255])
            .collect(),
    }
}

#[test]
fn all_frames_durations_and_plays_are_kept() {
    let output = done(&plan(WEBP_LOSSLESS), &animation());
    let (decoded, durations_ms, plays) = played(&output.bytes, SIZE);
    let expected: Vec<Packed> = pictures().iter().map(opaque).collect();
    assert_eq!(decoded, expected);
    assert_eq!((&durations_ms[..], plays), (&DURATIONS_MS[..], 5));
    let facts = probe(&output.bytes[..], output.bytes.len() as u64).expect("a picture");
    assert!(facts.animated);
}

#[test]
fn lossy_frames_are_similar() {
    let output = done(&plan(WEBP), &animation());
    let (decoded, durations_ms, plays) = played(&output.bytes, SIZE);
    assert_eq!((&durations_ms[..], plays), (&DURATIONS_MS[..], 5));
    for (decoded, expected) in decoded.iter().zip(pictures()) {
        let distance = distance(decoded, &opaque(&expected));
        assert!(distance < 6.0, "{distance}");
    }
}

/// Each frame must have the pixels that the same plan makes of it as a still picture.
#[test]
fn each_frame_is_cropped_scaled_turned_and_changed_as_a_still_picture() {
    let mut plan = Plan {
        orientation: Orientation::Turn90,
        crop: Rect {
            x: 4,
            y: 10,
            size: Size::new(32, 40),
        },
        inner: Size::new(16, 20),
        target: Size::new(16, 20),
        ..plan(WEBP_LOSSLESS)
    };
    plan.effects = Effects {
        blur_centipx: 100,
        ..Effects::NONE
    };
    let output = done(&plan, &animation());
    let (decoded, ..) = played(&output.bytes, plan.target);
    assert_eq!(decoded.len(), 3);
    for (number, picture) in pictures().iter().enumerate() {
        let still = Plan {
            source: Format::Png,
            frames_max: None,
            bytes_max: None,
            score_min: None,
            ..plan
        };
        let expected = done(&still, &png(picture, None)).bytes;
        assert_eq!(
            decoded[number],
            opaque(&read(&still, &expected).0),
            "{number}"
        );
        // The same frame, if the plan requests it by its number.
        let by_number = Plan {
            page: number as u16 + 1,
            frames_max: None,
            bytes_max: None,
            score_min: None,
            ..plan
        };
        let made = done(&by_number, &animation()).bytes;
        assert_eq!(made, expected, "{number}");
    }
}

#[test]
fn a_batch_also_makes_the_placeholder_of_the_first_frame() {
    let small = Plan {
        inner: Size::new(30, 20),
        target: Size::new(30, 20),
        ..plan(WEBP)
    };
    let plans = [plan(WEBP), small];
    let outputs = convert_batch(&Batch::new(&plans, true), &animation()).expect("sound");
    assert_eq!(outputs.files.len(), 3);
    for (plan, file) in plans.iter().zip(&outputs.files) {
        assert_eq!(*file, done(plan, &animation()).bytes);
    }
    let placeholder = Placeholder::from_bytes(outputs.files[2].as_slice());
    let still = Batch::new(&[whole(Format::Png, SIZE, WEBP)], true);
    let still = convert_batch(&still, &png(&pictures()[0], None)).expect("sound");
    let expected = Placeholder::from_bytes(still.files[1].as_slice());
    assert_eq!(placeholder, expected);
}

#[test]
fn damage_and_excess_end_the_conversion() {
    let file = animation();
    let cut = &file[..file.len() - 10];
    assert_eq!(
        convert(&plan(WEBP), cut).expect_err("cut").kind,
        ErrorKind::Undecodable
    );
    let short = Plan {
        frames_max: NonZeroU32::new(2),
        ..plan(WEBP)
    };
    assert_eq!(
        convert(&short, &file).expect_err("long").kind,
        ErrorKind::TooLarge
    );
    let later = Plan {
        page: 4,
        frames_max: None,
        bytes_max: None,
        score_min: None,
        ..plan(WEBP)
    };
    let error = convert(&later, &file).expect_err("no such frame");
    assert_eq!(error.kind, ErrorKind::Undecodable);
}

#[test]
fn a_palette_is_cheaper_as_lossless_frames_in_a_lossy_animation() {
    let flat = |shift: usize| {
        let colours = [[200, 30, 30], [20, 40, 220], [250, 250, 250]];
        let data = (0..60 * 40)
            .flat_map(|at| colours[(at % 60 + shift) / 7 % 3])
            .collect();
        Packed {
            size: SIZE,
            layout: Layout::Rgb,
            data,
        }
    };
    let mut encoder = AnimationEncoder::new(SIZE, None, WEBP).expect("an encoder");
    for shift in 0..3 {
        encoder.add(&flat(shift), 50).expect("added");
    }
    let (decoded, ..) = played(&encoder.finish(0).expect("encodes"), SIZE);
    for (shift, decoded) in decoded.iter().enumerate() {
        assert_eq!(
            *decoded,
            opaque(&to_packed(image_plan::Raster::Packed(flat(shift))))
        );
    }
}

/// The output at high effort is never larger than a lossless one.
#[test]
fn at_high_effort_the_smaller_of_two_outputs_is_kept() {
    let with_method = |method, lossless| {
        let encoding = Encoding::Webp {
            quality: 90,
            method,
            lossless,
        };
        done(&plan(encoding), &animation()).bytes
    };
    assert!(with_method(4, false).len() <= with_method(4, true).len());
}
