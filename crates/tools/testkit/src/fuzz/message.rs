//! Fuzz target for the messages between the server and its cells.

use image_plan::Plan;
use sandbox_protocol::{
    AllegedReply, Excess, Expect, Job, MESSAGE_BYTES_MAX, OutputRecord, Status,
};

/// Checks `bytes` as a message between the server and a cell. A valid message does not change when
/// it is encoded and decoded again. A message with bytes after the job is not a valid job. A reply
/// that passes verification is within the limits of its job. The output of a persistent program,
/// which runs many requests in one process, is the same regardless of how its bytes are cut into
/// pieces.
pub fn message(bytes: &[u8]) {
    answer(bytes);
    if let Ok(job) = Job::from_bytes(bytes) {
        assert!(bytes.len() <= MESSAGE_BYTES_MAX);
        let again = job.to_bytes();
        assert_eq!(Job::from_bytes(&again), Ok(job));
        assert_eq!(again.len(), bytes.len());
        plan(job.plan);
    }
    if let Ok(alleged) = AllegedReply::from_bytes(bytes) {
        assert_eq!(
            AllegedReply::from_bytes(&alleged.to_bytes()),
            Ok(alleged.clone())
        );
        let expect = Expect {
            id: 7,
            size_px: Some((640, 480)),
            output_bytes_max: 1_000,
            may_be_empty: false,
        };
        if let Ok(reply) = alleged.verify(&expect) {
            assert!(reply.output_bytes <= expect.output_bytes_max);
            assert_eq!(reply.status == Status::Done, reply.output_bytes != 0);
            assert!(reply.detail.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        }
    }
}

/// Checks `bytes` as the output of a persistent program: decoding them one by one gives the same
/// result as decoding them at once.
fn answer(bytes: &[u8]) {
    let (mut whole, mut cut) = (OutputRecord::default(), OutputRecord::default());
    let at_once = whole.take(bytes);
    let mut body = Vec::new();
    let each: Result<(), Excess> = bytes.chunks(1).try_for_each(|byte| {
        body.extend(cut.take(byte)?);
        Ok(())
    });
    assert_eq!(at_once.is_ok(), each.is_ok());
    if let Ok(at_once) = at_once {
        assert_eq!((at_once, whole), (&body[..], cut));
        assert_eq!(whole.body_bytes(), body.len() as u64);
    }
}

fn plan(bytes: &[u8]) {
    if let Ok(plan) = Plan::from_bytes(bytes) {
        assert_eq!(plan.to_bytes(), bytes);
        let cost = plan.cost();
        assert!(plan.target.pixels() < cost.memory_bytes && 0 < cost.cpu_ms);
        assert!(matches!(plan.shrink(), 1 | 2 | 4 | 8));
    }
}
