use super::*;
use image_plan::{Effects, Encoding, Format, Orientation, Rect, Size};

fn plan(size: Size) -> Plan {
    Plan {
        source: Format::Gif,
        stored: size,
        orientation: Orientation::Upright,
        crop: Rect { x: 0, y: 0, size },
        inner: size,
        target: size,
        encoding: Encoding::Avif {
            quality: 66,
            speed: 9,
            lossless: false,
        },
        page: 1,
        effects: Effects::NONE,
        trim: None,
        frames_max: None,
        bytes_max: None,
        score_min: None,
    }
}

#[test]
fn a_small_file_gets_little_time_whatever_it_claims() {
    let plan = plan(Size::new(10_000, 10_000));
    let of = |original_bytes| cpu_ms_max(&[plan], original_bytes);
    assert_eq!(of(35), 2_003);
    assert_eq!(of(100_000), 12_000);
    // For a large file, the limit follows from the estimate of the plan.
    let estimated_ms = u32::try_from(plan.cost().cpu_ms).expect("minutes");
    assert_eq!(of(30_000_000), 2_000 + 8 * estimated_ms);
    assert_eq!(of(u64::MAX), 2_000 + 8 * estimated_ms);
}
