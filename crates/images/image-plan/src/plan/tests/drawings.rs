//! Plans of drawings, which are rendered at the requested size.

use super::*;

/// Returns the rendered size, the crop, the inner size and the output size for each query, for a
/// drawing of 40 × 20.
fn table(queries: &[&str]) -> String {
    let drawing = Facts {
        alpha: true,
        ..facts(Format::Svg, (40, 20))
    };
    let line = |query: &&str| {
        let plan = match quick(&drawing, query, Target::Png) {
            Ok(plan) => plan,
            Err(refusal) => return format!("{query}: {refusal}\n"),
        };
        assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(plan));
        let Rect { x, y, size } = plan.crop;
        let show = |size: Size| format!("{}x{}", size.width_px, size.height_px);
        let [stored, crop, inner, target] = [plan.stored, size, plan.inner, plan.target].map(show);
        format!("{query}: {stored}, {crop}+{x}+{y}, {inner}, {target}\n")
    };
    queries.iter().map(line).collect()
}

#[test]
fn drawings_are_rendered_so_that_nothing_is_scaled() {
    let rendered = table(&[
        "",
        "w=400",
        "w=400&h=400",
        "w=10",
        "w=400&h=400&fit=cover",
        "w=400&h=100&fit=fill",
        "w=400&h=400&fit=contain",
        "crop=10,5,20,10&w=400",
        "crop=1:1&h=80",
        "rotate=90&w=400",
        "rotate=45&w=400",
        "width=400",
        "width=400&height=400",
        "trim=5",
        "trim=5&w=400",
        "page=2",
        // The whole drawing would have 2^31 pixels.
        "crop=10,5,1,1&w=1000",
        "w=16384",
    ]);
    expect![[r#"
        : 40x20, 40x20+0+0, 40x20, 40x20
        w=400: 400x200, 400x200+0+0, 400x200, 400x200
        w=400&h=400: 400x200, 400x200+0+0, 400x200, 400x200
        w=10: 10x5, 10x5+0+0, 10x5, 10x5
        w=400&h=400&fit=cover: 800x400, 400x400+200+0, 400x400, 400x400
        w=400&h=100&fit=fill: 400x100, 400x100+0+0, 400x100, 400x100
        w=400&h=400&fit=contain: 400x200, 400x200+0+0, 400x200, 400x400
        crop=10,5,20,10&w=400: 800x400, 400x200+200+100, 400x200, 400x200
        crop=1:1&h=80: 160x80, 80x80+40+0, 80x80, 80x80
        rotate=90&w=400: 800x400, 400x800+0+0, 400x800, 400x800
        rotate=45&w=400: 400x200, 400x200+0+0, 400x200, 425x425
        width=400: 400x200, 400x200+0+0, 400x200, 400x200
        width=400&height=400: 40x20, 40x20+0+0, 40x20, 40x20
        trim=5: 40x20, 40x20+0+0, 40x20, 40x20
        trim=5&w=400: 40x20, 40x20+0+0, 40x20, 40x20
        page=2: original has no such page, its pages are numbered from 1 to 1
        crop=10,5,1,1&w=1000: 40x20, 1x1+10+5, 1000x1000, 1000x1000
        w=16384: output of 16384 x 8192 pixels is too large
    "#]]
    .assert_eq(&rendered);
}

#[test]
fn a_plain_request_gets_the_original_drawing() {
    let drawing = Facts {
        alpha: true,
        ..facts(Format::Svg, (40, 20))
    };
    let accepts = Accepts {
        avif: true,
        webp: true,
        named: true,
        ..Accepts::default()
    };
    let names = |facts: &Facts, query: &str, accepts| {
        let candidates = crate::candidates(facts, &recipe(query), accepts);
        let targets = candidates.targets().map(|target| target.name().to_owned());
        let original = candidates.original_competes.then(|| "original".to_owned());
        targets.chain(original).collect::<Vec<_>>().join("+")
    };
    for accepts in [accepts, Accepts::default()] {
        assert_eq!(names(&drawing, "", accepts), "original");
        assert_eq!(names(&drawing, "w=40", accepts), "original");
        assert_eq!(names(&drawing, "format=png", accepts), "png");
    }
    assert_eq!(names(&drawing, "w=400", accepts), "avif+webp");
    assert_eq!(names(&drawing, "w=400", Accepts::default()), "png");
    let packed = Facts {
        format: Format::Svgz,
        ..drawing
    };
    assert_eq!(names(&packed, "", accepts), "avif+webp");
    assert_eq!(names(&packed, "", Accepts::default()), "png");
}
