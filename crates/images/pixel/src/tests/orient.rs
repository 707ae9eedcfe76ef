use super::*;
use crate::{Area, orient, scale, stored};
use image_plan::{Orientation, Rect};

const ALL: [Orientation; 8] = [
    Orientation::Upright,
    Orientation::Mirror,
    Orientation::Turn180,
    Orientation::Flip,
    Orientation::Transpose,
    Orientation::Turn90,
    Orientation::Transverse,
    Orientation::Turn270,
];

fn naive_plane(plane: &Plane, orientation: Orientation) -> Vec<u8> {
    naive_pixels(plane.size, orientation, |x, y| {
        vec![plane.row(y)[x as usize]]
    })
}

fn naive_packed(packed: &Packed, orientation: Orientation) -> Vec<u8> {
    let channels = packed.layout.channels();
    naive_pixels(packed.size, orientation, |x, y| {
        let at = (y as usize * packed.size.width_px as usize + x as usize) * channels;
        packed.data[at..at + channels].to_vec()
    })
}

fn naive_pixels(
    stored: Size,
    orientation: Orientation,
    at: impl Fn(u32, u32) -> Vec<u8>,
) -> Vec<u8> {
    let upright = if orientation.transposes() {
        stored.transposed()
    } else {
        stored
    };
    let mut out = Vec::new();
    for y in 0..upright.height_px {
        for x in 0..upright.width_px {
            let (x, y) = naive::stored_at(orientation, stored, x, y);
            out.extend(at(x, y));
        }
    }
    out
}

fn check(size: Size, orientation: Orientation) {
    for layout in [Layout::Rgb, Layout::Rgba, Layout::Cmyk] {
        let packed = noise_packed(size, layout);
        let expected = naive_packed(&packed, orientation);
        let Raster::Packed(upright) = orient(Raster::Packed(packed), orientation) else {
            panic!("packed stays packed");
        };
        assert_eq!(
            upright.data, expected,
            "{layout:?} {size:?} {orientation:?}"
        );
    }
    let mut outputs = Vec::new();
    for poison in [0, 255] {
        let yuv = noise_yuv(size, Subsampling::S444, true, Some(poison));
        let planes = [&yuv.luma, &yuv.chroma.as_ref().expect("4:4:4")[1]];
        let expected = planes.map(|plane| naive_plane(plane, orientation));
        let Raster::Yuv(upright) = orient(Raster::Yuv(yuv), orientation) else {
            panic!("planes stay planes");
        };
        if orientation != Orientation::Upright {
            let chroma = upright.chroma.as_ref().expect("4:4:4");
            assert_eq!(upright.luma.data, expected[0], "{size:?} {orientation:?}");
            assert_eq!(chroma[1].data, expected[1], "{size:?} {orientation:?}");
            outputs.push(upright);
        }
    }
    assert!(
        outputs.windows(2).all(|pair| pair[0] == pair[1]),
        "padding leaks"
    );
}

#[test]
fn every_orientation_moves_every_pixel_where_exif_says() {
    for orientation in ALL {
        for (width, height) in [(1, 1), (1, 9), (9, 1), (8, 8), (17, 33), (40, 24), (31, 8)] {
            check(Size::new(width, height), orientation);
        }
    }
}

#[test]
fn transposing_exchanges_the_divisors_of_chroma() {
    let turned = |from| {
        let yuv = noise_yuv(Size::new(12, 8), from, false, None);
        let Raster::Yuv(yuv) = orient(Raster::Yuv(yuv), Orientation::Turn90) else {
            panic!("planes stay planes");
        };
        let chroma = yuv.chroma.expect("coloured")[0].size;
        assert_eq!(chroma, yuv.subsampling.chroma(yuv.size));
        yuv.subsampling
    };
    assert_eq!(turned(Subsampling::S444), Subsampling::S444);
    assert_eq!(turned(Subsampling::S422), Subsampling::S440);
    assert_eq!(turned(Subsampling::S440), Subsampling::S422);
    assert_eq!(turned(Subsampling::S420), Subsampling::S420);
    assert_eq!(turned(Subsampling::S411), Subsampling::S440);
}

/// On the picture of this test, a chroma shift of one luma sample would raise the mean difference
/// from the expected samples by more than 1.5. So the test tolerates a smaller mean difference.
#[test]
fn chroma_keeps_its_place_under_every_orientation_and_size() {
    for subsampling in COLOURED {
        for orientation in ALL {
            for (width, height) in [(48, 40), (47, 40), (48, 39), (45, 37)] {
                let rgb = smooth_rgb(Size::new(width, height));
                let yuv = subsampled(&rgb, subsampling);
                let planes = packed_of(orient(Raster::Yuv(yuv.clone()), orientation));
                let pixels = packed_of(orient(
                    Raster::Packed(packed_of(Raster::Yuv(yuv))),
                    orientation,
                ));
                assert_eq!(planes.size, pixels.size);
                assert_near(&planes.data, &pixels.data, 1.25, 8);
            }
        }
    }
}

#[test]
fn a_part_is_found_where_its_pixels_are_stored() {
    let size = Size::new(11, 7);
    let packed = noise_packed(size, Layout::Rgb);
    for orientation in ALL {
        let upright = Rect {
            x: 2,
            y: 1,
            size: Size::new(4, 5),
        };
        let area = |rect: Rect| (Area::from(rect), rect.size);
        let cut = |raster, (area, size)| scale(raster, area, size, Subsampling::S420);
        let turned = orient(Raster::Packed(packed.clone()), orientation);
        let part = area(stored(upright, size, orientation));
        assert_eq!(
            orient(cut(Raster::Packed(packed.clone()), part), orientation),
            cut(turned, area(upright)),
            "{orientation:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_size_is_turned_like_the_plain_version(size in any_size(70), index in 0..8_usize) {
        check(size, ALL[index]);
    }
}
