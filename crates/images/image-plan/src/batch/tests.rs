use super::*;
use crate::plan::tests::{facts, recipe};
use crate::{Format, Limits, Stage, Target, plan};

/// Returns a plan that scales a square cover with sides of `cover_px` into a square box with sides
/// of `side_px`.
fn boxed(side_px: u32, cover_px: u32) -> Plan {
    let query = format!("w={side_px}&h={side_px}");
    let facts = facts(Format::Jpeg, (cover_px, cover_px));
    let limits = Limits::default();
    plan(
        &facts,
        &recipe(&query),
        Target::Webp,
        Stage::Better,
        &limits,
    )
    .expect("a small picture")
}

#[test]
fn a_batch_survives_serialization() {
    for placeholder in [false, true] {
        let batch = Batch::new(&[boxed(300, 1000), boxed(140, 1000)], placeholder);
        assert_eq!(Batch::from_bytes(&batch.to_bytes()), Ok(batch));
    }
}

#[test]
fn sizes_of_a_cover_share_a_decode_whatever_the_cover_is() {
    for cover_px in [300, 500, 600, 1000, 1400, 1500, 2000, 3000, 6000] {
        let (large, small) = (boxed(300, cover_px), boxed(64, cover_px));
        assert!(large.shares_decode(&small), "{cover_px}");
    }
    assert!(!boxed(1000, 3000).shares_decode(&boxed(300, 3000)));
    let second_page = Plan {
        page: 2,
        ..boxed(300, 300)
    };
    assert!(!boxed(300, 300).shares_decode(&second_page));
}

#[test]
fn malformed_batches_are_refused() {
    let sound = Batch::new(&[boxed(300, 1000)], true).to_bytes();
    assert_eq!(Batch::from_bytes(&sound[..7]), Err(MalformedPlan::Length));
    assert_eq!(
        Batch::from_bytes(&sound[..sound.len() - 1]),
        Err(MalformedPlan::Length)
    );
    for (at, byte, why) in [
        (0, b'P', MalformedPlan::Magic),
        (4, 0, MalformedPlan::Length),
        (4, 2, MalformedPlan::Length),
        (5, 2, MalformedPlan::Value),
        (7, 1, MalformedPlan::Value),
        (8, 0, MalformedPlan::Magic),
    ] {
        let mut odd = sound.clone();
        odd[at] = byte;
        assert_eq!(Batch::from_bytes(&odd), Err(why), "{byte} at {at}");
    }
    let mut two = Batch::new(&[boxed(300, 1000), boxed(140, 1000)], false).to_bytes();
    let other = boxed(300, 999).to_bytes();
    two[8 + PLAN_BYTES..].copy_from_slice(&other);
    assert_eq!(Batch::from_bytes(&two), Err(MalformedPlan::Geometry));
}

#[test]
fn joined_outputs_are_split_again() {
    let answers = [b"first".to_vec(), b"2".to_vec(), b"third one".to_vec()];
    let bytes = join_outputs(&answers);
    let lengths = &bytes[bytes.len() - length_table_bytes(3)..];
    let found_outputs = split_outputs(lengths, bytes.len() as u64).expect("sound");
    let found_outputs = found_outputs.into_iter();
    let found_outputs: Vec<&[u8]> = found_outputs
        .map(|range| &bytes[range.start as usize..range.end as usize])
        .collect();
    assert_eq!(found_outputs, answers);
}

#[test]
fn lengths_that_contradict_each_other_are_refused() {
    let split = |lengths: &[u32], total| {
        let bytes: Vec<u8> = lengths.iter().flat_map(|it| it.to_le_bytes()).collect();
        split_outputs(&bytes, total)
    };
    assert_eq!(split(&[3, 4], 15), Some(vec![0..3, 3..7]));
    assert_eq!(split(&[3, 4], 14), None, "longer than there is");
    assert_eq!(split(&[3, 4], 16), None, "something nobody named");
    assert_eq!(split(&[7, 0], 15), None, "an empty answer");
    assert_eq!(
        split(&[u32::MAX, u32::MAX], 6),
        None,
        "no sum of them wraps"
    );
    assert_eq!(split_outputs(&[1, 0, 0], 4), None, "half a length");
}
