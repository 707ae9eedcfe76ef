use super::*;

const BMP_HEAD: &[u8] = b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0";

const ICO_HEAD: &[u8] = b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0\x28\0\0\0\x16\0\0\0";

#[test]
fn formats_are_detected_by_magic_bytes() {
    let table: &[(&[u8], Option<Format>)] = &[
        (b"\xff\xd8\xff\xe0", Some(Format::Jpeg)),
        (b"\xff\xd8", None),
        (b"\x89PNG\r\n\x1a\n", Some(Format::Png)),
        (b"\x89PNG\n\x1a\n", None),
        (b"GIF87a", Some(Format::Gif)),
        (b"GIF89a", Some(Format::Gif)),
        (b"GIF88a", None),
        (b"RIFF\x10\0\0\0WEBPVP8 ", Some(Format::Webp)),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"RIFF", None),
        (b"\0\0\0\x10ftypavif\0\0\0\0", Some(Format::Avif)),
        (b"\0\0\0\x18ftypmif1\0\0\0\0miafavif", Some(Format::Avif)),
        (b"\0\0\0\x18ftypmsf1\0\0\0\0msf1avis", Some(Format::Avif)),
        // The next four files are not AVIF: HEIC; a minor version that equals a brand; a brand
        // after the end of the box; a box of size 0.
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", Some(Format::Heif)),
        (b"\0\0\0\x14ftypmif1avifmif1", Some(Format::Heif)),
        (b"\0\0\0\x10ftypmif1\0\0\0\0avif", Some(Format::Heif)),
        (b"\0\0\0\0ftypavif\0\0\0\0", None),
        (b"\xff\xff\xff\xffftypavif", Some(Format::Avif)),
        (BMP_HEAD, Some(Format::Bmp)),
        (b"BM is what a text about files may begin with", None),
        (b"II*\0\x08\0\0\0", Some(Format::Tiff)),
        (b"MM\0*\0\0\0\x08", Some(Format::Tiff)),
        (b"II+\0\x08\0\0\0", Some(Format::Tiff)),
        (b"MM\0+\0\x08\0\0", Some(Format::Tiff)),
        (b"II+\0\x04\0\0\0", None),
        (b"II", None),
        (ICO_HEAD, Some(Format::Ico)),
        // A cursor, and an icon whose first picture would lie inside the directory.
        (
            b"\0\0\x02\0\x01\0\x10\x10\0\0\x01\0\x20\0\x28\0\0\0\x16\0\0\0",
            None,
        ),
        (
            b"\0\0\x01\0\x02\0\x10\x10\0\0\x01\0\x20\0\x28\0\0\0\x16\0\0\0",
            None,
        ),
        (b"qoif", Some(Format::Qoi)),
        (b"8BPS\0\x01\0\0", Some(Format::Psd)),
        (b"8BPS\0\x02\0\0", Some(Format::Psd)),
        (b"8BPS\0\x03\0\0", None),
        (b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n", Some(Format::Hdr)),
        (b"#?RGBE\n", Some(Format::Hdr)),
        (b"#?radiance", None),
        (b"P5\n# by hand\n640 480\n255\n", Some(Format::Pnm)),
        (b"P4 9 9\n", Some(Format::Pnm)),
        (
            b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 1\nENDHDR\n",
            Some(Format::Pnm),
        ),
        (b"P3 and P4 are papers", None),
        (b"P1 10 20 minutes for the first part", None),
        (b"P3\n1 1\n255\n0 12 255 # blue\n", Some(Format::Pnm)),
        (b"P5 640 480", None),
        (b"P55 1 1 ", None),
        (b"P5 640 480 0\n", None),
        (b"P7 332\n", None),
        (b"", None),
    ];
    for (head, format) in table {
        assert_eq!(Format::sniff(head), *format, "{}", head.escape_ascii());
    }
}

#[test]
fn raw_files_and_jpeg_xl_are_detected_by_magic_bytes() {
    let table: &[(&[u8], Option<Format>)] = &[
        (b"\0\0\0\x14ftypM4A \0\0\0\0M4A ", None),
        (b"\0\0\0\x18ftypcrx \0\0\0\x01crx isom", Some(Format::Raw)),
        (b"FUJIFILMCCD-RAW 0201", Some(Format::Raw)),
        (b"IIRO\x08\0\0\0", Some(Format::Raw)),
        (b"IIU\0\x18\0\0\0", Some(Format::Raw)),
        (b"\xff\x0a\x7f", Some(Format::Jxl)),
        (b"\0\0\0\x0cJXL \r\n\x87\n", Some(Format::Jxl)),
        (b"\0\0\0\x0cJXL \r\n", None),
    ];
    for (head, format) in table {
        assert_eq!(Format::sniff(head), *format, "{}", head.escape_ascii());
    }
}

#[test]
fn the_brands_of_heif_determine_its_media_type() {
    let table: &[(&[u8], &str)] = &[
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1miafheic", "image/heic"),
        (b"\0\0\0\x18ftypmsf1\0\0\0\0msf1hevc", "image/heic-sequence"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0miafjpeg", "image/heif"),
    ];
    for (head, media_type) in table {
        let format = Format::sniff(head).expect("a format");
        assert_eq!(format, Format::Heif);
        assert_eq!(media_type_of_head(format, head), *media_type);
    }
    assert_eq!(media_type_of_head(Format::Raw, b"II*\0"), "image/x-dcraw");
}

#[test]
fn pictures_that_are_not_converted_have_their_own_types() {
    let table: &[(&[u8], Option<&str>)] = &[
        (b"\0\0\0\x0cjP  \r\n\x87\n", Some("image/jp2")),
        // The heads below must not get a type: AVIF (whose brands may include those of HEIF), JPEG,
        // music and films in the same container format as HEIF, and files that are too short.
        (b"\0\0\0\x18ftypmif1\0\0\0\0miafavif", None),
        (b"\xff\xd8\xff\xe0", None),
        (b"\0\0\0\x14ftypM4A \0\0\0\0M4A ", None),
        (b"\0\0\0\x18ftypisom\0\0\0\0isommp42", None),
        (b"II", None),
        (b"", None),
    ];
    for (head, media_type) in table {
        assert_eq!(untouched(head), *media_type, "{}", head.escape_ascii());
    }
}

#[test]
fn svg_is_detected_by_its_root_element() {
    let yes = [
        "<svg xmlns='http://www.w3.org/2000/svg'>",
        "<svg>",
        "<svg/>",
        "<svg\n>",
        " \r\n\t<svg>",
        "\u{feff}<svg>",
        "<?xml version='1.0'?><svg>",
        "\u{feff}<?xml version='1.0'?>\n<!-- > --> <!-- <html> -->\n<svg>",
        "<?xml version='1.0'?><?xml-stylesheet href='a'?><svg>",
        "<!DOCTYPE svg><svg>",
        "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/x.dtd'>\n<svg>",
        "<!DOCTYPE svg [ <!ENTITY ns 'http://www.w3.org/2000/svg'> ]><svg>",
        "<!DOCTYPE svg[<!ENTITY a '>'>] ><!-- --><svg>",
        "<svg:svg xmlns:svg='http://www.w3.org/2000/svg'>",
    ];
    let no = [
        "<svgfoo>",
        "<svg",
        "<SVG>",
        "svg",
        "< svg>",
        "<html><svg></svg></html>",
        "<!DOCTYPE html><svg>",
        "<!DOCTYPEsvg><svg>",
        "<!-- <svg> ",
        "<!-- <svg> --><p>",
        "<?xml version='1.0' <svg>",
        "<!DOCTYPE svg [ <!ENTITY a '>'> <svg>",
        "<a b:svg>",
        "<a:svg:svg>",
        "text <svg>",
    ];
    for text in yes {
        assert_eq!(Format::sniff(text.as_bytes()), Some(Format::Svg), "{text}");
    }
    for text in no {
        assert_eq!(Format::sniff(text.as_bytes()), None, "{text}");
    }
    let late = format!("<!--{}--><svg>", " ".repeat(SNIFF_BYTES));
    assert_eq!(Format::sniff(late.as_bytes()), None);
}

#[test]
fn types_and_endings() {
    let table = [
        (Format::Jpeg, "image/jpeg", "jpg"),
        (Format::Png, "image/png", "png"),
        (Format::Gif, "image/gif", "gif"),
        (Format::Webp, "image/webp", "webp"),
        (Format::Avif, "image/avif", "avif"),
        (Format::Bmp, "image/bmp", "bmp"),
        (Format::Svg, "image/svg+xml", "svg"),
        (Format::Tiff, "image/tiff", "tiff"),
        (Format::Ico, "image/vnd.microsoft.icon", "ico"),
        (Format::Tga, "image/x-tga", "tga"),
        (Format::Qoi, "image/qoi", "qoi"),
        (Format::Pnm, "image/x-portable-anymap", "pnm"),
        (Format::Hdr, "image/vnd.radiance", "hdr"),
        (Format::Psd, "image/vnd.adobe.photoshop", "psd"),
        (Format::Heif, "image/heic", "heic"),
        (Format::Raw, "image/x-dcraw", "raw"),
        (Format::Svgz, "image/svg+xml-compressed", "svgz"),
        (Format::Jxl, "image/jxl", "jxl"),
    ];
    assert_eq!(table.map(|(format, ..)| format), Format::ALL);
    for (format, media_type, extension) in table {
        assert_eq!(format.media_type(), media_type);
        assert_eq!(format.extension(), extension);
    }
}

/// Returns the position to which `orientation` moves pixel (x, y), by the EXIF specification.
fn moved(orientation: Orientation, (x, y): (u8, u8), (width, height): (u8, u8)) -> (u8, u8) {
    let (right, bottom) = (width - 1 - x, height - 1 - y);
    match orientation {
        Orientation::Upright => (x, y),
        Orientation::Mirror => (right, y),
        Orientation::Turn180 => (right, bottom),
        Orientation::Flip => (x, bottom),
        Orientation::Transpose => (y, x),
        Orientation::Turn90 => (bottom, x),
        Orientation::Transverse => (bottom, right),
        Orientation::Turn270 => (y, right),
    }
}

#[test]
fn orientations_combine_as_their_pixels_move() {
    let all = [1, 2, 3, 4, 5, 6, 7, 8].map(|value| Orientation::from_exif(value).expect("1 to 8"));
    for first in all {
        for next in all {
            for pixel in [(0, 0), (2, 0), (0, 1), (1, 1)] {
                let size = if first.transposes() { (2, 3) } else { (3, 2) };
                let stepwise = moved(next, moved(first, pixel, (3, 2)), size);
                assert_eq!(
                    moved(first.then(next), pixel, (3, 2)),
                    stepwise,
                    "{first:?} {next:?}"
                );
            }
        }
    }
    assert_eq!(Orientation::from_exif(0), None);
    assert_eq!(Orientation::from_exif(9), None);
}
