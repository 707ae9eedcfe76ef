use super::*;
use crate::effects::tests::any_effects;
use crate::{Crop, FRACTION_ONE, Fit, Focus, Frames, candidates};
use proptest::prelude::*;
use std::num::{NonZeroU16, NonZeroU32};

fn any_format() -> impl Strategy<Value = Format> {
    let convertible = |format: &Format| !format.is_drawing();
    (0..Format::ALL.len())
        .prop_map(|index| Format::ALL[index])
        .prop_filter("drawings are rendered at another size", convertible)
}

fn any_orientation() -> impl Strategy<Value = Orientation> {
    (1..=8u16).prop_map(|value| Orientation::from_exif(value).expect("1 to 8"))
}

fn any_side() -> impl Strategy<Value = u32> {
    prop_oneof![1..40u32, 1..5000u32, 1..70_000u32, 1..=u32::MAX]
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let flags = any::<[bool; 4]>();
    (
        any_format(),
        any_side(),
        any_side(),
        any_orientation(),
        flags,
    )
        .prop_map(
            |(format, width, height, orientation, [animated, alpha, rare, lossless])| Facts {
                orientation,
                animated: animated && rare,
                alpha,
                lossless,
                pages: 3,
                frames: Frames::Exactly(if animated && rare { 3 } else { 1 }),
                ..facts(format, (width, height))
            },
        )
}

fn any_fit() -> impl Strategy<Value = Fit> {
    prop_oneof![
        Just(Fit::Inside),
        Just(Fit::Cover),
        Just(Fit::Contain),
        Just(Fit::Fill),
        Just(Fit::CoverOrKeep),
    ]
}

fn any_fraction() -> impl Strategy<Value = u16> {
    0..=FRACTION_ONE
}

fn any_crop() -> impl Strategy<Value = Option<Crop>> {
    let pixels = (any::<u32>(), any::<u32>(), any_side(), any_side()).prop_map(
        |(x, y, width_px, height_px)| Crop::Pixels {
            x,
            y,
            width_px,
            height_px,
        },
    );
    let fractions = any::<[u16; 4]>().prop_map(|[x, y, width, height]| {
        let (x, y) = (x % FRACTION_ONE, y % FRACTION_ONE);
        Crop::Fractions {
            x,
            y,
            width: 1 + width % (FRACTION_ONE - x),
            height: 1 + height % (FRACTION_ONE - y),
        }
    });
    let ratio =
        (1..=u16::MAX, 1..=u16::MAX).prop_map(|(width, height)| Crop::Ratio { width, height });
    prop_oneof![
        3 => Just(None),
        1 => pixels.prop_map(Some),
        1 => fractions.prop_map(Some),
        1 => ratio.prop_map(Some),
    ]
}

fn any_focus() -> impl Strategy<Value = Focus> {
    let point = (any_fraction(), any_fraction()).prop_map(|(x, y)| Focus { x, y });
    prop_oneof![Just(Focus::default()), point]
}

/// Generates all recipes that queries can produce, and some recipes that no query produces.
fn any_recipe() -> impl Strategy<Value = Recipe> {
    let side = || {
        prop_oneof![
            Just(None),
            (1..2000u32).prop_map(Some),
            (1..=16_384u32).prop_map(Some)
        ]
    };
    let format =
        prop_oneof![3 => Just(None), 1 => (0..4usize).prop_map(|at| Some(Target::ALL[at]))];
    // Quality 0 stands for `q=auto`.
    let quality = prop_oneof![Just(None), (0..=100u8).prop_map(Some)];
    let page = prop_oneof![Just(None), (2..=3u16).prop_map(NonZeroU16::new)];
    let trim = prop_oneof![3 => Just(None), 1 => any::<u8>().prop_map(Some)];
    let frame = prop_oneof![4 => Just(None), 1 => (1..=3u16).prop_map(NonZeroU16::new)];
    let part = (any_orientation(), any_crop(), any_focus(), trim);
    let size = (side(), side(), any_fit(), any::<bool>());
    let effects = prop_oneof![Just(Effects::default()), any_effects()];
    let bytes_max = prop_oneof![3 => Just(None), 1 => any::<u32>().prop_map(NonZeroU32::new)];
    let output = ((quality, bytes_max), format, page, frame, effects);
    (part, size, output).prop_map(
        |(
            (orientation, crop, focus, trim),
            (width_px, height_px, fit, enlarge),
            ((quality_pct, bytes_max), format, page, frame, effects),
        )| {
            // A query with a trim is refused if nothing bounds the size of the output.
            let has_box = width_px.is_some() && height_px.is_some();
            let is_bounded = has_box || (fit == Fit::Inside && !enlarge);
            Recipe {
                orientation,
                trim: trim.filter(|_| is_bounded),
                crop,
                focus,
                width_px,
                height_px,
                fit,
                enlarge,
                quality_pct: quality_pct.filter(|quality| *quality != 0),
                // PNG has no quality.
                is_quality_auto: quality_pct == Some(0) && format != Some(Target::Png),
                // A query with a maximum length is refused for PNG.
                bytes_max: bytes_max.filter(|_| format != Some(Target::Png)),
                format,
                page,
                frame,
                effects,
            }
        },
    )
}

/// Asserts the properties that every plan must have, among them that the output does not exceed the
/// requested box.
fn assert_plan(plan: &Plan, facts: &Facts, recipe: &Recipe) {
    let rotated = facts.rotated(recipe.orientation);
    assert_eq!(plan.stored, facts.stored);
    assert_eq!(plan.oriented(), rotated);
    assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(*plan));
    let pad = plan.effects.pad;
    assert_eq!(pad, recipe.effects.pad);
    if plan.trim.is_some() {
        return assert_bounds(plan);
    }
    let Rect { x, y, size } = plan.crop;
    if recipe.crop.is_none() && recipe.focus == Focus::default() {
        // The crop is centred: its distances from opposite edges differ by at most one pixel.
        assert!(rotated.width_px - size.width_px - 2 * x <= 1);
        assert!(rotated.height_px - size.height_px - 2 * y <= 1);
    }
    let framed = match recipe.fit {
        Fit::Contain => Size::new(
            plan.target.width_px - u32::from(pad.left_px) - u32::from(pad.right_px),
            plan.target.height_px - u32::from(pad.top_px) - u32::from(pad.bottom_px),
        ),
        _ => {
            assert_eq!(pad.around(plan.rotated()), plan.target);
            plan.inner
        }
    };
    if !recipe.enlarge {
        assert!(plan.inner.width_px <= size.width_px && plan.inner.height_px <= size.height_px);
    }
    let bounded = recipe.fit != Fit::CoverOrKeep;
    for (asked, made) in [
        (recipe.width_px, framed.width_px),
        (recipe.height_px, framed.height_px),
    ] {
        assert!(
            asked.is_none_or(|asked| made <= asked || !bounded || !plan.effects.angle.is_zero()),
            "{made} of {asked:?}"
        );
    }
    if recipe.width_px.is_none() && recipe.height_px.is_none() {
        assert_eq!(plan.inner, size);
    }
    let shrink = u32::from(plan.shrink());
    assert!(matches!(shrink, 1 | 2 | 4 | 8));
    let (least, of) = match shrink {
        1 => (0, 1),
        2 => (5, 3),
        _ => (2, 1),
    };
    assert!(plan.inner.width_px * shrink * least <= size.width_px * of);
    assert!(plan.inner.height_px * shrink * least <= size.height_px * of);
    let cost = plan.cost();
    assert!(plan.target.pixels() * 4 < cost.memory_bytes && 0 < cost.cpu_ms);
}

/// Asserts that the sizes of a plan with a trim are bounds, whatever part of the picture remains.
fn assert_bounds(plan: &Plan) {
    let oriented = plan.oriented();
    let part = |side: u32, number: u32, of: u32| (side / of * number).min(side - 1);
    for (start, end) in [(0, 7), (1, 2), (3, 6), (6, 7), (0, 0)] {
        let (left, top) = (
            part(oriented.width_px, start, 7),
            part(oriented.height_px, start, 9),
        );
        let (right, bottom) = (
            part(oriented.width_px, end, 7),
            part(oriented.height_px, end, 7),
        );
        let kept = Rect {
            x: left,
            y: top,
            size: Size::new(
                (right.max(left) - left).max(1),
                (bottom.max(top) - top).max(1),
            ),
        };
        let made = plan.trimmed(kept);
        for (made, bound) in [(made.inner, plan.inner), (made.target, plan.target)] {
            assert!(
                made.width_px <= bound.width_px && made.height_px <= bound.height_px,
                "{kept:?}: {made:?} of {bound:?}"
            );
        }
        assert!(kept.x <= made.crop.x && kept.y <= made.crop.y);
        assert!(made.crop.size.width_px <= kept.size.width_px);
        assert!(made.crop.size.height_px <= kept.size.height_px);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn plans_keep_their_promises(
        facts in any_facts(),
        recipe in any_recipe(),
        target in 0..4usize,
        better in any::<bool>(),
    ) {
        let stage = if better { Stage::Better } else { Stage::Quick };
        let limits = Limits::default();
        match plan(&facts, &recipe, Target::ALL[target], stage, &limits) {
            Ok(plan) => assert_plan(&plan, &facts, &recipe),
            Err(Refusal::AnimatedSource) => assert!(facts.animated),
            Err(Refusal::NoFrame { frames }) => assert!(frames < recipe.frame_number().into()),
            Err(Refusal::AnimationTooLarge { pixels, .. }) => {
                assert!(facts.animated && limits.animation_pixels_max < pixels);
            }
            Err(Refusal::TooManyPixels { pixels, .. }) => assert!(limits.source_pixels_max < pixels),
            Err(Refusal::TargetTooLarge { size }) => {
                assert!(limits.target_pixels_max < size.pixels() || !Target::ALL[target].holds(size));
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn there_is_always_a_candidate(
        facts in any_facts(),
        recipe in any_recipe(),
        avif in any::<bool>(),
        webp in any::<bool>(),
        jxl in any::<bool>(),
        heic in any::<bool>(),
        named in any::<bool>(),
    ) {
        let accepts = Accepts { avif, webp, jxl, heic, named };
        let candidates = candidates(&facts, &recipe, accepts);
        let targets: Vec<Target> = candidates.targets().collect();
        prop_assert!(candidates.original_competes || !targets.is_empty());
        for target in targets {
            prop_assert!(recipe.format == Some(target) || accepts.reads(target.format()));
        }
    }

    #[test]
    fn any_bytes_are_a_valid_plan_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
        flips in proptest::collection::vec((0..PLAN_BYTES, any::<u8>()), 0..4),
    ) {
        assert!(Plan::from_bytes(&bytes).is_err());
        let mut bytes = distinct().to_bytes();
        for (at, value) in flips {
            bytes[at] = value;
        }
        if let Ok(plan) = Plan::from_bytes(&bytes) {
            prop_assert_eq!(plan.to_bytes(), bytes);
            prop_assert!(plan.cost().memory_bytes > 0);
        }
    }
}
