mod drawings;
mod prop;

use super::*;
use crate::{Accepts, Colour, Duotone, Frames, Padding, Rgb, Rgba, Tone, Unsharp, parse_query};
use expect_test::{Expect, expect};

pub(crate) fn facts(format: Format, (width_px, height_px): (u32, u32)) -> Facts {
    Facts {
        format,
        stored: Size {
            width_px,
            height_px,
        },
        orientation: Orientation::Upright,
        colour: Colour::Rgb,
        bit_depth: 8,
        subsampling: None,
        animated: false,
        alpha: false,
        lossless: !matches!(
            format,
            Format::Jpeg
                | Format::Webp
                | Format::Avif
                | Format::Svg
                | Format::Hdr
                | Format::Heif
                | Format::Raw
        ),
        progressive: false,
        profile_bytes: 0,
        jpeg_quality: None,
        sparse: false,
        unsupported: None,
        pages: 1,
        frames: Frames::Exactly(1),
    }
}

pub(crate) fn recipe(query: &str) -> Recipe {
    parse_query(query).expect("a sound query").recipe
}

fn photo() -> Facts {
    facts(Format::Jpeg, (4000, 3000))
}

fn quick(facts: &Facts, query: &str, target: Target) -> Result<Plan, Refusal> {
    plan(
        facts,
        &recipe(query),
        target,
        Stage::Quick,
        &Limits::default(),
    )
}

#[test]
fn a_plan_is_made_for_the_upright_picture() {
    let lying = Facts {
        orientation: Orientation::Turn90,
        ..photo()
    };
    let plan = quick(&lying, "w=300&h=300&fit=cover", Target::Webp).expect("a small picture");
    assert_eq!(
        plan,
        Plan {
            source: Format::Jpeg,
            stored: Size::new(4000, 3000),
            orientation: Orientation::Turn90,
            crop: Rect {
                x: 0,
                y: 500,
                size: Size::new(3000, 3000),
            },
            inner: Size::new(300, 300),
            target: Size::new(300, 300),
            encoding: Encoding::Webp {
                quality: 80,
                method: 2,
                lossless: false,
            },
            page: 1,
            effects: Effects::default(),
            trim: None,
            frames_max: None,
            bytes_max: None,
            score_min: None,
        }
    );
    assert_eq!(plan.oriented(), Size::new(3000, 4000));
}

#[test]
fn encodings() {
    let mut table = String::new();
    for query in ["", "q=80", "q=1", "q=100"] {
        for target in Target::ALL {
            for stage in [Stage::Quick, Stage::Better] {
                let plan = plan(&photo(), &recipe(query), target, stage, &Limits::default());
                let encoding = plan.expect("a small picture").encoding;
                table.push_str(&format!("{query} {stage:?}: {encoding:?}\n"));
            }
        }
    }
    expect![[r#"
         Quick: Avif { quality: 66, speed: 9, lossless: false }
         Better: Avif { quality: 60, speed: 6, lossless: false }
         Quick: Webp { quality: 80, method: 2, lossless: false }
         Better: Webp { quality: 80, method: 4, lossless: false }
         Quick: Jpeg { quality: 70 }
         Better: Jpeg { quality: 70 }
         Quick: Png
         Better: Png
        q=80 Quick: Avif { quality: 79, speed: 9, lossless: false }
        q=80 Better: Avif { quality: 75, speed: 6, lossless: false }
        q=80 Quick: Webp { quality: 88, method: 2, lossless: false }
        q=80 Better: Webp { quality: 87, method: 4, lossless: false }
        q=80 Quick: Jpeg { quality: 80 }
        q=80 Better: Jpeg { quality: 80 }
        q=80 Quick: Png
        q=80 Better: Png
        q=1 Quick: Avif { quality: 1, speed: 9, lossless: false }
        q=1 Better: Avif { quality: 1, speed: 6, lossless: false }
        q=1 Quick: Webp { quality: 1, method: 2, lossless: false }
        q=1 Better: Webp { quality: 1, method: 4, lossless: false }
        q=1 Quick: Jpeg { quality: 1 }
        q=1 Better: Jpeg { quality: 1 }
        q=1 Quick: Png
        q=1 Better: Png
        q=100 Quick: Avif { quality: 100, speed: 9, lossless: true }
        q=100 Better: Avif { quality: 100, speed: 6, lossless: true }
        q=100 Quick: Webp { quality: 100, method: 2, lossless: true }
        q=100 Better: Webp { quality: 100, method: 4, lossless: true }
        q=100 Quick: Jpeg { quality: 100 }
        q=100 Better: Jpeg { quality: 100 }
        q=100 Quick: Png
        q=100 Better: Png
    "#]]
    .assert_eq(&table);
}

fn check_refusals(rows: &[(Facts, &str, Target)], expect: Expect) {
    let size = |size: Size| format!("{}x{}", size.width_px, size.height_px);
    let mut table = String::new();
    for (facts, query, target) in rows {
        let outcome = match quick(facts, query, *target) {
            Ok(plan) => size(plan.target),
            Err(refusal) => refusal.to_string(),
        };
        let stored = size(facts.stored);
        table.push_str(&format!("{stored} {query} {target:?}: {outcome}\n"));
    }
    expect.assert_eq(&table);
}

#[test]
fn originals_that_are_refused() {
    let png = |width, height| facts(Format::Png, (width, height));
    let jpeg_bomb = facts(Format::Jpeg, (65_500, 65_500));
    let profile = |profile_bytes| Facts {
        profile_bytes,
        ..photo()
    };
    let animated = Facts {
        animated: true,
        ..photo()
    };
    let unsupported = |why| Facts {
        unsupported: Some(why),
        ..photo()
    };
    check_refusals(
        &[
            (png(30_000, 30_000), "", Target::Webp),
            (png(30_000, 30_000), "w=10", Target::Webp),
            (jpeg_bomb, "w=10", Target::Avif),
            (jpeg_bomb, "w=8000", Target::Avif),
            (png(u32::MAX, u32::MAX), "w=10", Target::Png),
            (png(10_000, 12_000), "w=10", Target::Png),
            (png(10_000, 12_001), "w=10", Target::Png),
            (profile(4 << 20), "w=10", Target::Webp),
            (profile((4 << 20) + 1), "w=10", Target::Webp),
            (animated, "w=10", Target::Webp),
            (unsupported(Unsupported::Hdr), "w=10", Target::Webp),
            (unsupported(Unsupported::Precision), "", Target::Jpeg),
            (unsupported(Unsupported::Vector), "", Target::Png),
        ],
        expect![[r#"
            30000x30000  Webp: original of 900000000 pixels is too large, at most 120000000 are decoded
            30000x30000 w=10 Webp: original of 900000000 pixels is too large, at most 120000000 are decoded
            65500x65500 w=10 Avif: 10x10
            65500x65500 w=8000 Avif: original of 4290250000 pixels is too large, at most 120000000 are decoded
            4294967295x4294967295 w=10 Png: original of 18446744065119617025 pixels is too large, at most 120000000 are decoded
            10000x12000 w=10 Png: 10x12
            10000x12001 w=10 Png: original of 120010000 pixels is too large, at most 120000000 are decoded
            4000x3000 w=10 Webp: 10x8
            4000x3000 w=10 Webp: original's colour profile of 4194305 bytes exceeds the limit
            4000x3000 w=10 Webp: original is animated
            4000x3000 w=10 Webp: original is not converted: picture of high dynamic range
            4000x3000  Jpeg: original is not converted: jpeg with a precision other than 8 bits
            4000x3000  Png: original is not converted: svg that is too large
        "#]],
    );
}

#[test]
fn outputs_that_are_refused() {
    let wide = |width| facts(Format::Png, (width, 1));
    let high = facts(Format::Png, (1, 50_000));
    check_refusals(
        &[
            (wide(16_383), "", Target::Webp),
            (wide(16_384), "", Target::Webp),
            (wide(16_384), "w=16000", Target::Webp),
            (wide(65_500), "", Target::Jpeg),
            (wide(65_501), "", Target::Jpeg),
            (wide(65_535), "", Target::Avif),
            (wide(65_536), "", Target::Avif),
            (wide(65_536), "", Target::Png),
            (photo(), "w=12000&enlarge=1", Target::Png),
            (photo(), "w=16000&enlarge=1", Target::Png),
            (high, "w=16384&enlarge=1", Target::Png),
            (photo(), "w=16000&h=16000&fit=contain", Target::Png),
        ],
        expect![[r#"
            16383x1  Webp: 16383x1
            16384x1  Webp: output of 16384 x 1 pixels is too large
            16384x1 w=16000 Webp: 16000x1
            65500x1  Jpeg: 65500x1
            65501x1  Jpeg: output of 65501 x 1 pixels is too large
            65535x1  Avif: 65535x1
            65536x1  Avif: output of 65536 x 1 pixels is too large
            65536x1  Png: 65536x1
            4000x3000 w=12000&enlarge=1 Png: 12000x9000
            4000x3000 w=16000&enlarge=1 Png: output of 16000 x 12000 pixels is too large
            1x50000 w=16384&enlarge=1 Png: output of 16384 x 819200000 pixels is too large
            4000x3000 w=16000&h=16000&fit=contain Png: output of 16000 x 16000 pixels is too large
        "#]],
    );
}

#[test]
fn jpeg_is_shrunk_only_where_the_scaler_keeps_a_factor() {
    let table = [
        ("", 1),
        ("w=2000", 1),
        ("w=1201", 1),
        ("w=1200", 2),
        ("w=501", 2),
        ("w=500", 4),
        ("w=250", 4),
        // A shrinking decoder must leave at least 360,000 pixels, so the factor stays at 4.
        ("w=248", 4),
        ("w=1", 4),
        // The decoder's shrink factor depends on the width and the height of the crop.
        ("w=1000&h=100&fit=cover", 2),
        ("w=500&h=500&fit=cover", 2),
        ("w=375&h=375&fit=cover", 4),
        ("w=100&h=3000&fit=fill", 1),
        ("w=100&h=376&fit=fill", 2),
        ("w=100&h=375&fit=fill", 4),
        ("w=1000&h=3000&fit=contain", 2),
        ("w=8000&enlarge=1", 1),
    ];
    for (query, shrink) in table {
        let plan = quick(&photo(), query, Target::Jpeg).expect("a small picture");
        assert_eq!(plan.shrink(), shrink, "{query}");
    }
    for (size, shrink) in [((979, 979), 1), ((1000, 1000), 2), ((8000, 6000), 8)] {
        let jpeg = quick(&facts(Format::Jpeg, size), "w=140", Target::Jpeg);
        assert_eq!(jpeg.expect("a small picture").shrink(), shrink, "{size:?}");
    }
    let png = quick(&facts(Format::Png, (4000, 3000)), "w=10", Target::Png);
    assert_eq!(png.expect("a small picture").shrink(), 1);
}

fn check_cost(expect: Expect) {
    let camera = facts(Format::Jpeg, (6000, 4000));
    let screenshot = facts(Format::Png, (1920, 1080));
    let rows = [
        (camera, "", Target::Webp, Stage::Quick),
        (camera, "", Target::Webp, Stage::Better),
        (camera, "", Target::Avif, Stage::Quick),
        (camera, "", Target::Avif, Stage::Better),
        (camera, "q=100", Target::Webp, Stage::Quick),
        (camera, "w=512&h=512", Target::Webp, Stage::Quick),
        (camera, "w=512&h=512", Target::Jpeg, Stage::Quick),
        (camera, "w=64", Target::Avif, Stage::Quick),
        (screenshot, "", Target::Webp, Stage::Quick),
        (screenshot, "w=960", Target::Png, Stage::Quick),
        (facts(Format::Avif, (1, 1)), "", Target::Jpeg, Stage::Quick),
    ];
    let mut table = String::new();
    for (facts, query, target, stage) in rows {
        let plan = plan(&facts, &recipe(query), target, stage, &Limits::default());
        let Cost {
            memory_bytes,
            cpu_ms,
        } = plan.expect("a small picture").cost();
        let from = facts.format;
        table.push_str(&format!(
            "{from:?} {query} {target:?} {stage:?}: {} MB {cpu_ms} ms\n",
            memory_bytes / 1_000_000
        ));
    }
    expect.assert_eq(&table);
}

#[test]
fn costs() {
    check_cost(expect![[r#"
        Jpeg  Webp Quick: 232 MB 1298 ms
        Jpeg  Webp Better: 544 MB 2618 ms
        Jpeg  Avif Quick: 376 MB 1058 ms
        Jpeg  Avif Better: 472 MB 11090 ms
        Jpeg q=100 Webp Quick: 808 MB 14714 ms
        Jpeg w=512&h=512 Webp Quick: 165 MB 277 ms
        Jpeg w=512&h=512 Jpeg Quick: 165 MB 273 ms
        Jpeg w=64 Avif Quick: 161 MB 267 ms
        Png  Webp Quick: 41 MB 140 ms
        Png w=960 Png Quick: 41 MB 64 ms
        Avif  Jpeg Quick: 16 MB 26 ms
    "#]]);
}

#[test]
fn targets() {
    let table = [
        (Target::Avif, "avif", "avif"),
        (Target::Webp, "webp", "webp"),
        (Target::Jpeg, "jpeg", "jpg"),
        (Target::Png, "png", "png"),
    ];
    assert_eq!(table.map(|(target, ..)| target), Target::ALL);
    for (target, name, extension) in table {
        assert_eq!(target.name(), name);
        assert_eq!(target.extension(), extension);
        assert_eq!(target.media_type(), format!("image/{name}"));
        assert_eq!(Target::from_extension(name), Some(target));
        assert_eq!(
            Target::from_extension(&extension.to_uppercase()),
            Some(target)
        );
    }
    assert_eq!(Target::from_extension("gif"), None);
    assert_eq!(Target::from_extension(""), None);
}

/// Returns a valid plan in which each field has a different number.
fn distinct() -> Plan {
    Plan {
        source: Format::Jpeg,
        stored: Size::new(4000, 3000),
        orientation: Orientation::Turn90,
        crop: Rect {
            x: 1,
            y: 2,
            size: Size::new(2999, 3998),
        },
        inner: Size::new(300, 400),
        target: Size::new(500, 600),
        encoding: Encoding::Avif {
            quality: 61,
            speed: 9,
            lossless: false,
        },
        page: 3,
        effects: Effects {
            kernel: Kernel::Cubic,
            tone: Tone {
                gamma_pct: Some(220),
                brightness_pct: -3,
                contrast_pct: 4,
                saturation_pct: 300,
                sepia: true,
                bitonal: NonZeroU8::new(19),
                duotone: Some(Duotone {
                    dark: Rgb([1, 2, 3]),
                    light: Rgb([4, 5, 6]),
                }),
                invert: true,
            },
            blur_centipx: 150,
            unsharp: Some(Unsharp {
                sigma_centipx: 70,
                amount_pct: 50,
                threshold: 8,
            }),
            pixelate_px: 9,
            pad: Padding {
                top_px: 10,
                right_px: 11,
                bottom_px: 12,
                left_px: 13,
            },
            background: Some(Rgba([14, 15, 16, 17])),
            round_px: 18,
            ..Effects::default()
        },
        trim: None,
        frames_max: None,
        bytes_max: None,
        score_min: NonZeroU8::new(72),
    }
}

#[test]
fn an_original_too_short_for_its_pixels_is_refused() {
    let sparse = Facts {
        sparse: true,
        ..photo()
    };
    let limits = Limits::default();
    let refused = plan(
        &sparse,
        &recipe("w=100"),
        Target::Webp,
        Stage::Quick,
        &limits,
    );
    assert_eq!(refused, Err(Refusal::SparseSource));
}

#[test]
fn a_page_is_planned_if_it_exists() {
    let scans = Facts {
        pages: 3,
        ..facts(Format::Tiff, (640, 480))
    };
    for (query, page) in [("", 1), ("page=1", 1), ("page=3", 3)] {
        let plan = quick(&scans, query, Target::Webp).expect("an existing page");
        assert_eq!(plan.page, page);
    }
    let refused = quick(&scans, "page=4", Target::Webp).expect_err("no such page");
    assert_eq!(refused, Refusal::NoPage { pages: 3 });
    let sentence = "original has no such page, its pages are numbered from 1 to 3";
    assert_eq!(refused.to_string(), sentence);
    let refused = quick(&photo(), "page=2", Target::Webp);
    assert_eq!(refused, Err(Refusal::NoPage { pages: 1 }));
}

/// The picture has the size that the largest current cameras produce. By default, conversions may
/// use a gigabyte of memory, so the conversion of such a picture must need less.
#[test]
fn a_photograph_of_102_megapixels_fits_into_a_gigabyte() {
    let facts = facts(Format::Jpeg, (11_648, 8_736));
    let limits = Limits::default();
    let plan = plan(&facts, &recipe(""), Target::Webp, Stage::Quick, &limits);
    let cost = plan.expect("within the limits").cost();
    assert!(cost.memory_bytes <= 1 << 30, "{cost:?}");
}

/// Regression: fuzzing of the job messages found an overflow in [`Plan::cost`].
#[test]
fn the_cost_of_a_plan_with_the_longest_sides_is_the_largest() {
    let plan = Plan {
        source: Format::Png,
        stored: Size::new(u32::MAX, u32::MAX),
        page: 1,
        ..distinct()
    };
    let read = Plan::from_bytes(&plan.to_bytes()).expect("sides of 32 bits");
    assert_eq!(read.cost().memory_bytes, u64::MAX);
    assert_eq!(read.cost().cpu_ms, 276_701_160_976_969);
}

#[test]
fn the_wire_form_is_fixed() {
    let bytes = distinct().to_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    expect!["504c4e35000600003d090300a00f0000b80b00000100000002000000b70b00009e0f00002c01000090010000f4010000580200000f010000dc00fdff04002c01010203040506960046003200081309000a000b000c000d000e0f1011120000000000000000000000000000000000000000000000000000000000000000000000000000000000000048000000"].assert_eq(&hex);
    assert_eq!(Plan::from_bytes(&bytes), Ok(distinct()));
}

#[test]
fn malformed_plans_are_refused() {
    let sound = distinct().to_bytes();
    let short = &sound[..sound.len() - 1];
    assert_eq!(Plan::from_bytes(short), Err(MalformedPlan::Length));
    let long = [&sound[..], &[0]].concat();
    assert_eq!(Plan::from_bytes(&long), Err(MalformedPlan::Length));
    let table: &[(usize, &[u8], MalformedPlan)] = &[
        (3, b"1", MalformedPlan::Magic),
        // Source format: no format has the number 18.
        (4, &[18], MalformedPlan::Value),
        // Orientation: only 1 to 8 are defined.
        (5, &[0], MalformedPlan::Value),
        (5, &[9], MalformedPlan::Value),
        // The orientation is changed to upright. Without rotation, the picture is not high enough
        // for the crop.
        (5, &[1], MalformedPlan::Geometry),
        (6, &[4], MalformedPlan::Value),
        // The quality is searched for a score of at most 100, and only of lossy outputs.
        (136, &[101], MalformedPlan::Value),
        (137, &[1], MalformedPlan::Value),
        (7, &[1], MalformedPlan::Value),
        (7, &[2], MalformedPlan::Value),
        (8, &[101], MalformedPlan::Value),
        (9, &[11], MalformedPlan::Value),
        // Pages are counted from 1.
        (10, &[0], MalformedPlan::Value),
        // The encodings are JPEG of quality 0, lossless JPEG, lossy PNG, and WebP of method 7.
        (6, &[2, 0, 0, 0], MalformedPlan::Value),
        (6, &[2, 1, 9, 0], MalformedPlan::Value),
        (6, &[3, 0, 0, 0], MalformedPlan::Value),
        (6, &[1, 0, 9, 7], MalformedPlan::Value),
        // In the order of the rows: the stored width is 0; the crop exceeds the picture by one
        // column; by one row; so far that its right edge overflows 32 bits; the width of the crop
        // is 0.
        (12, &[0, 0], MalformedPlan::Geometry),
        (20, &[2], MalformedPlan::Geometry),
        (24, &[3], MalformedPlan::Geometry),
        (20, &[255, 255, 255, 255], MalformedPlan::Geometry),
        (28, &[0, 0], MalformedPlan::Geometry),
        // The width of `inner` is 0; `inner` and its margins are wider or higher than the output;
        // or the output is wider than AVIF allows.
        (36, &[0, 0], MalformedPlan::Geometry),
        (36, &[221, 1], MalformedPlan::Geometry),
        (40, &[67, 2], MalformedPlan::Geometry),
        (44, &[0, 0, 1, 0], MalformedPlan::Geometry),
        // The effects have an unknown flag, an unknown kernel, an angle of 90° or 360°, a gamma of
        // 1, a brightness below -100 %, colours or a background that the flags do not announce, a
        // blur above the maximum, an amount of 0, and blocks of one pixel.
        (52, &[31], MalformedPlan::Value),
        (53, &[4], MalformedPlan::Value),
        (54, &9_000_u16.to_le_bytes(), MalformedPlan::Value),
        (54, &36_000_u16.to_le_bytes(), MalformedPlan::Value),
        (56, &[100, 0], MalformedPlan::Value),
        (58, &[155, 255], MalformedPlan::Value),
        (52, &[11], MalformedPlan::Value),
        (52, &[7], MalformedPlan::Value),
        (70, &[255, 255], MalformedPlan::Value),
        (74, &[0, 0], MalformedPlan::Value),
        (78, &[1, 0], MalformedPlan::Value),
        (94, &[1, 0], MalformedPlan::Value),
        // The margins leave no room for the picture; the rotated picture exceeds the output.
        (80, &[0, 16], MalformedPlan::Geometry),
        (54, &4_500_u16.to_le_bytes(), MalformedPlan::Geometry),
    ];
    for (at, patch, error) in table {
        let mut bytes = sound;
        bytes[*at..at + patch.len()].copy_from_slice(patch);
        assert_eq!(Plan::from_bytes(&bytes), Err(*error), "{patch:?} at {at}");
    }
}

#[test]
fn animations_that_are_refused() {
    let gif = |frames| Facts {
        animated: true,
        frames: Frames::Exactly(frames),
        ..facts(Format::Gif, (320, 240))
    };
    check_refusals(
        &[
            (gif(2_000), "w=10", Target::Webp),
            (gif(2_000), "w=10", Target::Avif),
            (gif(2_001), "w=10", Target::Webp),
            (gif(2_001), "w=10&frame=2000", Target::Avif),
            (gif(2_001), "w=10&frame=2001", Target::Avif),
            (gif(2_001), "w=10&frame=2002", Target::Avif),
            (gif(700), "h=480&enlarge=true", Target::Webp),
            (gif(100), "h=480&enlarge=true", Target::Webp),
            (photo(), "frame=2", Target::Webp),
        ],
        expect![[r#"
            320x240 w=10 Webp: 10x8
            320x240 w=10 Avif: original is animated
            320x240 w=10 Webp: animation of 2001 or more frames is too long, at most 2000 are decoded
            320x240 w=10&frame=2000 Avif: 10x8
            320x240 w=10&frame=2001 Avif: animation of 2001 or more frames is too long, at most 2000 are decoded
            320x240 w=10&frame=2002 Avif: original has no such frame, its frames are numbered from 1 to 2001
            320x240 h=480&enlarge=true Webp: animation of 215040000 or more pixels in all frames is too large, at most 200000000 are converted
            320x240 h=480&enlarge=true Webp: 640x480
            4000x3000 frame=2 Webp: original has no such frame, its frames are numbered from 1 to 1
        "#]],
    );
}

#[test]
fn frames_of_a_plan() {
    let gif = |frames| Facts {
        animated: true,
        frames,
        ..facts(Format::Gif, (320, 240))
    };
    let frames_and_page = |frames, query| {
        let plan = quick(&gif(frames), query, Target::Webp).expect("a small animation");
        (plan.frames_max.map(NonZeroU32::get), plan.page)
    };
    assert_eq!(frames_and_page(Frames::Exactly(7), ""), (Some(7), 1));
    assert_eq!(frames_and_page(Frames::AtLeast(7), ""), (Some(2_000), 1));
    assert_eq!(
        frames_and_page(Frames::AtLeast(7), "h=480&enlarge=true"),
        (Some(651), 1)
    );
    assert_eq!(
        frames_and_page(Frames::Exactly(7), "animation=first"),
        (None, 1)
    );
    assert_eq!(frames_and_page(Frames::AtLeast(7), "frame=9"), (None, 9));
    let plan = quick(&gif(Frames::Exactly(7)), "", Target::Webp).expect("a small animation");
    assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(plan));
    let mut still = plan.to_bytes();
    still[6] = Target::Png as u8;
    still[7..10].copy_from_slice(&[1, 0, 0]);
    assert_eq!(Plan::from_bytes(&still), Err(MalformedPlan::Value));
}

#[test]
fn the_cost_of_an_animation_grows_with_its_frames() {
    let cost = |frames, query| {
        let gif = Facts {
            animated: true,
            frames: Frames::Exactly(frames),
            ..facts(Format::Gif, (320, 240))
        };
        quick(&gif, query, Target::Webp)
            .expect("a small animation")
            .cost()
    };
    let (few, many) = (cost(10, ""), cost(1_000, ""));
    assert_eq!(few.cpu_ms * 100, many.cpu_ms);
    assert_eq!(few.memory_bytes, many.memory_bytes);
    let (first, last) = (cost(1_000, "frame=1"), cost(1_000, "frame=1000"));
    assert!(first.cpu_ms < last.cpu_ms && last.cpu_ms < many.cpu_ms);
}
