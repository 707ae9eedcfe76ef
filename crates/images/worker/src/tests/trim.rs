//! Tests of plans that remove borders: for every format of original that has an encoder, with and
//! without alpha, and in every orientation.

use super::pictures::{ENCODINGS, JPEG, PNG, WEBP, distance, file, jpeg, png, scene, whole};
use crate::{convert, convert_batch};
use codec::{DecodeOptions, decode};
use image_plan::{
    Batch, Facts, Format, Layout, Limits, Orientation, Packed, Plan, Raster, Rect, Size, Stage,
    Subsampling, Target, parse_query, plan, probe,
};
use pixel::{orient, to_packed, to_planes};

const SIZE: Size = Size::new(96, 64);
/// Part of the picture inside the borders, aligned to the blocks of JPEG.
const PART: Rect = Rect {
    x: 32,
    y: 16,
    size: Size::new(48, 32),
};

/// Returns a picture of `SIZE` whose border has the colour `border`, with `scene` in `PART`.
fn bordered(border: [u8; 3]) -> Packed {
    let inside = scene(PART.size);
    let mut data = border.repeat(SIZE.pixels() as usize);
    let row_bytes = 3 * PART.size.width_px as usize;
    for (y, row) in inside.data.chunks_exact(row_bytes).enumerate() {
        let at = ((y + PART.y as usize) * SIZE.width_px as usize + PART.x as usize) * 3;
        data[at..at + row_bytes].copy_from_slice(row);
    }
    Packed {
        size: SIZE,
        layout: Layout::Rgb,
        data,
    }
}

/// Returns `picture` with alpha: 0 in the border, 255 in `PART`.
fn cut_out(picture: &Packed) -> Packed {
    let pixels = picture.data.as_chunks::<3>().0.iter().enumerate();
    let is_inside = |at: usize| {
        let (x, y) = (at as u32 % SIZE.width_px, at as u32 / SIZE.width_px);
        (PART.x..PART.x + PART.size.width_px).contains(&x)
            && (PART.y..PART.y + PART.size.height_px).contains(&y)
    };
    let data = pixels.flat_map(|(at, &[r, g, b])| {
        let noise = (at * 37) as u8;
        match is_inside(at) {
            true => [r, g, b, 255],
            false => [noise, noise, noise, 0],
        }
    });
    Packed {
        size: SIZE,
        layout: Layout::Rgba,
        data: data.collect(),
    }
}

fn facts(original: &[u8]) -> Facts {
    probe(original, original.len() as u64).expect("a picture")
}

fn planned(facts: &Facts, query: &str, target: Target) -> Plan {
    let recipe = parse_query(query).expect("a valid query").recipe;
    let limits = Limits::default();
    let plan = plan(facts, &recipe, target, Stage::Quick, &limits).expect("a small picture");
    Plan::from_bytes(&plan.to_bytes()).expect("a plan that can be sent")
}

/// Converts `original` to PNG according to `query`.
#[track_caller]
fn trimmed(original: &[u8], query: &str) -> Packed {
    let output = convert(&planned(&facts(original), query, Target::Png), original);
    let output = output.expect("a sound original");
    let decoded = decode(
        Format::Png,
        &output.bytes,
        &DecodeOptions::whole(output.size),
    );
    to_packed(decoded.expect("a PNG").raster)
}

#[test]
fn borders_are_removed_from_every_format() {
    for border in [[255; 3], [0; 3], [20, 90, 160]] {
        for encoding in ENCODINGS {
            let picture = Raster::Packed(bordered(border));
            let form = match encoding.is_lossy() {
                true => {
                    let range = match encoding.target() {
                        Target::Webp => image_plan::Range::Limited,
                        _ => image_plan::Range::Full,
                    };
                    let matrix = image_plan::Matrix::Bt601;
                    Raster::Yuv(to_planes(picture, Subsampling::S420, range, matrix))
                }
                false => picture,
            };
            let original = file(&form, None, encoding);
            let made = trimmed(&original, "trim=24");
            assert_eq!(made.size, PART.size, "{border:?} {encoding:?}");
            let distance = distance(&made, &scene(PART.size));
            assert!(distance <= 4.0, "{border:?} {encoding:?}: {distance:.2}");
        }
    }
}

#[test]
fn transparent_borders_are_removed_whatever_their_colour() {
    let picture = cut_out(&bordered([9; 3]));
    let made = trimmed(&png(&picture, None), "trim=0");
    assert_eq!((made.size, made.layout), (PART.size, Layout::Rgb));
    assert_eq!(made.data, scene(PART.size).data);
    let planes = to_planes(
        Raster::Packed(picture),
        Subsampling::S420,
        image_plan::Range::Limited,
        image_plan::Matrix::Bt601,
    );
    let made = trimmed(&file(&Raster::Yuv(planes), None, WEBP), "trim=0");
    assert_eq!(made.size, PART.size);
}

#[test]
fn borders_are_removed_in_every_orientation() {
    for value in 1..=8 {
        let orientation = Orientation::from_exif(value).expect("1 to 8");
        let original = png(&bordered([255; 3]), None);
        let facts = Facts {
            orientation,
            ..facts(&original)
        };
        let plan = planned(&facts, "trim=0&crop=0.0,0,0.5,1", Target::Png);
        let output = convert(&plan, &original).expect("a sound original");
        let upright = to_packed(orient(Raster::Packed(scene(PART.size)), orientation));
        let half = Size::new(upright.size.width_px / 2, upright.size.height_px);
        assert_eq!(output.size, half, "{orientation:?}");
        let decoded = decode(Format::Png, &output.bytes, &DecodeOptions::whole(half));
        let made = to_packed(decoded.expect("a PNG").raster);
        let rows = upright
            .data
            .chunks_exact(3 * upright.size.width_px as usize);
        let expected = rows.flat_map(|row| &row[..3 * half.width_px as usize]);
        assert!(made.data.iter().eq(expected), "{orientation:?}");
    }
}

#[test]
fn a_picture_of_one_colour_is_kept_whole() {
    let picture = Packed {
        size: SIZE,
        layout: Layout::Rgb,
        data: [40, 50, 60].repeat(SIZE.pixels() as usize),
    };
    for query in ["trim=0", "trim=255"] {
        assert_eq!(trimmed(&png(&picture, None), query).size, SIZE);
        assert_eq!(
            trimmed(&jpeg(&picture, Subsampling::S420), query).size,
            SIZE
        );
    }
}

#[test]
fn trims_and_plain_plans_share_one_decode() {
    let original = jpeg(&bordered([255; 3]), Subsampling::S420);
    let facts = facts(&original);
    let plans = [
        planned(&facts, "trim=24", Target::Webp),
        planned(&facts, "trim=24&w=20", Target::Png),
        whole(Format::Jpeg, SIZE, JPEG),
        whole(Format::Jpeg, SIZE, PNG),
    ];
    let batch = Batch::new(&plans, false);
    let files = convert_batch(&batch, &original)
        .expect("a sound original")
        .files;
    for (plan, file) in plans.iter().zip(files) {
        let alone = convert(plan, &original).expect("a sound original");
        assert_eq!(file, alone.bytes);
    }
}
