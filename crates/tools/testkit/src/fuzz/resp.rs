//! Fuzz target for requests and replies of the store.

use bytes::{Bytes, BytesMut};
use resp::{Limits, Parser, ProtocolError, Reply, ReplyLimits};

/// Complete requests before the first error or before the end of the input, and the error, if any.
type Read = (Vec<Vec<Bytes>>, Result<(), ProtocolError>);

/// Checks `bytes` as requests: parsing gives the same result for the whole input as for pieces of
/// it. Also checks `bytes` as replies: a complete reply is consumed, and an incomplete reply stays
/// in the buffer.
pub fn resp(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    for piece_bytes in [1, 7] {
        let pieces = read(bytes, piece_bytes);
        // The two errors may be of different kinds. If the input arrives in pieces, the parser
        // detects that a line is too long before it detects other errors in the line.
        assert_eq!(
            whole.0, pieces.0,
            "the result differs if the input comes in pieces of {piece_bytes} bytes"
        );
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
