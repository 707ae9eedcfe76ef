//! Generated pictures: valid ones, made by encoders in safe Rust, and decompression bombs, composed
//! byte by byte.

use std::iter;

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

/// Returns RGB pixels that resemble a photograph: gradients, edges and a little noise. The same
/// `seed` yields the same pixels.
pub(crate) fn pixels(width: u16, height: u16, seed: u32) -> Vec<u8> {
    let mut rgb = Vec::with_capacity(usize::from(width) * usize::from(height) * 3);
    let mut noise = Noise(seed);
    let (w, h) = (u32::from(width), u32::from(height));
    for y in 0..h {
        for x in 0..w {
            let edge = if (x / 16 + y / 16 + seed).is_multiple_of(5) {
                60
            } else {
                0
            };
            let grain = noise.next() % 12;
            let shades = [x * 150 / w, y * 150 / h, (x + y) * 150 / (w + h)];
            rgb.extend(shades.map(|shade| (shade + edge + grain) as u8));
        }
    }
    rgb
}

/// Pseudo-random numbers, in which an encoder finds no pattern.
struct Noise(u32);

impl Noise {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 16
    }
}

/// Returns a JPEG with the quality and subsampling of a camera.
pub(crate) fn photo(width: u16, height: u16, seed: u32) -> Vec<u8> {
    jpeg(&pixels(width, height, seed), (width, height), 92)
}

/// Returns a JPEG that is smaller neither as AVIF nor as WebP at the default quality: noise, saved
/// at low quality.
pub(crate) fn small_photo() -> Vec<u8> {
    let mut noise = Noise(7);
    let rgb: Vec<u8> = iter::repeat_with(|| noise.next() as u8)
        .take(64 * 64 * 3)
        .collect();
    jpeg(&rgb, (64, 64), 30)
}

/// Personal data in the EXIF of [`turned_photo`].
pub(crate) const OWNER: &[u8] = b"Erika Mustermann, 52.5 N 13.4 E";

/// Returns a photograph with this EXIF orientation and with its owner's name.
pub(crate) fn turned_photo(width: u16, height: u16, orientation: u8) -> Vec<u8> {
    // TIFF 6.0: a directory of two entries, Orientation (0x0112) and Artist (0x013b), followed by
    // the text of Artist.
    let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x02".to_vec();
    exif.extend([0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]);
    exif.extend([0x01, 0x3b, 0, 2, 0, 0, 0, OWNER.len() as u8]);
    exif.extend([0, 0, 0, 38, 0, 0, 0, 0]);
    exif.extend(OWNER);
    let mut jpeg = Vec::new();
    let mut encoder = Encoder::new(&mut jpeg, 92);
    encoder
        .add_app_segment(1, exif)
        .expect("a segment of a few bytes fits");
    let rgb = pixels(width, height, 1);
    encoder
        .encode(&rgb, width, height, ColorType::Rgb)
        .expect("the pixels fit the size");
    jpeg
}

fn jpeg(rgb: &[u8], (width, height): (u16, u16), quality: u8) -> Vec<u8> {
    let mut jpeg = Vec::new();
    let mut encoder = Encoder::new(&mut jpeg, quality);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    encoder.set_optimized_huffman_tables(true);
    encoder
        .encode(rgb, width, height, ColorType::Rgb)
        .expect("the pixels fit the size");
    jpeg
}

/// Returns a drawing of few colours: stripes with soft and hard edges on a plain background.
pub(crate) fn drawing(width: u16, height: u16) -> Vec<u8> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, u32::from(width), u32::from(height));
    encoder.set_color(png::ColorType::Rgb);
    let (width, height) = (u32::from(width), u32::from(height));
    let pixels = (0..width * height).flat_map(|at| {
        let (x, y) = (at % width, at / width);
        match (x + 3 * y / 2) % 23 {
            0..8 => [30, 60, 30],
            8 => [60, 110, 50],
            9..17 => [90, 160, 70],
            _ => [60, 110, 50],
        }
    });
    let pixels: Vec<u8> = pixels.collect();
    let mut writer = encoder.write_header().expect("memory takes a header");
    writer
        .write_image_data(&pixels)
        .expect("memory takes the pixels");
    writer.finish().expect("memory takes the end");
    png
}

/// Returns a picture of strokes that are hardly lighter than the background. AVIF at low effort
/// loses some of the strokes. AVIF at higher effort keeps the strokes and is therefore larger.
pub(crate) fn faint(width: u16, height: u16) -> Vec<u8> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, u32::from(width), u32::from(height));
    encoder.set_color(png::ColorType::Grayscale);
    let (width, height) = (u32::from(width), u32::from(height));
    let pixels = (0..width * height).map(|at| {
        let (x, y) = (at % width, at / width);
        let is_inked = (x / 16).wrapping_mul(0x9e37_79b1) ^ (y / 24).wrapping_mul(0x85eb_ca77);
        let (column, row) = (x % 16, y % 24);
        let is_stroke = row < 14 && (column < 2 || (row % 6 < 2 && column < 9));
        if is_stroke && is_inked >> 28 & 3 != 0 {
            57
        } else {
            52
        }
    });
    let pixels: Vec<u8> = pixels.collect();
    let mut writer = encoder.write_header().expect("memory takes a header");
    writer
        .write_image_data(&pixels)
        .expect("memory takes the pixels");
    writer.finish().expect("memory takes the end");
    png
}

/// Returns a PNG with the pixels of [`pixels`].
pub(crate) fn png(width: u16, height: u16) -> Vec<u8> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, u32::from(width), u32::from(height));
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("memory takes a header");
    writer
        .write_image_data(&pixels(width, height, 3))
        .expect("the pixels fit the size");
    writer.finish().expect("memory takes the end");
    png
}

/// Returns a GIF of `frames` frames.
pub(crate) fn gif(width: u16, height: u16, frames: u16) -> Vec<u8> {
    let mut gif = Vec::new();
    let palette = [0, 0, 0, 255, 255, 255, 200, 30, 30, 30, 30, 200];
    let encoder = gif::Encoder::new(&mut gif, width, height, &palette);
    let mut encoder = encoder.expect("memory takes a header");
    for frame in 0..frames {
        let area = u32::from(width) * u32::from(height);
        let indices: Vec<u8> = (0..area)
            .map(|at| ((at / 7 + u32::from(frame)) % 4) as u8)
            .collect();
        let frame = gif::Frame::from_indexed_pixels(width, height, indices, None);
        encoder.write_frame(&frame).expect("memory takes a frame");
    }
    drop(encoder);
    gif
}

/// Returns a BMP with 24 bits per pixel, bottom row first.
pub(crate) fn bmp(width: u16, height: u16) -> Vec<u8> {
    const HEADERS_BYTES: u32 = 14 + 40;
    let row_bytes = (u32::from(width) * 3).next_multiple_of(4);
    let pixels_bytes = row_bytes * u32::from(height);
    let mut bmp = b"BM".to_vec();
    for number in [HEADERS_BYTES + pixels_bytes, 0, HEADERS_BYTES, 40] {
        bmp.extend(number.to_le_bytes());
    }
    bmp.extend(u32::from(width).to_le_bytes());
    bmp.extend(u32::from(height).to_le_bytes());
    bmp.extend([1, 0, 24, 0]);
    for number in [0, pixels_bytes, 2835, 2835, 0, 0] {
        bmp.extend(number.to_le_bytes());
    }
    for row in pixels(width, height, 5)
        .chunks(usize::from(width) * 3)
        .rev()
    {
        bmp.extend(row);
        bmp.extend(iter::repeat_n(0, row_bytes as usize - row.len()));
    }
    bmp
}

pub(crate) const SVG: &[u8] = b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><script>alert(1)</script></svg>\n";

/// Returns a chunk of a PNG.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut chunk = (data.len() as u32).to_be_bytes().to_vec();
    chunk.extend(kind);
    chunk.extend(data);
    let sum = crc32(&chunk[4..]);
    chunk.extend(sum.to_be_bytes());
    chunk
}

/// Computes the CRC of PNG (third edition) Annex D, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let shift_byte = |sum: u32| (0..8).fold(sum, |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)));
    !bytes.iter().fold(!0, |sum, byte| {
        shift_byte((sum ^ u32::from(*byte)) & 0xff) ^ (sum >> 8)
    })
}

/// Returns a PNG of 900 million pixels of one colour, in a stream of a few hundred bytes.
pub(crate) fn png_bomb() -> Vec<u8> {
    let side = 30_000_u32.to_be_bytes();
    let header = [&side[..], &side, &[8, 2, 0, 0, 0]].concat();
    // A stored block of 256 zeros. A decoder allocates more than two gigabytes before it notices
    // that the next block is missing.
    let pixels = [&b"\x78\x01\x00\x00\x01\xff\xfe"[..], &[0; 256]].concat();
    let chunks = [
        chunk(b"IHDR", &header),
        chunk(b"IDAT", &pixels),
        chunk(b"IEND", b""),
    ];
    [&b"\x89PNG\r\n\x1a\n"[..], &chunks.concat()].concat()
}

/// Returns a PNG whose colour profile consists of 8 MiB of zeros instead of compressed data.
pub(crate) fn png_with_giant_profile() -> Vec<u8> {
    let mut profile = b"giant\0\0".to_vec();
    profile.extend(iter::repeat_n(0, 8 << 20));
    // Insert the chunk after the signature and the header, as the specification requires.
    let mut png = png(96, 64);
    let chunk = chunk(b"iCCP", &profile);
    png.splice(33..33, chunk);
    png
}

/// Returns a JPEG whose header claims the most pixels that libjpeg accepts, with hardly any data.
pub(crate) fn jpeg_bomb() -> Vec<u8> {
    let mut jpeg = photo(16, 16, 1);
    let frame = jpeg
        .windows(2)
        .position(|marker| marker == [0xff, 0xc0])
        .expect("a baseline frame");
    // The frame header consists of marker, length and precision, then height and width.
    let side = 65_500_u16.to_be_bytes();
    jpeg[frame + 5..frame + 7].copy_from_slice(&side);
    jpeg[frame + 7..frame + 9].copy_from_slice(&side);
    jpeg
}

/// Returns a PNG with a valid header and invalid pixel data.
pub(crate) fn undecodable() -> Vec<u8> {
    let mut png = png(96, 64);
    let data = png
        .windows(4)
        .position(|name| name == b"IDAT")
        .expect("pixels");
    png[data + 4..data + 40].fill(0xff);
    png
}
