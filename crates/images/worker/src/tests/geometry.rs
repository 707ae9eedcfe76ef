//! Tests of the geometry of outputs: orientation, crop, scale and padding. Some inputs are shrunk
//! by the decoder itself.

use super::pictures::{
    AVIF, JPEG, PNG, WEBP, distance, done, jpeg, png, read, scene, seen_through, whole,
};
use image_plan::{Format, Layout, Orientation, Packed, Plan, Raster, Rect, Size, Subsampling};
use pixel::{Area, orient, scale, to_packed};

const UPRIGHT: Size = Size::new(93, 62);

/// Orientations, each with its inverse.
const ORIENTATIONS: [(Orientation, Orientation); 8] = [
    (Orientation::Upright, Orientation::Upright),
    (Orientation::Mirror, Orientation::Mirror),
    (Orientation::Turn180, Orientation::Turn180),
    (Orientation::Flip, Orientation::Flip),
    (Orientation::Transpose, Orientation::Transpose),
    (Orientation::Turn90, Orientation::Turn270),
    (Orientation::Transverse, Orientation::Transverse),
    (Orientation::Turn270, Orientation::Turn90),
];

fn cut(packed: &Packed, rect: Rect, size: Size) -> Packed {
    let raster = Raster::Packed(packed.clone());
    to_packed(scale(raster, Area::from(rect), size, Subsampling::S444))
}

#[test]
fn every_orientation_gives_the_same_upright_picture() {
    let upright = scene(UPRIGHT);
    let crop = Rect {
        x: 11,
        y: 7,
        size: Size::new(71, 50),
    };
    for (orientation, back) in ORIENTATIONS {
        let lying = to_packed(orient(Raster::Packed(upright.clone()), back));
        for subsampling in [Subsampling::S444, Subsampling::S422, Subsampling::S420] {
            let original = jpeg(&lying, subsampling);
            for size in [crop.size, Size::new(35, 25)] {
                for encoding in [PNG, WEBP, AVIF, JPEG] {
                    let plan = Plan {
                        orientation,
                        crop,
                        inner: size,
                        target: size,
                        ..whole(Format::Jpeg, lying.size, encoding)
                    };
                    let (pixels, _) = read(&plan, &done(&plan, &original).bytes);
                    let distance = distance(&pixels, &cut(&upright, crop, size));
                    assert!(
                        distance <= 3.0,
                        "{orientation:?} {subsampling:?} at {size:?} to {encoding:?}: {distance:.2}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_decoder_that_shrinks_gives_the_picture_of_one_that_does_not() {
    let stored = Size::new(2845, 2831);
    let picture = scene(stored);
    let original = jpeg(&picture, Subsampling::S420);
    let crop = Rect {
        x: 33,
        y: 21,
        size: Size::new(2797, 2801),
    };
    for (size, shrink) in [
        (Size::new(1399, 1401), 1),
        (Size::new(699, 700), 2),
        (Size::new(349, 350), 4),
        (Size::new(3, 2), 4),
    ] {
        let plan = Plan {
            crop,
            inner: size,
            target: size,
            ..whole(Format::Jpeg, stored, PNG)
        };
        assert_eq!(plan.shrink(), shrink);
        let (pixels, _) = read(&plan, &done(&plan, &original).bytes);
        let distance = distance(&pixels, &cut(&picture, crop, size));
        assert!(distance <= 1.5, "at {size:?}: {distance:.2}");
    }
}

#[test]
fn a_picture_can_be_enlarged() {
    let picture = scene(UPRIGHT);
    let large = Size::new(201, 155);
    let plan = Plan {
        inner: large,
        target: large,
        ..whole(Format::Jpeg, UPRIGHT, WEBP)
    };
    let original = jpeg(&picture, Subsampling::S420);
    let (pixels, _) = read(&plan, &done(&plan, &original).bytes);
    let all = Rect {
        x: 0,
        y: 0,
        size: UPRIGHT,
    };
    let distance = distance(&pixels, &cut(&picture, all, large));
    assert!(distance <= 3.0, "{distance:.2}");
}

#[test]
fn a_frame_is_white_or_transparent() {
    let frame = Size::new(UPRIGHT.width_px + 30, UPRIGHT.height_px + 21);
    let framed = |picture: &Packed, encoding| {
        let plan = Plan {
            target: frame,
            ..whole(Format::Png, UPRIGHT, encoding)
        };
        read(&plan, &done(&plan, &png(picture, None)).bytes).0
    };
    for encoding in [PNG, WEBP, AVIF, JPEG] {
        let pixels = framed(&scene(UPRIGHT), encoding);
        for corner in [&pixels.data[..3], &pixels.data[pixels.data.len() - 3..]] {
            assert!(
                corner.iter().all(|&sample| 250 <= sample),
                "{encoding:?}: {corner:?}"
            );
        }
    }
    for encoding in [PNG, WEBP, AVIF] {
        let pixels = framed(&seen_through(UPRIGHT), encoding);
        assert_eq!(pixels.layout, Layout::Rgba);
        let corners = [pixels.data[3], pixels.data[pixels.data.len() - 1]];
        assert!(
            corners.iter().all(|&alpha| alpha <= 3),
            "{encoding:?}: {corners:?}"
        );
    }
    let pixels = framed(&seen_through(UPRIGHT), JPEG);
    assert!(pixels.data[..3].iter().all(|&sample| 250 <= sample));
}
