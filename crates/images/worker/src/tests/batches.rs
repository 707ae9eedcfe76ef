//! Tests of jobs that make several outputs from one decoded picture, and of placeholders.

use super::pictures::{WEBP, done, jpeg, scene, whole};
use crate::convert_batch;
use image_plan::{Batch, Format, Orientation, Placeholder, Plan, Size, Subsampling};

fn sized(plan: Plan, side_px: u32) -> Plan {
    let size = Size::new(side_px, side_px);
    Plan {
        inner: size,
        target: size,
        ..plan
    }
}

#[test]
fn a_batch_gives_the_same_bytes_as_its_single_plans() {
    let stored = Size::new(1000, 1000);
    let original = jpeg(&scene(stored), Subsampling::S420);
    let plan = whole(Format::Jpeg, stored, WEBP);
    let plans = [sized(plan, 300), sized(plan, 140)];
    let outputs = convert_batch(&Batch::new(&plans, true), &original).expect("a sound picture");
    let alone = plans.map(|plan| done(&plan, &original).bytes);
    assert_eq!(outputs.files[..2], alone);
    assert!(Placeholder::from_bytes(&outputs.files[2]).is_some());
    assert_eq!(outputs.files.len(), 3);
}

#[test]
fn a_placeholder_shows_the_upright_picture() {
    let stored = Size::new(800, 600);
    let original = jpeg(&scene(stored), Subsampling::S420);
    let placeholder = |orientation| {
        let plan = Plan {
            orientation,
            ..whole(Format::Jpeg, stored, WEBP)
        };
        let plan = Plan {
            crop: image_plan::Rect {
                x: 0,
                y: 0,
                size: Size::new(500, 500),
            },
            ..sized(plan, 200)
        };
        let outputs = convert_batch(&Batch::new(&[plan], true), &original).expect("sound");
        Placeholder::from_bytes(&outputs.files[1]).expect("a placeholder")
    };
    let (upright, turned) = (
        placeholder(Orientation::Upright),
        placeholder(Orientation::Turn90),
    );
    // The first digit of a BlurHash encodes its number of components: 4 × 3, and 3 × 4.
    assert_eq!(
        (&upright.blurhash()[..1], &turned.blurhash()[..1]),
        ("L", "T")
    );
    assert_eq!(upright.colour(), turned.colour());
}
