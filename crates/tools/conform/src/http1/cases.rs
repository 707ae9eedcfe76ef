//! Cases of the comparison: the rows of http1's test tables, and mutations of these rows. Each row
//! occurs twice: alone, and followed by a request that shows where the row ends.

use testkit::table::rows;

use super::ours;

const REQUESTS: &str = include_str!("../../../../http/http1/src/tests/requests.txt");
const BODIES: &str = include_str!("../../../../http/http1/src/tests/bodies.txt");
const STREAMS: &str = include_str!("../../../../http/http1/src/tests/streams.txt");

/// Request that is appended to each row of a table. A parser reads it as a separate request only if
/// the parser ends the row's last request exactly where the sentinel starts.
const SENTINEL: &[u8] = b"GET /sentinel HTTP/1.1\r\nHost: s\r\n\r\n";

/// Longest case that is mutated, in bytes. Longer cases would not show more differences.
const MUTATED_BYTES_MAX: usize = 600;

/// Bytes that have a meaning in the grammar of HTTP, and bytes with values next to theirs.
const SPECIAL: &[u8] = b"\r\n \t:;,=\"\\\0/?#%+-_.@[]*09afAF\x0b\x0c\x7f\x80\xff";

/// Fragments that mutations insert because they affect framing.
const WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\r\n\r\n",
    b"\r\n ",
    b"0\r\n\r\n",
    b"5\r\nhello\r\n",
    b";a=b",
    b"chunked",
    b"close",
    b"keep-alive",
    b"Content-Length: 5\r\n",
    b"Content-Length: 0\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"Expect: 100-continue\r\n",
    b"Host: h\r\n",
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"GET / HTTP/1.1\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
];

/// Returns every row of the tables twice: alone, and followed by [`SENTINEL`].
pub(crate) fn table() -> Vec<Vec<u8>> {
    let mut cases = Vec::new();
    for row in rows(REQUESTS).into_iter().chain(rows(STREAMS)) {
        cases.push(row.bytes);
    }
    for row in rows(BODIES) {
        let field = match row.context.split_once('=') {
            Some((_, length)) => format!("Content-Length: {length}\r\n"),
            None if row.context.starts_with("chunked") => {
                "Transfer-Encoding: chunked\r\n".to_owned()
            }
            None => String::new(),
        };
        let head = format!("POST / HTTP/1.1\r\nHost: h\r\n{field}\r\n");
        cases.push([head.as_bytes(), &row.bytes].concat());
    }
    let followed: Vec<_> = cases.iter().map(|case| [case, SENTINEL].concat()).collect();
    cases.extend(followed);
    cases
}

/// Generator of mutated rows. The same seed yields the same cases.
pub(crate) struct Mutations {
    rows: Vec<Vec<u8>>,
    /// Rows that our parser accepts. Only accepted cases can yield findings, so most mutations
    /// start from these rows.
    accepted: Vec<Vec<u8>>,
    state: u64,
}

impl Mutations {
    pub(crate) fn new(table: &[Vec<u8>], seed: u64) -> Mutations {
        let rows = table.iter().filter(|row| row.len() <= MUTATED_BYTES_MAX);
        let rows: Vec<_> = rows.cloned().collect();
        let accepted = rows.iter().filter(|row| ours::read(row).accepts());
        Mutations {
            accepted: accepted.cloned().collect(),
            rows,
            state: seed,
        }
    }

    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut case = self.row();
        for _ in 0..1 + self.below(4) {
            self.mutate(&mut case);
        }
        case
    }

    fn mutate(&mut self, case: &mut Vec<u8>) {
        let at = self.below(case.len() + 1);
        let end = (at + 1 + self.below(4)).min(case.len());
        match self.below(8) {
            0 => drop(case.drain(at..end)),
            1 => {
                let special = SPECIAL[self.below(SPECIAL.len())];
                case.insert(at, special);
            }
            2 if at < end => case[at] = SPECIAL[self.below(SPECIAL.len())],
            3 => {
                let part = case[at..end].to_vec();
                drop(case.splice(at..at, part));
            }
            4 | 5 => {
                let word = WORDS[self.below(WORDS.len())];
                drop(case.splice(at..at, word.iter().copied()));
            }
            6 => self.move_line(case),
            _ => {
                // Either appends another row as a whole, so that its request is pipelined, or
                // truncates the case and appends the end of the other row.
                let other = self.row();
                let from = self.below(other.len() + 1);
                let from = if self.below(2) == 0 { from } else { 0 };
                case.truncate(if from == 0 { case.len() } else { at });
                case.extend_from_slice(&other[from..]);
            }
        }
    }

    /// Inserts a copy of one line after the first or the last line.
    fn move_line(&mut self, case: &mut Vec<u8>) {
        let ends: Vec<usize> = (2..=case.len())
            .filter(|&end| case[..end].ends_with(b"\r\n"))
            .collect();
        if let [first, .., last] = ends[..] {
            let from = self.below(ends.len() - 1);
            let line = case[ends[from]..ends[from + 1]].to_vec();
            let to = if self.below(2) == 0 { first } else { last };
            drop(case.splice(to..to, line));
        }
    }

    fn row(&mut self) -> Vec<u8> {
        if self.below(4) == 0 {
            let at = self.below(self.rows.len());
            return self.rows[at].clone();
        }
        let at = self.below(self.accepted.len());
        self.accepted[at].clone()
    }

    /// Returns a pseudo-random number below `bound`. The generator is SplitMix64 (Steele, Lea and
    /// Flood, 2014).
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}
