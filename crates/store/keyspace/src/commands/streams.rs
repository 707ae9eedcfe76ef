//! Commands on the entries of streams, and the argument parsers that all commands on streams share.

use bytes::Bytes;
use resp::Out;

use crate::context::Context;
use crate::fault::Fault;
use crate::notify::Class;
use crate::stream::{
    Entry, Id, Kept, NODE_BYTES_MAX, NodeLimits, Precision, Stream, Trimmed, number,
};
use crate::value::Kind;

type Done = Result<(), Fault>;

const INVALID_ID: Fault = Fault::of("ERR Invalid stream ID specified as stream command argument");
const ID_TOO_SMALL: Fault =
    Fault::of("ERR The ID specified in XADD is equal or smaller than the target stream top item");

/// Number of nodes that approximate trimming without LIMIT removes at most.
const TRIMMED_NODES_MAX: usize = 100;
/// Number of entries that approximate trimming without LIMIT removes at most, if
/// `stream-node-max-entries` sets no limit.
const TRIMMED_DEFAULT: usize = 10_000;
/// Number of entries that approximate trimming without LIMIT removes at most in any case.
const TRIMMED_MAX: usize = 1_000_000;

/// Parses an id. A missing sequence number is `missing_seq`.
pub(super) fn parse_id(text: &[u8], missing_seq: u64) -> Result<Id, Fault> {
    Id::parse(text, missing_seq).ok_or(INVALID_ID)
}

pub(super) fn parse_ids(texts: &[Bytes]) -> Result<Vec<Id>, Fault> {
    texts.iter().map(|text| parse_id(text, 0)).collect()
}

/// Splits a bound into its id and whether the id itself is excluded: `-`, `+`, `ID` or `(ID`.
fn parse_bound(text: &[u8], missing_seq: u64) -> Result<(Id, bool), Fault> {
    match text {
        b"-" => Ok((Id::MIN, false)),
        b"+" => Ok((Id::MAX, false)),
        [b'(', id @ ..] if !id.is_empty() => Ok((parse_id(id, missing_seq)?, true)),
        id => Ok((parse_id(id, missing_seq)?, false)),
    }
}

/// Parses the start of an interval, and returns the first id in it.
pub(super) fn parse_start(text: &[u8]) -> Result<Id, Fault> {
    let (id, is_excluded) = parse_bound(text, 0)?;
    let start = if is_excluded { id.next() } else { Some(id) };
    start.ok_or(Fault::of("ERR invalid start ID for the interval"))
}

/// Parses the end of an interval, and returns the last id in it.
pub(super) fn parse_end(text: &[u8]) -> Result<Id, Fault> {
    let (id, is_excluded) = parse_bound(text, u64::MAX)?;
    let end = if is_excluded { id.previous() } else { Some(id) };
    end.ok_or(Fault::of("ERR invalid end ID for the interval"))
}

/// Parses the number after the word COUNT. A negative number counts as 0.
pub(super) fn parse_count(cx: &Context<'_>, at: usize) -> Result<usize, Fault> {
    Ok(usize::try_from(cx.int(at)?).unwrap_or(0))
}

pub(super) fn id_text(id: Id) -> Bytes {
    Bytes::from(id.to_string())
}

pub(super) fn send_id(id: Id, out: &mut Out) {
    let (mut ms, mut seq) = (itoa::Buffer::new(), itoa::Buffer::new());
    let parts = [ms.format(id.ms), "-", seq.format(id.seq)];
    out.bulk(parts.concat().as_bytes());
}

/// Writes an entry: its id, and its fields and values in turn.
pub(super) fn send_entry(entry: &Entry<'_>, out: &mut Out) {
    out.array(2);
    send_id(entry.id, out);
    out.array(2 * entry.len);
    for (name, value) in entry.fields() {
        out.bulk(name);
        out.bulk(value);
    }
}

/// Writes the entries from `start` to `end`, at most `count_max`.
pub(super) fn send_range(stream: &Stream, start: Id, end: Id, count_max: usize, out: &mut Out) {
    let count = stream.count(start, end, count_max);
    out.array(count);
    send_entries(stream.range(start, end).take(count), out);
}

fn send_entries<'a>(entries: impl Iterator<Item = Entry<'a>>, out: &mut Out) {
    for entry in entries {
        // The client is disconnected when its output exceeds the limit.
        if out.is_full() {
            return;
        }
        send_entry(&entry, out);
    }
}

/// Parses the threshold of MAXLEN.
fn newest(text: &Bytes) -> Result<Kept, Fault> {
    let count = resp::parse_int(text).ok_or(Fault::NOT_INT)?;
    let count = usize::try_from(count);
    let count = count.map_err(|_| Fault::of("ERR The MAXLEN argument must be >= 0."))?;
    Ok(Kept::Newest(count))
}

/// Options of XADD and XTRIM that remove old entries.
#[derive(Clone, Copy, Debug)]
struct Trim {
    kept: Kept,
    precision: Precision,
}

/// Options of XADD and XTRIM while they are parsed.
#[derive(Debug, Default)]
struct TrimOptions {
    kept: Option<Kept>,
    is_approximate: bool,
    limit: Option<usize>,
}

impl TrimOptions {
    /// Parses the option at `at`, if it is about trimming. Returns the index of the next argument.
    fn parse_one(&mut self, cx: &Context<'_>, at: usize) -> Result<Option<usize>, Fault> {
        if cx.args.len() <= at + 1 {
            return Ok(None);
        }
        if cx.is(at, "maxlen") {
            return self.parse_threshold(cx, at + 1, newest).map(Some);
        }
        if cx.is(at, "minid") {
            let from = |text: &Bytes| parse_id(text, 0).map(Kept::From);
            return self.parse_threshold(cx, at + 1, from).map(Some);
        }
        if !cx.is(at, "limit") {
            return Ok(None);
        }
        let limit = usize::try_from(cx.int(at + 1)?);
        self.limit = Some(limit.map_err(|_| Fault::of("ERR The LIMIT argument must be >= 0."))?);
        Ok(Some(at + 2))
    }

    fn parse_threshold(
        &mut self,
        cx: &Context<'_>,
        at: usize,
        parse: impl FnOnce(&Bytes) -> Result<Kept, Fault>,
    ) -> Result<usize, Fault> {
        if self.kept.is_some() {
            return Err(Fault::of(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let has_operator = at + 1 < cx.args.len() && matches!(&cx.args[at][..], b"~" | b"=");
        self.is_approximate = has_operator && cx.is(at, "~");
        let at = at + usize::from(has_operator);
        self.kept = Some(parse(&cx.args[at])?);
        Ok(at + 1)
    }
}
