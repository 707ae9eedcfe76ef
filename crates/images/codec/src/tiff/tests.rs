//! Tests with files that are written by the test itself.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use image_plan::{
    Encoding, Format, Layout, Orientation, Packed, Range, Raster, Size, Subsampling, probe,
    probe_page,
};
use testkit::stills::{Page, Tiff};

use crate::tests::pictures::{assert_decodes, noise, of_samples, yuv};
use crate::{DecodeOptions, ErrorKind, Limits, decode, encode};

const PLAIN: u16 = 1;
const LZW: u16 = 5;
const JPEG: u16 = 7;
const DEFLATE: u16 = 8;
const PACK_BITS: u16 = 32_773;

const SIZE: (u32, u32) = (37, 21);

fn size() -> Size {
    Size::new(SIZE.0, SIZE.1)
}

fn compress(compression: u16, row_bytes: usize, data: &[u8]) -> Vec<u8> {
    match compression {
        LZW => weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8)
            .encode(data)
            .expect("encodes"),
        DEFLATE => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(data).expect("memory");
            encoder.finish().expect("memory")
        }
        PACK_BITS => {
            let rows = data.chunks(row_bytes);
            let packets = rows.flat_map(|row| row.chunks(128));
            packets
                .flat_map(|packet| [&[packet.len() as u8 - 1], packet].concat())
                .collect()
        }
        _ => data.to_vec(),
    }
}

/// Divides rows of pixels into compressed strips of `rows` rows.
fn strips(data: &[u8], row_bytes: usize, rows: usize, compression: u16) -> Vec<Vec<u8>> {
    let strips = data.chunks(row_bytes * rows);
    strips
        .map(|strip| compress(compression, row_bytes, strip))
        .collect()
}

/// Divides a picture into compressed tiles of 16 × 16 pixels, which are padded with 99.
fn tiles(data: &[u8], pixel_bytes: usize, compression: u16) -> Vec<Vec<u8>> {
    let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
    let mut tiles = Vec::new();
    for top in (0..height).step_by(16) {
        for left in (0..width).step_by(16) {
            let mut tile = vec![99; 16 * 16 * pixel_bytes];
            for y in top..height.min(top + 16) {
                let columns = width.min(left + 16) - left;
                let from = (y * width + left) * pixel_bytes;
                let to = (y - top) * 16 * pixel_bytes;
                let row_bytes = columns * pixel_bytes;
                tile[to..to + row_bytes].copy_from_slice(&data[from..from + row_bytes]);
            }
            tiles.push(compress(compression, 16 * pixel_bytes, &tile));
        }
    }
    tiles
}

#[track_caller]
fn check(tiff: &Tiff, samples: &[u8]) {
    let file = tiff.to_bytes();
    let facts = probe(&file[..], file.len() as u64).expect("a sound header");
    assert_eq!((facts.stored, facts.unsupported), (size(), None));
    assert_decodes(Format::Tiff, &file, &of_samples(size(), samples.to_vec()));
}

fn rgb() -> Vec<u8> {
    noise(3 * 37 * 21, 1)
}

#[test]
fn strips_and_tiles_of_every_compression_are_decoded() {
    let rgb = rgb();
    for compression in [PLAIN, LZW, DEFLATE, 32_946, PACK_BITS] {
        let encoding = if compression == 32_946 {
            DEFLATE
        } else {
            compression
        };
        for (is_big_endian, is_big) in [(false, false), (true, false), (false, true), (true, true)]
        {
            let stripped = Page::new(
                SIZE,
                &[8; 3],
                2,
                compression,
                strips(&rgb, 111, 5, encoding),
            )
            .with(278, &[5]);
            let tiled =
                Page::new(SIZE, &[8; 3], 2, compression, tiles(&rgb, 3, encoding)).tiled(16, 16);
            for page in [stripped, tiled] {
                let tiff = Tiff {
                    is_big_endian,
                    is_big,
                    pages: vec![page],
                };
                check(&tiff, &rgb);
            }
        }
    }
}

#[test]
fn planes_are_put_together() {
    let rgb = rgb();
    let planes = |chunks: fn(&[u8]) -> Vec<Vec<u8>>| {
        let planes = (0..3).map(|plane| rgb.iter().skip(plane).step_by(3).copied().collect());
        planes.flat_map(|plane: Vec<u8>| chunks(&plane)).collect()
    };
    let stripped = planes(|plane| strips(plane, 37, 4, LZW));
    let page = Page::new(SIZE, &[8; 3], 2, LZW, stripped).with(278, &[4]);
    check(&Tiff::of(page.with(284, &[2])), &rgb);
    let tiled = planes(|plane| tiles(plane, 1, DEFLATE));
    let page = Page::new(SIZE, &[8; 3], 2, DEFLATE, tiled).tiled(16, 16);
    check(&Tiff::of(page.with(284, &[2])), &rgb);
}

#[test]
fn samples_of_16_bits_are_rounded_in_both_byte_orders() {
    let rgb = rgb();
    for is_big_endian in [false, true] {
        // Levels of 257 times the 8-bit level, plus or minus 100.
        let wide = rgb.iter().enumerate().flat_map(|(index, level)| {
            let level = u16::from(*level) * 257;
            let level = match index % 2 {
                0 => level.saturating_add(100),
                _ => level.saturating_sub(100),
            };
            match is_big_endian {
                true => level.to_be_bytes(),
                false => level.to_le_bytes(),
            }
        });
        let wide: Vec<u8> = wide.collect();
        let page = Page::new(SIZE, &[16; 3], 2, LZW, strips(&wide, 222, 5, LZW)).with(278, &[5]);
        let tiff = Tiff {
            is_big_endian,
            pages: vec![page],
            ..Tiff::default()
        };
        check(&tiff, &rgb);
    }
}

#[test]
fn differences_are_summed_up() {
    let rgb = rgb();
    let mut differences = rgb.clone();
    for row in differences.chunks_mut(111) {
        for at in (3..row.len()).rev() {
            row[at] = row[at].wrapping_sub(row[at - 3]);
        }
    }
    let page = Page::new(SIZE, &[8; 3], 2, LZW, strips(&differences, 111, 5, LZW));
    check(&Tiff::of(page.with(278, &[5]).with(317, &[2])), &rgb);
    let mut levels: Vec<u16> = rgb
        .iter()
        .step_by(3)
        .map(|level| u16::from(*level) * 257)
        .collect();
    let grey: Vec<u8> = rgb.iter().step_by(3).copied().collect();
    for row in levels.chunks_mut(37) {
        for at in (1..row.len()).rev() {
            row[at] = row[at].wrapping_sub(row[at - 1]);
        }
    }
    for is_big_endian in [false, true] {
        let bytes = levels.iter().flat_map(|level| match is_big_endian {
            true => level.to_be_bytes(),
            false => level.to_le_bytes(),
        });
        let bytes: Vec<u8> = bytes.collect();
        let page = Page::new(SIZE, &[16], 1, DEFLATE, strips(&bytes, 74, 21, DEFLATE));
        let tiff = Tiff {
            is_big_endian,
            pages: vec![page.with(317, &[2])],
            ..Tiff::default()
        };
        check(&tiff, &grey);
    }
}

#[test]
fn grey_of_few_bits_and_palettes_are_expanded() {
    for bits in [1_u16, 2, 4, 8] {
        let row_bytes = (37 * usize::from(bits)).div_ceil(8);
        let data = noise(row_bytes * 21, 2);
        let index = |x: usize, y: usize| {
            let bit = x * usize::from(bits);
            let byte = u32::from(data[y * row_bytes + bit / 8]);
            (byte >> (8 - usize::from(bits) - bit % 8)) as u8 & ((1_u32 << bits) - 1) as u8
        };
        let at = (0..21).flat_map(|y| (0..37).map(move |x| (x, y)));
        let indexes: Vec<u8> = at.map(|(x, y)| index(x, y)).collect();
        let chunks = strips(&data, row_bytes, 4, PACK_BITS);
        let page = |photometric| {
            Page::new(SIZE, &[bits], photometric, PACK_BITS, chunks.clone()).with(278, &[4])
        };
        let largest = ((1_u32 << bits) - 1) as u8;
        let greys: Vec<u8> = indexes
            .iter()
            .map(|index| index * (255 / largest))
            .collect();
        check(&Tiff::of(page(1)), &greys);
        let inverted: Vec<u8> = greys.iter().map(|grey| !grey).collect();
        check(&Tiff::of(page(0)), &inverted);
        let colours = 1_usize << bits;
        let levels = noise(3 * colours, 3);
        let wide: Vec<u16> = levels.iter().map(|level| u16::from(*level) * 257).collect();
        let narrow: Vec<u16> = levels.iter().map(|level| u16::from(*level)).collect();
        let pixel = |index: &u8| [0, 1, 2].map(|part| levels[part * colours + usize::from(*index)]);
        let looked_up: Vec<u8> = indexes.iter().flat_map(pixel).collect();
        check(&Tiff::of(page(3).with(320, &wide)), &looked_up);
        check(&Tiff::of(page(3).with(320, &narrow)), &looked_up);
    }
}

#[test]
fn inks_and_alpha_are_kept() {
    let samples = noise(4 * 37 * 21, 4);
    let page = |photometric| {
        let chunks = strips(&samples, 148, 5, LZW);
        Page::new(SIZE, &[8; 4], photometric, LZW, chunks).with(278, &[5])
    };
    let expected = |layout, data| {
        let size = size();
        Raster::Packed(Packed { size, layout, data })
    };
    let inks = Tiff::of(page(5)).to_bytes();
    assert_decodes(
        Format::Tiff,
        &inks,
        &expected(Layout::Cmyk, samples.clone()),
    );
    let straight = Tiff::of(page(2).with(338, &[2])).to_bytes();
    assert_decodes(
        Format::Tiff,
        &straight,
        &expected(Layout::Rgba, samples.clone()),
    );
    // The fourth sample is not alpha.
    let (pixels, _) = samples.as_chunks::<4>();
    let opaque: Vec<u8> = pixels
        .iter()
        .flat_map(|[r, g, b, _]| [*r, *g, *b])
        .collect();
    check(&Tiff::of(page(2).with(338, &[0])), &opaque);
    let associated = Tiff::of(page(2).with(338, &[1])).to_bytes();
    let divided = pixels.iter().flat_map(|[r, g, b, a]| {
        let divide = |sample: u8| match *a {
            0 => sample,
            a => (f64::from(sample) * 255.0 / f64::from(a))
                .round()
                .min(255.0) as u8,
        };
        [divide(*r), divide(*g), divide(*b), *a]
    });
    let divided = expected(Layout::Rgba, divided.collect());
    assert_decodes(Format::Tiff, &associated, &divided);
}

/// Splits a JPEG into its tables, as a file of their own, and a file without them.
fn abbreviated(jpeg: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut tables, mut scan) = (vec![0xff, 0xd8], vec![0xff, 0xd8]);
    let mut at = 2;
    loop {
        let marker = jpeg[at + 1];
        if marker == 0xda {
            scan.extend(&jpeg[at..]);
            break;
        }
        let end = at + 2 + usize::from(u16::from_be_bytes([jpeg[at + 2], jpeg[at + 3]]));
        match marker {
            0xdb | 0xc4 => tables.extend(&jpeg[at..end]),
            // The markers of applications would state the colours.
            0xe0..=0xef => {}
            _ => scan.extend(&jpeg[at..end]),
        }
        at = end;
    }
    tables.extend([0xff, 0xd9]);
    (tables, scan)
}

#[test]
fn jpeg_with_shared_tables_is_decoded() {
    let encoding = Encoding::Jpeg { quality: 95 };
    let tile = Raster::Yuv(yuv(Size::new(48, 32), Subsampling::S420, Range::Full));
    let (tables, scan) = abbreviated(&encode(&tile, None, encoding).expect("encodes"));
    let read = |photometric| {
        let page = Page::new(SIZE, &[8; 3], photometric, JPEG, vec![scan.clone()])
            .tiled(48, 32)
            .with_bytes(347, &tables);
        let file = Tiff::of(page).to_bytes();
        let decoded = decode(Format::Tiff, &file, &DecodeOptions::whole(size()));
        let Raster::Packed(packed) = decoded.expect("decodes").raster else {
            panic!("planes");
        };
        packed
    };
    // The planes of the test picture are gradients: luma from 40 on, Cb from 50 on, Cr to 200. As
    // red, green and blue, they are not converted.
    let (colour, raw) = (read(6), read(2));
    assert_eq!(colour.layout, Layout::Rgb);
    let near = |sample: u8, level: i32| (i32::from(sample) - level).abs() <= 12;
    assert!(near(raw.data[0], 40) && near(raw.data[1], 50) && near(raw.data[2], 200));
    // ITU-T T.871 §7: R = Y + 1.402 (Cr − 128), B = Y + 1.772 (Cb − 128).
    assert!(near(colour.data[0], 141), "{:?}", &colour.data[..3]);
    assert!(near(colour.data[2], 0), "{:?}", &colour.data[..3]);
}

#[test]
fn grey_jpeg_in_strips_is_decoded() {
    let encoding = Encoding::Jpeg { quality: 95 };
    let strip = |rows| {
        let raster = Raster::Yuv(yuv(Size::new(37, rows), Subsampling::S400, Range::Full));
        encode(&raster, None, encoding).expect("encodes")
    };
    let page = Page::new(SIZE, &[8], 1, JPEG, vec![strip(16), strip(5)]).with(278, &[16]);
    let file = Tiff::of(page).to_bytes();
    let decoded = decode(Format::Tiff, &file, &DecodeOptions::whole(size())).expect("decodes");
    let Raster::Yuv(grey) = decoded.raster else {
        panic!("pixels");
    };
    let at = |x: usize, y: u32| i32::from(grey.luma.row(y)[x]);
    assert!(!decoded.damaged);
    for y in [0, 15, 16, 20] {
        assert!(
            (at(0, y) - 40).abs() < 8 && (at(36, y) - 185).abs() < 8,
            "{y}"
        );
    }
}

#[test]
fn pages_have_their_own_size_and_orientation() {
    let page = |(width, height): (u32, u32), level: u8| {
        let data = vec![level; (width * height) as usize];
        Page::new((width, height), &[8], 1, PLAIN, vec![data])
    };
    let tiff = Tiff {
        pages: vec![
            page((3, 2), 10),
            page((5, 4), 20).with(274, &[6]),
            page((1, 1), 30),
        ],
        ..Tiff::default()
    };
    let file = tiff.to_bytes();
    for (number, size, orientation, level) in [
        (1, Size::new(3, 2), Orientation::Upright, 10),
        (2, Size::new(5, 4), Orientation::Turn90, 20),
        (3, Size::new(1, 1), Orientation::Upright, 30),
    ] {
        let facts = probe_page(&file[..], file.len() as u64, number).expect("a page");
        assert_eq!(
            (facts.stored, facts.orientation, facts.pages),
            (size, orientation, 3)
        );
        let options = DecodeOptions {
            page: number,
            ..DecodeOptions::whole(size)
        };
        let decoded = decode(Format::Tiff, &file, &options).expect("decodes");
        assert_eq!(
            decoded.raster,
            of_samples(size, vec![level; size.pixels() as usize])
        );
    }
    let options = DecodeOptions {
        page: 4,
        ..DecodeOptions::whole(Size::new(3, 2))
    };
    let refusal = decode(Format::Tiff, &file, &options).expect_err("no such page");
    assert_eq!(refusal.kind, ErrorKind::Undecodable);
}

#[test]
fn the_profile_is_read_within_its_limit() {
    let profile = noise(300, 5);
    let page = Page::new(SIZE, &[8; 3], 2, PLAIN, vec![rgb()]).with_bytes(34_675, &profile);
    let file = Tiff::of(page).to_bytes();
    let mut options = DecodeOptions::whole(size());
    let decoded = decode(Format::Tiff, &file, &options).expect("decodes");
    assert_eq!(decoded.profile, Some(profile));
    options.limits.profile_bytes_max = 299;
    let refusal = decode(Format::Tiff, &file, &options).expect_err("too large");
    assert_eq!(refusal.kind, ErrorKind::TooLarge);
}

#[test]
fn a_damaged_strip_leaves_the_others() {
    let rgb = rgb();
    let mut chunks = strips(&rgb, 111, 5, DEFLATE);
    chunks[1].truncate(20);
    let page = Page::new(SIZE, &[8; 3], 2, DEFLATE, chunks).with(278, &[5]);
    let file = Tiff::of(page).to_bytes();
    let decoded = decode(Format::Tiff, &file, &DecodeOptions::whole(size())).expect("decodes");
    let Raster::Packed(packed) = decoded.raster else {
        panic!("planes");
    };
    assert!(decoded.damaged);
    assert_eq!(packed.data[..555], rgb[..555]);
    assert_eq!(packed.data[1110..], rgb[1110..]);
}

#[test]
fn tiles_beyond_the_limits_are_refused() {
    let page = Page::new((1, 1), &[8], 1, PLAIN, vec![vec![0; 256]]).tiled(65_535, 16);
    let file = Tiff::of(page).to_bytes();
    let options = DecodeOptions {
        limits: Limits {
            side_px_max: 65_534,
            ..Limits::DEFAULT
        },
        ..DecodeOptions::whole(Size::new(1, 1))
    };
    let refusal = decode(Format::Tiff, &file, &options).expect_err("too large");
    assert_eq!(refusal.kind, ErrorKind::TooLarge);
    // A JPEG of 17 million pixels for a page of one pixel. Only its header is read.
    let encoding = Encoding::Jpeg { quality: 50 };
    let small = Raster::Yuv(yuv(Size::new(16, 16), Subsampling::S400, Range::Full));
    let mut jpeg = encode(&small, None, encoding).expect("encodes");
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]);
    let size_at = frame.expect("a baseline frame") + 5;
    jpeg[size_at..size_at + 4].copy_from_slice(&[0x10, 0x10, 0x10, 0x10]);
    let page = Page::new((1, 1), &[8], 1, JPEG, vec![jpeg]).tiled(4112, 4112);
    let file = Tiff::of(page).to_bytes();
    let refusal = decode(Format::Tiff, &file, &DecodeOptions::whole(Size::new(1, 1)));
    assert_eq!(refusal.expect_err("refused").kind, ErrorKind::Undecodable);
}

#[test]
fn a_truncated_jpeg_strip_is_damage() {
    let encoding = Encoding::Jpeg { quality: 95 };
    let strip = |rows| {
        let raster = Raster::Yuv(yuv(Size::new(37, rows), Subsampling::S400, Range::Full));
        encode(&raster, None, encoding).expect("encodes")
    };
    let mut truncated = strip(16);
    truncated.truncate(truncated.len() - 60);
    let page = Page::new(SIZE, &[8], 1, JPEG, vec![truncated, strip(5)]).with(278, &[16]);
    let file = Tiff::of(page).to_bytes();
    let decoded = decode(Format::Tiff, &file, &DecodeOptions::whole(size())).expect("decodes");
    assert!(decoded.damaged);
}

#[test]
fn inverted_grey_is_divided_by_alpha_before_it_is_inverted() {
    // Grey levels stored inverted, so that 255 is black, and multiplied by alpha: 60 with alpha 120
    // is the level 128.
    let pixels = [[255, 255], [0, 255], [60, 120], [0, 0]];
    let page = Page::new((4, 1), &[8; 2], 0, PLAIN, vec![pixels.concat()]).with(338, &[1]);
    let file = Tiff::of(page).to_bytes();
    let whole = DecodeOptions::whole(Size::new(4, 1));
    let decoded = decode(Format::Tiff, &file, &whole).expect("decodes");
    let Raster::Yuv(grey) = decoded.raster else {
        panic!("pixels");
    };
    let alpha = grey.alpha.expect("has alpha");
    assert_eq!(grey.luma.row(0)[..3], [0, 255, 127]);
    assert_eq!(alpha.row(0)[..4], [255, 255, 120, 0]);
}
