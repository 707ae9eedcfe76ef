use super::*;
use crate::plan::tests::{facts, recipe};
use crate::{Frames, Orientation, Unsupported};
use expect_test::{Expect, expect};

const ANY: Accepts = Accepts {
    avif: false,
    webp: false,
    jxl: false,
    heic: false,
    named: false,
};
const NEITHER: Accepts = Accepts {
    avif: false,
    webp: false,
    jxl: false,
    heic: false,
    named: true,
};
const WEBP: Accepts = Accepts {
    avif: false,
    webp: true,
    jxl: false,
    heic: false,
    named: true,
};
const AVIF: Accepts = Accepts {
    avif: true,
    webp: false,
    jxl: false,
    heic: false,
    named: true,
};
const BOTH: Accepts = Accepts {
    avif: true,
    webp: true,
    jxl: false,
    heic: false,
    named: true,
};

/// Compares the candidates for each query with `expect`. The five columns are for clients whose
/// `Accept` field names: no image format; neither WebP nor AVIF; WebP; AVIF; both.
fn check(facts: Facts, queries: &[&str], expect: Expect) {
    let mut table = String::new();
    for query in queries {
        let row = [ANY, NEITHER, WEBP, AVIF, BOTH].map(|accepts| {
            let candidates = candidates(&facts, &recipe(query), accepts);
            let mut names: Vec<&str> = candidates.targets().map(Target::name).collect();
            if candidates.original_competes {
                names.push("original");
            }
            names.join("+")
        });
        table.push_str(&format!("{query}: {}\n", row.join(" | ")));
    }
    expect.assert_eq(&table);
}

const SIZE: (u32, u32) = (640, 480);

#[test]
fn photographs() {
    check(
        Facts {
            jpeg_quality: Some(90),
            ..facts(Format::Jpeg, SIZE)
        },
        &[
            "",
            "w=320",
            "w=640",
            "w=9999",
            "w=9999&enlarge=1",
            "w=640&h=640&fit=contain",
            "width=9999&height=1",
            "q=50",
            "format=webp",
            "format=jpeg",
            "format=jpeg&w=320",
            "format=png",
        ],
        expect![[r#"
            : original | original | webp+original | avif+original | avif+webp+original
            w=320: jpeg | jpeg | webp | avif | avif+webp
            w=640: original | original | webp+original | avif+original | avif+webp+original
            w=9999: original | original | webp+original | avif+original | avif+webp+original
            w=9999&enlarge=1: jpeg | jpeg | webp | avif | avif+webp
            w=640&h=640&fit=contain: jpeg | jpeg | webp | avif | avif+webp
            width=9999&height=1: original | original | webp+original | avif+original | avif+webp+original
            q=50: jpeg+original | jpeg+original | webp+original | avif+original | avif+webp+original
            format=webp: webp | webp | webp | webp | webp
            format=jpeg: original | original | original | original | original
            format=jpeg&w=320: jpeg | jpeg | jpeg | jpeg | jpeg
            format=png: png | png | png | png | png
        "#]],
    );
}

#[test]
fn a_jpeg_is_not_encoded_again_at_its_own_quality() {
    let coarse = Facts {
        jpeg_quality: Some(60),
        ..facts(Format::Jpeg, SIZE)
    };
    check(
        coarse,
        &["q=59", "q=60", "w=320&q=60"],
        expect![[r#"
            q=59: jpeg+original | jpeg+original | webp+original | avif+original | avif+webp+original
            q=60: original | original | webp+original | avif+original | avif+webp+original
            w=320&q=60: jpeg | jpeg | webp | avif | avif+webp
        "#]],
    );
}

#[test]
fn an_orientation_alone_is_no_change() {
    let lying = Facts {
        orientation: Orientation::Turn90,
        ..facts(Format::Jpeg, SIZE)
    };
    check(
        lying,
        &["", "w=480", "w=479"],
        expect![[r#"
            : original | original | webp+original | avif+original | avif+webp+original
            w=480: original | original | webp+original | avif+original | avif+webp+original
            w=479: jpeg | jpeg | webp | avif | avif+webp
        "#]],
    );
}

#[test]
fn lossless_originals_and_alpha() {
    let queries = ["", "w=320", "q=50"];
    check(
        facts(Format::Png, SIZE),
        &queries,
        expect![[r#"
            : original | original | webp+original | avif+original | avif+webp+original
            w=320: png | png | webp | avif | avif+webp
            q=50: original | original | webp+original | avif+original | avif+webp+original
        "#]],
    );
    check(
        facts(Format::Gif, SIZE),
        &queries,
        expect![[r#"
            : original | original | webp+original | avif+original | avif+webp+original
            w=320: png | png | webp | avif | avif+webp
            q=50: original | original | webp+original | avif+original | avif+webp+original
        "#]],
    );
    check(
        facts(Format::Bmp, SIZE),
        &queries,
        expect![[r#"
            : original | original | webp+original | avif+original | avif+webp+original
            w=320: png | png | webp | avif | avif+webp
            q=50: original | original | webp+original | avif+original | avif+webp+original
        "#]],
    );
}

#[test]
fn originals_that_browsers_do_not_show() {
    let queries = ["", "w=320", "format=jpeg"];
    for format in [
        Format::Tiff,
        Format::Tga,
        Format::Qoi,
        Format::Pnm,
        Format::Psd,
    ] {
        check(
            facts(format, SIZE),
            &queries,
            expect![[r#"
                : png | png | webp | avif | avif+webp
                w=320: png | png | webp | avif | avif+webp
                format=jpeg: jpeg | jpeg | jpeg | jpeg | jpeg
            "#]],
        );
    }
    check(
        facts(Format::Hdr, SIZE),
        &queries,
        expect![[r#"
            : jpeg | jpeg | webp | avif | avif+webp
            w=320: jpeg | jpeg | webp | avif | avif+webp
            format=jpeg: jpeg | jpeg | jpeg | jpeg | jpeg
        "#]],
    );
    let unsupported = Facts {
        unsupported: Some(Unsupported::CameraRaw),
        ..facts(Format::Tiff, SIZE)
    };
    check(
        unsupported,
        &["", "w=320"],
        expect![[r#"
            : original | original | original | original | original
            w=320: original | original | original | original | original
        "#]],
    );
}

/// An icon contains its picture in several sizes, of which a browser selects one.
#[test]
fn icons_are_converted_on_request_only() {
    check(
        facts(Format::Ico, (32, 32)),
        &["", "q=50", "w=16", "format=webp"],
        expect![[r#"
            : original | original | original | original | original
            q=50: original | original | original | original | original
            w=16: png | png | webp | avif | avif+webp
            format=webp: webp | webp | webp | webp | webp
        "#]],
    );
}

#[test]
fn modern_originals() {
    let queries = [
        "",
        "w=320",
        "q=50",
        "format=webp",
        "format=avif",
        "format=jpeg",
    ];
    check(
        facts(Format::Webp, SIZE),
        &queries,
        expect![[r#"
            : original | jpeg | original | avif | avif+original
            w=320: jpeg | jpeg | webp | avif | avif+webp
            q=50: original | jpeg | webp+original | avif | avif+webp+original
            format=webp: original | original | original | original | original
            format=avif: avif | avif | avif | avif | avif
            format=jpeg: jpeg | jpeg | jpeg | jpeg | jpeg
        "#]],
    );
    let lossless = Facts {
        lossless: true,
        ..facts(Format::Webp, SIZE)
    };
    check(
        lossless,
        &queries,
        expect![[r#"
            : original | png | webp+original | avif | avif+webp+original
            w=320: png | png | webp | avif | avif+webp
            q=50: original | png | webp+original | avif | avif+webp+original
            format=webp: webp+original | webp+original | webp+original | webp+original | webp+original
            format=avif: avif | avif | avif | avif | avif
            format=jpeg: jpeg | jpeg | jpeg | jpeg | jpeg
        "#]],
    );
    let alpha = Facts {
        alpha: true,
        ..facts(Format::Webp, SIZE)
    };
    check(
        alpha,
        &["", "w=320"],
        expect![[r#"
            : original | png | original | avif | avif+original
            w=320: png | png | webp | avif | avif+webp
        "#]],
    );
    check(
        facts(Format::Avif, SIZE),
        &queries,
        expect![[r#"
            : original | jpeg | webp | original | original
            w=320: jpeg | jpeg | webp | avif | avif+webp
            q=50: original | jpeg | webp | avif+original | avif+webp+original
            format=webp: webp | webp | webp | webp | webp
            format=avif: original | original | original | original | original
            format=jpeg: jpeg | jpeg | jpeg | jpeg | jpeg
        "#]],
    );
}

#[test]
fn animations() {
    let queries = [
        "",
        "animation=all",
        "w=320",
        "format=webp",
        "format=webp&w=320",
        "format=avif",
        "format=jpeg",
        "animation=first",
        "frame=2&w=320",
        "frame=2&format=jpeg",
        "w=16384&enlarge=true",
    ];
    let animated = |format| Facts {
        animated: true,
        frames: Frames::Exactly(3),
        ..facts(format, SIZE)
    };
    check(
        animated(Format::Gif),
        &queries,
        expect![[r#"
        : original | original | webp+original | original | webp+original
        animation=all: original | original | webp+original | original | webp+original
        w=320: original | original | webp | original | webp
        format=webp: webp | webp | webp | webp | webp
        format=webp&w=320: webp | webp | webp | webp | webp
        format=avif: original | original | original | original | original
        format=jpeg: original | original | original | original | original
        animation=first: png | png | webp | avif | avif+webp
        frame=2&w=320: png | png | webp | avif | avif+webp
        frame=2&format=jpeg: jpeg | jpeg | jpeg | jpeg | jpeg
        w=16384&enlarge=true: original | original | original | original | original
    "#]],
    );
    check(
        animated(Format::Webp),
        &queries,
        expect![[r#"
        : original | original | original | original | original
        animation=all: original | original | original | original | original
        w=320: original | original | webp | original | webp
        format=webp: original | original | original | original | original
        format=webp&w=320: webp | webp | webp | webp | webp
        format=avif: original | original | original | original | original
        format=jpeg: original | original | original | original | original
        animation=first: jpeg | jpeg | webp | avif | avif+webp
        frame=2&w=320: jpeg | jpeg | webp | avif | avif+webp
        frame=2&format=jpeg: jpeg | jpeg | jpeg | jpeg | jpeg
        w=16384&enlarge=true: original | original | original | original | original
    "#]],
    );
}

/// `width` and `height` leave a picture as it is that is smaller than they are, and the size after
/// a trim is not known.
#[test]
fn an_animation_that_webp_may_not_hold_after_its_trim_is_not_converted() {
    let wide = Facts {
        animated: true,
        frames: Frames::Exactly(3),
        ..facts(Format::Gif, (20_000, 480))
    };
    check(
        wide,
        &["width=100&height=100", "width=100&height=100&trim=9"],
        expect![[r#"
            width=100&height=100: original | original | webp | original | webp
            width=100&height=100&trim=9: original | original | original | original | original
        "#]],
    );
}

#[test]
fn what_is_never_converted() {
    let queries = ["", "w=320", "format=webp", "frame=2"];
    let sequence = Facts {
        animated: true,
        ..facts(Format::Avif, SIZE)
    };
    check(
        sequence,
        &queries,
        expect![[r#"
            : original | original | original | original | original
            w=320: original | original | original | original | original
            format=webp: original | original | original | original | original
            frame=2: original | original | original | original | original
        "#]],
    );
    let vector = Facts {
        unsupported: Some(Unsupported::Vector),
        ..facts(Format::Svg, (1, 1))
    };
    check(
        vector,
        &queries,
        expect![[r#"
            : original | original | original | original | original
            w=320: original | original | original | original | original
            format=webp: original | original | original | original | original
            frame=2: original | original | original | original | original
        "#]],
    );
}

#[test]
fn formats_too_small_for_the_output() {
    let queries = ["", "w=16383", "q=50", "format=webp"];
    check(
        facts(Format::Jpeg, (20_000, 10)),
        &queries,
        expect![[r#"
            : original | original | original | avif+original | avif+original
            w=16383: jpeg | jpeg | webp | avif | avif+webp
            q=50: original | original | original | avif+original | avif+original
            format=webp: webp | webp | webp | webp | webp
        "#]],
    );
    check(
        facts(Format::Png, (70_000, 10)),
        &["", "q=50"],
        expect![[r#"
            : original | original | original | original | original
            q=50: original | original | original | original | original
        "#]],
    );
}

#[test]
fn a_picture_whose_original_is_withheld_is_always_encoded() {
    let names = |facts: &Facts, query: &str, accepts| {
        let candidates = candidates_without_original(facts, &recipe(query), accepts)?;
        assert!(!candidates.original_competes, "{query}");
        let names: Vec<&str> = candidates.targets().map(Target::name).collect();
        Some(names.join("+"))
    };
    let photo = Facts {
        jpeg_quality: Some(60),
        ..facts(Format::Jpeg, SIZE)
    };
    let drawing = Facts {
        lossless: true,
        ..facts(Format::Png, SIZE)
    };
    for query in ["", "h=480", "h=1440", "format=jpeg"] {
        for (picture, plain) in [(&photo, "jpeg"), (&drawing, "png")] {
            let plain = if query == "format=jpeg" {
                "jpeg"
            } else {
                plain
            };
            for accepts in [ANY, NEITHER] {
                let found = names(picture, query, accepts);
                assert_eq!(found.as_deref(), Some(plain), "{query}");
            }
        }
    }
    assert_eq!(names(&photo, "h=480", BOTH).as_deref(), Some("avif+webp"));
    let animation = Facts {
        animated: true,
        ..facts(Format::Gif, SIZE)
    };
    assert_eq!(names(&animation, "h=100", BOTH).as_deref(), Some("webp"));
    assert_eq!(names(&animation, "h=100", AVIF), None);
    assert_eq!(
        names(&animation, "h=100&frame=1", AVIF).as_deref(),
        Some("avif")
    );
    let unsupported = Facts {
        unsupported: Some(Unsupported::Vector),
        ..facts(Format::Svg, SIZE)
    };
    assert_eq!(names(&unsupported, "h=100", BOTH), None);
}
