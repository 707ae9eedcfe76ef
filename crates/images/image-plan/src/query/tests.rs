mod effects;

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// Compares the outcome of each of `queries`, which are separated by white space, with `expect`.
fn check(queries: &str, expect: Expect) {
    check_by(Grammar::Strict, queries, expect);
}

fn check_by(grammar: Grammar, queries: &str, expect: Expect) {
    let mut table = String::new();
    for query in queries.split_whitespace() {
        let outcome = match grammar.parse(query) {
            Ok(ImageQuery {
                recipe,
                meta: false,
            }) => format!("{recipe}"),
            Ok(ImageQuery { recipe, meta: true }) => format!("{recipe} with meta"),
            Err(err) => format!("{:?}: {err}", err.kind),
        };
        table.push_str(&format!("{query} -> {outcome}\n"));
    }
    expect.assert_eq(&table);
}

#[test]
fn empty_queries() {
    for query in ["", "&", "&&", "format=auto"] {
        let ask = parse_query(query).expect("a sound query");
        assert!(ask.recipe.is_identity() && !ask.meta, "{query}");
    }
}

#[test]
fn sizes() {
    check(
        "w=640
         h=480&w=640&
         w=1
         w=16384
         w=%36%34%30
         %77=640
         w=0640",
        expect![[r#"
            w=640 -> w=640
            h=480&w=640& -> w=640&h=480
            w=1 -> w=1
            w=16384 -> w=16384
            w=%36%34%30 -> w=640
            %77=640 -> w=640
            w=0640 -> w=640
        "#]],
    );
}

#[test]
fn fits() {
    check(
        "w=640&fit=inside
         w=640&h=480&fit=cover
         w=640&h=480&fit=contain
         w=640&h=480&fit=fill
         w=640&dpr=1
         w=640&dpr=2
         w=33&dpr=1.5
         w=33&h=10&dpr=1.25
         w=2048&dpr=8
         w=640&enlarge=true
         w=640&enlarge=1
         w=640&enlarge=false
         w=640&enlarge=0",
        expect![[r#"
            w=640&fit=inside -> w=640
            w=640&h=480&fit=cover -> w=640&h=480&fit=cover
            w=640&h=480&fit=contain -> w=640&h=480&fit=contain
            w=640&h=480&fit=fill -> w=640&h=480&fit=fill
            w=640&dpr=1 -> w=640
            w=640&dpr=2 -> w=1280
            w=33&dpr=1.5 -> w=50
            w=33&h=10&dpr=1.25 -> w=41&h=13
            w=2048&dpr=8 -> w=16384
            w=640&enlarge=true -> w=640&enlarge=true
            w=640&enlarge=1 -> w=640&enlarge=true
            w=640&enlarge=false -> w=640
            w=640&enlarge=0 -> w=640
        "#]],
    );
}

#[test]
fn maximum_lengths() {
    check(
        "max_bytes=20000
         max_bytes=4294967295&w=9&q=80
         max_bytes=0
         max_bytes=20k
         max_bytes=4294967296
         max_bytes=9&format=png
         max_bytes=9&format=webp",
        expect![[r#"
            max_bytes=20000 -> max_bytes=20000
            max_bytes=4294967295&w=9&q=80 -> w=9&q=80&max_bytes=4294967295
            max_bytes=0 -> Value: max_bytes: must be a whole number from 1 to 4294967295
            max_bytes=20k -> Value: max_bytes: must be a whole number from 1 to 4294967295
            max_bytes=4294967296 -> Value: max_bytes: must be a whole number from 1 to 4294967295
            max_bytes=9&format=png -> Contradiction: max_bytes: cannot be combined with format=png, which is lossless
            max_bytes=9&format=webp -> format=webp&max_bytes=9
        "#]],
    );
}

#[test]
fn qualities_and_formats() {
    check(
        "q=80
         q=100
         format=auto
         format=avif
         format=webp
         format=jpeg
         format=jpg
         format=PNG
         format=png&q=80
         q=auto
         q=auto&w=9&max_bytes=900
         format=png&q=auto
         q=Auto
         q=auto&q=80
         meta=full
         q=1&format=webp&h=9&meta=full",
        expect![[r#"
            q=80 -> q=80
            q=100 -> q=100
            format=auto -> 
            format=avif -> format=avif
            format=webp -> format=webp
            format=jpeg -> format=jpeg
            format=jpg -> format=jpeg
            format=PNG -> format=png
            format=png&q=80 -> format=png
            q=auto -> q=auto
            q=auto&w=9&max_bytes=900 -> w=9&q=auto&max_bytes=900
            format=png&q=auto -> format=png
            q=Auto -> Value: q: must be auto or a whole number from 1 to 100
            q=auto&q=80 -> Duplicate: q: must not be given more than once
            meta=full ->  with meta
            q=1&format=webp&h=9&meta=full -> h=9&format=webp&q=1 with meta
        "#]],
    );
}

#[test]
fn pages() {
    check(
        "page=1
         page=2
         page=65535
         w=9&page=3
         page=0
         page=65536
         page=two
         page=
         page=2&page=2",
        expect![[r#"
            page=1 -> 
            page=2 -> page=2
            page=65535 -> page=65535
            w=9&page=3 -> w=9&page=3
            page=0 -> Value: page: must be a whole number from 1 to 65535
            page=65536 -> Value: page: must be a whole number from 1 to 65535
            page=two -> Value: page: must be a whole number from 1 to 65535
            page= -> Value: page: must be a whole number from 1 to 65535
            page=2&page=2 -> Duplicate: page: must not be given more than once
        "#]],
    );
}

#[test]
fn frames() {
    check(
        "frame=1
         animation=first
         animation=all
         frame=2&page=2
         frame=65535
         frame=0
         frame=65536
         frame=-1
         animation=last
         animation=all&frame=2
         animation=first&animation=first",
        expect![[r#"
            frame=1 -> frame=1
            animation=first -> frame=1
            animation=all -> 
            frame=2&page=2 -> page=2&frame=2
            frame=65535 -> frame=65535
            frame=0 -> Value: frame: must be a whole number from 1 to 65535
            frame=65536 -> Value: frame: must be a whole number from 1 to 65535
            frame=-1 -> Value: frame: must be a whole number from 1 to 65535
            animation=last -> Value: animation: must be all or first
            animation=all&frame=2 -> Contradiction: frame: cannot be combined with animation
            animation=first&animation=first -> Duplicate: animation: must not be given more than once
        "#]],
    );
}

#[test]
fn parameters_of_webp_server_go() {
    check(
        "width=200
         height=200
         width=400&height=800
         max_width=200
         max_height=100&max_width=200
         width=200&q=50&format=avif&meta=full",
        expect![[r#"
            width=200 -> w=200
            height=200 -> h=200
            width=400&height=800 -> width=400&height=800
            max_width=200 -> w=200
            max_height=100&max_width=200 -> w=200&h=100
            width=200&q=50&format=avif&meta=full -> w=200&format=avif&q=50 with meta
        "#]],
    );
}

#[test]
fn values_out_of_range() {
    check(
        "w
         w=
         w=0
         w=16385
         w=99999999999999999999
         w=-1
         w=+640
         w=640px
         w=6.5
         w=%
         w=%4
         w=%zz
         w=%ff
         %ff=1
         q=0
         q=101
         q=high",
        expect![[r#"
            w -> Value: w: must be a whole number from 1 to 16384
            w= -> Value: w: must be a whole number from 1 to 16384
            w=0 -> Value: w: must be a whole number from 1 to 16384
            w=16385 -> Value: w: must be a whole number from 1 to 16384
            w=99999999999999999999 -> Value: w: must be a whole number from 1 to 16384
            w=-1 -> Value: w: must be a whole number from 1 to 16384
            w=+640 -> Value: w: must be a whole number from 1 to 16384
            w=640px -> Value: w: must be a whole number from 1 to 16384
            w=6.5 -> Value: w: must be a whole number from 1 to 16384
            w=% -> Value: w: malformed percent-encoding
            w=%4 -> Value: w: malformed percent-encoding
            w=%zz -> Value: w: malformed percent-encoding
            w=%ff -> Value: w: malformed percent-encoding
            %ff=1 -> Value: %ff: malformed percent-encoding
            q=0 -> Value: q: must be auto or a whole number from 1 to 100
            q=101 -> Value: q: must be auto or a whole number from 1 to 100
            q=high -> Value: q: must be auto or a whole number from 1 to 100
        "#]],
    );
}

#[test]
fn words_out_of_range() {
    check(
        "format=jxl
         format=
         fit=crop&w=640&h=480
         w=640&h=480&fit=Cover
         w=640&enlarge=yes
         w=640&dpr=0.5
         w=640&dpr=9
         w=640&dpr=8.01
         w=640&dpr=1.234
         w=640&dpr=2.
         w=640&dpr=.5
         w=640&dpr=1e1
         w=16384&dpr=1.01
         meta=1",
        expect![[r#"
            format=jxl -> Value: format: must be auto, avif, webp, jpeg or png
            format= -> Value: format: must be auto, avif, webp, jpeg or png
            fit=crop&w=640&h=480 -> Value: fit: must be inside, cover, contain or fill
            w=640&h=480&fit=Cover -> Value: fit: must be inside, cover, contain or fill
            w=640&enlarge=yes -> Value: enlarge: must be true or false
            w=640&dpr=0.5 -> Value: dpr: must be a number from 1 to 8 with at most 2 decimals
            w=640&dpr=9 -> Value: dpr: must be a number from 1 to 8 with at most 2 decimals
            w=640&dpr=8.01 -> Value: dpr: must be a number from 1 to 8 with at most 2 decimals
            w=640&dpr=1.234 -> Value: dpr: must be a number from 1 to 8 with at most 2 decimals
            w=640&dpr=2. -> Value: dpr: must be a number from 1 to 8 with at most 2 decimals
            w=640&dpr=.5 -> Value: dpr: must be a number from 1 to 8 with at most 2 decimals
            w=640&dpr=1e1 -> Value: dpr: must be a number from 1 to 8 with at most 2 decimals
            w=16384&dpr=1.01 -> Value: dpr: w and h must be at most 16384 after multiplication by dpr
            meta=1 -> Value: meta: must have the value full
        "#]],
    );
}

#[test]
fn contradictions() {
    check(
        "fit=cover
         fit=cover&w=640
         dpr=2
         enlarge=true
         w=640&width=640
         h=480&max_width=640
         width=200&max_width=400
         dpr=2&width=200
         w=640&w=640
         w=640&%77=480",
        expect![[r#"
            fit=cover -> Contradiction: fit: needs w or h
            fit=cover&w=640 -> Contradiction: fit: needs both w and h, except for fit=inside
            dpr=2 -> Contradiction: dpr: needs w or h
            enlarge=true -> Contradiction: enlarge: needs w or h
            w=640&width=640 -> Contradiction: w: cannot be combined with width
            h=480&max_width=640 -> Contradiction: h: cannot be combined with max_width
            width=200&max_width=400 -> Contradiction: width: cannot be combined with max_width
            dpr=2&width=200 -> Contradiction: dpr: cannot be combined with width
            w=640&w=640 -> Duplicate: w: must not be given more than once
            w=640&%77=480 -> Duplicate: w: must not be given more than once
        "#]],
    );
}

#[test]
fn trims() {
    check(
        "trim=10
         trim=0
         trim=255
         trim=010
         trim=256
         trim=-1
         trim=1.5
         trim=
         trim=true
         trim=10&crop=1:1&w=80
         trim=10&enlarge=true&w=80
         trim=10&enlarge=true&w=80&h=60
         trim=10&enlarge=false&w=80
         trim=10&meta=full",
        expect![[r#"
            trim=10 -> trim=10
            trim=0 -> trim=0
            trim=255 -> trim=255
            trim=010 -> trim=10
            trim=256 -> Value: trim: must be a whole number from 0 to 255
            trim=-1 -> Value: trim: must be a whole number from 0 to 255
            trim=1.5 -> Value: trim: must be a whole number from 0 to 255
            trim= -> Value: trim: must be a whole number from 0 to 255
            trim=true -> Value: trim: must be a whole number from 0 to 255
            trim=10&crop=1:1&w=80 -> trim=10&crop=1:1&w=80
            trim=10&enlarge=true&w=80 -> Contradiction: enlarge: needs both w and h if it is combined with trim
            trim=10&enlarge=true&w=80&h=60 -> trim=10&w=80&h=60&enlarge=true
            trim=10&enlarge=false&w=80 -> trim=10&w=80
            trim=10&meta=full -> Contradiction: trim: cannot be combined with meta
        "#]],
    );
}

#[test]
fn unknown_names() {
    check(
        "watermark=1
         widht=1
         Width=1
         maxwidth=1
         formt=webp
         quality=80
         x=1
         utm_source=news
         a%0d%0ab=1
         a-name-that-goes-on-and-on-and-on-and-on=1
         =1",
        expect![[r#"
            watermark=1 -> Reserved: watermark: this parameter is not supported yet
            widht=1 -> Unknown: widht: unknown parameter, did you mean width?
            Width=1 -> Unknown: Width: unknown parameter, did you mean width?
            maxwidth=1 -> Unknown: maxwidth: unknown parameter, did you mean max_width?
            formt=webp -> Unknown: formt: unknown parameter, did you mean format?
            quality=80 -> Unknown: quality: unknown parameter; known parameters are w, h, fit, dpr, enlarge, rotate, flip, flop, trim, crop, focus, gravity, width, height, max_width, max_height, q, max_bytes, format, meta, kernel, gamma, brightness, contrast, saturation, grayscale, sepia, bitonal, duotone, invert, blur, sharpen, unsharp, pixelate, pad, bg, round, page, frame, animation
            x=1 -> Unknown: x: unknown parameter; known parameters are w, h, fit, dpr, enlarge, rotate, flip, flop, trim, crop, focus, gravity, width, height, max_width, max_height, q, max_bytes, format, meta, kernel, gamma, brightness, contrast, saturation, grayscale, sepia, bitonal, duotone, invert, blur, sharpen, unsharp, pixelate, pad, bg, round, page, frame, animation
            utm_source=news -> Unknown: utm_source: unknown parameter; known parameters are w, h, fit, dpr, enlarge, rotate, flip, flop, trim, crop, focus, gravity, width, height, max_width, max_height, q, max_bytes, format, meta, kernel, gamma, brightness, contrast, saturation, grayscale, sepia, bitonal, duotone, invert, blur, sharpen, unsharp, pixelate, pad, bg, round, page, frame, animation
            a%0d%0ab=1 -> Unknown: a??b: unknown parameter; known parameters are w, h, fit, dpr, enlarge, rotate, flip, flop, trim, crop, focus, gravity, width, height, max_width, max_height, q, max_bytes, format, meta, kernel, gamma, brightness, contrast, saturation, grayscale, sepia, bitonal, duotone, invert, blur, sharpen, unsharp, pixelate, pad, bg, round, page, frame, animation
            a-name-that-goes-on-and-on-and-on-and-on=1 -> Unknown: a-name-that-goes-on-and-on-and-o: unknown parameter; known parameters are w, h, fit, dpr, enlarge, rotate, flip, flop, trim, crop, focus, gravity, width, height, max_width, max_height, q, max_bytes, format, meta, kernel, gamma, brightness, contrast, saturation, grayscale, sepia, bitonal, duotone, invert, blur, sharpen, unsharp, pixelate, pad, bg, round, page, frame, animation
            =1 -> Unknown: : unknown parameter; known parameters are w, h, fit, dpr, enlarge, rotate, flip, flop, trim, crop, focus, gravity, width, height, max_width, max_height, q, max_bytes, format, meta, kernel, gamma, brightness, contrast, saturation, grayscale, sepia, bitonal, duotone, invert, blur, sharpen, unsharp, pixelate, pad, bg, round, page, frame, animation
        "#]],
    );
}

/// Queries with parameters meant for other programs. All grammars but the strict one ignore these
/// parameters.
const OTHERS: &str = "v=123 ver=6.5 utm_source=news&utm_medium=mail fbclid=x%ff %zz=1 a%0d%0ab= _ w=640&v=123 ?w=640";

#[test]
fn unknown_names_are_ignored() {
    check_by(
        Grammar::Pelton,
        &format!("{OTHERS} crop=1 width=abc w=0&v=1 w=1&w=2 w=%zz quality=80"),
        expect![[r#"
            v=123 -> 
            ver=6.5 -> 
            utm_source=news&utm_medium=mail -> 
            fbclid=x%ff -> 
            %zz=1 -> 
            a%0d%0ab= -> 
            _ -> 
            w=640&v=123 -> w=640
            ?w=640 -> 
            crop=1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            width=abc -> Value: width: must be a whole number from 1 to 16384
            w=0&v=1 -> Value: w: must be a whole number from 1 to 16384
            w=1&w=2 -> Duplicate: w: must not be given more than once
            w=%zz -> Value: w: malformed percent-encoding
            quality=80 -> 
        "#]],
    );
}

#[test]
fn webp_server_go_ignores_invalid_parameters() {
    check_by(
        Grammar::WebpServerGo,
        "width=abc width=-5 width=0&height=80 width=40&height=x width=200&max_width=400 width=x&max_width=400
         max_width=99999999 w=640&width=320 fit=cover crop=1 format=jxl q=0&w=9 meta=half meta=full w=1&w=2 width=%zz",
        expect![[r#"
            width=abc -> 
            width=-5 -> 
            width=0&height=80 -> h=80
            width=40&height=x -> w=40
            width=200&max_width=400 -> w=200
            width=x&max_width=400 -> w=400
            max_width=99999999 -> 
            w=640&width=320 -> w=320
            fit=cover -> 
            crop=1 -> 
            format=jxl -> 
            q=0&w=9 -> w=9
            meta=half -> 
            meta=full ->  with meta
            w=1&w=2 -> w=1
            width=%zz -> 
        "#]],
    );
    check_by(
        Grammar::MetaOnly,
        "width=40 w=40 meta=full meta=full&width=40 meta=half width=abc",
        expect![[r#"
            width=40 -> 
            w=40 -> 
            meta=full ->  with meta
            meta=full&width=40 ->  with meta
            meta=half -> 
            width=abc -> 
        "#]],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_causes_a_panic(query in "\\PC{0,80}") {
        if let Err(err) = parse_query(&query) {
            prop_assert!(err.to_string().bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()));
            prop_assert!(err.to_string().len() < 400);
        }
    }

    #[test]
    fn a_recipe_is_its_own_query(
        sides in "(w|h|width|height|max_width|max_height)=[1-9][0-9]{0,3}(&(w|h|width|height|max_width)=[1-9]{1,3})?",
        more in "(&fit=(inside|cover|contain|fill))?(&enlarge=[01])?(&dpr=1\\.[0-9]{2})?(&q=[1-9][0-9])?(&format=(png|jpg|avif))?",
        effects in "(&rotate=-?[0-9]{1,3}(\\.[0-9]{1,2})?)?(&fl[io]p=1)?(&blur=[0-9]{1,3}(\\.5)?)?(&sharpen=[0-9]\\.[0-9](,[0-9])?)?(&pad=[0-9]{1,3}(,[0-9]{1,3}){0,3})?(&bg=[0-9a-fA-F]{3,4})?(&gamma=[0-9]\\.[0-9])?",
    ) {
        if let Ok(ask) = parse_query(&format!("{sides}{more}{effects}")) {
            let again = parse_query(&ask.recipe.to_string());
            prop_assert_eq!(again, Ok(ask));
        }
    }

    /// A grammar must ignore the pairs that are not relevant to it: removing them must not change
    /// the outcome.
    #[test]
    fn irrelevant_pairs_change_nothing(
        query in "((w|h|v|width|max_width|meta|crop|%77|utm_a|fit)=?(1|20|x|full|%zz|cover)?&){0,6}"
    ) {
        for grammar in [Grammar::Pelton, Grammar::Strict, Grammar::WebpServerGo, Grammar::MetaOnly] {
            let heeded: Vec<_> = query.split('&').filter(|pair| grammar.is_relevant(pair)).collect();
            prop_assert_eq!(grammar.parse(&heeded.join("&")), grammar.parse(&query));
        }
        if let Ok(ask) = Grammar::Strict.parse(&query) {
            prop_assert_eq!(Grammar::Pelton.parse(&query), Ok(ask));
            prop_assert_eq!(Grammar::WebpServerGo.parse(&query), Ok(ask));
        }
    }
}

#[test]
fn turns() {
    check(
        "rotate=0
         rotate=90
         rotate=180
         rotate=270
         flip=true
         flop=1
         flip=true&flop=true
         rotate=180&flip=1&flop=1
         rotate=90&flip=1
         rotate=90&flop=1
         flop=1&rotate=90
         rotate=270&flop=true
         flip=0
         rotate=45
         rotate=45.50&flop=1
         rotate=45&flop=1&flip=1
         rotate=-90
         rotate=-0
         rotate=-0.01
         rotate=360
         rotate=360.01
         rotate=0.001
         rotate=
         rotate=1e2
         flip=yes",
        expect![[r#"
            rotate=0 -> 
            rotate=90 -> rotate=90
            rotate=180 -> rotate=180
            rotate=270 -> rotate=270
            flip=true -> flip=true
            flop=1 -> flop=true
            flip=true&flop=true -> rotate=180
            rotate=180&flip=1&flop=1 -> 
            rotate=90&flip=1 -> rotate=270&flop=true
            rotate=90&flop=1 -> rotate=90&flop=true
            flop=1&rotate=90 -> rotate=90&flop=true
            rotate=270&flop=true -> rotate=270&flop=true
            flip=0 -> 
            rotate=45 -> rotate=45
            rotate=45.50&flop=1 -> rotate=45.5&flop=true
            rotate=45&flop=1&flip=1 -> rotate=45&flip=true&flop=true
            rotate=-90 -> rotate=270
            rotate=-0 -> 
            rotate=-0.01 -> rotate=359.99
            rotate=360 -> 
            rotate=360.01 -> Value: rotate: must be a clockwise angle in degrees, from -360 to 360, with at most 2 decimals
            rotate=0.001 -> Value: rotate: must be a clockwise angle in degrees, from -360 to 360, with at most 2 decimals
            rotate= -> Value: rotate: must be a clockwise angle in degrees, from -360 to 360, with at most 2 decimals
            rotate=1e2 -> Value: rotate: must be a clockwise angle in degrees, from -360 to 360, with at most 2 decimals
            flip=yes -> Value: flip: must be true or false
        "#]],
    );
}

#[test]
fn crops() {
    check(
        "crop=10,20,300,400
         crop=0,0,1,1
         crop=0.0,0,1,1
         crop=.5,0,.5,1
         crop=0.5,0,0.5,1
         crop=0.3333,0.25,0.1,0.75
         crop=0,0.5,1,0.5000
         crop=16:9
         crop=32:18
         crop=100:100
         crop=65535:1
         crop=0:9
         crop=16:9:1
         crop=1.5:1
         crop=65536:1
         crop=10,20,0,400
         crop=10,20,300
         crop=10,20,300,400,500
         crop=-1,0,5,5
         crop=0.5,0,0.6,1
         crop=0.12345,0,0.5,1
         crop=0.5,0,0,1
         crop=4294967296,0,1,1
         crop=",
        expect![[r#"
            crop=10,20,300,400 -> crop=10,20,300,400
            crop=0,0,1,1 -> crop=0,0,1,1
            crop=0.0,0,1,1 -> 
            crop=.5,0,.5,1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=0.5,0,0.5,1 -> crop=0.5,0,0.5,1
            crop=0.3333,0.25,0.1,0.75 -> crop=0.3333,0.25,0.1,0.75
            crop=0,0.5,1,0.5000 -> crop=0.0,0.5,1,0.5
            crop=16:9 -> crop=16:9
            crop=32:18 -> crop=16:9
            crop=100:100 -> crop=1:1
            crop=65535:1 -> crop=65535:1
            crop=0:9 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=16:9:1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=1.5:1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=65536:1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=10,20,0,400 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=10,20,300 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=10,20,300,400,500 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=-1,0,5,5 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=0.5,0,0.6,1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=0.12345,0,0.5,1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=0.5,0,0,1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop=4294967296,0,1,1 -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
            crop= -> Value: crop: must be X,Y,WIDTH,HEIGHT in pixels (10,20,300,400), or as fractions from 0 to 1, at least one with a decimal point (0.0,0,0.5,1), or an aspect ratio (16:9)
        "#]],
    );
}

#[test]
fn focus() {
    check(
        "crop=1:1&focus=0.2,0.75
         crop=1:1&focus=0.5,0.50
         crop=1:1&focus=1,1.0000
         crop=1:1&gravity=north
         crop=1:1&gravity=center
         crop=1:1&gravity=southwest
         w=20&h=10&fit=cover&focus=0,0
         width=20&height=10&gravity=east
         focus=0.2,0.75
         w=20&gravity=north
         crop=0,0,5,5&focus=0.2,0.75
         w=20&h=10&fit=contain&focus=0.1,0.1
         crop=1:1&focus=0.2,0.75&gravity=north
         crop=1:1&focus=1.1,0
         crop=1:1&focus=0.5
         crop=1:1&gravity=up",
        expect![[r#"
            crop=1:1&focus=0.2,0.75 -> crop=1:1&focus=0.2,0.75
            crop=1:1&focus=0.5,0.50 -> crop=1:1
            crop=1:1&focus=1,1.0000 -> crop=1:1&focus=1,1
            crop=1:1&gravity=north -> crop=1:1&focus=0.5,0
            crop=1:1&gravity=center -> crop=1:1
            crop=1:1&gravity=southwest -> crop=1:1&focus=0,1
            w=20&h=10&fit=cover&focus=0,0 -> focus=0,0&w=20&h=10&fit=cover
            width=20&height=10&gravity=east -> focus=1,0.5&width=20&height=10
            focus=0.2,0.75 -> Contradiction: focus: has an effect only with fit=cover or crop=WIDTH:HEIGHT
            w=20&gravity=north -> Contradiction: gravity: has an effect only with fit=cover or crop=WIDTH:HEIGHT
            crop=0,0,5,5&focus=0.2,0.75 -> Contradiction: focus: has an effect only with fit=cover or crop=WIDTH:HEIGHT
            w=20&h=10&fit=contain&focus=0.1,0.1 -> Contradiction: focus: has an effect only with fit=cover or crop=WIDTH:HEIGHT
            crop=1:1&focus=0.2,0.75&gravity=north -> Contradiction: gravity: cannot be combined with focus
            crop=1:1&focus=1.1,0 -> Value: focus: must be X,Y as fractions of the picture, such as 0.5,0.25
            crop=1:1&focus=0.5 -> Value: focus: must be X,Y as fractions of the picture, such as 0.5,0.25
            crop=1:1&gravity=up -> Value: gravity: must be center, north, northeast, east, southeast, south, southwest, west or northwest
        "#]],
    );
    check_by(
        Grammar::WebpServerGo,
        "width=20&height=10&gravity=up
         width=20&focus=0.1,0.1
         width=20&crop=x",
        expect![[r#"
            width=20&height=10&gravity=up -> width=20&height=10
            width=20&focus=0.1,0.1 -> w=20
            width=20&crop=x -> w=20
        "#]],
    );
}
