use super::*;
use crate::{Area, scale, scale_by};
use image_plan::Kernel;

fn scaled_yuv(yuv: Yuv, area: Area, size: Size, chroma: Subsampling) -> Yuv {
    match scale(Raster::Yuv(yuv), area, size, chroma) {
        Raster::Yuv(yuv) => yuv,
        Raster::Packed(_) => panic!("planes without alpha stay planes"),
    }
}

fn area(left_px: f64, top_px: f64, width_px: f64, height_px: f64) -> Area {
    Area {
        left_px,
        top_px,
        width_px,
        height_px,
    }
}

#[test]
fn luma_is_the_plain_lanczos_of_its_area() {
    let from = Size::new(61, 47);
    let cases = [
        (area(0.0, 0.0, 61.0, 47.0), Size::new(20, 15)),
        (area(0.0, 0.0, 61.0, 47.0), Size::new(1, 1)),
        (area(0.0, 0.0, 61.0, 47.0), Size::new(100, 90)),
        (area(3.0, 5.0, 40.0, 30.0), Size::new(13, 30)),
        (area(0.25, 0.5, 60.5, 46.25), Size::new(30, 23)),
        (area(59.0, 45.0, 2.0, 2.0), Size::new(7, 3)),
    ];
    for (area, size) in cases {
        let mut outputs = Vec::new();
        for poison in [0, 255] {
            let yuv = noise_yuv(from, Subsampling::S400, false, Some(poison));
            let box_px = [area.left_px, area.top_px, area.width_px, area.height_px];
            let expected = naive::lanczos(&yuv.luma, box_px, size);
            let luma = scaled_yuv(yuv, area, size, Subsampling::S420).luma;
            assert_near(&luma.data, &expected, 0.5, 2);
            outputs.push(luma);
        }
        assert_eq!(outputs[0], outputs[1], "padding leaks");
    }
}

#[test]
fn pixels_outside_the_area_have_no_effect() {
    let from = Size::new(40, 30);
    let area = area(10.0, 8.0, 16.0, 12.0);
    for subsampling in COLOURED {
        let inside = noise_yuv(from, subsampling, false, None);
        let mut poisoned = inside.clone();
        let (across, down) = subsampling.divisors();
        let [cb, cr] = poisoned.chroma.as_mut().expect("coloured");
        for (plane, across, down) in [
            (&mut poisoned.luma, 1, 1),
            (cb, across, down),
            (cr, across, down),
        ] {
            for y in 0..plane.size.height_px {
                for x in 0..plane.size.width_px {
                    // Chroma samples that cross the edge of the area belong to both sides, so the
                    // test does not change them.
                    let outside = |at: u32, by: u32, start: u32, end: u32| {
                        (at + 1) * by <= start || end <= at * by
                    };
                    if outside(x, across, 10, 26) || outside(y, down, 8, 20) {
                        plane.data[y as usize * plane.stride + x as usize] ^= 0xff;
                    }
                }
            }
        }
        for size in [
            Size::new(16, 12),
            Size::new(7, 5),
            Size::new(8, 6),
            Size::new(31, 25),
        ] {
            for chroma in [Subsampling::S420, Subsampling::S444] {
                assert_eq!(
                    scaled_yuv(poisoned.clone(), area, size, chroma),
                    scaled_yuv(inside.clone(), area, size, chroma),
                    "{subsampling:?} to {chroma:?} at {size:?}"
                );
            }
        }
    }
}

/// Scaling planes separately must give the same picture as scaling RGB, for all chroma grids. The
/// tolerance is below 3, because a chroma shift of one output pixel would change the mean by more
/// than 3.
#[test]
fn separately_scaled_planes_stay_aligned() {
    let from = Size::new(97, 83);
    let cases = [
        (Area::whole(from), Size::new(48, 40)),
        (Area::whole(from), Size::new(33, 29)),
        (Area::whole(from), Size::new(150, 131)),
        (area(5.0, 3.0, 80.0, 70.0), Size::new(40, 35)),
        (area(5.0, 3.0, 81.0, 71.0), Size::new(81, 71)),
        (area(0.5, 0.25, 96.25, 82.5), Size::new(31, 27)),
    ];
    let rgb = smooth_rgb(from);
    for (area, size) in cases {
        let expected = packed_of(scale(
            Raster::Packed(rgb.clone()),
            area,
            size,
            Subsampling::S420,
        ));
        for subsampling in COLOURED {
            for chroma in [Subsampling::S444, Subsampling::S420] {
                let yuv = scaled_yuv(subsampled(&rgb, subsampling), area, size, chroma);
                assert_eq!((yuv.size, yuv.subsampling), (size, chroma));
                let packed = packed_of(Raster::Yuv(yuv));
                assert_near(&packed.data, &expected.data, 1.75, 9);
            }
        }
    }
}

#[test]
fn a_picture_that_needs_no_change_keeps_every_sample() {
    for subsampling in COLOURED {
        let yuv = noise_yuv(Size::new(31, 17), subsampling, true, None);
        let whole = Area::whole(yuv.size);
        assert_eq!(scaled_yuv(yuv.clone(), whole, yuv.size, subsampling), yuv);
    }
    let packed = Raster::Packed(noise_packed(Size::new(31, 17), Layout::Rgba));
    let whole = Area::whole(packed.size());
    assert_eq!(
        scale(packed.clone(), whole, packed.size(), Subsampling::S420),
        packed
    );
}

#[test]
fn a_cut_on_the_chroma_grid_copies_samples() {
    let yuv = noise_yuv(Size::new(31, 17), Subsampling::S420, false, Some(7));
    let cut = scaled_yuv(
        yuv.clone(),
        area(4.0, 2.0, 9.0, 11.0),
        Size::new(9, 11),
        Subsampling::S420,
    );
    for y in 0..11 {
        assert_eq!(cut.luma.row(y), &yuv.luma.row(y + 2)[4..13]);
    }
    let (from, to) = (yuv.chroma.expect("4:2:0"), cut.chroma.expect("4:2:0"));
    for y in 0..6 {
        assert_eq!(to[0].row(y), &from[0].row(y + 1)[2..7]);
    }
}

#[test]
fn halving_chroma_takes_the_means_of_blocks() {
    let luma = Plane::filled(Size::new(3, 3), 9);
    let plane = Plane {
        size: Size::new(3, 3),
        stride: 3,
        data: vec![0, 10, 20, 30, 40, 50, 100, 200, 255],
    };
    let yuv = Yuv {
        luma,
        chroma: Some([plane.clone(), plane]),
        ..noise_yuv(Size::new(3, 3), Subsampling::S444, false, None)
    };
    let whole = Area::whole(yuv.size);
    let halved = scaled_yuv(yuv, whole, Size::new(3, 3), Subsampling::S420);
    assert_eq!(halved.chroma.expect("4:2:0")[0].data, [20, 35, 150, 255]);
}

#[test]
fn colours_of_transparent_pixels_do_not_bleed() {
    // Opaque red lies next to transparent green, which must not bleed into the red.
    let size = Size::new(64, 8);
    let data = (0..size.pixels())
        .flat_map(|at| {
            if at % 64 < 29 {
                [255, 0, 0, 255]
            } else {
                [0, 255, 0, 0]
            }
        })
        .collect();
    let packed = Packed {
        size,
        layout: Layout::Rgba,
        data,
    };
    let small = Size::new(17, 3);
    let scaled = packed_of(scale(
        Raster::Packed(packed),
        Area::whole(size),
        small,
        Subsampling::S420,
    ));
    for pixel in scaled.data.as_chunks::<4>().0 {
        assert!(
            pixel[3] == 0 || (pixel[0] >= 254 && pixel[1] <= 1),
            "{pixel:?}"
        );
    }
}

#[test]
fn planes_with_alpha_are_scaled_by_what_is_visible() {
    let yuv = noise_yuv(Size::new(20, 10), Subsampling::S420, true, None);
    let whole = Area::whole(yuv.size);
    let small = Size::new(7, 5);
    let rgba = Raster::Packed(packed_of(Raster::Yuv(yuv.clone())));
    assert_eq!(
        scale(Raster::Yuv(yuv), whole, small, Subsampling::S420),
        scale(rgba, whole, small, Subsampling::S420)
    );
}

proptest! {
    #[test]
    fn any_area_at_any_size_fits(
        from in any_size(60),
        size in any_size(60),
        subsampling in proptest::sample::select(&COLOURED),
        chroma in proptest::sample::select(&COLOURED),
        cuts in (0.0..1.0, 0.0..1.0, 0.0..1.0, 0.0..1.0),
        whole_pixels: bool,
    ) {
        let snap = |v: f64| if whole_pixels { v.floor() } else { v };
        let (width, height) = (f64::from(from.width_px), f64::from(from.height_px));
        let (left, top) = (snap(cuts.0 * width), snap(cuts.1 * height));
        let right = snap(left + cuts.2 * (width - left)).max(left + 0.01);
        let bottom = snap(top + cuts.3 * (height - top)).max(top + 0.01);
        let area = area(left, top, (right - left).min(width - left), (bottom - top).min(height - top));
        let yuv = scaled_yuv(noise_yuv(from, subsampling, false, Some(3)), area, size, chroma);
        prop_assert_eq!(yuv.luma.data.len() as u64, size.pixels());
        for plane in yuv.chroma.expect("coloured") {
            prop_assert_eq!(plane.size, chroma.chroma(size));
            prop_assert_eq!(plane.data.len() as u64, plane.size.pixels());
        }
    }
}

#[test]
fn the_other_kernels_are_the_plain_filters() {
    let from = Size::new(61, 47);
    let cases = [
        (area(0.0, 0.0, 61.0, 47.0), Size::new(20, 15)),
        (area(0.0, 0.0, 61.0, 47.0), Size::new(1, 1)),
        (area(0.0, 0.0, 61.0, 47.0), Size::new(100, 90)),
        (area(3.0, 5.0, 40.0, 30.0), Size::new(13, 30)),
    ];
    type Weight = fn(f64) -> f64;
    let kernels: [(Kernel, Weight); 2] = [
        (Kernel::Cubic, naive::catmull_rom),
        (Kernel::Linear, naive::triangle),
    ];
    for (area, size) in cases {
        for (kernel, weight) in kernels {
            let yuv = noise_yuv(from, Subsampling::S400, false, None);
            let box_px = [area.left_px, area.top_px, area.width_px, area.height_px];
            let expected = naive::filtered(&yuv.luma, box_px, size, weight);
            let grey = yuv.luma.data.iter().flat_map(|&grey| [grey; 3]).collect();
            let packed = Packed {
                size: from,
                layout: Layout::Rgb,
                data: grey,
            };
            let Raster::Yuv(scaled) =
                scale_by(kernel, Raster::Yuv(yuv), area, size, Subsampling::S420)
            else {
                panic!("planes stay planes");
            };
            assert_near(&scaled.luma.data, &expected, 0.5, 2);
            let packed = Raster::Packed(packed);
            let packed = packed_of(scale_by(kernel, packed, area, size, Subsampling::S444));
            let reds: Vec<u8> = packed.data.iter().step_by(3).copied().collect();
            assert_near(&reds, &expected, 0.5, 2);
        }
    }
}

#[test]
fn the_nearest_kernel_repeats_and_skips_pixels() {
    let small = Packed {
        size: Size::new(2, 2),
        layout: Layout::Rgb,
        data: [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]].concat(),
    };
    let nearest = |raster, size| {
        let whole = Area::whole(Raster::size(&raster));
        scale_by(Kernel::Nearest, raster, whole, size, Subsampling::S444)
    };
    let large = packed_of(nearest(Raster::Packed(small.clone()), Size::new(4, 4)));
    let rows = [
        [[1, 2, 3], [1, 2, 3], [4, 5, 6], [4, 5, 6]].concat(),
        [[7, 8, 9], [7, 8, 9], [10, 11, 12], [10, 11, 12]].concat(),
    ];
    assert_eq!(
        large.data,
        [&rows[0][..], &rows[0], &rows[1], &rows[1]].concat()
    );
    assert_eq!(packed_of(nearest(Raster::Packed(large), small.size)), small);
    // Every sample of a plane is one of the samples of the source.
    let yuv = noise_yuv(Size::new(7, 5), Subsampling::S444, false, None);
    let expected: Vec<u8> = (0..11_u32)
        .flat_map(|y| (0..13_u32).map(move |x| ((2 * x + 1) * 7 / 26, (2 * y + 1) * 5 / 22)))
        .map(|(x, y)| yuv.luma.row(y)[x as usize])
        .collect();
    let Raster::Yuv(scaled) = nearest(Raster::Yuv(yuv), Size::new(13, 11)) else {
        panic!("planes stay planes");
    };
    let differing = scaled
        .luma
        .data
        .iter()
        .zip(&expected)
        .filter(|(a, b)| a != b);
    assert_eq!(differing.count(), 0);
}
