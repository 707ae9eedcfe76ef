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

/// Number of full nodes whose entries approximate trimming without LIMIT removes at most.
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

    /// Checks that the options fit together. Returns `None` without MAXLEN and MINID.
    fn finish(self, cx: &Context<'_>) -> Result<Option<Trim>, Fault> {
        let Some(kept) = self.kept else {
            return match self.limit.filter(|&limit| limit != 0) {
                None => Ok(None),
                Some(_) => Err(Fault::of(
                    "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
                )),
            };
        };
        let precision = match (self.is_approximate, self.limit) {
            (false, None) => Precision::Exact,
            (false, Some(_)) => {
                return Err(Fault::of(
                    "ERR syntax error, LIMIT cannot be used without the special ~ option",
                ));
            }
            (true, Some(limit)) => Precision::WholeNodes {
                entries_max: Some(limit).filter(|&limit| limit != 0),
            },
            (true, None) => {
                let entries_max = match node_limits(cx)
                    .entries_max
                    .saturating_mul(TRIMMED_NODES_MAX)
                {
                    0 => TRIMMED_DEFAULT,
                    entries_max => entries_max.min(TRIMMED_MAX),
                };
                Precision::WholeNodes {
                    entries_max: Some(entries_max),
                }
            }
        };
        Ok(Some(Trim { kept, precision }))
    }
}

pub(super) fn node_limits(cx: &Context<'_>) -> NodeLimits {
    let encodings = cx.ks.limits.encodings;
    NodeLimits {
        bytes_max: encodings.stream_node_bytes_max,
        entries_max: encodings.stream_node_entries_max,
    }
}

/// Id argument of XADD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewId {
    /// `*`: the current time.
    Auto,
    /// `MS-*`: the next id of this millisecond.
    Within(u64),
    Exact(Id),
}

impl NewId {
    fn parse(text: &[u8]) -> Result<Self, Fault> {
        match text {
            b"*" => Ok(Self::Auto),
            [ms @ .., b'-', b'*'] => number(ms).map(Self::Within).ok_or(INVALID_ID),
            id => parse_id(id, 0).map(Self::Exact),
        }
    }

    /// Returns the id of the new entry, or `None` if it would not be above `last`.
    fn resolve(self, last: Id, now: i64) -> Option<Id> {
        let id = match self {
            Self::Exact(id) => id,
            Self::Auto if last.ms < now.unsigned_abs() => Id::new(now.unsigned_abs(), 0),
            Self::Auto => last.next()?,
            Self::Within(ms) if ms == last.ms => Id::new(ms, last.seq.checked_add(1)?),
            Self::Within(ms) => Id::new(ms, 0),
        };
        (last < id).then_some(id)
    }
}

/// Arguments of XADD before the fields.
struct Addition {
    id: NewId,
    id_at: usize,
    may_create: bool,
    trim: Option<Trim>,
}

impl Addition {
    fn parse(cx: &Context<'_>) -> Result<Self, Fault> {
        let (mut options, mut may_create) = (TrimOptions::default(), true);
        let (mut at, mut id) = (2, NewId::Auto);
        while at < cx.args.len() && !cx.is(at, "*") {
            if let Some(next) = options.parse_one(cx, at)? {
                at = next;
            } else if cx.is(at, "nomkstream") {
                may_create = false;
                at += 1;
            } else {
                id = NewId::parse(&cx.args[at])?;
                break;
            }
        }
        Ok(Self {
            id,
            id_at: at,
            may_create,
            trim: options.finish(cx)?,
        })
    }
}

pub(crate) fn xadd(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let addition = Addition::parse(cx)?;
    let args = cx.args;
    let key = &args[1];
    let fields = args.get(addition.id_at + 1..).unwrap_or_default();
    if fields.is_empty() || !fields.len().is_multiple_of(2) {
        return Err(Fault::arity("xadd"));
    }
    if addition.id == NewId::Exact(Id::MIN) {
        return Err(Fault::of(
            "ERR The ID specified in XADD must be greater than 0-0",
        ));
    }
    let last = cx.peek_as::<Stream>(key)?.map(|stream| stream.last_id);
    if last.is_none() && !addition.may_create {
        out.null();
        return Ok(());
    }
    if last == Some(Id::MAX) {
        return Err(Fault::of(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let id = addition.id.resolve(last.unwrap_or(Id::MIN), cx.now);
    let id = id.ok_or(ID_TOO_SMALL)?;
    if NODE_BYTES_MAX < fields.iter().map(Bytes::len).sum() {
        return Err(Fault::of("ERR Elements are too large to be stored"));
    }
    let limits = node_limits(cx);
    let (trimmed, len) = cx.edit_or_new(key, Stream::new, |stream| {
        stream.append(id, fields, limits);
        let trim = addition.trim;
        let trimmed = trim.map(|trim| stream.trim(trim.kept, trim.precision));
        (trimmed, stream.len())
    })?;
    let trimmed = trimmed.map_or(0, |trimmed| free_trimmed(cx, trimmed));
    cx.changed(key, Class::Stream, "xadd");
    if 0 < trimmed {
        cx.ks.emit_event(cx.db, Class::Stream, "xtrim", key);
    }
    if last.is_some() {
        cx.ks.mark_ready(cx.db, key);
    }
    if cx.ks.journals() {
        let kept = addition.trim.map(|_| len);
        journal_addition(cx, id, fields, kept);
    }
    send_id(id, out);
    Ok(())
}

/// Records XADD in the append-only file with its id, and with the number of entries that trimming
/// has kept, if any: both depend on the clock or on the size of nodes.
fn journal_addition(cx: &mut Context<'_>, id: Id, fields: &[Bytes], kept: Option<usize>) {
    let mut call = vec![cx.args[0].clone(), cx.args[1].clone()];
    if let Some(kept) = kept {
        call.extend([b"MAXLEN".as_slice(), b"="].map(Bytes::from_static));
        call.push(Bytes::from(kept.to_string()));
    }
    call.push(id_text(id));
    call.extend_from_slice(fields);
    cx.rewrite_as(call);
}

/// Frees trimmed nodes, now or later, and returns the number of trimmed entries.
fn free_trimmed(cx: &mut Context<'_>, trimmed: Trimmed) -> usize {
    if trimmed.nodes.parts() != 0 {
        cx.ks.discard(trimmed.nodes.into_value());
    }
    trimmed.entries
}

pub(crate) fn xlen(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let stream = cx.read_as::<Stream>(&args[1])?;
    out.int(stream.map_or(0, Stream::len) as i64);
    Ok(())
}

/// Direction in which a range of entries is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

pub(crate) fn xrange(cx: &mut Context<'_>, out: &mut Out) -> Done {
    range(cx, Direction::Forward, out)
}

pub(crate) fn xrevrange(cx: &mut Context<'_>, out: &mut Out) -> Done {
    range(cx, Direction::Backward, out)
}

fn range(cx: &mut Context<'_>, direction: Direction, out: &mut Out) -> Done {
    let args = cx.args;
    let (start, end) = match direction {
        Direction::Forward => (parse_start(&args[2])?, parse_end(&args[3])?),
        Direction::Backward => (parse_start(&args[3])?, parse_end(&args[2])?),
    };
    let mut count_max = None;
    let mut at = 4;
    while at < args.len() {
        if !cx.is(at, "count") || args.len() <= at + 1 {
            return Err(Fault::SYNTAX);
        }
        count_max = Some(parse_count(cx, at + 1)?);
        at += 2;
    }
    let Some(stream) = cx.read_as::<Stream>(&args[1])? else {
        out.array(0);
        return Ok(());
    };
    let count_max = count_max.unwrap_or(usize::MAX);
    if count_max == 0 {
        out.null_array();
    } else if direction == Direction::Forward {
        send_range(stream, start, end, count_max, out);
    } else {
        let count = stream.count(start, end, count_max);
        out.array(count);
        send_entries(stream.range_back(start, end).take(count), out);
    }
    Ok(())
}

pub(crate) fn xdel(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let key = &args[1];
    if cx.peek_as::<Stream>(key)?.is_none() {
        out.int(0);
        return Ok(());
    }
    let ids = parse_ids(&args[2..])?;
    let removed = cx.edit::<Stream, _>(key, |stream| {
        let mut removed = 0;
        for id in ids {
            if stream.remove(id) {
                stream.max_deleted_id = stream.max_deleted_id.max(id);
                removed += 1;
            }
        }
        removed
    })?;
    let removed = removed.unwrap_or(0);
    if 0 < removed {
        cx.changed(key, Class::Stream, "xdel");
    }
    out.int(removed);
    Ok(())
}

pub(crate) fn xtrim(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let key = &args[1];
    let mut options = TrimOptions::default();
    let mut at = 2;
    while at < args.len() {
        at = options.parse_one(cx, at)?.ok_or(Fault::SYNTAX)?;
    }
    let trim = options.finish(cx)?.ok_or(Fault::of(
        "ERR syntax error, XTRIM must be called with a trimming strategy",
    ))?;
    if cx.peek_as::<Stream>(key)?.is_none() {
        out.int(0);
        return Ok(());
    }
    let trimmed = cx.edit::<Stream, _>(key, |stream| {
        (stream.trim(trim.kept, trim.precision), stream.len())
    })?;
    let (trimmed, len) = trimmed.expect("seen above");
    let trimmed = free_trimmed(cx, trimmed);
    if 0 < trimmed {
        cx.changed(key, Class::Stream, "xtrim");
        if trim.precision != Precision::Exact {
            // The number of removed entries depends on the size of nodes.
            let words = [b"MAXLEN".as_slice(), b"="].map(Bytes::from_static);
            let [maxlen, equal] = words;
            let len = Bytes::from(len.to_string());
            cx.rewrite([args[0].clone(), key.clone(), maxlen, equal, len]);
        }
    }
    out.int(trimmed as i64);
    Ok(())
}

/// Optional arguments of XSETID.
#[derive(Debug, Default)]
struct SetIdOptions {
    entries_added: Option<u64>,
    max_deleted_id: Option<Id>,
}

impl SetIdOptions {
    fn parse(cx: &Context<'_>, id: Id) -> Result<Self, Fault> {
        let mut options = Self::default();
        for at in (3..cx.args.len()).step_by(2) {
            let has_value = at + 1 < cx.args.len();
            if has_value && cx.is(at, "entriesadded") {
                let added = u64::try_from(cx.int(at + 1)?);
                let added = added.map_err(|_| Fault::of("ERR entries_added must be positive"))?;
                options.entries_added = Some(added);
            } else if has_value && cx.is(at, "maxdeletedid") {
                let deleted = parse_id(&cx.args[at + 1], 0)?;
                if id < deleted {
                    return Err(Fault::of(
                        "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                    ));
                }
                options.max_deleted_id = Some(deleted).filter(|&deleted| deleted != Id::MIN);
            } else {
                return Err(Fault::SYNTAX);
            }
        }
        Ok(options)
    }
}

pub(crate) fn xsetid(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let key = &args[1];
    let id = parse_id(&args[2], 0)?;
    let options = SetIdOptions::parse(cx, id)?;
    let stream = cx.peek_as::<Stream>(key)?.ok_or(Fault::NO_KEY)?;
    if stream.last_entry_id().is_some_and(|last| id < last) {
        return Err(Fault::of(
            "ERR The ID specified in XSETID is smaller than the target stream top item",
        ));
    }
    let len = stream.len() as u64;
    if len != 0 && options.entries_added.is_some_and(|added| added < len) {
        return Err(Fault::of(
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ));
    }
    if id < stream.max_deleted_id {
        return Err(Fault::of(
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
        ));
    }
    cx.edit::<Stream, _>(key, |stream| {
        stream.last_id = id;
        stream.entries_added = options.entries_added.unwrap_or(stream.entries_added);
        stream.max_deleted_id = options.max_deleted_id.unwrap_or(stream.max_deleted_id);
    })?;
    cx.changed_inside(key, "xsetid");
    out.ok();
    Ok(())
}
