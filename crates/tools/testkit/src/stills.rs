//! Writers of small pictures in formats that no encoder of the tests writes: TIFF, ICO, TGA, QOI,
//! PNM, Radiance HDR, PSD, HEIC and camera raw. The pixels are generated; each call returns the
//! same.

mod previews;
mod tiff;

pub use tiff::{Page, Tiff, Values};

/// Width of the pictures of [`all`] in pixels.
pub const WIDTH: u32 = 21;
/// Height of the pictures of [`all`] in pixels.
pub const HEIGHT: u32 = 13;

/// Returns RGB pixels: a gradient with a few edges.
#[must_use]
pub fn rgb(width: u32, height: u32) -> Vec<u8> {
    let pixel = |at: u32| {
        let (x, y) = (at % width, at / width);
        let edge = if (x / 4 + y / 4) % 3 == 0 { 60 } else { 0 };
        [x * 190 / width, y * 190 / height, 190 - x * 190 / width].map(|level| (level + edge) as u8)
    };
    (0..width * height).flat_map(pixel).collect()
}

/// Returns grey levels: the green samples of [`rgb`].
#[must_use]
pub fn grey(width: u32, height: u32) -> Vec<u8> {
    rgb(width, height).into_iter().skip(1).step_by(3).collect()
}

/// Returns a picture of [`WIDTH`] × [`HEIGHT`] pixels of each format, with the usual extension.
#[must_use]
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let (rgb, grey) = (rgb(WIDTH, HEIGHT), grey(WIDTH, HEIGHT));
    let pnm = |head: &str, samples: &[u8]| [head.as_bytes(), samples].concat();
    let wide: Vec<u8> = grey.iter().flat_map(|level| [*level, *level]).collect();
    let text: Vec<String> = rgb.iter().map(u8::to_string).collect();
    let mut files = vec![
        ("tga", tga(2, 24, 0, &bgr(&rgb))),
        ("tga", tga_with_runs(&rgb)),
        ("tga", tga(3, 8, 0x20, &grey)),
        ("qoi", qoi(&rgb)),
        (
            "pgm",
            pnm(&format!("P5\n# grey\n{WIDTH} {HEIGHT}\n255\n"), &grey),
        ),
        ("pgm", pnm(&format!("P5 {WIDTH} {HEIGHT} 65535\n"), &wide)),
        ("ppm", pnm(&format!("P6\n{WIDTH} {HEIGHT}\n255\n"), &rgb)),
        (
            "ppm",
            pnm(
                &format!("P3\n{WIDTH} {HEIGHT}\n255\n"),
                text.join(" ").as_bytes(),
            ),
        ),
        (
            "pbm",
            pnm(
                &format!("P4\n{WIDTH} {HEIGHT}\n"),
                &[0xa5; 3 * HEIGHT as usize],
            ),
        ),
        (
            "pam",
            pnm(
                &format!(
                    "P7\nWIDTH {WIDTH}\nHEIGHT {HEIGHT}\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n"
                ),
                &rgb,
            ),
        ),
        ("hdr", hdr(&rgb)),
        ("psd", psd(&rgb, false)),
        ("psd", psd(&rgb, true)),
        ("ico", ico(&rgb)),
    ];
    let tiffs = tiff::samples(&rgb, &grey).into_iter();
    files.extend(tiffs.map(|tiff| ("tif", tiff)));
    files.extend(previews::samples());
    files
}

fn bgr(rgb: &[u8]) -> Vec<u8> {
    let (pixels, _) = rgb.as_chunks::<3>();
    pixels.iter().flat_map(|[r, g, b]| [*b, *g, *r]).collect()
}

/// Returns a TGA without palette, of [`WIDTH`] × [`HEIGHT`] pixels.
#[must_use]
pub fn tga(image_type: u8, pixel_bits: u8, descriptor: u8, data: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, image_type, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([WIDTH as u8, 0, HEIGHT as u8, 0, pixel_bits, descriptor]);
    file.extend(data);
    file
}

/// Returns a TGA with packets of 7 pixels, of which every second is a run, and with a footer.
fn tga_with_runs(rgb: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    for (index, pixels) in bgr(rgb).chunks(3 * 7).enumerate() {
        let last = (pixels.len() / 3 - 1) as u8;
        if index % 2 == 0 {
            data.push(last);
            data.extend(pixels);
        } else {
            data.push(0x80 | last);
            data.extend(&pixels[..3]);
        }
    }
    data.extend([0; 8]);
    data.extend(b"TRUEVISION-XFILE.\0");
    tga(10, 24, 0, &data)
}

/// Returns a QOI in which every third pixel repeats the previous one.
fn qoi(rgb: &[u8]) -> Vec<u8> {
    let mut file = b"qoif".to_vec();
    file.extend(WIDTH.to_be_bytes());
    file.extend(HEIGHT.to_be_bytes());
    file.extend([3, 0]);
    let (pixels, _) = rgb.as_chunks::<3>();
    for group in pixels.chunks(3) {
        for pixel in &group[..group.len().min(2)] {
            file.push(0xfe);
            file.extend(pixel);
        }
        if group.len() == 3 {
            file.push(0xc0);
        }
    }
    file.extend([0, 0, 0, 0, 0, 0, 0, 1]);
    file
}

/// Returns a Radiance HDR whose scanlines are run-length encoded.
fn hdr(rgb: &[u8]) -> Vec<u8> {
    let head = format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {HEIGHT} +X {WIDTH}\n");
    let mut file = head.into_bytes();
    for row in rgb.chunks(3 * WIDTH as usize) {
        file.extend([2, 2, 0, WIDTH as u8]);
        for component in 0..3 {
            file.push(WIDTH as u8);
            file.extend(row.iter().skip(component).step_by(3));
        }
        file.extend([128 + WIDTH as u8, 129]);
    }
    file
}

/// Returns a PSD with one resource and without layers, with or without run lengths.
fn psd(rgb: &[u8], has_runs: bool) -> Vec<u8> {
    let mut file = b"8BPS\0\x01\0\0\0\0\0\0\0\x03".to_vec();
    file.extend(HEIGHT.to_be_bytes());
    file.extend(WIDTH.to_be_bytes());
    file.extend([0, 8, 0, 3, 0, 0, 0, 0]);
    let version = b"8BIM\x04\x21\0\0\0\0\0\x05\0\0\0\x01\x01\0";
    file.extend((version.len() as u32).to_be_bytes());
    file.extend(version);
    file.extend([0; 4]);
    file.extend([0, has_runs.into()]);
    let rows = 3 * HEIGHT as usize;
    if has_runs {
        file.extend([0, WIDTH as u8 + 1].repeat(rows));
    }
    for component in 0..3 {
        for row in rgb.chunks(3 * WIDTH as usize) {
            if has_runs {
                file.push(WIDTH as u8 - 1);
            }
            file.extend(row.iter().skip(component).step_by(3));
        }
    }
    file
}

/// Returns an ICO with a picture of one pixel, and one of [`WIDTH`] × [`HEIGHT`] as BMP of 32 bits.
fn ico(rgb: &[u8]) -> Vec<u8> {
    let bitmap = |width: u32, height: u32, rgb: &[u8]| {
        let mut out = 40_u32.to_le_bytes().to_vec();
        out.extend(width.to_le_bytes());
        out.extend((2 * height).to_le_bytes());
        out.extend([1, 0, 32, 0]);
        out.extend([0; 24]);
        for row in rgb.chunks(3 * width as usize).rev() {
            let (pixels, _) = row.as_chunks::<3>();
            out.extend(pixels.iter().flat_map(|[r, g, b]| [*b, *g, *r, 255]));
        }
        out.extend(vec![0; (width.div_ceil(32) * 4 * height) as usize]);
        out
    };
    let small = bitmap(1, 1, &[1, 2, 3]);
    let large = bitmap(WIDTH, HEIGHT, rgb);
    let mut file = vec![0, 0, 1, 0, 2, 0];
    let mut offset = 6 + 2 * 16;
    for (width, height, bytes) in [(1, 1, &small), (WIDTH as u8, HEIGHT as u8, &large)] {
        file.extend([width, height, 0, 0, 1, 0, 32, 0]);
        file.extend((bytes.len() as u32).to_le_bytes());
        file.extend((offset as u32).to_le_bytes());
        offset += bytes.len();
    }
    [file, small, large].concat()
}
