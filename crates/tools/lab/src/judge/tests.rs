use image_plan::Size;

use super::*;

/// Returns a picture of noise. Each sample consists of bits 33 to 40 of the state of Knuth's MMIX
/// generator.
fn noise(size: Size, seed: u64) -> Packed {
    let mut state = seed;
    let samples = 3 * size.pixels();
    let data = (0..samples).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    });
    rgb(size, data.collect())
}

fn rgb(size: Size, data: Vec<u8>) -> Packed {
    Packed {
        size,
        layout: Layout::Rgb,
        data,
    }
}

fn score(reference: Packed, other: &Packed) -> f64 {
    let reference = Reference::new(reference).expect("it is a picture");
    reference.score(other).expect("both are of one size")
}

#[test]
fn identical_pictures_score_100() {
    let picture = noise(Size::new(64, 64), 42);
    assert_eq!(score(picture.clone(), &picture), 100.0);
}

/// Checks that the scores equal those of libjxl's program `ssimulacra2`. The tests of fast-ssim2
/// contain the expected scores.
#[test]
fn scores_are_those_of_the_reference_program() {
    let size = Size::new(64, 64);
    let flat = rgb(size, vec![128; 3 * 64 * 64]);
    let found = score(noise(size, 42), &flat);
    assert!((found - -47.335_725).abs() < 0.01, "{found}");
    let ramp = (0..64 * 64).flat_map(|pixel| [(pixel % 64 * 255 / 63) as u8; 3]);
    let found = score(rgb(size, ramp.collect()), &flat);
    assert!((found - -64.568_721).abs() < 0.01, "{found}");
}

#[test]
fn another_size_is_no_version() {
    let reference = Reference::new(noise(Size::new(16, 16), 1)).expect("it is a picture");
    let failed = reference.score(&noise(Size::new(16, 17), 1));
    assert!(failed.is_err());
}

#[test]
fn a_png_comes_back_as_it_was() {
    let scratch = Scratch::new("judge-test").expect("there is room");
    let picture = noise(Size::new(17, 5), 7);
    let path = scratch.join("noise.png");
    write_png(&picture, &path).expect("there is room");
    assert_eq!(decode(&path, &scratch).expect("it is a PNG"), picture);
}
