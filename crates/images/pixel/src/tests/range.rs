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

const LEVELS: [u8; 256] = {
    let mut levels = [0; 256];
    let mut level = 0;
    while level < 256 {
        levels[level] = level as u8;
        level += 1;
    }
    levels
};

#[test]
fn full_to_limited_is_bt601s_formula_in_the_mean_of_a_tile() {
    for level in LEVELS {
        let size = Size::new(37, 8);
        let yuv = Yuv {
            range: Range::Full,
            luma: Plane::filled(size, level),
            chroma: Some([Plane::filled(size, level), Plane::filled(size, level)]),
            ..noise_yuv(size, Subsampling::S444, true, None)
        };
        let alpha = yuv.alpha.clone();
        let yuv = with_range(yuv, Range::Limited);
        assert_eq!((yuv.range, &yuv.alpha), (Range::Limited, &alpha));
        let level = f64::from(level);
        let [cb, cr] = yuv.chroma.expect("coloured");
        check_tiles(&yuv.luma, 16.0 + 219.0 / 255.0 * level);
        check_tiles(&cb, 128.0 + 224.0 / 255.0 * (level - 128.0));
        check_tiles(&cr, 128.0 + 224.0 / 255.0 * (level - 128.0));
    }
}

/// Asserts that every sample is `wanted` rounded up or down, and that the mean of every 4 × 4 tile
/// is as near to `wanted` as 16 thresholds allow.
fn check_tiles(plane: &Plane, wanted: f64) {
    for y in (0..plane.size.height_px).step_by(4) {
        for x in (0..plane.size.width_px as usize - 3).step_by(4) {
            let rows = (y..y + 4).map(|y| &plane.row(y)[x..x + 4]);
            let tile: Vec<f64> = rows.flatten().map(|&sample| f64::from(sample)).collect();
            let mean = tile.iter().sum::<f64>() / 16.0;
            assert!(
                (mean - wanted).abs() <= 0.5 / 16.0 + 0.01,
                "{mean} for {wanted}"
            );
            let near = |sample: &f64| (wanted.floor()..=wanted.ceil()).contains(sample);
            assert!(tile.iter().all(near), "{tile:?} for {wanted}");
        }
    }
}

#[test]
fn limited_to_full_is_rounded_and_clamped() {
    let yuv = with_range(ramp(Range::Limited), Range::Full);
    let rounded = |map: &dyn Fn(f64) -> f64| -> Vec<u8> {
        let exact = LEVELS.map(|level| map(f64::from(level)));
        // The expected samples are rounded to nearest, and halves are rounded up.
        let rounded = exact.map(|exact| (exact + 0.5 + 1e-9).floor().clamp(0.0, 255.0) as u8);
        rounded.to_vec()
    };
    assert_eq!(yuv.range, Range::Full);
    let luma = |y: f64| (y.clamp(16.0, 235.0) - 16.0) * 255.0 / 219.0;
    assert_eq!(yuv.luma.data, rounded(&luma));
    let chroma = |c: f64| 128.0 + (c.clamp(16.0, 240.0) - 128.0) * 255.0 / 224.0;
    for plane in yuv.chroma.expect("coloured") {
        assert_eq!(plane.data, rounded(&chroma));
    }
    assert_eq!(yuv.alpha.expect("kept").data, LEVELS);
}
