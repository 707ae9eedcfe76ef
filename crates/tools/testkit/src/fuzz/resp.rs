//! Requests and replies of the store.

use bytes::{Bytes, BytesMut};
use resp::{Limits, Parser, ProtocolError, Reply, ReplyLimits};

/// Requests until something is wrong or nothing is whole any more, and how it ended.
type Read = (Vec<Vec<Bytes>>, Result<(), ProtocolError>);

/// Requests: the same whole and in pieces. Replies: a verdict, and nothing taken before one is whole.
pub fn resp(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    for piece_bytes in [1, 7] {
        let pieces = read(bytes, piece_bytes);
        // A line that is too long is found out as soon as it is, whatever else would be wrong with it.
        assert_eq!(whole.0, pieces.0, "in pieces of {piece_bytes}");
        assert_eq!(whole.1.is_err(), pieces.1.is_err());
    }
    let limits = ReplyLimits::default();
    let mut input = BytesMut::from(bytes);
    loop {
        let held = input.len();
        match Reply::take(&mut input, &limits) {
            Ok(Some(_)) => assert!(input.len() < held),
            Ok(None) => return assert_eq!(input.len(), held),
            Err(_) => return,
        }
    }
}

fn read(bytes: &[u8], piece_bytes: usize) -> Read {
    let mut parser = Parser::new(Limits::default());
    let mut input = BytesMut::new();
    let mut requests = Vec::new();
    for piece in bytes.chunks(piece_bytes) {
        input.extend_from_slice(piece);
        loop {
            match parser.next(&mut input) {
                Ok(true) => {
                    let args = parser.args().iter();
                    requests.push(args.map(|arg| Bytes::copy_from_slice(arg)).collect());
                }
                Ok(false) => break,
                Err(error) => return (requests, Err(error)),
            }
        }
        parser.release();
    }
    (requests, Ok(()))
}
