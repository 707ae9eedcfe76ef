//! Tests of outputs with a maximum length.

use super::pictures::{PNG, file};
use crate::convert;
use image_plan::{
    Facts, Layout, Limits, Packed, Plan, Raster, Size, Stage, Target, parse_query, plan, probe,
};

const SIZE: Size = Size::new(240, 180);

/// Returns a picture with detail of all sizes.
fn detailed() -> Packed {
    let pixels = (0..SIZE.pixels() as u32).flat_map(|at| {
        let (x, y) = (at % SIZE.width_px, at / SIZE.width_px);
        let noise = at.wrapping_mul(2_654_435_761) >> 26;
        [x + noise, y + noise, (x * y) / 200 + noise].map(|value| value as u8)
    });
    Packed {
        size: SIZE,
        layout: Layout::Rgb,
        data: pixels.collect(),
    }
}

fn planned(original: &[u8], query: &str, target: Target, stage: Stage) -> Plan {
    let facts: Facts = probe(original, original.len() as u64).expect("a picture");
    let recipe = parse_query(query).expect("a valid query").recipe;
    let plan = plan(&facts, &recipe, target, stage, &Limits::default()).expect("a small picture");
    Plan::from_bytes(&plan.to_bytes()).expect("a plan that can be sent")
}

#[test]
fn outputs_are_reduced_to_the_requested_length() {
    let original = file(&Raster::Packed(detailed()), None, PNG);
    for target in [Target::Jpeg, Target::Webp, Target::Avif] {
        for (stage, base) in [
            (Stage::Quick, ""),
            (Stage::Better, ""),
            (Stage::Quick, "q=100&"),
        ] {
            let convert = |query: &str| {
                let plan = planned(&original, query, target, stage);
                convert(&plan, &original).expect("a sound original").bytes
            };
            let whole = convert(base.trim_end_matches('&'));
            let half = whole.len() / 2;
            let reduced = convert(&format!("{base}max_bytes={half}"));
            let what = format!("{target:?} {stage:?} {base}");
            assert!(reduced.len() <= half, "{what}: {} of {half}", reduced.len());
            // A search that ended at the lowest quality would leave most of the bytes unused.
            assert!(
                half / 2 < reduced.len(),
                "{what}: {} of {half}",
                reduced.len()
            );
            // A maximum that is not exceeded changes nothing.
            assert!(
                convert(&format!("{base}max_bytes={}", whole.len())) == whole,
                "{what}"
            );
            // Nothing fits into one byte: the response is the shortest output.
            let shortest = convert(&format!("{base}max_bytes=1"));
            assert!(
                1 < shortest.len() && shortest.len() <= reduced.len(),
                "{what}"
            );
        }
    }
}

#[test]
fn a_png_is_not_reduced() {
    let original = file(&Raster::Packed(detailed()), None, PNG);
    let convert = |query| {
        let plan = planned(&original, query, Target::Png, Stage::Quick);
        convert(&plan, &original).expect("a sound original").bytes
    };
    assert!(convert("max_bytes=100") == convert(""));
}
