use super::*;
use crate::{Limits, encode};
use image_plan::{Encoding, Size};
use std::io::Write;

/// Renders the elements `inside` of a drawing of 40 × 20 units at `size`.
fn drawn(inside: &str, size: Size) -> Result<Packed, Error> {
    let file = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' \
         width='40' height='20'>{inside}</svg>"
    );
    rendered(file.as_bytes(), size)
}

fn rendered(file: &[u8], size: Size) -> Result<Packed, Error> {
    let decoded = decode(file, &DecodeOptions::whole(size))?;
    assert!(!decoded.damaged && decoded.profile.is_none());
    match decoded.raster {
        Raster::Packed(packed) => Ok(packed),
        Raster::Yuv(_) => panic!("a drawing has pixels"),
    }
}

fn pixel(picture: &Packed, x: u32, y: u32) -> &[u8] {
    let channels = picture.layout.channels();
    let at = (y * picture.size.width_px + x) as usize * channels;
    &picture.data[at..at + channels]
}

#[track_caller]
fn refusal(inside: &str) -> ErrorKind {
    drawn(inside, Size::new(40, 20))
        .expect_err("a refusal")
        .kind
}

#[test]
fn a_drawing_is_rendered_at_the_size_that_is_asked() {
    let halves = "<rect width='20' height='20' fill='#f00'/>\
                  <rect x='20' width='20' height='20' fill='#0000ff' fill-opacity='.5'/>";
    for size in [Size::new(40, 20), Size::new(4, 2), Size::new(120, 300)] {
        let picture = drawn(halves, size).expect("a drawing");
        assert_eq!((picture.size, picture.layout), (size, Layout::Rgba));
        assert_eq!(pixel(&picture, 0, 0), [255, 0, 0, 255]);
        let last = (size.width_px - 1, size.height_px - 1);
        assert_eq!(pixel(&picture, last.0, last.1), [0, 0, 255, 128]);
    }
}

#[test]
fn an_opaque_drawing_has_no_alpha() {
    let picture = drawn("<rect width='40' height='20'/>", Size::new(9, 9));
    assert_eq!(picture.expect("a drawing").layout, Layout::Rgb);
}

/// Returns the number of pixels that are not transparent.
fn inked(picture: &Packed) -> usize {
    let (pixels, _) = picture.data.as_chunks::<4>();
    pixels.iter().filter(|[_, _, _, alpha]| *alpha != 0).count()
}

#[test]
fn text_of_every_family_is_drawn() {
    let size = Size::new(80, 40);
    let text = |family: &str, text: &str| {
        let inside = format!("<text x='1' y='15' font-family='{family}'>{text}</text>");
        inked(&drawn(&inside, size).expect("a drawing"))
    };
    let plain = text("Open Sans", "Abc");
    assert!((100..1500).contains(&plain), "{plain} pixels");
    for family in ["serif", "monospace", "Helvetica", "No Such Font", ""] {
        assert_eq!(text(family, "Abc"), plain, "{family}");
    }
    for letters in ["Αβγ", "Абв", "Äöß"] {
        assert!(100 < text("serif", letters), "{letters}");
    }
}

#[test]
fn svgz_is_unpacked() {
    let file = b"<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'>\
                 <rect width='4' height='4' fill='#102030'/></svg>";
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(file).expect("a buffer");
    let packed = writer.finish().expect("a buffer");
    let picture = rendered(&packed, Size::new(2, 2)).expect("a drawing");
    assert_eq!(picture.data, [16, 32, 48].repeat(4));
    let cut = rendered(&packed[..packed.len() - 12], Size::new(2, 2));
    assert_eq!(cut.expect_err("cut").kind, ErrorKind::Undecodable);
}

#[test]
fn embedded_pictures_come_only_from_data_urls() {
    let red = Raster::Packed(Packed {
        size: Size::new(2, 2),
        layout: Layout::Rgb,
        data: [255, 0, 0].repeat(4),
    });
    let png = encode(&red, None, Encoding::Png).expect("a PNG");
    let base64 = base64(&png);
    let image = |href: &str| {
        let inside = format!(
            "<image width='40' height='20' preserveAspectRatio='none' xlink:href='{href}'/>"
        );
        drawn(&inside, Size::new(4, 2)).expect("a drawing")
    };
    let shown = image(&format!("data:image/png;base64,{base64}"));
    assert_eq!(shown.data, [255, 0, 0].repeat(8));
    // The content determines the format; a wrong media type has no effect.
    let shown = image(&format!("data:image/jpeg;base64,{base64}"));
    assert_eq!(shown.data, [255, 0, 0].repeat(8));
    for href in [
        "http://127.0.0.1/a.png",
        "file:///etc/hostname",
        "/etc/hostname",
        "a.png",
        "data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 width=%229%22 height=%229%22%3E%3Crect width=%229%22 height=%229%22/%3E%3C/svg%3E",
        "data:image/png;base64,AAAA",
    ] {
        assert_eq!(image(href).data, [0; 32], "{href}");
    }
}

/// Encodes `bytes` as base64 (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .fold(0, |number, byte| number << 8 | u32::from(*byte));
        let number = number << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= group.len() { digit.into() } else { '=' });
        }
    }
    out
}

#[test]
fn embedded_pictures_beyond_the_limit_are_left_out() {
    // The header of a PNG of 30,000 x 30,000 pixels, and of one of 10 x 10.
    let head = |side: u32| {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend(side.to_be_bytes());
        png.extend(side.to_be_bytes());
        png.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
        png.extend(b"\0\0\0\0IDAT\0\0\0\0");
        Arc::new(png)
    };
    let left = AtomicU64::new(150);
    assert!(embedded(head(30_000), &left).is_none());
    assert!(embedded(head(10), &left).is_some());
    assert_eq!(left.load(Ordering::Relaxed), 50);
    assert!(embedded(head(10), &left).is_none());
}

#[test]
fn bombs_end_at_the_limits() {
    // Each group draws the previous group ten times.
    let mut nested = "<g id='a0'><rect width='9' height='9'/></g>".to_owned();
    for level in 1..12 {
        let uses = format!("<use xlink:href='#a{}'/>", level - 1).repeat(10);
        nested.push_str(&format!("<g id='a{level}'>{uses}</g>"));
    }
    assert_eq!(refusal(&nested), ErrorKind::TooLarge);
    // A `use` that contains itself, and two that contain each other.
    assert_eq!(
        refusal("<g id='a'><use href='#a'/></g>"),
        ErrorKind::TooLarge
    );
    let each_other = "<g id='a'><use href='#b'/></g><g id='b'><use href='#a'/></g>";
    assert_eq!(refusal(each_other), ErrorKind::TooLarge);
    // The renderer chooses the first of two elements with the same id, and prefers `href` to
    // `xlink:href`.
    let rects = "<rect width='9' height='9'/>".repeat(1_000);
    let twice = format!(
        "<g id='a'>{rects}</g><g id='a'/>{}",
        "<use href='#a'/>".repeat(600)
    );
    assert_eq!(refusal(&twice), ErrorKind::TooLarge);
    let hidden = "<g id='a'><use xlink:href='#none' href='#a'/></g>";
    assert_eq!(refusal(hidden), ErrorKind::TooLarge);
    // Patterns, masks and clip paths that contain each other.
    for (name, property) in [
        ("pattern", "fill"),
        ("mask", "mask"),
        ("clipPath", "clip-path"),
    ] {
        let cycle = [("a", "b"), ("b", "c"), ("c", "a")].map(|(id, next)| {
            format!(
                "<{name} id='{id}'><rect width='9' height='9' {property}='url(#{next})'/></{name}>"
            )
        });
        let drawing = format!(
            "{}<rect width='9' height='9' {property}='url(#a)'/>",
            cycle.concat()
        );
        assert_eq!(refusal(&drawing), ErrorKind::TooLarge, "{name}");
    }
    let deep = |depth: usize| format!("{}{}", "<g>".repeat(depth), "</g>".repeat(depth));
    assert_eq!(refusal(&deep(1_000)), ErrorKind::TooLarge);
    assert_eq!(refusal(&deep(100_000)), ErrorKind::TooLarge);
    assert!(drawn(&deep(100), Size::new(4, 4)).is_ok());
    // A chain of elements that is as deep as elements nested in each other.
    let chain: String = (0..1_000)
        .map(|at| format!("<g id='c{at}'><use href='#c{}'/></g>", at + 1))
        .collect();
    assert_eq!(refusal(&chain), ErrorKind::TooLarge);
    assert_eq!(refusal(&"<g/>".repeat(300_000)), ErrorKind::TooLarge);
    let text = "x".repeat(SVG_BYTES_MAX as usize);
    assert_eq!(refusal(&format!("<!--{text}-->")), ErrorKind::TooLarge);
}

#[test]
fn a_compressed_bomb_is_unpacked_up_to_the_limit() {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    writer
        .write_all(b"<svg xmlns='http://www.w3.org/2000/svg'>")
        .expect("a buffer");
    for _ in 0..64 {
        writer.write_all(&[b' '; 1 << 20]).expect("a buffer");
    }
    let packed = writer.finish().expect("a buffer");
    let refused = rendered(&packed, Size::new(9, 9)).expect_err("a bomb");
    assert_eq!(refused.kind, ErrorKind::TooLarge);
}

#[test]
fn billions_of_entities_are_refused() {
    let mut dtd = "<!ENTITY a '0123456789'>".to_owned();
    for level in ["b", "c", "d", "e", "f", "g", "h", "i"] {
        let before = char::from(level.as_bytes()[0] - 1);
        dtd.push_str(&format!(
            "<!ENTITY {level} '{}'>",
            format!("&{before};").repeat(10)
        ));
    }
    let file = format!(
        "<!DOCTYPE svg [{dtd}]><svg xmlns='http://www.w3.org/2000/svg'><text>&i;</text></svg>"
    );
    let refused = rendered(file.as_bytes(), Size::new(9, 9)).expect_err("a bomb");
    assert_eq!(refused.kind, ErrorKind::Undecodable);
}

#[test]
fn files_that_are_no_drawings_are_undecodable() {
    for file in [
        &b"<svg"[..],
        b"<html/>",
        b"\xff\xfe<svg/>",
        b"\x1f\x8b\x08\0",
        b"",
    ] {
        let refused = rendered(file, Size::new(9, 9)).expect_err("no drawing");
        assert_eq!(
            refused.kind,
            ErrorKind::Undecodable,
            "{}",
            file.escape_ascii()
        );
    }
    let options = DecodeOptions {
        limits: Limits {
            pixels_max: 80,
            ..Limits::DEFAULT
        },
        ..DecodeOptions::whole(Size::new(9, 9))
    };
    let refused = decode(b"<svg xmlns='http://www.w3.org/2000/svg'/>", &options);
    assert_eq!(refused.expect_err("81 pixels").kind, ErrorKind::TooLarge);
}
