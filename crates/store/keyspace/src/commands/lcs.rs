//! LCS: the longest common subsequence, by dynamic programming over a table of lengths.

use resp::Out;

use crate::context::Context;
use crate::fault::Fault;
use crate::string::Str;
use crate::value::Value;

type Done = Result<(), Fault>;

#[derive(Default)]
struct Options {
    len: bool,
    index: bool,
    with_len: bool,
    len_min: usize,
}

impl Options {
    fn parse(cx: &Context<'_>) -> Result<Self, Fault> {
        let mut options = Self::default();
        let mut at = 3;
        while at < cx.args.len() {
            if cx.is(at, "idx") {
                options.index = true;
            } else if cx.is(at, "len") {
                options.len = true;
            } else if cx.is(at, "withmatchlen") {
                options.with_len = true;
            } else if cx.is(at, "minmatchlen") && at + 1 < cx.args.len() {
                at += 1;
                options.len_min =
                    usize::try_from(cx.int(at)?.max(0)).expect("the number is not negative");
            } else {
                return Err(Fault::SYNTAX);
            }
            at += 1;
        }
        if options.index && options.len {
            let text = "ERR If you want both the length and indexes, please just use IDX.";
            return Err(Fault::of(text));
        }
        Ok(options)
    }
}

pub(crate) fn lcs(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let mut text = |key: &[u8]| match cx.read(key) {
        None => Ok(Vec::new()),
        Some(Value::Str(value)) => Ok(value_bytes(value)),
        Some(_) => Err(Fault::of(
            "ERR The specified keys must contain string values",
        )),
    };
    let (left, right) = (text(&args[1])?, text(&args[2])?);
    let options = Options::parse(cx)?;
    // The table uses four bytes per pair of positions.
    let cells = (left.len() + 1).checked_mul(right.len() + 1);
    let table_len = cells.filter(|&cells| cells <= cx.ks.limits.string_bytes_max / 4);
    if table_len.is_none() {
        let text = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
        return Err(Fault::of(text));
    }
    let table = Lengths::new(&left, &right);
    let found = table.walk(&left, &right);
    if options.index {
        send_index(&found, &options, out);
    } else if options.len {
        out.int(found.text.len() as i64);
    } else {
        out.bulk(&found.text);
    }
    Ok(())
}

fn value_bytes(value: &Str) -> Vec<u8> {
    value.bytes(&mut itoa::Buffer::new()).to_vec()
}

/// Table with one cell for each prefix of the left string and each prefix of the right string. A
/// cell contains the length of the longest common subsequence of its two prefixes.
struct Lengths {
    width: usize,
    cells: Vec<u32>,
}

/// A subsequence, and the contiguous matches it consists of, the last match first.
struct Found {
    text: Vec<u8>,
    matches: Vec<Substring>,
}

/// A contiguous match: the index of its last byte in both strings, and its length.
struct Substring {
    left_end: usize,
    right_end: usize,
    len: usize,
}

impl Lengths {
    fn new(left: &[u8], right: &[u8]) -> Self {
        let width = right.len() + 1;
        let mut cells = vec![0u32; width * (left.len() + 1)];
        for (row, byte) in left.iter().enumerate() {
            let (above, below) = cells.split_at_mut((row + 1) * width);
            let above = &above[row * width..];
            for (column, other) in right.iter().enumerate() {
                below[column + 1] = if byte == other {
                    above[column] + 1
                } else {
                    above[column + 1].max(below[column])
                };
            }
        }
        Self { width, cells }
    }

    fn at(&self, row: usize, column: usize) -> u32 {
        self.cells[row * self.width + column]
    }

    /// Returns a longest common subsequence. Walks from the end of both strings to their start, in
    /// the same order as Redis, so that ties are resolved as in Redis.
    fn walk(&self, left: &[u8], right: &[u8]) -> Found {
        let mut text = Vec::new();
        let mut matches: Vec<Substring> = Vec::new();
        let (mut row, mut column) = (left.len(), right.len());
        while 0 < row && 0 < column {
            if left[row - 1] == right[column - 1] {
                text.push(left[row - 1]);
                match matches.last_mut() {
                    Some(it)
                        if it.left_end + 1 - it.len == row
                            && it.right_end + 1 - it.len == column =>
                    {
                        it.len += 1;
                    }
                    _ => matches.push(Substring {
                        left_end: row - 1,
                        right_end: column - 1,
                        len: 1,
                    }),
                }
                row -= 1;
                column -= 1;
            } else if self.at(row, column - 1) < self.at(row - 1, column) {
                row -= 1;
            } else {
                column -= 1;
            }
        }
        text.reverse();
        Found { text, matches }
    }
}

fn send_index(found: &Found, options: &Options, out: &mut Out) {
    let matches: Vec<&Substring> = found
        .matches
        .iter()
        .filter(|it| options.len_min <= it.len)
        .collect();
    out.map(2);
    out.bulk(b"matches");
    out.array(matches.len());
    for common_run in matches {
        out.array(if options.with_len { 3 } else { 2 });
        for end in [common_run.left_end, common_run.right_end] {
            out.array(2);
            out.int((end + 1 - common_run.len) as i64);
            out.int(end as i64);
        }
        if options.with_len {
            out.int(common_run.len as i64);
        }
    }
    out.bulk(b"len");
    out.int(found.text.len() as i64);
}
