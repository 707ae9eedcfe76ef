use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn rules() -> ImgproxyRules {
    let presets = [
        ("sharp", "sharpen:0.7"),
        ("thumb", "rs:fill:96:96/q:70"),
        ("both", "pr:sharp:thumb"),
        ("loop", "blur:1/pr:loop"),
    ];
    ImgproxyRules {
        presets: presets.map(|(name, it)| (name.into(), it.into())).into(),
        ..ImgproxyRules::default()
    }
}

/// Returns a line that describes the outcome of parsing `path`.
fn outcome(rules: &ImgproxyRules, path: &str) -> String {
    match rules.parse(&restored_path(path)) {
        Err(err) => format!("{:?}: {err}", err.kind),
        Ok(request) => {
            let mut line = format!("{}?{}", request.path, request.recipe);
            if request.delivery != Delivery::Converted {
                line += &format!(" {:?}", request.delivery);
            }
            if let Some(time) = request.expires_unix_s {
                line += &format!(" until {time}");
            }
            if request.disposition != Disposition::default() {
                line += &format!(" {:?}", request.disposition);
            }
            line
        }
    }
}

/// Compares the outcome of each of `paths`, which are separated by white space, with `expect`.
fn check(paths: &str, expect: Expect) {
    let rules = rules();
    let lines = paths.split_whitespace();
    let lines = lines.map(|path| format!("{path} -> {}\n", outcome(&rules, path)));
    expect.assert_eq(&lines.collect::<String>());
}

/// Compares the recipe of each of `options`, which are separated by white space, with `expect`.
fn check_options(options: &str, expect: Expect) {
    let rules = rules();
    let lines = options.split_whitespace().map(|options| {
        let outcome = outcome(&rules, &format!("{options}/plain/local:///a"));
        let outcome = outcome.strip_prefix("/a?").unwrap_or(&outcome);
        format!("{options} -> {outcome}\n")
    });
    expect.assert_eq(&lines.collect::<String>());
}

/// The URLs of imgproxy's documentation: "Processing an image", "Signing a URL" and "Serving local
/// files".
#[test]
fn published_urls() {
    check(
        "rs:fit:300:200/plain/local:///logos/imgproxy.png@jpg
         plain/http://example.com/images/curiosity.jpg
         aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png
         rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png
         pr:sharp/rs:fill:300:400:0/g:sm/plain/http://example.com/images/curiosity.jpg@png
         enc/jwV3wUD9r4VBIzgv/ang3Hbh0vPpcm5cc",
        expect![[r#"
            rs:fit:300:200/plain/local:///logos/imgproxy.png@jpg -> /logos/imgproxy.png?w=300&h=200&format=jpeg
            plain/http://example.com/images/curiosity.jpg -> Source: the source does not have the form local:///PATH; remote sources are not supported yet
            aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png -> Source: the source does not have the form local:///PATH; remote sources are not supported yet
            rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png -> Source: the source does not have the form local:///PATH; remote sources are not supported yet
            pr:sharp/rs:fill:300:400:0/g:sm/plain/http://example.com/images/curiosity.jpg@png -> Source: the source does not have the form local:///PATH; remote sources are not supported yet
            enc/jwV3wUD9r4VBIzgv/ang3Hbh0vPpcm5cc -> Path: the source is neither plain/URL nor base64url; if the source is meant to be an option, the colon of the option is missing
        "#]],
    );
}

#[test]
fn sources() {
    check(
        "plain/local:///dir/a%20b.jpg
         plain/local:///dir/a%2520b.jpg
         plain/local:///dir/a%3Fv=1
         plain/local:///a%40b.jpg@webp
         plain/local:///a.jpg@
         plain/local:/dir/a.jpg
         plain/local:///../a.jpg
         plain/a.jpg
         plain/s3://bucket/a.jpg
         plain/local:///a%2
         plain/local:///a%ff
         plain/local:///a@b@png
         plain/
         plain
         bG9jYWw6Ly8vYS5qcGc
         bG9jYWw6Ly8vYS5qcGc=.webp
         bG9jYWw6/Ly8vYS5q/cGc.jpg.png
         b.png
         rs%3Afit%3A5%3A6/plain/local:///a%3Ab
         w:5/",
        expect![[r#"
            plain/local:///dir/a%20b.jpg -> /dir/a%20b.jpg?
            plain/local:///dir/a%2520b.jpg -> /dir/a%2520b.jpg?
            plain/local:///dir/a%3Fv=1 -> /dir/a?
            plain/local:///a%40b.jpg@webp -> /a%40b.jpg?format=webp
            plain/local:///a.jpg@ -> /a.jpg?
            plain/local:/dir/a.jpg -> /dir/a.jpg?
            plain/local:///../a.jpg -> /../a.jpg?
            plain/a.jpg -> Source: the source has no scheme; local:///PATH names a file of the library
            plain/s3://bucket/a.jpg -> Source: the source does not have the form local:///PATH; remote sources are not supported yet
            plain/local:///a%2 -> Path: the source has malformed percent-encoding
            plain/local:///a%ff -> Path: the source has malformed percent-encoding
            plain/local:///a@b@png -> Path: the URL has more than one extension; write @ in a plain source as %40
            plain/ -> Path: the URL has no source
            plain -> Path: the source is neither plain/URL nor base64url; if the source is meant to be an option, the colon of the option is missing
            bG9jYWw6Ly8vYS5qcGc -> /a.jpg?
            bG9jYWw6Ly8vYS5qcGc=.webp -> /a.jpg?format=webp
            bG9jYWw6/Ly8vYS5q/cGc.jpg.png -> Path: the URL has more than one extension; write @ in a plain source as %40
            b.png -> Path: the source is neither plain/URL nor base64url; if the source is meant to be an option, the colon of the option is missing
            rs%3Afit%3A5%3A6/plain/local:///a%3Ab -> /a%3Ab?w=5&h=6
            w:5/ -> Path: the URL has no source
        "#]],
    );
}

#[test]
fn a_base_url_precedes_sources() {
    let rules = ImgproxyRules {
        base_url: "local:///photos/".to_owned(),
        ..ImgproxyRules::default()
    };
    let lines = [
        "plain/a.jpg",
        "plain/local:///photos/a.jpg",
        "plain/local:///b.jpg",
    ];
    let lines = lines.map(|path| outcome(&rules, path) + "\n");
    expect![[r#"
        /photos/a.jpg?
        /photos/a.jpg?
        /photos/local%3A///b.jpg?
    "#]]
    .assert_eq(&lines.concat());
}

#[test]
fn sizes() {
    check_options(
        "rs:fit:300:200 resize:fill:300:200 rs:fill-down:300:200:1 rs:force:300:200
         rs:fill:300 rs:force:300 rs:auto:3:4 rs::300:200 s:300 size:0:200:t w:300/h:200/el:1
         rs:fit:300:200:0:1 ex:1/s:300:200 ex:1:so/s:300:200 ex:1/w:9 ex:1 rs:fill:9:9:1:1
         rs:fill:9:9:0:1 dpr:2/w:300 dpr:0.5/w:1 dpr:2 dpr:0.5 dpr:2/el:1 z:0.5/w:300 z:2:2/w:9/dpr:2 z:2:3/w:9 z:2
         mw:5 mh:0 w:16385 w:9999/dpr:2 w: w:-1 w:1.5 dpr:0 rs:cover:1:1 w:5:6 enlarge:yes",
        expect![[r#"
            rs:fit:300:200 -> w=300&h=200
            resize:fill:300:200 -> w=300&h=200&fit=cover
            rs:fill-down:300:200:1 -> w=300&h=200&fit=cover&enlarge=true
            rs:force:300:200 -> w=300&h=200&fit=fill
            rs:fill:300 -> w=300
            rs:force:300 -> Option: resizing_type: resizing type force needs both width and height
            rs:auto:3:4 -> Option: resizing_type: the type auto is not supported
            rs::300:200 -> w=300&h=200
            s:300 -> w=300
            size:0:200:t -> h=200&enlarge=true
            w:300/h:200/el:1 -> w=300&h=200&enlarge=true
            rs:fit:300:200:0:1 -> w=300&h=200&fit=contain&bg=00000000
            ex:1/s:300:200 -> w=300&h=200&fit=contain&bg=00000000
            ex:1:so/s:300:200 -> Option: extend: needs width and height, and either resizing type fit with gravity ce, or enlarge with resizing type fill, fill-down or force
            ex:1/w:9 -> Option: extend: needs width and height, and either resizing type fit with gravity ce, or enlarge with resizing type fill, fill-down or force
            ex:1 -> 
            rs:fill:9:9:1:1 -> w=9&h=9&fit=cover&enlarge=true
            rs:fill:9:9:0:1 -> Option: extend: needs width and height, and either resizing type fit with gravity ce, or enlarge with resizing type fill, fill-down or force
            dpr:2/w:300 -> w=600
            dpr:0.5/w:1 -> w=1
            dpr:2 -> 
            dpr:0.5 -> Option: dpr: must be at least 1 if neither width nor height is set, and exactly 1 if enlarge is also set
            dpr:2/el:1 -> Option: dpr: must be at least 1 if neither width nor height is set, and exactly 1 if enlarge is also set
            z:0.5/w:300 -> w=150
            z:2:2/w:9/dpr:2 -> w=36
            z:2:3/w:9 -> Option: zoom: different zoom factors for width and height are not supported
            z:2 -> Option: zoom: this option is supported only with width or height
            mw:5 -> Option: min-width: this option is not supported
            mh:0 -> 
            w:16385 -> Option: w: must be whole numbers from 0 to 16384
            w:9999/dpr:2 -> Option: width: must be at most 16384 after multiplication by zoom and dpr
            w: -> Option: w: must be whole numbers from 0 to 16384
            w:-1 -> Option: w: must be whole numbers from 0 to 16384
            w:1.5 -> Option: w: must be whole numbers from 0 to 16384
            dpr:0 -> Option: dpr: must be a number above 0
            rs:cover:1:1 -> Option: rs: the type must be fit, fill, fill-down, force or auto
            w:5:6 -> Option: w: this option has too many arguments
            enlarge:yes -> Option: enlarge: must be 1, t, true, 0, f or false
        "#]],
    );
}

#[test]
fn crops() {
    check_options(
        "rs:fill:9:9/g:no rs:fill:9:9/gravity:soea rs:fill:9:9/g:fp:0.25:0.75 rs:fill:9:9/g:sm
         rs:fit:9:9/g:sm rs:fill:9:9/g:ea:5 rs:fill:9:9/g:fp:2:0 g:fp:0.5 g:obj:face g:middle
         c:0.5:0.25 c:0.5:0/g:no c:0.5:0.5:fp:0.9:0.1 crop:0.5:0.5:sm c:0.5:0.5:ea:1
         c:300:200:nowe c:300:200:nowe:10:20 c:300:200:nowe:10.7:20 c:300:0:nowe c:300:200 c:300:0.5 c:0:0 c:-1",
        expect![[r#"
            rs:fill:9:9/g:no -> focus=0.5,0&w=9&h=9&fit=cover
            rs:fill:9:9/gravity:soea -> focus=1,1&w=9&h=9&fit=cover
            rs:fill:9:9/g:fp:0.25:0.75 -> focus=0.25,0.75&w=9&h=9&fit=cover
            rs:fill:9:9/g:sm -> Option: gravity: the gravity sm is not supported
            rs:fit:9:9/g:sm -> w=9&h=9
            rs:fill:9:9/g:ea:5 -> Option: gravity: offsets of the gravity are not supported
            rs:fill:9:9/g:fp:2:0 -> Option: g: the focus point must be two numbers from 0 to 1
            g:fp:0.5 -> Option: g: the gravity must be sm, fp:X:Y, or one of no, so, ea, we, noea, nowe, soea, sowe and ce with up to two offsets
            g:obj:face -> Option: g: object detection is not supported
            g:middle -> Option: g: the gravity must be sm, fp:X:Y, or one of no, so, ea, we, noea, nowe, soea, sowe and ce with up to two offsets
            c:0.5:0.25 -> crop=0.25,0.375,0.5,0.25
            c:0.5:0/g:no -> crop=0.25,0,0.5,1
            c:0.5:0.5:fp:0.9:0.1 -> crop=0.5,0,0.5,0.5
            crop:0.5:0.5:sm -> Option: crop: the gravity sm is not supported
            c:0.5:0.5:ea:1 -> Option: crop: offsets are not supported for a crop whose sides are fractions
            c:300:200:nowe -> crop=0,0,300,200
            c:300:200:nowe:10:20 -> crop=10,20,300,200
            c:300:200:nowe:10.7:20 -> Option: crop: offsets must be whole pixels
            c:300:0:nowe -> crop=0,0,300,4294967295
            c:300:200 -> Option: crop: a crop in pixels is supported only with the gravity nowe, as in crop:W:H:nowe:X:Y
            c:300:0.5 -> Option: crop: a crop with one side in pixels and the other as a fraction is not supported
            c:0:0 -> 
            c:-1 -> Option: c: must be a number, at least 0
        "#]],
    );
}

#[test]
fn effects() {
    check_options(
        "pd:10 padding:10:20 pd:1:2:3:4/dpr:2 pd:10:::5 pd:10/bg:255:0:128 bg:f80 bg:ff8800 bg:
         bg:1:2 bg:256:0:0 bl:1.5 blur:251 sh:0.7 pix:8 pixelate:1 pix:2000 rot:90 rotate:-90
         rot:45 fl:1 flip:0:1 rot:90/fl:1:1 t:10 trim:10:ff00ff t:5::1 t: t:10/el:1/w:5 t:1/rs:fit:5:5:1",
        expect![[r#"
            pd:10 -> pad=10&bg=00000000
            padding:10:20 -> pad=10,20,10,20&bg=00000000
            pd:1:2:3:4/dpr:2 -> pad=2,4,6,8&bg=00000000
            pd:10:::5 -> pad=10,10,10,5&bg=00000000
            pd:10/bg:255:0:128 -> pad=10&bg=ff0080
            bg:f80 -> bg=ff8800
            bg:ff8800 -> bg=ff8800
            bg: -> 
            bg:1:2 -> Option: bg: must be R:G:B from 0 to 255, or 3 or 6 hexadecimal digits
            bg:256:0:0 -> Option: bg: must be R:G:B from 0 to 255, or 3 or 6 hexadecimal digits
            bl:1.5 -> blur=1.5
            blur:251 -> Option: blur: must be at most 250
            sh:0.7 -> unsharp=0.7,1,0
            pix:8 -> pixelate=8
            pixelate:1 -> 
            pix:2000 -> Option: pixelate: must be at most 1000
            rot:90 -> rotate=90
            rotate:-90 -> rotate=270
            rot:45 -> Option: rot: must be a multiple of 90
            fl:1 -> flop=true
            flip:0:1 -> flip=true
            rot:90/fl:1:1 -> rotate=270
            t:10 -> trim=10
            trim:10:ff00ff -> Option: trim: trimming borders of a given colour is not supported
            t:5::1 -> Option: t: trimming opposite borders by equal amounts is not supported
            t: -> 
            t:10/el:1/w:5 -> Option: enlarge: needs both width and height if it is combined with trim
            t:1/rs:fit:5:5:1 -> trim=1&w=5&h=5&enlarge=true
        "#]],
    );
}

#[test]
fn output() {
    check_options(
        "q:50 quality:0 q:101 f:webp/q:50 ext:jpeg f:png/q:5 f:gif f:best fq:webp:50:avif:40
         fq:webp:50/f:webp fq:webp:50/f:avif fq:webp:50/f:webp/q:9 fq:webp fq:gif:50
         raw:1 raw:0 skp:gif:svg skp:exe cb:x7 exp:0 exp:1000 exp:soon
         fn:holiday%201/att:1 fn:aG9saWRheQ:1 fn:a:1 fn: att:t",
        expect![[r#"
            q:50 -> q=50
            quality:0 -> 
            q:101 -> Option: q: must be a quality from 0 to 100
            f:webp/q:50 -> format=webp&q=50
            ext:jpeg -> format=jpeg
            f:png/q:5 -> format=png
            f:gif -> Option: f: the format must be avif, webp, jpg or png
            f:best -> Option: f: the format must be avif, webp, jpg or png
            fq:webp:50:avif:40 -> Option: format_quality: needs a format, given as an option or as an extension of the source
            fq:webp:50/f:webp -> format=webp&q=50
            fq:webp:50/f:avif -> format=avif
            fq:webp:50/f:webp/q:9 -> format=webp&q=9
            fq:webp -> Option: fq: must be pairs of a format and a quality
            fq:gif:50 -> Option: fq: the format must be avif, webp, jpg or png
            raw:1 ->  Original
            raw:0 -> 
            skp:gif:svg ->  OriginalOf([Gif, Svg])
            skp:exe -> Option: skp: must contain only names of picture formats
            cb:x7 -> 
            exp:0 -> 
            exp:1000 ->  until 1001
            exp:soon -> Option: exp: must be a Unix time in seconds
            fn:holiday%201/att:1 ->  Disposition { filename: Some("holiday 1"), is_attachment: true }
            fn:aG9saWRheQ:1 ->  Disposition { filename: Some("holiday"), is_attachment: false }
            fn:a:1 -> Option: fn: must be percent-encoded or base64url
            fn: -> 
            att:t ->  Disposition { filename: None, is_attachment: true }
        "#]],
    );
    check(
        "raw:1/plain/local:///a.jpg@png",
        expect![[r#"
        raw:1/plain/local:///a.jpg@png -> /a.jpg? Original
    "#]],
    );
}

#[test]
fn maximum_lengths() {
    check_options(
        "mb:1000000 max_bytes:0 mb:1:2 mb:-1 mb:4294967296",
        expect![[r#"
            mb:1000000 -> max_bytes=1000000
            max_bytes:0 -> 
            mb:1:2 -> Option: mb: this option has too many arguments
            mb:-1 -> Option: mb: must be a whole number of bytes below 4 GiB
            mb:4294967296 -> Option: mb: must be a whole number of bytes below 4 GiB
        "#]],
    );
}

#[test]
fn fixed_and_unsupported_options() {
    check_options(
        "ar:1 ar:0 sm:1 sm:0 kcr:0 kcr:1 scp:0 ph:1 eth:1 wm:0 wm:0.5:ce exar:1 msr:5
         brightness:5 page:2 nonsense:1",
        expect![[r#"
            ar:1 -> 
            ar:0 -> Option: ar: the value false is not supported
            sm:1 -> 
            sm:0 -> Option: sm: the value false is not supported
            kcr:0 -> 
            kcr:1 -> Option: kcr: the value true is not supported
            scp:0 -> 
            ph:1 -> Option: ph: the value true is not supported
            eth:1 -> Option: eth: the value true is not supported
            wm:0 -> 
            wm:0.5:ce -> Option: wm: watermarks are not supported
            exar:1 -> Option: exar: this option is not supported
            msr:5 -> Option: msr: this option is not supported
            brightness:5 -> Option: brightness: this option is not supported
            page:2 -> Option: page: this option is not supported
            nonsense:1 -> Option: nonsense: there is no such option
        "#]],
    );
}

#[test]
fn presets() {
    check_options(
        "pr:sharp pr:sharp:thumb preset:both pr:thumb/w:50 w:50/pr:thumb pr:none pr:loop",
        expect![[r#"
            pr:sharp -> unsharp=0.7,1,0
            pr:sharp:thumb -> w=96&h=96&fit=cover&unsharp=0.7,1,0&q=70
            preset:both -> w=96&h=96&fit=cover&unsharp=0.7,1,0&q=70
            pr:thumb/w:50 -> w=50&h=96&fit=cover&q=70
            w:50/pr:thumb -> w=96&h=96&fit=cover&q=70
            pr:none -> Option: preset: there is no such preset
            pr:loop -> Option: preset: a preset that contains itself is not supported
        "#]],
    );
    let only = ImgproxyRules {
        only_presets: true,
        ..rules()
    };
    let mut with_default = rules();
    with_default
        .presets
        .insert("default".to_owned(), "q:40".to_owned());
    let lines = [
        outcome(&only, "sharp:thumb/plain/local:///a@webp"),
        outcome(&only, "w:5/plain/local:///a"),
        outcome(&with_default, "w:5/plain/local:///a"),
        outcome(&with_default, "q:41/plain/local:///a"),
    ];
    expect![[r#"
        /a?w=96&h=96&fit=cover&unsharp=0.7,1,0&format=webp&q=70
        Option: preset: there is no such preset
        /a?w=5&q=40
        /a?q=41
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn presets_are_checked() {
    let check = |text: &str| {
        let presets = [("thumb".to_owned(), text.to_owned())].into();
        let rules = ImgproxyRules {
            presets,
            ..ImgproxyRules::default()
        };
        rules
            .check_presets()
            .map_or_else(|err| err, |()| "sound".to_owned())
    };
    let lines = [
        "rs:fill:96:96/q:70",
        "w:x",
        "w:5/plain/local:///a",
        "pr:thumb",
    ]
    .map(check);
    expect![[r#"
        sound
        thumb: w: must be whole numbers from 0 to 16384
        thumb: "plain/local:///a" is not an option of an imgproxy URL
        thumb: preset: a preset that contains itself is not supported
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

/// Each of these presets applies the next one twice, so the first would apply 2^30.
#[test]
fn presets_within_presets_are_limited() {
    let preset = |number: u32| match number {
        29 => ("p29".to_owned(), "w:5".to_owned()),
        _ => {
            let next = number + 1;
            (format!("p{number}"), format!("pr:p{next}:p{next}"))
        }
    };
    let rules = ImgproxyRules {
        presets: (0..30).map(preset).collect(),
        ..ImgproxyRules::default()
    };
    let many = format!("pr{}", ":p29".repeat(65));
    let lines = [
        rules.check_presets().expect_err("too many presets"),
        outcome(&rules, "pr:p0/plain/local:///a"),
        outcome(&rules, "pr:p25:p25/plain/local:///a"),
        outcome(&rules, &format!("{many}/plain/local:///a")),
    ];
    expect![[r#"
        p0: preset: a URL may apply at most 64 presets
        Option: preset: a URL may apply at most 64 presets
        /a?w=5
        Option: preset: a URL may apply at most 64 presets
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn base64url_is_that_of_the_rfc() {
    for (bytes, text) in [
        (&b""[..], ""),
        (b"f", "Zg"),
        (b"fo", "Zm8"),
        (b"foo", "Zm9v"),
        (b"foob", "Zm9vYg"),
        (&[0xfb, 0xff], "-_8"),
    ] {
        assert_eq!(encode_base64url(bytes), text);
        assert_eq!(decode_base64url(text).as_deref(), Some(bytes));
    }
    for text in ["Z", "Zm9vY", "Zg==", "+/", "é"] {
        assert_eq!(decode_base64url(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn base64url_restores_all_bytes(bytes: Vec<u8>) {
        prop_assert_eq!(decode_base64url(&encode_base64url(&bytes)), Some(bytes));
    }

    #[test]
    fn no_path_panics(path: String, options in "([a-z]{1,4}(:[a-z0-9.]{0,4}){1,4}/){0,4}") {
        testkit::fuzz::imgproxy(path.as_bytes());
        testkit::fuzz::imgproxy(format!("{options}plain/local:///a").as_bytes());
    }
}
