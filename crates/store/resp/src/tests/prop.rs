//! Property tests: the parsed requests do not depend on how the input is split into reads, no input
//! causes a panic, and a written reply is parsed back unchanged.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use crate::{BLOB_BYTES_MIN, Limits, Out, Parser, Proto, Reply, ReplyLimits};

fn request() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let arg = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (BLOB_BYTES_MIN - 3..BLOB_BYTES_MIN + 3).prop_map(|len| vec![7; len]),
    ];
    prop::collection::vec(arg, 1..5)
}

proptest! {
    #[test]
    fn requests_do_not_depend_on_read_boundaries(
        requests in prop::collection::vec(request(), 1..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ahead in 1..4usize,
    ) {
        let mut wire = Vec::new();
        for request in &requests {
            wire.extend_from_slice(format!("*{}\r\n", request.len()).as_bytes());
            for arg in request {
                wire.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
                wire.extend_from_slice(arg);
                wire.extend_from_slice(b"\r\n");
            }
        }
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(wire.len())).collect();
        cuts.extend([0, wire.len()]);
        cuts.sort_unstable();

        let mut parser = Parser::new(Limits::default());
        let mut input = BytesMut::new();
        let mut seen = Vec::new();
        for cut in cuts.windows(2) {
            input.extend_from_slice(&wire[cut[0]..cut[1]]);
            loop {
                if !parser.has_ahead() {
                    parser.parse_ahead(&mut input, ahead);
                }
                let prefetched = parser.ahead().next().map(<[Bytes]>::to_vec);
                if !parser.next(&mut input).expect("sound") {
                    break;
                }
                prop_assert_eq!(prefetched.as_deref(), Some(parser.args()));
                seen.push(parser.take_args());
                // A server releases the read buffer between reads, whether or not requests that
                // were parsed ahead still wait to run.
                if seen.len() % 2 == 0 {
                    parser.release();
                }
            }
        }
        prop_assert_eq!(seen, requests);
    }

    #[test]
    fn no_input_panics(bytes in prop::collection::vec(prop::sample::select(&b"*$:%~>1230-\r\n\"'\\x a\0"[..]), 0..60)) {
        let mut parser = Parser::new(Limits::default());
        let mut input = BytesMut::from(&bytes[..]);
        while let Ok(true) = parser.next(&mut input) {}
        let mut input = BytesMut::from(&bytes[..]);
        while let Ok(Some(_)) = Reply::take(&mut input, &ReplyLimits::default()) {}
    }

    #[test]
    fn written_replies_are_parsed_back(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..9)) {
        let mut out = Out::new(Proto::Resp3);
        out.array(values.len());
        for value in &values {
            out.bulk(value);
        }
        let mut input = BytesMut::from(&out.to_bytes()[..]);
        let expected = values.into_iter().map(|value| Reply::Bulk(Bytes::from(value))).collect();
        let reply = Reply::take(&mut input, &ReplyLimits::default());
        prop_assert_eq!(reply, Ok(Some(Reply::Array(expected))));
        prop_assert!(input.is_empty());
    }
}
