use crate::{
    AllegedReply, Excess, Expect, Job, JobLimits, Malformed, OutputRecord, PLAN_BYTES_MAX,
    REPLY_HEADER_BYTES, Status, Violation, request_head,
};
use proptest::prelude::*;

const LIMITS: JobLimits = JobLimits {
    output_bytes_max: 1 << 20,
    memory_bytes_max: 1 << 30,
    cpu_ms_max: 5_000,
};
const EXPECT: Expect = Expect {
    id: 7,
    size_px: Some((640, 480)),
    output_bytes_max: 1_000,
    may_be_empty: false,
};

fn done(id: u64, size_px: (u32, u32), output_bytes: u64) -> AllegedReply {
    AllegedReply::new(id, Status::Done, size_px, output_bytes)
}

#[test]
fn a_job_survives_the_wire() {
    let job = Job {
        id: 7,
        limits: LIMITS,
        seed: [9; 16],
        idle: true,
        plan: b"plan",
    };
    let bytes = job.to_bytes();
    assert_eq!(bytes.len(), 68);
    assert_eq!(Job::from_bytes(&bytes), Ok(job));
}

#[test]
fn a_job_that_is_cut_extended_or_from_another_build_is_refused() {
    let bytes = Job {
        id: 7,
        limits: LIMITS,
        seed: [9; 16],
        idle: true,
        plan: b"plan",
    }
    .to_bytes();
    for end in 0..bytes.len() {
        assert_eq!(
            Job::from_bytes(&bytes[..end]),
            Err(Malformed::Length),
            "cut at {end}"
        );
    }
    let long = [&bytes[..], b"x"].concat();
    assert_eq!(Job::from_bytes(&long), Err(Malformed::Length));
    let mut other = bytes.clone();
    other[4] ^= 1;
    assert_eq!(Job::from_bytes(&other), Err(Malformed::Version));
    let mut other = bytes;
    other[0] ^= 1;
    assert_eq!(Job::from_bytes(&other), Err(Malformed::Magic));
}

#[test]
fn an_honest_reply_is_believed() {
    let alleged = done(7, (640, 480), 1_000).with_usage(1 << 20, 1_234);
    let reply = AllegedReply::from_bytes(&alleged.to_bytes())
        .expect("own bytes")
        .verify(&EXPECT)
        .expect("honest");
    assert_eq!(
        (reply.status, reply.output_bytes, reply.cpu_us),
        (Status::Done, 1_000, 1_234)
    );
}

#[test]
fn every_lie_is_found() {
    let cases = [
        (done(8, (640, 480), 10), Violation::WrongJob),
        (done(7, (641, 480), 10), Violation::WrongSize),
        (done(7, (640, 480), 0), Violation::WrongLength),
        (done(7, (640, 480), 1_001), Violation::WrongLength),
        (
            AllegedReply::new(7, Status::Undecodable, (0, 0), 1),
            Violation::WrongLength,
        ),
    ];
    for (alleged, lie) in cases {
        assert_eq!(alleged.clone().verify(&EXPECT), Err(lie), "{alleged:?}");
    }
    let mut bytes = done(7, (640, 480), 10).to_bytes();
    bytes[16] = 99;
    let alleged = AllegedReply::from_bytes(&bytes).expect("framing is intact");
    assert_eq!(alleged.verify(&EXPECT), Err(Violation::UnknownStatus));
}

#[test]
fn only_a_program_may_have_nothing_to_say() {
    let expect = Expect {
        size_px: None,
        may_be_empty: true,
        ..EXPECT
    };
    let reply = done(7, (0, 0), 0).verify(&expect).expect("honest");
    assert_eq!((reply.status, reply.output_bytes), (Status::Done, 0));
}

#[test]
fn a_workers_text_cannot_drive_the_operators_terminal() {
    let reply = AllegedReply::new(7, Status::Failed, (0, 0), 0).with_detail("bad \u{1b}[2J\nend");
    assert_eq!(
        reply.verify(&EXPECT).expect("honest").detail,
        "bad ?[2J?end"
    );
}

#[test]
fn a_request_says_how_long_its_parts_are() {
    assert_eq!(request_head(1, 0x0403_0201), [1, 0, 0, 0, 1, 2, 3, 4]);
}

#[test]
fn a_reply_is_complete_when_all_announced_bytes_were_received() {
    let mut answer = OutputRecord::default();
    assert!(!answer.is_whole());
    assert_eq!(answer.take(&[2, 0]), Ok(&[][..]));
    assert_eq!(answer.announced_bytes(), None);
    assert_eq!(answer.take(&[0, 0, b'a']), Ok(&b"a"[..]));
    assert_eq!(
        (answer.announced_bytes(), answer.body_bytes()),
        (Some(2), 1)
    );
    assert_eq!(answer.take(b"bc"), Err(Excess));
    assert_eq!(answer.take(b"b"), Ok(&b"b"[..]));
    assert!(answer.is_whole());
    assert_eq!(answer.take(b"c"), Err(Excess));
    let mut empty = OutputRecord::default();
    assert_eq!(empty.take(&[0; 4]), Ok(&[][..]));
    assert!(empty.is_whole());
}

proptest! {
    /// The same output is received, however it is cut into pieces.
    #[test]
    fn an_answer_is_that_of_any_pieces(
        body in proptest::collection::vec(any::<u8>(), 0..40),
        cuts in proptest::collection::vec(1_usize..9, 1..9),
    ) {
        let bytes = [&(body.len() as u32).to_le_bytes()[..], &body].concat();
        let (mut answer, mut found, mut rest) = (OutputRecord::default(), vec![0; 0], &bytes[..]);
        for cut in cuts.iter().cycle() {
            let (piece, behind) = rest.split_at(*cut.min(&rest.len()));
            found.extend(answer.take(piece).expect("no longer than announced"));
            rest = behind;
            prop_assert_eq!(answer.is_whole(), rest.is_empty());
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(found, body);
    }

    #[test]
    fn no_bytes_reach_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..REPLY_HEADER_BYTES + PLAN_BYTES_MAX + 9)) {
        if let Ok(job) = Job::from_bytes(&bytes) {
            prop_assert!(job.plan.len() <= PLAN_BYTES_MAX);
        }
        if let Ok(alleged) = AllegedReply::from_bytes(&bytes)
            && let Ok(reply) = alleged.verify(&EXPECT)
        {
            prop_assert!(reply.output_bytes <= EXPECT.output_bytes_max);
        }
    }
}
