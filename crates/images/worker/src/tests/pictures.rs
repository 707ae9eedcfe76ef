//! Synthetic pictures, files that contain them, and the distance between two pictures.

use crate::{ConvertedPicture, convert};
use codec::{DecodeOptions, decode, encode};
use image_plan::{
    Effects, Encoding, Format, Layout, Matrix, Orientation, Packed, Plan, Range, Raster, Rect,
    Size, Subsampling,
};
use pixel::{to_packed, to_planes};

pub(super) const AVIF: Encoding = Encoding::Avif {
    quality: 90,
    speed: 9,
    lossless: false,
};
pub(super) const AVIF_LOSSLESS: Encoding = Encoding::Avif {
    quality: 100,
    speed: 9,
    lossless: true,
};
pub(super) const WEBP: Encoding = Encoding::Webp {
    quality: 90,
    method: 2,
    lossless: false,
};
pub(super) const WEBP_LOSSLESS: Encoding = Encoding::Webp {
    quality: 100,
    method: 0,
    lossless: true,
};
pub(super) const JPEG: Encoding = Encoding::Jpeg { quality: 89 };
pub(super) const JPEG_FULL_CHROMA: Encoding = Encoding::Jpeg { quality: 95 };
pub(super) const PNG: Encoding = Encoding::Png;

/// Encodings that cover all encoders with their lossless modes and chroma subsamplings.
pub(super) const ENCODINGS: [Encoding; 7] = [
    AVIF,
    AVIF_LOSSLESS,
    WEBP,
    WEBP_LOSSLESS,
    JPEG,
    JPEG_FULL_CHROMA,
    PNG,
];

/// Returns a smooth picture with different corners, so that every rotation or mirroring changes it.
pub(super) fn scene(size: Size) -> Packed {
    let part = |at: u32, side: u32| (f64::from(at) + 0.5) / f64::from(side);
    let mut data = Vec::new();
    for y in 0..size.height_px {
        for x in 0..size.width_px {
            let (x, y) = (part(x, size.width_px), part(y, size.height_px));
            let bump = (-20.0 * ((x - 0.3).powi(2) + (y - 0.2).powi(2))).exp();
            let colour = [
                30.0 + 180.0 * x,
                40.0 + 120.0 * y + 60.0 * bump,
                200.0 - 150.0 * x * y,
            ];
            data.extend(colour.map(|v| v.round() as u8));
        }
    }
    Packed {
        size,
        layout: Layout::Rgb,
        data,
    }
}

/// Returns the picture of `scene`, with transparency that increases from top to bottom.
pub(super) fn seen_through(size: Size) -> Packed {
    let rgb = scene(size);
    let pixels = rgb.data.as_chunks::<3>().0.iter().enumerate();
    let data = pixels.flat_map(|(at, &[r, g, b])| {
        let y = at as u32 / size.width_px;
        [r, g, b, (255 - 200 * y / size.height_px) as u8]
    });
    Packed {
        size,
        layout: Layout::Rgba,
        data: data.collect(),
    }
}

pub(super) fn grey_of(packed: &Packed) -> Packed {
    let mut yuv = planes(packed, Subsampling::S444, Range::Full);
    yuv.chroma = None;
    yuv.subsampling = Subsampling::S400;
    to_packed(Raster::Yuv(yuv))
}

pub(super) fn planes(packed: &Packed, subsampling: Subsampling, range: Range) -> image_plan::Yuv {
    let full = to_planes(
        Raster::Packed(packed.clone()),
        Subsampling::S444,
        range,
        Matrix::Bt601,
    );
    if subsampling == Subsampling::S400 {
        return image_plan::Yuv {
            subsampling,
            chroma: None,
            ..full
        };
    }
    to_planes(Raster::Yuv(full), subsampling, range, Matrix::Bt601)
}

pub(super) fn file(raster: &Raster, profile: Option<&[u8]>, encoding: Encoding) -> Vec<u8> {
    encode(raster, profile, encoding).expect("a picture of the encoder's form")
}

pub(super) fn jpeg(packed: &Packed, subsampling: Subsampling) -> Vec<u8> {
    let raster = Raster::Yuv(planes(packed, subsampling, Range::Full));
    file(&raster, None, Encoding::Jpeg { quality: 97 })
}

pub(super) fn png(packed: &Packed, profile: Option<&[u8]>) -> Vec<u8> {
    file(&Raster::Packed(packed.clone()), profile, PNG)
}

/// Returns a plan for a whole upright picture at its own size.
pub(super) fn whole(source: Format, stored: Size, encoding: Encoding) -> Plan {
    Plan {
        source,
        stored,
        orientation: Orientation::Upright,
        crop: Rect {
            x: 0,
            y: 0,
            size: stored,
        },
        inner: stored,
        target: stored,
        encoding,
        page: 1,
        effects: Effects::NONE,
        trim: None,
        frames_max: None,
        bytes_max: None,
        score_min: None,
    }
}

/// Converts `original` twice, asserts that both outputs are equal and have the size of the plan,
/// and returns one of them.
#[track_caller]
pub(super) fn done(plan: &Plan, original: &[u8]) -> ConvertedPicture {
    let plan = Plan::from_bytes(&plan.to_bytes()).expect("a plan that can be sent");
    let output = convert(&plan, original).expect("a sound original");
    assert_eq!(convert(&plan, original).as_ref(), Ok(&output), "{plan:?}");
    assert_eq!(output.size, plan.target);
    output
}

/// Decodes an output. Returns the output's pixels, and its profile, if any.
#[track_caller]
pub(super) fn read(plan: &Plan, output: &[u8]) -> (Packed, Option<Vec<u8>>) {
    let format = plan.encoding.target().format();
    assert_eq!(Format::sniff(output), Some(format));
    let decoded = decode(format, output, &DecodeOptions::whole(plan.target));
    let decoded = decoded.expect("an output that can be read");
    assert!(!decoded.damaged);
    (to_packed(decoded.raster), decoded.profile)
}

/// Returns the mean absolute difference of the samples of two pictures.
#[track_caller]
pub(super) fn distance(a: &Packed, b: &Packed) -> f64 {
    assert_eq!((a.size, a.layout), (b.size, b.layout));
    let sum: u64 = a
        .data
        .iter()
        .zip(&b.data)
        .map(|(a, b)| u64::from(a.abs_diff(*b)))
        .sum();
    sum as f64 / a.data.len() as f64
}
