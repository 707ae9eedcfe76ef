//! Whole connections: pipelined requests with their bodies, split into arbitrary pieces.

use super::requests::line;
use crate::body::BodyDecoder;
use crate::{Limits, Reject, parse};
use proptest::prelude::*;
use testkit::table::{check, rows};

const TABLE: &str = include_str!("streams.txt");

/// Length from which a row is long. Miri takes minutes to feed such a row byte by byte.
const LONG_ROW_BYTES: usize = 1_000;

/// Stand-in for a server, without responses. It parses requests and skips their bodies. It closes
/// the connection after a rejected request, and after a request that does not keep the connection
/// alive.
struct Reader {
    limits: Limits,
    /// Bytes that were read and not consumed yet.
    input: Vec<u8>,
    /// Decoder of the current body, if any, and true if another request may follow this body.
    body: Option<(BodyDecoder, bool)>,
    is_closed: bool,
    /// One line per request or rejection.
    lines: Vec<String>,
}

impl Reader {
    fn new() -> Reader {
        Reader {
            limits: Limits::default(),
            input: Vec::new(),
            body: None,
            is_closed: false,
            lines: Vec::new(),
        }
    }

    fn feed(&mut self, piece: &[u8]) {
        self.input.extend_from_slice(piece);
        while !self.is_closed && self.step() {}
    }

    /// Consumes one head, or the available bytes of a body. Returns whether the rest of the input
    /// may allow another step.
    fn step(&mut self) -> bool {
        if let Some((drain, keep_alive)) = &mut self.body {
            let drained = drain.feed(&self.input);
            let (is_done, keep_alive) = (drain.is_done(), *keep_alive);
            match drained {
                Ok(drained) => drop(self.input.drain(..drained.bytes)),
                Err(reject) => self.refuse("body ", reject),
            }
            if is_done {
                self.body = None;
                self.is_closed = !keep_alive;
            }
            return is_done;
        }
        match parse(&self.input, &self.limits) {
            Ok(None) => false,
            Ok(Some(request)) => {
                self.lines.push(line(&request));
                let head_bytes = request.head_bytes;
                match BodyDecoder::new(request.framing, &self.limits) {
                    Ok(drain) => self.body = Some((drain, request.keep_alive)),
                    Err(reject) => self.refuse("body ", reject),
                }
                self.input.drain(..head_bytes);
                true
            }
            Err(reject) => {
                self.refuse("", reject);
                false
            }
        }
    }

    fn refuse(&mut self, what: &str, reject: Reject) {
        let Reject { status, reason } = reject;
        self.lines.push(format!("{what}{status} {reason}"));
        self.is_closed = true;
    }

    fn transcript(mut self) -> String {
        if !self.is_closed && self.body.is_some() {
            self.lines.push("body".to_owned());
        } else if !self.is_closed && !self.input.is_empty() {
            self.lines.push("more".to_owned());
        }
        self.lines.join(" | ")
    }
}

fn transcript<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut reader = Reader::new();
    for piece in pieces {
        reader.feed(piece);
    }
    reader.transcript()
}

#[test]
fn every_row_is_read_whole_and_byte_by_byte() {
    check(TABLE, |row| {
        let whole = transcript([&row.bytes[..]]);
        // Under Miri, long rows are fed in fewer pieces. 4,099 is prime, so the pieces end at all
        // kinds of offsets.
        let piece_bytes = match row.bytes.len() {
            LONG_ROW_BYTES.. if cfg!(miri) => 4_099,
            _ => 1,
        };
        let pieces = row.bytes.chunks(piece_bytes);
        assert_eq!(transcript(pieces), whole, "{}", row.name);
        whole
    });
}

/// Passes two random rows of `streams.txt` and `requests.txt` to one connection, in random pieces.
/// The transcript must be the same as for the rows in one piece.
#[test]
fn every_row_is_read_in_any_pieces() {
    let tables = [TABLE, include_str!("requests.txt")];
    let rows = tables.into_iter().flat_map(rows);
    // Omits the long rows, which test limits, under Miri: there they would take hours.
    let is_short = |bytes: &Vec<u8>| !cfg!(miri) || bytes.len() < LONG_ROW_BYTES;
    let rows: Vec<_> = rows.map(|row| row.bytes).filter(is_short).collect();
    let index = any::<proptest::sample::Index>;
    let cuts = proptest::collection::vec(index(), 0..8);
    proptest!(|(at in index(), next in index(), cuts in cuts)| {
        let bytes: Vec<u8> = [at, next].map(|at| at.get(&rows).clone()).concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
        prop_assert_eq!(transcript(pieces), transcript([&bytes[..]]));
    });
}
