//! Tests of outputs whose quality is chosen for a score.

use super::pictures::{PNG, file};
use crate::convert;
use image_plan::{
    Facts, Layout, Limits, Packed, Plan, Raster, Size, Stage, Target, parse_query, plan, probe,
};

const SIZE: Size = Size::new(320, 240);

/// Returns a PNG of a smooth picture with noise of `levels` levels.
fn original(levels: u32) -> Vec<u8> {
    let pixels = (0..SIZE.pixels() as u32).flat_map(|at| {
        let (x, y) = (at % SIZE.width_px, at / SIZE.width_px);
        let noise = (at.wrapping_mul(2_654_435_761) >> 24) % levels;
        [x / 2 + noise, y / 2 + noise, (x + y) / 4 + noise].map(|value| value as u8)
    });
    let raster = Raster::Packed(Packed {
        size: SIZE,
        layout: Layout::Rgb,
        data: pixels.collect(),
    });
    file(&raster, None, PNG)
}

fn converted(original: &[u8], query: &str, target: Target, stage: Stage) -> Vec<u8> {
    let facts: Facts = probe(original, original.len() as u64).expect("a picture");
    let recipe = parse_query(query).expect("a valid query").recipe;
    let plan = plan(&facts, &recipe, target, stage, &Limits::default()).expect("a small picture");
    let plan = Plan::from_bytes(&plan.to_bytes()).expect("a plan that can be sent");
    convert(&plan, original).expect("a sound original").bytes
}

#[test]
fn a_soft_picture_needs_less_than_the_default_quality() {
    let original = original(3);
    for target in [Target::Jpeg, Target::Webp, Target::Avif] {
        for stage in [Stage::Quick, Stage::Better] {
            let made = |query: &str| converted(&original, query, target, stage);
            let (default, auto) = (made(""), made("q=auto"));
            assert!(
                auto.len() < default.len(),
                "{target:?} {stage:?}: {} of {}",
                auto.len(),
                default.len()
            );
            // The search is deterministic.
            assert!(auto == made("q=auto"), "{target:?} {stage:?}");
            let bytes_max = auto.len() * 9 / 10;
            let reduced = made(&format!("q=auto&max_bytes={bytes_max}"));
            assert!(reduced.len() <= bytes_max, "{target:?} {stage:?}");
        }
    }
}

#[test]
fn a_png_has_no_automatic_quality() {
    let original = original(12);
    let made = |query| converted(&original, query, Target::Png, Stage::Quick);
    assert!(made("") == made("q=auto"));
}
