use super::*;

#[test]
fn every_table_is_monotonic_and_keeps_its_ends() {
    for target in Target::ALL {
        for stage in [Stage::Quick, Stage::Better] {
            let settings: Vec<u8> = (1..=100)
                .map(|quality| native(quality, target, stage))
                .collect();
            assert!(settings.is_sorted(), "{target:?} {stage:?}");
            assert_eq!(
                (settings[0], settings[99]),
                (1, 100),
                "{target:?} {stage:?}"
            );
        }
    }
}

#[test]
fn settings_are_interpolated_linearly_between_knots() {
    let table = [
        (Target::Jpeg, Stage::Quick, 37, 37),
        (Target::Webp, Stage::Quick, 70, 80),
        (Target::Webp, Stage::Quick, 80, 88),
        (Target::Webp, Stage::Quick, 65, 76),
        (Target::Webp, Stage::Quick, 72, 82),
        (Target::Avif, Stage::Quick, 80, 79),
        (Target::Avif, Stage::Better, 80, 75),
        (Target::Avif, Stage::Better, 65, 57),
        (Target::Avif, Stage::Better, 100, 100),
    ];
    for (target, stage, quality_pct, setting) in table {
        assert_eq!(
            native(quality_pct, target, stage),
            setting,
            "{target:?} {quality_pct}"
        );
    }
}

#[test]
fn the_default_is_about_webp_80() {
    assert_eq!(native(DEFAULT_QUALITY_PCT, Target::Webp, Stage::Quick), 80);
    assert_eq!(native(DEFAULT_QUALITY_PCT, Target::Webp, Stage::Better), 80);
}
