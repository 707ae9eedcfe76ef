//! Tests of the score of a variant.

use super::pictures::{AVIF, JPEG, PNG, WEBP_LOSSLESS, done, png, scene, seen_through, whole};
use crate::{ErrorKind, compare};
use image_plan::{Comparison, Encoding, Format, Orientation, Plan, Size};

const SIZE: Size = Size::new(192, 128);

/// Returns the score of the variant that `plan` makes of `original`.
fn score_of(plan: Plan, original: &[u8]) -> f64 {
    let variant = done(&plan, original).bytes;
    score(plan, original, &variant).expect("a score")
}

fn score(plan: Plan, original: &[u8], variant: &[u8]) -> Result<f64, crate::Error> {
    let comparison = Comparison {
        plan,
        original_bytes: original.len() as u64,
    };
    compare(&comparison, &[original, variant].concat())
}

#[test]
fn an_identical_picture_scores_100() {
    for original in [png(&scene(SIZE), None), png(&seen_through(SIZE), None)] {
        for encoding in [PNG, WEBP_LOSSLESS] {
            let score = score_of(whole(Format::Png, SIZE, encoding), &original);
            assert!((score - 100.0).abs() < 0.01, "{encoding:?}: {score}");
        }
    }
}

#[test]
fn a_lower_quality_scores_lower() {
    let original = png(&scene(SIZE), None);
    let jpeg = |quality| {
        let encoding = Encoding::Jpeg { quality };
        score_of(whole(Format::Png, SIZE, encoding), &original)
    };
    let scores = [10, 40, 89].map(jpeg);
    assert!(scores.is_sorted(), "{scores:?}");
    assert!(scores[0] < 50.0 && 75.0 < scores[2], "{scores:?}");
}

#[test]
fn a_scaled_and_turned_variant_is_compared_in_its_own_size() {
    let original = png(&scene(SIZE), None);
    let mut plan = whole(Format::Png, SIZE, AVIF);
    plan.orientation = Orientation::Turn90;
    plan.crop.size = SIZE.transposed();
    plan.inner = Size::new(64, 96);
    plan.target = plan.inner;
    let upright = score_of(plan, &original);
    assert!(70.0 < upright, "{upright}");
    let other = Plan {
        orientation: Orientation::Turn270,
        ..plan
    };
    let variant = done(&other, &original).bytes;
    let turned = score(plan, &original, &variant).expect("a score");
    assert!(turned < 30.0, "{turned}");
}

#[test]
fn a_broken_variant_is_not_the_fault_of_the_original() {
    let original = png(&scene(SIZE), None);
    let plan = whole(Format::Png, SIZE, JPEG);
    let kind = |original: &[u8], variant: &[u8]| {
        score(plan, original, variant)
            .map_err(|error| error.kind)
            .expect_err("no score")
    };
    assert_eq!(kind(&original, b"not a picture"), ErrorKind::Failed);
    assert_eq!(kind(&original, b""), ErrorKind::Failed);
    assert_eq!(kind(b"not a picture", b""), ErrorKind::Undecodable);
    let comparison = Comparison {
        plan,
        original_bytes: u64::MAX,
    };
    let error = compare(&comparison, &original).expect_err("a short input");
    assert_eq!(error.kind, ErrorKind::Failed);
}
