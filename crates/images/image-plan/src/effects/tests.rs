use super::*;
use crate::{Recipe, parse_query};
use proptest::prelude::*;

fn any_percentage() -> impl Strategy<Value = i16> {
    prop_oneof![Just(0), Tone::PCT_MIN..=Tone::PCT_MAX]
}

fn any_tone() -> impl Strategy<Value = Tone> {
    let gamma = (Tone::GAMMA_PCT_MIN..=Tone::GAMMA_PCT_MAX)
        .prop_map(|gamma| Some(gamma).filter(|gamma| *gamma != 100));
    let gamma = prop_oneof![Just(None), gamma];
    let percentages = (any_percentage(), any_percentage(), any_percentage());
    let duotone = any::<Option<([u8; 3], [u8; 3])>>().prop_map(|colours| {
        colours.map(|(dark, light)| Duotone {
            dark: Rgb(dark),
            light: Rgb(light),
        })
    });
    let paints = (any::<Option<NonZeroU8>>(), duotone);
    (gamma, percentages, paints, any::<[bool; 2]>()).prop_map(
        |(gamma_pct, percentages, (bitonal, duotone), flags)| {
            let (brightness_pct, contrast_pct, saturation_pct) = percentages;
            Tone {
                gamma_pct,
                brightness_pct,
                contrast_pct,
                saturation_pct,
                sepia: flags[0],
                bitonal,
                duotone,
                invert: flags[1],
            }
        },
    )
}

fn any_unsharp() -> impl Strategy<Value = Option<Unsharp>> {
    let unsharp = (
        1..=Effects::SIGMA_CENTIPX_MAX,
        1..=Unsharp::AMOUNT_PCT_MAX,
        any::<u8>(),
    );
    let unsharp = unsharp.prop_map(|(sigma_centipx, amount_pct, threshold)| Unsharp {
        sigma_centipx,
        amount_pct,
        threshold,
    });
    prop_oneof![Just(None), unsharp.prop_map(Some)]
}

fn any_padding() -> impl Strategy<Value = Padding> {
    let length = || prop_oneof![Just(0), 0..=Effects::LENGTH_PX_MAX];
    let margins = (length(), length(), length(), length());
    let margins = margins.prop_map(|(top_px, right_px, bottom_px, left_px)| Padding {
        top_px,
        right_px,
        bottom_px,
        left_px,
    });
    let equal = length().prop_map(|length| Padding {
        top_px: length,
        right_px: length,
        bottom_px: length,
        left_px: length,
    });
    prop_oneof![Just(Padding::default()), margins, equal]
}

fn any_background() -> impl Strategy<Value = Option<Rgba>> {
    let colour = any::<[u8; 4]>().prop_map(|colour| match colour {
        [.., 0] => Rgba::TRANSPARENT,
        colour => Rgba(colour),
    });
    prop_oneof![
        Just(None),
        Just(Some(Rgba::TRANSPARENT)),
        Just(Some(Rgba::WHITE)),
        colour.prop_map(Some)
    ]
}

/// Generates all effects that queries can produce.
pub(crate) fn any_effects() -> impl Strategy<Value = Effects> {
    let angle = (0..Angle::FULL).prop_map(|centidegrees| Angle {
        centidegrees: match centidegrees.is_multiple_of(Angle::FULL / 4) {
            true => 0,
            false => centidegrees,
        },
    });
    let angle = prop_oneof![2 => Just(Angle::default()), 1 => angle];
    let blocks = prop_oneof![Just(0), 2..=Effects::PIXELATE_PX_MAX];
    let blur = prop_oneof![Just(0), 0..=Effects::SIGMA_CENTIPX_MAX];
    let round = prop_oneof![Just(0), 0..=Effects::LENGTH_PX_MAX];
    let filters = (any_tone(), blur, any_unsharp(), blocks);
    let frame = (any_padding(), any_background(), round);
    ((0..4usize), angle, filters, frame).prop_map(
        |(
            kernel,
            angle,
            (tone, blur_centipx, unsharp, pixelate_px),
            (pad, background, round_px),
        )| {
            Effects {
                kernel: Kernel::ALL[kernel],
                angle,
                tone,
                blur_centipx,
                unsharp,
                pixelate_px,
                pad,
                background,
                round_px,
            }
        },
    )
}

#[test]
fn sine_and_cosine_are_those_of_the_library() {
    for centidegrees in 0..Angle::FULL {
        let (sine, cosine) = Angle { centidegrees }.sin_cos();
        let angle = f64::from(centidegrees).to_radians() / 100.0;
        assert!((sine - angle.sin()).abs() < 1e-12, "{centidegrees}");
        assert!((cosine - angle.cos()).abs() < 1e-12, "{centidegrees}");
    }
}

#[test]
fn frames_of_rotated_pictures() {
    let frame = |centidegrees, width, height| {
        let Size {
            width_px,
            height_px,
        } = Angle { centidegrees }.frame(Size::new(width, height));
        (width_px, height_px)
    };
    assert_eq!(frame(0, 300, 200), (300, 200));
    assert_eq!(frame(4_500, 100, 100), (142, 142));
    assert_eq!(frame(3_000, 200, 100), (224, 187));
    assert_eq!(frame(15_000, 200, 100), (224, 187));
    assert_eq!(frame(1, 100, 100), (101, 101));
    assert_eq!(frame(1, 50, 50), (50, 50));
    assert_eq!(frame(4_500, 1, 1), (2, 2));
    assert_eq!(frame(4_500, u32::MAX, u32::MAX), (u32::MAX, u32::MAX));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_query_of_effects_gives_the_same_effects(
        effects in any_effects(),
        is_flipped: bool,
        is_flopped: bool,
    ) {
        let orientation = match (is_flipped, is_flopped) {
            (false, false) => crate::Orientation::Upright,
            (true, false) => crate::Orientation::Flip,
            (false, true) => crate::Orientation::Mirror,
            (true, true) => crate::Orientation::Turn180,
        };
        let recipe = Recipe { effects, orientation, width_px: Some(9), ..Recipe::default() };
        let query = recipe.to_string();
        prop_assert_eq!(parse_query(&query).map(|ask| ask.recipe), Ok(recipe), "{}", query);
    }

    #[test]
    fn serialized_effects_give_the_same_effects(effects in any_effects()) {
        prop_assert_eq!(Effects::from_bytes(&effects.to_bytes()), Some(effects));
    }

    #[test]
    fn any_bytes_are_effects_with_the_same_bytes_or_refused(
        effects in any_effects(),
        at in 0..EFFECTS_BYTES,
        byte: u8,
    ) {
        let mut bytes = effects.to_bytes();
        bytes[at] = byte;
        if let Some(effects) = Effects::from_bytes(&bytes) {
            prop_assert_eq!(effects.to_bytes(), bytes);
        }
    }

    #[test]
    fn a_frame_contains_the_corners(width in 1..3_000u32, height in 1..3_000u32, angle in 0..Angle::FULL) {
        let size = Size::new(width, height);
        let angle = Angle { centidegrees: angle };
        let frame = angle.frame(size);
        let (sine, cosine) = angle.sin_cos();
        let (x, y) = (f64::from(width) / 2.0, f64::from(height) / 2.0);
        for (x, y) in [(x, y), (-x, y)] {
            let right = (x * cosine - y * sine).abs();
            let down = (x * sine + y * cosine).abs();
            prop_assert!(2.0 * right <= f64::from(frame.width_px) + 0.011);
            prop_assert!(2.0 * down <= f64::from(frame.height_px) + 0.011);
        }
    }
}
