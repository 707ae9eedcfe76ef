use crate::body::BodyDecoder;
use crate::{Framing, Limits, Reject};
use proptest::prelude::*;
use testkit::table::check;

const LIMITS: Limits = Limits {
    head_bytes_max: 16_384,
    fields_max: 64,
    target_bytes_max: 8_192,
    body_bytes_max: 64,
    chunk_line_bytes_max: 24,
    trailer_bytes_max: 32,
};

fn framing(context: &str) -> Framing {
    match context.split_once('=') {
        Some(("length", length)) => Framing::Length(length.parse().expect("a number")),
        _ if context.starts_with("chunked") => Framing::Chunked,
        _ if context == "none" => Framing::None,
        _ => panic!("framing {context}"),
    }
}

/// Feeds `bytes` to a decoder in pieces that end at the offsets `cuts`. Returns the number of bytes
/// that belong to the body, and whether the body has ended.
fn drain(
    framing: Framing,
    limits: &Limits,
    bytes: &[u8],
    cuts: &[usize],
) -> Result<(usize, bool), Reject> {
    let mut drain = BodyDecoder::new(framing, limits)?;
    let mut taken = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        taken += drain.feed(&bytes[taken.min(cut)..cut])?.bytes;
        assert!(taken <= cut);
        assert!(taken == cut || drain.is_done());
    }
    Ok((taken, drain.is_done()))
}

fn render(outcome: Result<(usize, bool), Reject>, bytes: usize) -> String {
    match outcome {
        Err(reject) => format!("{} {}", reject.status, reject.reason),
        Ok((_, false)) => "more".to_owned(),
        Ok((taken, true)) if taken == bytes => "done".to_owned(),
        Ok((taken, true)) => format!("done rest={}", bytes - taken),
    }
}

#[test]
fn every_row_gets_its_verdict_whole_and_byte_by_byte() {
    check(include_str!("bodies.txt"), |row| {
        let (framing, bytes) = (framing(row.context), &row.bytes);
        let each: Vec<usize> = (0..bytes.len()).collect();
        let limits = match row.context {
            "chunked default" => Limits::default(),
            _ => LIMITS,
        };
        let outcome = drain(framing, &limits, bytes, &[]);
        assert_eq!(
            drain(framing, &limits, bytes, &each),
            outcome,
            "{}",
            row.name
        );
        render(outcome, bytes.len())
    });
}

#[test]
fn a_rejection_is_final() {
    let mut drain = BodyDecoder::new(Framing::Chunked, &LIMITS).expect("no length yet");
    let first = drain.feed(b"x").expect_err("not a size");
    assert_eq!(drain.feed(b"0\r\n\r\n"), Err(first));
    assert_eq!(drain.feed(b""), Err(first));
    assert!(!drain.is_done());
}

/// Generates pieces of chunked bodies, valid and invalid, so that random sequences reach many
/// states.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"5\r\nhello\r\n"[..]),
        Just(&b"1;a=b\r\nx\r\n"[..]),
        Just(&b"0\r\n"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"X: y\r\n"[..]),
        Just(&b"a"[..]),
        Just(&b";"[..]),
        Just(&b"\n"[..]),
        Just(&b"\""[..]),
        Just(&b" "[..]),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_cuts_between_pieces_make_no_difference(
        bytes in prop_oneof![pieces(), proptest::collection::vec(any::<u8>(), 0..80)],
        cuts in proptest::collection::vec(0_usize..80, 0..6),
        length in proptest::option::of(0_u64..70),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let framing = length.map_or(Framing::Chunked, Framing::Length);
        prop_assert_eq!(drain(framing, &LIMITS, &bytes, &cuts), drain(framing, &LIMITS, &bytes, &[]));
    }
}

#[test]
fn content_is_passed_on_without_its_framing() {
    let body = b"4;a=b\r\nWiki\r\n6\r\npedia \r\n0\r\nx: y\r\n\r\nGET";
    for cut in 0..body.len() {
        let mut drain =
            BodyDecoder::new(Framing::Chunked, &Limits::default()).expect("no length yet");
        let mut content = Vec::new();
        let mut keep = |part: &[u8]| content.extend_from_slice(part);
        let first = drain.feed_to(&body[..cut], &mut keep).expect("sound");
        let last = drain.feed_to(&body[first.bytes..], &mut keep);
        assert!(last.expect("sound").is_done, "cut at {cut}");
        assert_eq!(content, b"Wikipedia ", "cut at {cut}");
    }
}
