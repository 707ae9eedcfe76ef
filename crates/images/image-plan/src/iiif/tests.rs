use expect_test::{Expect, expect};

use super::*;
use crate::plan::tests::facts;
use crate::{Facts, Format, Orientation, Size};

const LIMITS: IiifLimits = IiifLimits {
    side_px_max: 3_000,
    pixels_max: 4_000_000,
};

/// Resolves each URL for `facts`, and compares the recipes and canonical forms, or the errors.
fn check(facts: &Facts, limits: &IiifLimits, urls: &str, expected: &Expect) {
    let rows = urls.lines().map(str::trim).map(|url| {
        let path = format!("a.jpg/{url}");
        let parsed = IiifUrl::parse(&path).map(|url| match url.target {
            IiifTarget::Image(request) => request,
            other => panic!("{other:?}"),
        });
        match parsed.and_then(|request| request.resolve(facts, limits)) {
            Ok(IiifImage { recipe, canonical }) => format!("{url} -> {recipe} -> {canonical}\n"),
            Err(IiifError { kind, problem }) => format!("{url} -> {kind:?}: {problem}\n"),
        }
    });
    expected.assert_eq(&rows.collect::<String>());
}

/// Returns the facts of a JPEG of 1000 × 600 pixels.
fn wide() -> Facts {
    facts(Format::Jpeg, (1000, 600))
}

#[test]
fn targets() {
    let target = |path| match IiifUrl::parse(path) {
        Ok(IiifUrl { identifier, target }) => format!("{identifier} {target:?}"),
        Err(IiifError { kind, .. }) => format!("{kind:?}"),
    };
    assert_eq!(target("a%2Fb.jpg"), "a%2Fb.jpg Base");
    assert_eq!(target("a.jpg/info.json"), "a.jpg Information");
    for path in [
        "",
        "/info.json",
        "a.jpg/",
        "a.jpg/info.xml",
        "a.jpg/full/max/0",
        "a/b/full/max/0/default.jpg",
        "a.jpg/full/max/0/default.jpg/",
    ] {
        assert_eq!(target(path), "Path", "{path}");
    }
}

#[test]
fn regions() {
    check(
        &wide(),
        &LIMITS,
        "full/max/0/default.jpg
         square/max/0/default.jpg
         10,20,300,400/max/0/default.jpg
         900,500,300,400/max/0/default.jpg
         0,0,1000,600/max/0/default.jpg
         0,0,5000,5000/max/0/default.jpg
         pct:10,25,50,50/max/0/default.jpg
         pct:33.3333333333,0,0.0001,100/max/0/default.jpg
         pct:90,90,20,20/max/0/default.jpg
         pct%3A0%2C0%2C50%2C50/max/0/default.jpg
         1000,0,1,1/max/0/default.jpg
         pct:100,0,1,1/max/0/default.jpg
         0,0,0,5/max/0/default.jpg
         pct:0,0,5,0/max/0/default.jpg
         0,0,5/max/0/default.jpg
         0,0,5,5,5/max/0/default.jpg
         -1,0,5,5/max/0/default.jpg
         1.5,0,5,5/max/0/default.jpg
         0,0,4294967296,5/max/0/default.jpg
         pct:1e1,0,5,5/max/0/default.jpg
         Full/max/0/default.jpg",
        &expect![[r#"
            full/max/0/default.jpg -> format=jpeg -> full/max/0/default.jpg
            square/max/0/default.jpg -> crop=200,0,600,600&format=jpeg -> 200,0,600,600/max/0/default.jpg
            10,20,300,400/max/0/default.jpg -> crop=10,20,300,400&format=jpeg -> 10,20,300,400/max/0/default.jpg
            900,500,300,400/max/0/default.jpg -> crop=900,500,100,100&format=jpeg -> 900,500,100,100/max/0/default.jpg
            0,0,1000,600/max/0/default.jpg -> format=jpeg -> full/max/0/default.jpg
            0,0,5000,5000/max/0/default.jpg -> format=jpeg -> full/max/0/default.jpg
            pct:10,25,50,50/max/0/default.jpg -> crop=100,150,500,300&format=jpeg -> 100,150,500,300/max/0/default.jpg
            pct:33.3333333333,0,0.0001,100/max/0/default.jpg -> crop=333,0,1,600&format=jpeg -> 333,0,1,600/max/0/default.jpg
            pct:90,90,20,20/max/0/default.jpg -> crop=900,540,100,60&format=jpeg -> 900,540,100,60/max/0/default.jpg
            pct%3A0%2C0%2C50%2C50/max/0/default.jpg -> crop=0,0,500,300&format=jpeg -> 0,0,500,300/max/0/default.jpg
            1000,0,1,1/max/0/default.jpg -> Value: region: lies outside the picture
            pct:100,0,1,1/max/0/default.jpg -> Value: region: lies outside the picture
            0,0,0,5/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
            pct:0,0,5,0/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
            0,0,5/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
            0,0,5,5,5/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
            -1,0,5,5/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
            1.5,0,5,5/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
            0,0,4294967296,5/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
            pct:1e1,0,5,5/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
            Full/max/0/default.jpg -> Value: region: must be full, square, x,y,w,h in whole pixels, or pct:x,y,w,h
        "#]],
    );
}

#[test]
fn sizes() {
    check(
        &wide(),
        &LIMITS,
        "full/max/0/default.jpg
         full/500,/0/default.jpg
         full/,150/0/default.jpg
         full/pct:50/0/default.jpg
         full/pct:33.3/0/default.jpg
         full/500,500/0/default.jpg
         full/1000,600/0/default.jpg
         full/!500,500/0/default.jpg
         full/!5000,5000/0/default.jpg
         full/^2000,/0/default.jpg
         full/%5E,1200/0/default.jpg
         full/^max/0/default.jpg
         full/^pct:200/0/default.jpg
         full/^!2000,2000/0/default.jpg
         full/^500,500/0/default.jpg
         0,0,100,100/^max/0/default.jpg
         0,0,512,512/256,256/0/default.jpg
         full/^1,601/0/default.jpg
         full/1001,/0/default.jpg
         full/,601/0/default.jpg
         full/1,601/0/default.jpg
         full/pct:100.1/0/default.jpg
         full/^3001,/0/default.jpg
         full/^2900,1740/0/default.jpg
         full/^!3001,3001/0/default.jpg
         full/full/0/default.jpg
         full/0,/0/default.jpg
         full/,/0/default.jpg
         full/!500,/0/default.jpg
         full/5/0/default.jpg
         full/5,5,5/0/default.jpg
         full/pct:0/0/default.jpg
         full/pct:-1/0/default.jpg
         full/^^max/0/default.jpg
         full/!^5,5/0/default.jpg",
        &expect![[r#"
            full/max/0/default.jpg -> format=jpeg -> full/max/0/default.jpg
            full/500,/0/default.jpg -> w=500&format=jpeg -> full/500,300/0/default.jpg
            full/,150/0/default.jpg -> h=150&format=jpeg -> full/250,150/0/default.jpg
            full/pct:50/0/default.jpg -> w=500&h=300&fit=fill&format=jpeg -> full/500,300/0/default.jpg
            full/pct:33.3/0/default.jpg -> w=333&h=200&fit=fill&format=jpeg -> full/333,200/0/default.jpg
            full/500,500/0/default.jpg -> w=500&h=500&fit=fill&format=jpeg -> full/500,500/0/default.jpg
            full/1000,600/0/default.jpg -> format=jpeg -> full/max/0/default.jpg
            full/!500,500/0/default.jpg -> w=500&h=500&format=jpeg -> full/500,300/0/default.jpg
            full/!5000,5000/0/default.jpg -> format=jpeg -> full/max/0/default.jpg
            full/^2000,/0/default.jpg -> w=2000&enlarge=true&format=jpeg -> full/^2000,1200/0/default.jpg
            full/%5E,1200/0/default.jpg -> h=1200&enlarge=true&format=jpeg -> full/^2000,1200/0/default.jpg
            full/^max/0/default.jpg -> w=2581&h=1549&fit=fill&enlarge=true&format=jpeg -> full/^max/0/default.jpg
            full/^pct:200/0/default.jpg -> w=2000&h=1200&fit=fill&enlarge=true&format=jpeg -> full/^2000,1200/0/default.jpg
            full/^!2000,2000/0/default.jpg -> w=2000&h=2000&enlarge=true&format=jpeg -> full/^2000,1200/0/default.jpg
            full/^500,500/0/default.jpg -> w=500&h=500&fit=fill&format=jpeg -> full/500,500/0/default.jpg
            0,0,100,100/^max/0/default.jpg -> crop=0,0,100,100&w=2000&h=2000&fit=fill&enlarge=true&format=jpeg -> 0,0,100,100/^max/0/default.jpg
            0,0,512,512/256,256/0/default.jpg -> crop=0,0,512,512&w=256&h=256&fit=fill&format=jpeg -> 0,0,512,512/256,256/0/default.jpg
            full/^1,601/0/default.jpg -> w=1&h=601&fit=fill&enlarge=true&format=jpeg -> full/^1,601/0/default.jpg
            full/1001,/0/default.jpg -> Value: size: exceeds the region; to enlarge the picture, begin the size with ^
            full/,601/0/default.jpg -> Value: size: exceeds the region; to enlarge the picture, begin the size with ^
            full/1,601/0/default.jpg -> Value: size: exceeds the region; to enlarge the picture, begin the size with ^
            full/pct:100.1/0/default.jpg -> Value: size: exceeds the region; to enlarge the picture, begin the size with ^
            full/^3001,/0/default.jpg -> Value: size: exceeds maxWidth or maxArea of info.json
            full/^2900,1740/0/default.jpg -> Value: size: exceeds maxWidth or maxArea of info.json
            full/^!3001,3001/0/default.jpg -> w=2581&h=1549&fit=fill&enlarge=true&format=jpeg -> full/^max/0/default.jpg
            full/full/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/0,/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/,/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/!500,/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/5/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/5,5,5/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/pct:0/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/pct:-1/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/^^max/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
            full/!^5,5/0/default.jpg -> Value: size: must be `max`, `pct:N`, or in whole pixels `W,`, `,H`, `W,H` or `!W,H`; each may begin with `^`
        "#]],
    );
}

#[test]
fn rotations_move_the_region() {
    check(
        &wide(),
        &LIMITS,
        "10,20,300,400/150,/0/default.jpg
         10,20,300,400/150,/90/default.jpg
         10,20,300,400/150,/180/default.jpg
         10,20,300,400/150,/270/default.jpg
         10,20,300,400/150,/360/default.jpg
         10,20,300,400/150,/!0/default.jpg
         10,20,300,400/150,/!90/default.jpg
         10,20,300,400/150,/!180/default.jpg
         10,20,300,400/150,/!270/default.jpg
         full/150,/22.5/default.png
         full/150,/!0.004/default.png
         full/150,/22.50/default.png
         full/max/-90/default.jpg
         full/max/361/default.jpg
         full/max/90./default.jpg
         full/max/!!0/default.jpg
         full/max//default.jpg",
        &expect![[r#"
            10,20,300,400/150,/0/default.jpg -> crop=10,20,300,400&w=150&format=jpeg -> 10,20,300,400/150,200/0/default.jpg
            10,20,300,400/150,/90/default.jpg -> rotate=90&crop=180,10,400,300&h=150&format=jpeg -> 10,20,300,400/150,200/90/default.jpg
            10,20,300,400/150,/180/default.jpg -> rotate=180&crop=690,180,300,400&w=150&format=jpeg -> 10,20,300,400/150,200/180/default.jpg
            10,20,300,400/150,/270/default.jpg -> rotate=270&crop=20,690,400,300&h=150&format=jpeg -> 10,20,300,400/150,200/270/default.jpg
            10,20,300,400/150,/360/default.jpg -> crop=10,20,300,400&w=150&format=jpeg -> 10,20,300,400/150,200/0/default.jpg
            10,20,300,400/150,/!0/default.jpg -> flop=true&crop=690,20,300,400&w=150&format=jpeg -> 10,20,300,400/150,200/!0/default.jpg
            10,20,300,400/150,/!90/default.jpg -> rotate=270&flop=true&crop=180,690,400,300&h=150&format=jpeg -> 10,20,300,400/150,200/!90/default.jpg
            10,20,300,400/150,/!180/default.jpg -> flip=true&crop=10,180,300,400&w=150&format=jpeg -> 10,20,300,400/150,200/!180/default.jpg
            10,20,300,400/150,/!270/default.jpg -> rotate=90&flop=true&crop=20,10,400,300&h=150&format=jpeg -> 10,20,300,400/150,200/!270/default.jpg
            full/150,/22.5/default.png -> rotate=22.5&w=150&format=png -> full/150,90/22.5/default.png
            full/150,/!0.004/default.png -> flop=true&w=150&format=png -> full/150,90/!0/default.png
            full/150,/22.50/default.png -> rotate=22.5&w=150&format=png -> full/150,90/22.5/default.png
            full/max/-90/default.jpg -> Value: rotation: must be an angle from 0 to 360 degrees, after ! if the picture is to be mirrored
            full/max/361/default.jpg -> Value: rotation: must be an angle from 0 to 360 degrees, after ! if the picture is to be mirrored
            full/max/90./default.jpg -> Value: rotation: must be an angle from 0 to 360 degrees, after ! if the picture is to be mirrored
            full/max/!!0/default.jpg -> Value: rotation: must be an angle from 0 to 360 degrees, after ! if the picture is to be mirrored
            full/max//default.jpg -> Value: rotation: must be an angle from 0 to 360 degrees, after ! if the picture is to be mirrored
        "#]],
    );
}

#[test]
fn qualities_and_formats() {
    check(
        &wide(),
        &LIMITS,
        "full/max/0/color.png
         full/max/0/gray.webp
         full/max/0/bitonal.avif
         full/max/0/native.jpg
         full/max/0/default
         full/max/0/default.
         full/max/0/default.jpeg
         full/max/0/default.JPG
         full/max/0/default.gif
         full/max/0/default.tif
         full/max/0/a.b.jpg",
        &expect![[r#"
            full/max/0/color.png -> format=png -> full/max/0/default.png
            full/max/0/gray.webp -> saturation=-100&format=webp -> full/max/0/gray.webp
            full/max/0/bitonal.avif -> bitonal=128&format=avif -> full/max/0/bitonal.avif
            full/max/0/native.jpg -> Value: quality: must be default, color, gray or bitonal
            full/max/0/default -> Value: format: must be jpg, png, webp or avif
            full/max/0/default. -> Value: format: must be jpg, png, webp or avif
            full/max/0/default.jpeg -> Value: format: must be jpg, png, webp or avif
            full/max/0/default.JPG -> Value: format: must be jpg, png, webp or avif
            full/max/0/default.gif -> NotImplemented: format: this server makes jpg, png, webp and avif
            full/max/0/default.tif -> NotImplemented: format: this server makes jpg, png, webp and avif
            full/max/0/a.b.jpg -> Value: quality: must be default, color, gray or bitonal
        "#]],
    );
}

#[test]
fn sizes_are_those_of_the_upright_picture() {
    let turned = Facts {
        orientation: Orientation::Turn90,
        ..wide()
    };
    let animated = Facts {
        animated: true,
        ..wide()
    };
    let urls = "full/300,/0/default.jpg
         0,900,600,200/max/90/default.jpg
         900,0,1,1/max/0/default.jpg";
    check(
        &turned,
        &LIMITS,
        urls,
        &expect![[r#"
        full/300,/0/default.jpg -> w=300&format=jpeg -> full/300,500/0/default.jpg
        0,900,600,200/max/90/default.jpg -> rotate=90&crop=0,0,100,600&format=jpeg -> 0,900,600,100/max/90/default.jpg
        900,0,1,1/max/0/default.jpg -> Value: region: lies outside the picture
    "#]],
    );
    let small = IiifLimits {
        side_px_max: 3_000,
        pixels_max: 15_000,
    };
    let urls = "full/max/0/default.jpg
         full/!500,500/0/default.jpg
         0,0,100,100/max/0/default.jpg";
    check(
        &animated,
        &small,
        urls,
        &expect![[r#"
        full/max/0/default.jpg -> w=157&h=94&fit=fill&format=jpeg&frame=1 -> full/max/0/default.jpg
        full/!500,500/0/default.jpg -> w=157&h=94&fit=fill&format=jpeg&frame=1 -> full/max/0/default.jpg
        0,0,100,100/max/0/default.jpg -> crop=0,0,100,100&format=jpeg&frame=1 -> 0,0,100,100/max/0/default.jpg
    "#]],
    );
}

#[test]
fn every_size_within_the_limits_is_planned_exactly() {
    let limits = IiifLimits::of(&Limits::default());
    for rotation in ["0", "90", "!180", "!270"] {
        for (size, expected) in [
            ("max", (313, 217)),
            ("100,", (100, 69)),
            (",31", (45, 31)),
            ("pct:7", (22, 15)),
            ("64,64", (64, 64)),
            ("!64,64", (64, 44)),
            ("^700,", (700, 485)),
        ] {
            let path = format!("a/7,9,313,217/{size}/{rotation}/default.jpg");
            let Ok(IiifTarget::Image(request)) = IiifUrl::parse(&path).map(|url| url.target) else {
                panic!("{path}");
            };
            let image = request.resolve(&wide(), &limits).expect("inside");
            let planned = crate::plan(
                &wide(),
                &image.recipe,
                Target::Jpeg,
                crate::Stage::Quick,
                &Limits::default(),
            );
            let planned = planned.expect("a small picture");
            let found = match planned.orientation.transposes() {
                true => planned.target.transposed(),
                false => planned.target,
            };
            assert_eq!((found.width_px, found.height_px), expected, "{path}");
            let parsed = crate::parse_query(&image.recipe.to_string()).expect("a query");
            assert_eq!(parsed.recipe, image.recipe, "{path}");
            let again = IiifUrl::parse(&format!("a/{}", image.canonical)).map(|url| url.target);
            let Ok(IiifTarget::Image(again)) = again else {
                panic!("{path}");
            };
            let again = again.resolve(&wide(), &limits).expect("canonical");
            assert_eq!(again.canonical, image.canonical, "{path}");
        }
    }
}

#[test]
fn information() {
    let text = IiifInformation {
        id: r#"https://example.org/-/iiif/a\".jpg"#,
        size: Size::new(1300, 600),
        limits: LIMITS,
    };
    expect![[r#"
        {"@context":"http://iiif.io/api/image/3/context.json","id":"https://example.org/-/iiif/a\\\".jpg","type":"ImageService3","protocol":"http://iiif.io/api/image","profile":"level2","width":1300,"height":600,"maxWidth":3000,"maxArea":4000000,"sizes":[{"width":325,"height":150},{"width":650,"height":300},{"width":1300,"height":600}],"tiles":[{"width":512,"scaleFactors":[1,2,4]}],"preferredFormats":["webp","jpg"],"extraFormats":["webp","avif"],"extraQualities":["color","gray","bitonal"],"extraFeatures":["canonicalLinkHeader","mirroring","profileLinkHeader","rotationArbitrary","sizeUpscaling"]}
    "#]].assert_eq(&text.to_string());
}
