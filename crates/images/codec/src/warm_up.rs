//! Runs all codecs once, before the first job needs them.

use image_plan::{
    Encoding, Format, Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv,
};

use crate::{DecodeOptions, decode, encode};

/// One encoding per codec, with the range of its input planes. Each encoded picture is also
/// decoded.
const RUNS: [(Format, Encoding, Range); 3] = [
    (Format::Jpeg, Encoding::Jpeg { quality: 80 }, Range::Full),
    (
        Format::Webp,
        Encoding::Webp {
            quality: 80,
            method: 2,
            lossless: false,
        },
        Range::Limited,
    ),
    (
        Format::Avif,
        Encoding::Avif {
            quality: 60,
            speed: 9,
            lossless: false,
        },
        Range::Full,
    ),
];

/// Size of the test picture; large enough for a whole block in every kernel.
const SIZE: Size = Size::new(64, 64);

/// Encodes and decodes a small picture with every codec. Codecs fill tables on first use, for
/// example with the detected instruction sets. A process must call this function before it forks
/// jobs; otherwise every job would fill the tables again.
///
/// # Panics
/// If a codec fails, which means that the build is broken.
pub fn warm_up() {
    for (format, encoding, range) in RUNS {
        let chroma = || Plane::filled(Subsampling::S420.chroma(SIZE), 100);
        let mut luma = Plane::filled(SIZE, 0);
        for (index, sample) in luma.data.iter_mut().enumerate() {
            *sample = 16 + (index * 7 % 200) as u8;
        }
        let raster = Raster::Yuv(Yuv {
            size: SIZE,
            subsampling: Subsampling::S420,
            range,
            matrix: Matrix::Bt601,
            luma,
            chroma: Some([chroma(), chroma()]),
            alpha: None,
        });
        run(format, encoding, &raster);
    }
    let pixels = Raster::Packed(Packed {
        size: SIZE,
        layout: Layout::Rgb,
        data: vec![100; SIZE.pixels() as usize * 3],
    });
    run(Format::Png, Encoding::Png, &pixels);
    draw();
}

/// Renders a drawing with text, which loads the font.
fn draw() {
    const DRAWING: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'>\
        <circle cx='20' cy='20' r='9'/><text y='50'>Text</text></svg>";
    let decoded = decode(Format::Svg, DRAWING, &DecodeOptions::whole(SIZE));
    let decoded = decoded.unwrap_or_else(|err| panic!("warm-up: svg: {err}"));
    assert_eq!(decoded.raster.size(), SIZE, "warm-up: svg");
}

fn run(format: Format, encoding: Encoding, raster: &Raster) {
    let file = encode(raster, None, encoding);
    let file = file.unwrap_or_else(|err| panic!("warm-up: {encoding:?}: {err}"));
    let decoded = decode(format, &file, &DecodeOptions::whole(SIZE));
    let decoded = decoded.unwrap_or_else(|err| panic!("warm-up: {format:?}: {err}"));
    assert_eq!(decoded.raster.size(), SIZE, "warm-up: {format:?}");
}
