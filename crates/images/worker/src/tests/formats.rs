//! Tests of every kind of original with every output format.

use super::pictures::{
    AVIF, ENCODINGS, JPEG, JPEG_FULL_CHROMA, PNG, WEBP, distance, done, file, grey_of, jpeg,
    planes, png, read, scene, seen_through, whole,
};
use codec::{DecodeOptions, decode};
use image_plan::{Encoding, Format, Layout, Packed, Plan, Range, Raster, Size, Subsampling};
use pixel::{Area, flatten, scale, to_packed};

/// Size of the pictures, odd in both directions, so that chroma planes have incomplete samples.
const SIZE: Size = Size::new(101, 67);
const SMALL: Size = Size::new(45, 30);

struct Source {
    name: &'static str,
    format: Format,
    bytes: Vec<u8>,
    pixels: Packed,
    /// Additional distance that is permitted for lossy outputs, because the picture has hard edges.
    edges: f64,
}

fn opaque_sources() -> Vec<Source> {
    let rgb = scene(SIZE);
    let grey = grey_of(&rgb);
    let source = |name, format, bytes, pixels: &Packed| Source {
        name,
        format,
        bytes,
        pixels: pixels.clone(),
        edges: 0.0,
    };
    let sampled = |subsampling| jpeg(&rgb, subsampling);
    let webp = Raster::Yuv(planes(&rgb, Subsampling::S420, Range::Limited));
    let avif = |subsampling, range| {
        let raster = Raster::Yuv(planes(&rgb, subsampling, range));
        file(&raster, None, AVIF)
    };
    let avif_bt709 = {
        let raster = Raster::Packed(rgb.clone());
        let matrix = image_plan::Matrix::Bt709;
        let yuv = pixel::to_planes(raster, Subsampling::S444, Range::Limited, matrix);
        file(&Raster::Yuv(yuv), None, AVIF)
    };
    let patchwork = patchwork(&rgb);
    vec![
        source("JPEG 4:4:4", Format::Jpeg, sampled(Subsampling::S444), &rgb),
        source("JPEG 4:2:2", Format::Jpeg, sampled(Subsampling::S422), &rgb),
        source("JPEG 4:2:0", Format::Jpeg, sampled(Subsampling::S420), &rgb),
        source("JPEG 4:4:0", Format::Jpeg, sampled(Subsampling::S440), &rgb),
        source("JPEG 4:1:1", Format::Jpeg, sampled(Subsampling::S411), &rgb),
        source("JPEG grey", Format::Jpeg, sampled(Subsampling::S400), &grey),
        source("PNG", Format::Png, png(&rgb, None), &rgb),
        source("PNG of 16 bits", Format::Png, deep_png(&rgb), &rgb),
        Source {
            edges: 3.0,
            ..source("GIF", Format::Gif, gif(&patchwork), &patchwork)
        },
        source("BMP", Format::Bmp, bmp(&rgb), &rgb),
        source("WebP", Format::Webp, file(&webp, None, WEBP), &rgb),
        source(
            "AVIF 4:2:0",
            Format::Avif,
            avif(Subsampling::S420, Range::Full),
            &rgb,
        ),
        source(
            "AVIF 4:4:4",
            Format::Avif,
            avif(Subsampling::S444, Range::Limited),
            &rgb,
        ),
        source("AVIF BT.709", Format::Avif, avif_bt709, &rgb),
        source(
            "AVIF grey",
            Format::Avif,
            avif(Subsampling::S400, Range::Full),
            &grey,
        ),
    ]
}

/// Returns the picture as a PNG of 16 bits per sample.
fn deep_png(rgb: &Packed) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, rgb.size.width_px, rgb.size.height_px);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Sixteen);
    let mut writer = encoder.write_header().expect("a header in memory");
    let samples: Vec<u8> = rgb.data.iter().flat_map(|&sample| [sample; 2]).collect();
    writer.write_image_data(&samples).expect("rows in memory");
    writer.finish().expect("an end in memory");
    bytes
}

/// Reduces the picture to 64 colours, four levels per channel.
fn patchwork(rgb: &Packed) -> Packed {
    let mut picture = rgb.clone();
    for sample in &mut picture.data {
        *sample = *sample / 64 * 64 + 32;
    }
    picture
}

fn gif(picture: &Packed) -> Vec<u8> {
    let mut bytes = Vec::new();
    let [width, height] = [picture.size.width_px, picture.size.height_px].map(|side| side as u16);
    let level = |index: u8| index * 64 + 32;
    let palette: Vec<u8> = (0..64)
        .flat_map(|at| [level(at >> 4), level(at >> 2 & 3), level(at & 3)])
        .collect();
    let pixels = picture.data.as_chunks::<3>().0.iter();
    let indexes: Vec<u8> = pixels
        .map(|&[r, g, b]| 16 * (r / 64) + 4 * (g / 64) + b / 64)
        .collect();
    let frame = gif::Frame::from_palette_pixels(width, height, indexes, palette, None);
    let mut encoder =
        gif::Encoder::new(&mut bytes, width, height, &[]).expect("a header in memory");
    encoder.write_frame(&frame).expect("a frame in memory");
    drop(encoder);
    bytes
}

/// Returns the picture as a BMP file of 24 bits per pixel: rows bottom-up, blue first, padded to
/// four bytes.
fn bmp(rgb: &Packed) -> Vec<u8> {
    let Size {
        width_px,
        height_px,
    } = rgb.size;
    let mut rows = Vec::new();
    for row in rgb.data.chunks(3 * width_px as usize).rev() {
        rows.extend(
            row.as_chunks::<3>()
                .0
                .iter()
                .flat_map(|&[r, g, b]| [b, g, r]),
        );
        rows.resize(rows.len().next_multiple_of(4), 0);
    }
    let mut bytes = b"BM".to_vec();
    let header = [
        54 + rows.len() as u32,
        0,
        54,
        40,
        width_px,
        height_px,
        1 | 24 << 16,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    bytes.extend(header.iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend(rows);
    bytes
}

/// Returns the maximum permitted [`distance`] between an output and the expected pixels. It is
/// higher for lossy encodings, except for JPEG with full chroma.
fn distance_max(encoding: Encoding) -> f64 {
    match encoding {
        PNG | JPEG_FULL_CHROMA => 2.0,
        Encoding::Webp { lossless: true, .. } | Encoding::Avif { lossless: true, .. } => 2.0,
        _ => 3.0,
    }
}

#[test]
fn every_source_becomes_every_target_at_its_size_and_smaller() {
    for source in opaque_sources() {
        for encoding in ENCODINGS {
            for size in [SIZE, SMALL] {
                let plan = Plan {
                    inner: size,
                    target: size,
                    ..whole(source.format, SIZE, encoding)
                };
                let output = done(&plan, &source.bytes);
                assert_eq!(output.remarks, Vec::<String>::new(), "{}", source.name);
                let (pixels, profile) = read(&plan, &output.bytes);
                assert_eq!(profile, None, "{}", source.name);
                let expected = resized(&source.pixels, size);
                let distance = distance(&pixels, &expected);
                assert!(
                    distance <= distance_max(encoding) + source.edges,
                    "{} to {encoding:?} at {size:?}: {distance:.2}",
                    source.name
                );
            }
        }
    }
}

fn resized(packed: &Packed, size: Size) -> Packed {
    let whole = Area::whole(packed.size);
    let raster = Raster::Packed(packed.clone());
    to_packed(scale(raster, whole, size, Subsampling::S444))
}

#[test]
fn lossless_targets_are_exact() {
    let rgb = scene(SIZE);
    let rgba = seen_through(SIZE);
    for encoding in [
        PNG,
        super::pictures::WEBP_LOSSLESS,
        super::pictures::AVIF_LOSSLESS,
    ] {
        for picture in [&rgb, &rgba] {
            let plan = whole(Format::Png, SIZE, encoding);
            let output = done(&plan, &png(picture, None));
            assert_eq!(&read(&plan, &output.bytes).0, picture, "{encoding:?}");
        }
    }
}

#[test]
fn transparency_survives_where_it_can_and_is_white_in_jpeg() {
    let rgba = seen_through(SIZE);
    let webp = Raster::Yuv(planes(&rgba, Subsampling::S420, Range::Limited));
    let avif = Raster::Yuv(planes(&rgba, Subsampling::S444, Range::Full));
    let sources = [
        (Format::Png, png(&rgba, None)),
        (Format::Webp, file(&webp, None, WEBP)),
        (Format::Avif, file(&avif, None, AVIF)),
    ];
    for (format, bytes) in sources {
        for encoding in ENCODINGS {
            for size in [SIZE, SMALL] {
                let plan = Plan {
                    inner: size,
                    target: size,
                    ..whole(format, SIZE, encoding)
                };
                let output = done(&plan, &bytes);
                let (pixels, _) = read(&plan, &output.bytes);
                let mut expected = resized(&rgba, size);
                if let Encoding::Jpeg { .. } = encoding {
                    expected = flatten(expected);
                }
                let distance = distance(&pixels, &expected);
                assert!(distance <= 4.0, "{format:?} to {encoding:?}: {distance:.2}");
            }
        }
    }
}

#[test]
fn grey_stays_grey_where_the_format_can() {
    let bytes = jpeg(&scene(SIZE), Subsampling::S400);
    let raster_of = |encoding| {
        let plan = whole(Format::Jpeg, SIZE, encoding);
        let output = done(&plan, &bytes).bytes;
        let format = plan.encoding.target().format();
        let decoded = decode(format, &output, &DecodeOptions::whole(SIZE));
        decoded.expect("an output that can be read").raster
    };
    for encoding in [AVIF, JPEG, PNG] {
        let Raster::Yuv(yuv) = raster_of(encoding) else {
            panic!("{encoding:?} has colour");
        };
        assert_eq!(yuv.subsampling, Subsampling::S400, "{encoding:?}");
    }
    let webp = to_packed(raster_of(WEBP));
    assert!(
        webp.data
            .as_chunks()
            .0
            .iter()
            .all(|[r, g, b]| r == g && g == b)
    );
}

#[test]
fn lossy_outputs_have_subsampled_chroma_except_jpegs_of_high_quality() {
    let bytes = jpeg(&scene(SIZE), Subsampling::S444);
    for (encoding, expected) in [
        (AVIF, Subsampling::S420),
        (WEBP, Subsampling::S420),
        (JPEG, Subsampling::S420),
        (Encoding::Jpeg { quality: 90 }, Subsampling::S444),
    ] {
        let output = done(&whole(Format::Jpeg, SIZE, encoding), &bytes).bytes;
        let format = encoding.target().format();
        let decoded = decode(format, &output, &DecodeOptions::whole(SIZE));
        let Raster::Yuv(yuv) = decoded.expect("an output that can be read").raster else {
            panic!("{encoding:?} gave pixels");
        };
        assert_eq!(yuv.subsampling, expected, "{encoding:?}");
    }
}

#[test]
fn metadata_is_not_copied() {
    let sound = jpeg(&scene(SIZE), Subsampling::S420);
    let mut tagged = sound[..2].to_vec();
    for secret in [
        "Exif\0\0MM\0\x2a\0\0\0\x08 51.4778N",
        "http://ns.adobe.com/xap/1.0/\0 51.4778N",
    ] {
        tagged.extend([0xff, 0xe1]);
        tagged.extend((secret.len() as u16 + 2).to_be_bytes());
        tagged.extend(secret.as_bytes());
    }
    tagged.extend(&sound[2..]);
    for encoding in ENCODINGS {
        let plan = whole(Format::Jpeg, SIZE, encoding);
        assert_eq!(done(&plan, &tagged), done(&plan, &sound), "{encoding:?}");
    }
}

/// Computes the expected colours from the inks of `cmyk.jpg`, which are described in
/// `testdata/README.md`. Each ink absorbs its share of the light.
#[test]
fn ink_without_a_profile_looks_as_in_every_viewer() {
    let size = Size::new(48, 32);
    let original = include_bytes!("../../testdata/cmyk.jpg");
    let mut data = Vec::new();
    for y in 0..32 {
        for x in 0..48 {
            let black = if (x / 8 + y / 8) % 4 == 0 { 128 } else { 0 };
            let light = |ink: u32| ((255 - ink) * (255 - black) / 255) as u8;
            data.extend([light(x * 255 / 47), light(y * 255 / 31), light(64)]);
        }
    }
    let expected = Packed {
        size,
        layout: Layout::Rgb,
        data,
    };
    let plan = whole(Format::Jpeg, size, PNG);
    let (pixels, _) = read(&plan, &done(&plan, original).bytes);
    let distance = distance(&pixels, &expected);
    assert!(distance <= 4.0, "{distance:.2}");
}
