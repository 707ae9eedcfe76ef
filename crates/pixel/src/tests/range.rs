use super::*;
use crate::range::with_range;

fn ramp(range: Range) -> Yuv {
    let size = Size::new(256, 1);
    let plane = Plane {
        size,
        stride: 256,
        data: (0..=255).collect(),
    };
    Yuv {
        range,
        luma: plane.clone(),
        chroma: Some([plane.clone(), plane.clone()]),
        alpha: Some(plane),
        ..noise_yuv(size, Subsampling::S444, false, None)
    }
}

fn check(from: Range, to: Range, luma: impl Fn(f64) -> f64, chroma: impl Fn(f64) -> f64) {
    let yuv = with_range(ramp(from), to);
    let rounded = |map: &dyn Fn(f64) -> f64| -> Vec<u8> {
        (0..=255_u8)
            // Halves are rounded up.
            .map(|value| {
                (map(f64::from(value)) + 0.5 + 1e-9)
                    .floor()
                    .clamp(0.0, 255.0) as u8
            })
            .collect()
    };
    assert_eq!(yuv.range, to);
    assert_eq!(yuv.luma.data, rounded(&luma));
    for plane in yuv.chroma.expect("coloured") {
        assert_eq!(plane.data, rounded(&chroma));
    }
    assert_eq!(
        yuv.alpha.expect("kept").data,
        (0..=255).collect::<Vec<u8>>()
    );
}

#[test]
fn full_to_limited_is_bt601s_formula() {
    check(
        Range::Full,
        Range::Limited,
        |y| 16.0 + 219.0 / 255.0 * y,
        |c| 128.0 + 224.0 / 255.0 * (c - 128.0),
    );
}

#[test]
fn limited_to_full_is_its_inverse_and_clamps() {
    check(
        Range::Limited,
        Range::Full,
        |y| (y.clamp(16.0, 235.0) - 16.0) * 255.0 / 219.0,
        |c| 128.0 + (c.clamp(16.0, 240.0) - 128.0) * 255.0 / 224.0,
    );
}

#[test]
fn limited_range_survives_the_way_through_full() {
    let limited = with_range(ramp(Range::Full), Range::Limited);
    let back = with_range(with_range(limited.clone(), Range::Full), Range::Limited);
    assert_eq!(back, limited);
}
