//! Tests with PNGs that our own encoder does not write: palettes, low and high bit depths,
//! interlacing, and colour spaces that are stated by CICP numbers (chunk `cICP`).

use image_plan::{Layout, Packed, Raster, Size};
use png::{BitDepth, ColorType, Encoder, Info};

use super::decode;
use crate::tests::pictures::noise;
use crate::{DecodeOptions, Decoded, ErrorKind};

/// Writes `samples` unchanged as a PNG with the header `info`, which may contain a palette with
/// alpha.
fn write(info: &Info<'_>, samples: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let encoder = Encoder::with_info(&mut file, info.clone()).expect("a header");
    let mut writer = encoder.write_header().expect("written");
    writer.write_image_data(samples).expect("written");
    writer.finish().expect("written");
    file
}

fn info(size: Size, colours: ColorType, depth: BitDepth) -> Info<'static> {
    let mut info = Info::with_size(size.width_px, size.height_px);
    info.color_type = colours;
    info.bit_depth = depth;
    info
}

fn read(file: &[u8], size: Size) -> Decoded {
    decode(file, &DecodeOptions::whole(size)).expect("decodes")
}

#[track_caller]
fn check_packed(file: &[u8], size: Size, layout: Layout, data: &[u8]) {
    let data = data.to_vec();
    let expected = Raster::Packed(Packed { size, layout, data });
    assert_eq!(read(file, size).raster, expected);
}

#[track_caller]
fn check_grey(file: &[u8], size: Size, luma: &[u8], alpha: Option<&[u8]>) {
    let Raster::Yuv(yuv) = read(file, size).raster else {
        panic!("pixels where planes were expected");
    };
    assert_eq!(yuv.luma.data, luma);
    assert_eq!(yuv.alpha.map(|alpha| alpha.data), alpha.map(<[u8]>::to_vec));
    assert_eq!(yuv.chroma, None);
}

#[test]
fn few_bits_fill_the_range() {
    let size = Size::new(4, 1);
    let one = write(
        &info(size, ColorType::Grayscale, BitDepth::One),
        &[0b0110_0000],
    );
    check_grey(&one, size, &[0, 255, 255, 0], None);
    let two = write(
        &info(size, ColorType::Grayscale, BitDepth::Two),
        &[0b0001_1011],
    );
    check_grey(&two, size, &[0, 85, 170, 255], None);
    let four = write(
        &info(size, ColorType::Grayscale, BitDepth::Four),
        &[0x01, 0x8f],
    );
    check_grey(&four, size, &[0, 17, 136, 255], None);
}

#[test]
fn sixteen_bits_are_rounded_to_the_nearest_level() {
    let size = Size::new(6, 1);
    let samples = [0, 0, 0, 128, 0, 129, 1, 129, 0xff, 0x7e, 0xff, 0xff];
    let file = write(
        &info(size, ColorType::Grayscale, BitDepth::Sixteen),
        &samples,
    );
    check_grey(&file, size, &[0, 0, 1, 1, 254, 255], None);
    let pixel = Size::new(1, 1);
    let samples = [0x12, 0x12, 0x80, 0x80, 0xfe, 0xfe, 0x33, 0x33];
    let file = write(&info(pixel, ColorType::Rgba, BitDepth::Sixteen), &samples);
    check_packed(&file, pixel, Layout::Rgba, &[0x12, 0x80, 0xfe, 0x33]);
}

#[test]
fn every_sixteen_bit_sample_is_rounded() {
    for sample in 0..=u16::MAX {
        let exact = f64::from(sample) / 257.0;
        let level = f64::from(crate::samples::to_8_bits(sample));
        assert!((level - exact).abs() <= 0.5, "{sample}");
    }
}

#[test]
fn palettes_are_looked_up() {
    let size = Size::new(3, 1);
    let mut header = info(size, ColorType::Indexed, BitDepth::Two);
    header.palette = Some([10, 20, 30, 40, 50, 60, 70, 80, 90].as_slice().into());
    let opaque = write(&header, &[0b0001_1000]);
    let pixels = [10, 20, 30, 40, 50, 60, 70, 80, 90];
    check_packed(&opaque, size, Layout::Rgb, &pixels);

    header.trns = Some([255, 7].as_slice().into());
    let file = write(&header, &[0b0001_1000]);
    let pixels = [10, 20, 30, 255, 40, 50, 60, 7, 70, 80, 90, 255];
    check_packed(&file, size, Layout::Rgba, &pixels);
}

#[test]
fn a_transparent_colour_becomes_alpha() {
    let size = Size::new(2, 1);
    let mut grey = info(size, ColorType::Grayscale, BitDepth::Eight);
    grey.trns = Some([0, 9].as_slice().into());
    check_grey(&write(&grey, &[8, 9]), size, &[8, 9], Some(&[255, 0]));
    let mut rgb = info(size, ColorType::Rgb, BitDepth::Eight);
    rgb.trns = Some([0, 1, 0, 2, 0, 3].as_slice().into());
    let file = write(&rgb, &[1, 2, 3, 1, 2, 4]);
    check_packed(&file, size, Layout::Rgba, &[1, 2, 3, 0, 1, 2, 4, 255]);
}

/// Writes an interlaced RGB picture without compression; the `png` crate cannot write interlaced
/// files.
fn interlaced(size: Size, pixels: &[u8], depth_bytes: usize) -> Vec<u8> {
    let pixel_bytes = 3 * depth_bytes;
    // First column, first row, column step and row step of the seven passes (PNG §8.1).
    let passes = [
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ];
    let mut raw = Vec::new();
    for (x0, y0, dx, dy) in passes {
        for y in (y0..size.height_px).step_by(dy) {
            let columns: Vec<u32> = (x0..size.width_px).step_by(dx).collect();
            // A pass without columns has no rows either.
            if !columns.is_empty() {
                raw.push(0);
            }
            for x in columns {
                let at = (y * size.width_px + x) as usize * pixel_bytes;
                raw.extend_from_slice(&pixels[at..at + pixel_bytes]);
            }
        }
    }
    let mut header = Vec::new();
    header.extend_from_slice(&size.width_px.to_be_bytes());
    header.extend_from_slice(&size.height_px.to_be_bytes());
    header.extend_from_slice(&[8 * depth_bytes as u8, 2, 0, 0, 1]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    file.extend(chunk(b"IHDR", &header));
    file.extend(chunk(b"IDAT", &stored_zlib(&raw)));
    file.extend(chunk(b"IEND", &[]));
    file
}

/// Writes a zlib stream (RFC 1950) of stored blocks (RFC 1951).
fn stored_zlib(raw: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let blocks = raw.chunks(65_535);
    let last = blocks.len() - 1;
    for (index, block) in blocks.enumerate() {
        let len = block.len() as u16;
        stream.push(u8::from(index == last));
        stream.extend_from_slice(&len.to_le_bytes());
        stream.extend_from_slice(&(!len).to_le_bytes());
        stream.extend_from_slice(block);
    }
    let (low, high) = raw.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    stream.extend_from_slice(&(high << 16 | low).to_be_bytes());
    stream
}

fn chunk(name: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut chunk = (payload.len() as u32).to_be_bytes().to_vec();
    chunk.extend_from_slice(name);
    chunk.extend_from_slice(payload);
    let crc = chunk[4..].iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    });
    chunk.extend_from_slice(&(!crc).to_be_bytes());
    chunk
}

#[test]
fn interlaced_rows_are_reordered() {
    for size in [
        Size::new(1, 1),
        Size::new(2, 5),
        Size::new(9, 9),
        Size::new(17, 6),
    ] {
        let pixels = noise(3 * size.pixels() as usize, 2);
        check_packed(&interlaced(size, &pixels, 1), size, Layout::Rgb, &pixels);
        // Both bytes of a 16-bit sample are equal, so its 8-bit level equals either byte.
        let wide: Vec<u8> = pixels.iter().flat_map(|sample| [*sample; 2]).collect();
        check_packed(&interlaced(size, &wide, 2), size, Layout::Rgb, &pixels);
    }
}

#[test]
fn code_points_become_a_profile() {
    let size = Size::new(1, 1);
    let file = write(&info(size, ColorType::Rgb, BitDepth::Eight), &[1, 2, 3]);
    let numbered = |primaries, transfer| {
        let mut numbered = file.clone();
        // 33 is the offset of the first chunk after the signature and IHDR.
        numbered.splice(33..33, chunk(b"cICP", &[primaries, transfer, 0, 1]));
        decode(&numbered, &DecodeOptions::whole(size))
    };
    assert_eq!(numbered(1, 13).expect("sRGB").profile, None);
    let p3 = numbered(12, 13)
        .expect("Display P3")
        .profile
        .expect("a profile");
    assert_eq!(&p3[36..40], b"acsp");
    let pq = numbered(9, 16).expect_err("refused");
    assert_eq!(pq.kind, ErrorKind::Unsupported);
}

#[test]
fn a_profile_is_unpacked_within_its_limit() {
    let size = Size::new(1, 1);
    let plain = write(&info(size, ColorType::Rgb, BitDepth::Eight), &[1, 2, 3]);
    let profiled = |payload: &[&[u8]]| {
        let mut file = plain.clone();
        file.splice(33..33, chunk(b"iCCP", &payload.concat()));
        decode(&file, &DecodeOptions::whole(size))
    };
    let good = profiled(&[b"name\0\0", &stored_zlib(b"a profile")]).expect("decodes");
    assert_eq!(good.profile.as_deref(), Some(b"a profile".as_slice()));
    assert!(!good.damaged);
    for broken in [b"name\0\0no zlib".as_slice(), b"name\0\x01", b"name", b""] {
        let decoded = profiled(&[broken]).expect("decodes");
        assert_eq!((decoded.profile, decoded.damaged), (None, true));
    }
    let large = profiled(&[b"name\0\0", &stored_zlib(&vec![0; (4 << 20) + 1])]);
    assert_eq!(large.expect_err("refused").kind, ErrorKind::TooLarge);
}

#[test]
fn a_profile_that_unpacks_to_far_more_is_refused() {
    let size = Size::new(1, 1);
    let mut header = info(size, ColorType::Rgb, BitDepth::Eight);
    header.icc_profile = Some(vec![0; 64 << 20].into());
    let file = write(&header, &[1, 2, 3]);
    assert!(file.len() < 1 << 20, "{} bytes", file.len());
    let refusal = decode(&file, &DecodeOptions::whole(size)).expect_err("refused");
    assert_eq!(refusal.kind, ErrorKind::TooLarge);
}
