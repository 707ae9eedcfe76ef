use super::*;
use crate::parse_query;
use expect_test::{Expect, expect};

/// Compares the geometry of each query on a picture of size `upright` with `expect`. The text of a
/// geometry leaves out the steps that change nothing.
fn check((width, height): (u32, u32), queries: &[&str], expect: Expect) {
    let upright = Size::new(width, height);
    let mut table = String::new();
    for query in queries {
        let ask = parse_query(query).expect("a sound query");
        let Geometry {
            crop,
            inner,
            target,
        } = Geometry::of(upright, &ask.recipe);
        let size = |size: Size| format!("{}x{}", size.width_px, size.height_px);
        let mut row = size(target);
        if inner != target {
            row.push_str(&format!(" padding {}", size(inner)));
        }
        if crop.size != upright {
            row.push_str(&format!(" of {} at {},{}", size(crop.size), crop.x, crop.y));
        }
        table.push_str(&format!("{query}: {row}\n"));
    }
    expect.assert_eq(&table);
}

#[test]
fn inside() {
    check(
        (4000, 3000),
        &[
            "",
            "w=400",
            "h=300",
            "w=401",
            "w=1",
            "w=400&h=400",
            "w=600&h=300",
            "w=4000",
            "w=4001",
            "w=8000&h=300",
            "w=8000&h=6000",
            "w=8000&enlarge=1",
            "h=6000&enlarge=1",
            "w=8000&h=8000&enlarge=1",
            "w=400&dpr=2",
            "w=3000&dpr=2",
            "max_width=400&max_height=150",
        ],
        expect![[r#"
            : 4000x3000
            w=400: 400x300
            h=300: 400x300
            w=401: 401x301
            w=1: 1x1
            w=400&h=400: 400x300
            w=600&h=300: 400x300
            w=4000: 4000x3000
            w=4001: 4000x3000
            w=8000&h=300: 400x300
            w=8000&h=6000: 4000x3000
            w=8000&enlarge=1: 8000x6000
            h=6000&enlarge=1: 8000x6000
            w=8000&h=8000&enlarge=1: 8000x6000
            w=400&dpr=2: 800x600
            w=3000&dpr=2: 4000x3000
            max_width=400&max_height=150: 200x150
        "#]],
    );
}

#[test]
fn no_side_vanishes() {
    check(
        (3, 10_000),
        &["w=1", "h=1", "h=100", "w=2&h=16384"],
        expect![[r#"
            w=1: 1x3333
            h=1: 1x1
            h=100: 1x100
            w=2&h=16384: 2x6667
        "#]],
    );
    check(
        (1, 1),
        &["w=1", "h=9", "w=9&enlarge=1"],
        expect![[r#"
        w=1: 1x1
        h=9: 1x1
        w=9&enlarge=1: 9x9
    "#]],
    );
    check(
        (1000, 3),
        &["w=333", "w=500", "w=100", "w=499"],
        expect![[r#"
            w=333: 333x1
            w=500: 500x2
            w=100: 100x1
            w=499: 499x1
        "#]],
    );
}

#[test]
fn cover() {
    check(
        (4000, 3000),
        &[
            "w=400&h=300&fit=cover",
            "w=400&h=400&fit=cover",
            "w=300&h=400&fit=cover",
            "w=1000&h=100&fit=cover",
            "w=333&h=100&fit=cover",
            "w=1&h=16384&fit=cover",
            "w=16384&h=1&fit=cover",
            "w=4000&h=3000&fit=cover",
            "w=4001&h=3000&fit=cover",
            "w=8000&h=8000&fit=cover",
            "w=8000&h=100&fit=cover",
            "w=8000&h=8000&fit=cover&enlarge=1",
            "w=8000&h=100&fit=cover&enlarge=1",
        ],
        expect![[r#"
            w=400&h=300&fit=cover: 400x300
            w=400&h=400&fit=cover: 400x400 of 3000x3000 at 500,0
            w=300&h=400&fit=cover: 300x400 of 2250x3000 at 875,0
            w=1000&h=100&fit=cover: 1000x100 of 4000x400 at 0,1300
            w=333&h=100&fit=cover: 333x100 of 4000x1201 at 0,899
            w=1&h=16384&fit=cover: 1x3000 of 1x3000 at 1999,0
            w=16384&h=1&fit=cover: 4000x1 of 4000x1 at 0,1499
            w=4000&h=3000&fit=cover: 4000x3000
            w=4001&h=3000&fit=cover: 4000x2999 of 4000x2999 at 0,0
            w=8000&h=8000&fit=cover: 3000x3000 of 3000x3000 at 500,0
            w=8000&h=100&fit=cover: 4000x50 of 4000x50 at 0,1475
            w=8000&h=8000&fit=cover&enlarge=1: 8000x8000 of 3000x3000 at 500,0
            w=8000&h=100&fit=cover&enlarge=1: 8000x100 of 4000x50 at 0,1475
        "#]],
    );
    check(
        (5, 4),
        &["w=2&h=2&fit=cover", "w=1&h=2&fit=cover"],
        expect![[r#"
            w=2&h=2&fit=cover: 2x2 of 4x4 at 0,0
            w=1&h=2&fit=cover: 1x2 of 2x4 at 1,0
        "#]],
    );
}

#[test]
fn cover_as_webp_server_go_means_it() {
    check(
        (4000, 3000),
        &[
            "width=400",
            "height=300",
            "width=4001",
            "width=400&height=400",
            "width=4000&height=100",
            "width=4001&height=100",
            "width=400&height=3001",
        ],
        expect![[r#"
            width=400: 400x300
            height=300: 400x300
            width=4001: 4000x3000
            width=400&height=400: 400x400 of 3000x3000 at 500,0
            width=4000&height=100: 4000x100 of 4000x100 at 0,1450
            width=4001&height=100: 4000x3000
            width=400&height=3001: 4000x3000
        "#]],
    );
}

#[test]
fn contain() {
    check(
        (4000, 3000),
        &[
            "w=400&h=300&fit=contain",
            "w=400&h=400&fit=contain",
            "w=800&h=300&fit=contain",
            "w=5000&h=5000&fit=contain",
            "w=5000&h=300&fit=contain",
            "w=5000&h=5000&fit=contain&enlarge=1",
        ],
        expect![[r#"
            w=400&h=300&fit=contain: 400x300
            w=400&h=400&fit=contain: 400x400 padding 400x300
            w=800&h=300&fit=contain: 800x300 padding 400x300
            w=5000&h=5000&fit=contain: 5000x5000 padding 4000x3000
            w=5000&h=300&fit=contain: 5000x300 padding 400x300
            w=5000&h=5000&fit=contain&enlarge=1: 5000x5000 padding 5000x3750
        "#]],
    );
}

#[test]
fn fill() {
    check(
        (4000, 3000),
        &[
            "w=400&h=400&fit=fill",
            "w=1&h=3000&fit=fill",
            "w=8000&h=3000&fit=fill",
            "w=8000&h=8000&fit=fill",
            "w=16384&h=1&fit=fill",
            "w=8000&h=8000&fit=fill&enlarge=1",
        ],
        expect![[r#"
            w=400&h=400&fit=fill: 400x400
            w=1&h=3000&fit=fill: 1x3000
            w=8000&h=3000&fit=fill: 4000x1500
            w=8000&h=8000&fit=fill: 3000x3000
            w=16384&h=1&fit=fill: 4000x1
            w=8000&h=8000&fit=fill&enlarge=1: 8000x8000
        "#]],
    );
}

#[test]
fn crops() {
    check(
        (4000, 3000),
        &[
            "crop=100,200,640,480",
            "crop=100,200,640,480&w=320",
            "crop=3900,2900,640,480",
            "crop=9000,9000,640,480",
            "crop=0.25,0.5,0.5,0.5",
            "crop=0.0,0,0.0001,0.0001",
            "crop=0.9999,0.9999,0.0001,0.0001",
            "crop=16:9",
            "crop=1:1&w=300",
            "crop=1:4000",
            "crop=0.25,0.5,0.5,0.5&w=400&h=400&fit=cover",
            "crop=0.25,0.5,0.5,0.5&w=400&h=400&fit=contain",
        ],
        expect![[r#"
            crop=100,200,640,480: 640x480 of 640x480 at 100,200
            crop=100,200,640,480&w=320: 320x240 of 640x480 at 100,200
            crop=3900,2900,640,480: 100x100 of 100x100 at 3900,2900
            crop=9000,9000,640,480: 1x1 of 1x1 at 3999,2999
            crop=0.25,0.5,0.5,0.5: 2000x1500 of 2000x1500 at 1000,1500
            crop=0.0,0,0.0001,0.0001: 1x1 of 1x1 at 0,0
            crop=0.9999,0.9999,0.0001,0.0001: 1x1 of 1x1 at 3999,2999
            crop=16:9: 4000x2250 of 4000x2250 at 0,375
            crop=1:1&w=300: 300x300 of 3000x3000 at 500,0
            crop=1:4000: 1x3000 of 1x3000 at 1999,0
            crop=0.25,0.5,0.5,0.5&w=400&h=400&fit=cover: 400x400 of 1500x1500 at 1250,1500
            crop=0.25,0.5,0.5,0.5&w=400&h=400&fit=contain: 400x400 padding 400x300 of 2000x1500 at 1000,1500
        "#]],
    );
}

#[test]
fn focus() {
    check(
        (4000, 3000),
        &[
            "crop=1:1&gravity=west",
            "crop=1:1&focus=0.4,0",
            "crop=1:1&gravity=southeast",
            "w=400&h=400&fit=cover&gravity=center",
            "w=400&h=400&fit=cover&focus=0.45,0.9",
            "w=400&h=100&fit=cover&focus=0.45,0.9",
            "w=400&h=100&fit=cover&gravity=north",
            "width=400&height=400&gravity=east",
            "crop=1:1&w=400&h=100&fit=cover&gravity=northeast",
        ],
        expect![[r#"
            crop=1:1&gravity=west: 3000x3000 of 3000x3000 at 0,0
            crop=1:1&focus=0.4,0: 3000x3000 of 3000x3000 at 100,0
            crop=1:1&gravity=southeast: 3000x3000 of 3000x3000 at 1000,0
            w=400&h=400&fit=cover&gravity=center: 400x400 of 3000x3000 at 500,0
            w=400&h=400&fit=cover&focus=0.45,0.9: 400x400 of 3000x3000 at 300,0
            w=400&h=100&fit=cover&focus=0.45,0.9: 400x100 of 4000x1000 at 0,2000
            w=400&h=100&fit=cover&gravity=north: 400x100 of 4000x1000 at 0,0
            width=400&height=400&gravity=east: 400x400 of 3000x3000 at 1000,0
            crop=1:1&w=400&h=100&fit=cover&gravity=northeast: 400x100 of 3000x750 at 1000,0
        "#]],
    );
}
