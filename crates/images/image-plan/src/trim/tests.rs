use super::*;
use crate::plan::tests::facts;
use crate::{Format, Limits, Orientation, Size, Stage, Target, parse_query, plan};

/// Plans a picture of 400 × 300 pixels with `query`, and returns the sizes before and after the
/// borders around `kept` are removed.
fn sizes(query: &str, kept: Rect) -> String {
    let recipe = parse_query(query).expect("a valid query").recipe;
    let facts = facts(Format::Png, (400, 300));
    let limits = Limits::default();
    let plan = plan(&facts, &recipe, Target::Webp, Stage::Quick, &limits).expect("a small picture");
    let show = |plan: &Plan| {
        let Rect { x, y, size } = plan.crop;
        let [crop, inner, target] = [size, plan.inner, plan.target].map(
            |Size {
                 width_px,
                 height_px,
             }| format!("{width_px}x{height_px}"),
        );
        format!("{crop}+{x}+{y} {inner} {target}")
    };
    format!(
        "{query}: {} -> {}\n",
        show(&plan),
        show(&plan.trimmed(kept))
    )
}

#[test]
fn crop_and_box_apply_to_the_rest() {
    let kept = Rect {
        x: 50,
        y: 20,
        size: Size::new(200, 100),
    };
    let queries = [
        "trim=10",
        "trim=10&w=100",
        "trim=10&h=400",
        "trim=10&w=100&h=100",
        "trim=10&w=100&h=100&fit=cover",
        "trim=10&w=500&h=500&fit=contain",
        "trim=10&w=600&h=500&fit=fill&enlarge=1",
        "trim=10&w=600&h=600&enlarge=1",
        "trim=10&width=100&height=90",
        "trim=10&width=100&height=190",
        "trim=10&crop=1:1",
        "trim=10&crop=0.5,0,0.5,1&w=50",
        "trim=10&crop=150,90,500,500",
        "trim=10&rotate=90",
        "trim=10&rotate=45&w=100",
        "trim=10&pad=5&w=100",
    ];
    let table: String = queries.iter().map(|query| sizes(query, kept)).collect();
    expect_test::expect![[r#"
        trim=10: 400x300+0+0 400x300 400x300 -> 200x100+50+20 200x100 200x100
        trim=10&w=100: 400x300+0+0 100x300 100x300 -> 200x100+50+20 100x50 100x50
        trim=10&h=400: 400x300+0+0 400x300 400x300 -> 200x100+50+20 200x100 200x100
        trim=10&w=100&h=100: 400x300+0+0 100x100 100x100 -> 200x100+50+20 100x50 100x50
        trim=10&w=100&h=100&fit=cover: 400x300+0+0 100x100 100x100 -> 100x100+100+20 100x100 100x100
        trim=10&w=500&h=500&fit=contain: 400x300+0+0 400x300 500x500 -> 200x100+50+20 200x100 500x500
        trim=10&w=600&h=500&fit=fill&enlarge=1: 400x300+0+0 600x500 600x500 -> 200x100+50+20 600x500 600x500
        trim=10&w=600&h=600&enlarge=1: 400x300+0+0 600x600 600x600 -> 200x100+50+20 600x300 600x300
        trim=10&width=100&height=90: 400x300+0+0 400x300 400x300 -> 111x100+94+20 100x90 100x90
        trim=10&width=100&height=190: 400x300+0+0 400x300 400x300 -> 200x100+50+20 200x100 200x100
        trim=10&crop=1:1: 400x300+0+0 400x300 400x300 -> 100x100+100+20 100x100 100x100
        trim=10&crop=0.5,0,0.5,1&w=50: 400x300+0+0 50x300 50x300 -> 100x100+150+20 50x50 50x50
        trim=10&crop=150,90,500,500: 400x300+0+0 400x300 400x300 -> 50x10+200+110 50x10 50x10
        trim=10&rotate=90: 300x400+0+0 300x400 300x400 -> 200x100+50+20 200x100 200x100
        trim=10&rotate=45&w=100: 400x300+0+0 100x300 283x283 -> 200x100+50+20 100x50 107x107
        trim=10&pad=5&w=100: 400x300+0+0 100x300 110x310 -> 200x100+50+20 100x50 110x60
    "#]].assert_eq(&table);
}

#[test]
fn a_plan_without_a_trim_stays_as_it_is() {
    let recipe = parse_query("w=100").expect("a valid query").recipe;
    let facts = facts(Format::Png, (400, 300));
    let limits = Limits::default();
    let plan = plan(&facts, &recipe, Target::Webp, Stage::Quick, &limits).expect("a small picture");
    let kept = Rect {
        x: 1,
        y: 2,
        size: Size::new(3, 4),
    };
    assert_eq!(plan.trimmed(kept), plan);
}

#[test]
fn a_trimmed_jpeg_is_decoded_at_full_size() {
    let facts = facts(Format::Jpeg, (4000, 3000));
    let shrink = |query: &str| {
        let recipe = parse_query(query).expect("a valid query").recipe;
        let limits = Limits::default();
        let plan = plan(&facts, &recipe, Target::Webp, Stage::Quick, &limits);
        plan.expect("a photograph").shrink()
    };
    assert_eq!(shrink("w=300"), 4);
    assert_eq!(shrink("w=300&trim=5"), 1);
}

#[test]
fn an_upright_part_is_placed_in_a_turned_picture() {
    let facts = crate::Facts {
        orientation: Orientation::Turn90,
        ..facts(Format::Png, (400, 300))
    };
    let recipe = parse_query("trim=0").expect("a valid query").recipe;
    let limits = Limits::default();
    let plan = plan(&facts, &recipe, Target::Png, Stage::Quick, &limits).expect("a small picture");
    let kept = Rect {
        x: 280,
        y: 390,
        size: Size::new(20, 10),
    };
    assert_eq!(plan.trimmed(kept).crop, kept);
    assert_eq!(plan.trimmed(kept).target, Size::new(20, 10));
}

/// Returns a valid trim in which each field has a different number.
pub(crate) fn distinct() -> Trim {
    Trim {
        threshold: 9,
        crop: Some(Crop::Fractions {
            x: 1,
            y: 2,
            width: 300,
            height: 400,
        }),
        focus: Focus { x: 500, y: 600 },
        width_px: Some(700),
        height_px: Some(800),
        fit: Fit::Fill,
        enlarge: true,
    }
}

#[test]
fn the_wire_form_is_fixed() {
    let bytes = Trim::to_bytes(Some(&distinct()));
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    expect_test::expect!["03090302f4015802bc0200002003000001000000020000002c01000090010000"]
        .assert_eq(&hex);
    assert_eq!(Trim::from_bytes(&bytes), Some(Some(distinct())));
    assert_eq!(Trim::from_bytes(&[0; TRIM_BYTES]), Some(None));
}

#[test]
fn malformed_trims_are_refused() {
    let table: &[(usize, &[u8])] = &[
        // Fields other than 0 without a trim; an unknown flag, fit and kind of crop.
        (0, &[0]),
        (0, &[7]),
        (2, &[5]),
        (3, &[4]),
        // A focus outside the picture, a box that is too wide or without width, and a crop that
        // exceeds the picture, is empty, or has numbers although its kind has none.
        (4, &[17, 39]),
        (8, &[1, 64]),
        (8, &[0, 0]),
        (16, &[255, 255, 255, 255]),
        (24, &[0, 0]),
        (3, &[0]),
        (3, &[3]),
    ];
    for (at, patch) in table {
        let mut bytes = Trim::to_bytes(Some(&distinct()));
        bytes[*at..at + patch.len()].copy_from_slice(patch);
        assert_eq!(Trim::from_bytes(&bytes), None, "{patch:?} at {at}");
    }
}
