//! Tests of the serialization of a [`Comparison`], the job that compares a variant with its
//! original.

use super::{Comparison, HEAD_BYTES};
use crate::{Effects, Encoding, Format, MalformedPlan, Orientation, Plan, Rect, Size};

const COMPARISON: Comparison = Comparison {
    plan: Plan {
        source: Format::Jpeg,
        stored: Size::new(4000, 3000),
        orientation: Orientation::Upright,
        crop: Rect {
            x: 0,
            y: 0,
            size: Size::new(4000, 3000),
        },
        inner: Size::new(1000, 750),
        target: Size::new(1000, 750),
        encoding: Encoding::Avif {
            quality: 50,
            speed: 6,
            lossless: false,
        },
        page: 1,
        effects: Effects::NONE,
        trim: None,
        frames_max: None,
        bytes_max: None,
        score_min: None,
    },
    original_bytes: 0x0102_0304_0506,
};

#[test]
fn a_comparison_is_parsed_back() {
    let bytes = COMPARISON.to_bytes();
    assert!(Comparison::is_comparison(&bytes));
    assert!(!Comparison::is_comparison(&COMPARISON.plan.to_bytes()));
    assert_eq!(Comparison::from_bytes(&bytes), Ok(COMPARISON));
}

#[test]
fn malformed_comparisons_are_refused() {
    let bytes = COMPARISON.to_bytes();
    for length in 0..bytes.len() {
        let parsed = Comparison::from_bytes(&bytes[..length]);
        assert_eq!(parsed, Err(MalformedPlan::Length), "{length} bytes");
    }
    let with = |at: usize, byte| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        Comparison::from_bytes(&bytes)
    };
    assert_eq!(with(0, b'X'), Err(MalformedPlan::Magic));
    assert_eq!(with(4, 1), Err(MalformedPlan::Value));
    assert_eq!(with(HEAD_BYTES, b'X'), Err(MalformedPlan::Magic));
}

#[test]
fn a_comparison_costs_more_than_its_conversion() {
    let (comparison, conversion) = (COMPARISON.cost(), COMPARISON.plan.cost());
    assert!(conversion.memory_bytes + 90_000_000 < comparison.memory_bytes);
    assert!(conversion.cpu_ms < comparison.cpu_ms);
}
