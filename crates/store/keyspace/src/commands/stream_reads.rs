//! XREAD and XREADGROUP.

use bytes::Bytes;
use resp::{Out, Proto};

use super::stream_groups::{
    Names, consumer_created, consumer_of, edit_group, journal_claims, journal_position,
    no_group_to_read,
};
use super::streams::{id_text, parse_count, parse_id, send_entry, send_id, send_range};
use crate::command::Block;
use crate::context::Context;
use crate::fault::Fault;
use crate::stream::{Delivery, Id, Stream};

type Wait = Result<Option<Block>, Fault>;

/// Error of a command that waits in XREADGROUP for a stream that was removed.
const STREAM_VANISHED: &str = "UNBLOCKED the stream key no longer exists";
/// Error of a command that waits in XREADGROUP for a group that was removed.
const GROUP_VANISHED: &str =
    "NOGROUP the consumer group this client was blocked on no longer exists";

/// Group and consumer of XREADGROUP.
#[derive(Clone, Copy)]
struct Reader<'a> {
    group: &'a Bytes,
    consumer: &'a Bytes,
}

impl<'a> Reader<'a> {
    fn names(self, key: &'a Bytes) -> Names<'a> {
        Names {
            key,
            group: self.group,
            consumer: self.consumer,
        }
    }
}

/// Record of deliveries by XREADGROUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acknowledgement {
    /// Delivered entries are pending until XACK.
    Explicit,
    /// `NOACK`: delivered entries are never pending.
    None,
}

/// Entries of one stream that the client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Entries after this id.
    After(Id),
    /// `+`: the last entry.
    Last,
    /// `>`: entries that the group has not read.
    New,
    /// Pending entries of the consumer after this id.
    Pending(Id),
}

/// Options of XREAD and XREADGROUP before the keys.
struct ReadOptions<'a> {
    deadline_ms: Option<u64>,
    blocks: bool,
    count_max: usize,
    reader: Option<Reader<'a>>,
    acknowledgement: Acknowledgement,
    keys: &'a [Bytes],
    /// Index of the first id among the arguments.
    ids_at: usize,
}

impl<'a> ReadOptions<'a> {
    fn parse(cx: &Context<'a>) -> Result<Self, Fault> {
        let args = cx.args;
        let is_group = cx.is(0, "xreadgroup");
        let mut options = Self {
            deadline_ms: None,
            blocks: false,
            count_max: usize::MAX,
            reader: None,
            acknowledgement: Acknowledgement::Explicit,
            keys: &[],
            ids_at: 0,
        };
        let mut at = 1;
        while options.ids_at == 0 {
            let left = args.len().saturating_sub(at + 1);
            if cx.is(at, "block") && 0 < left {
                options.deadline_ms = block_deadline(cx, at + 1)?;
                options.blocks = true;
                at += 2;
            } else if cx.is(at, "count") && 0 < left {
                let count = parse_count(cx, at + 1)?;
                options.count_max = if count == 0 { usize::MAX } else { count };
                at += 2;
            } else if cx.is(at, "streams") && 0 < left {
                options.keys = halve(cx, at + 1)?;
                options.ids_at = at + 1 + options.keys.len();
            } else if cx.is(at, "group") && 1 < left {
                let (group, consumer) = (&args[at + 1], &args[at + 2]);
                options.reader = Some(Reader { group, consumer });
                at += 3;
            } else if cx.is(at, "noack") {
                options.acknowledgement = Acknowledgement::None;
                at += 1;
            } else {
                return Err(Fault::SYNTAX);
            }
            if !is_group && options.reader.is_some() {
                return Err(only_for_groups("GROUP"));
            } else if !is_group && options.acknowledgement == Acknowledgement::None {
                return Err(only_for_groups("NOACK"));
            }
        }
        if is_group && options.reader.is_none() {
            return Err(Fault::of("ERR Missing GROUP option for XREADGROUP"));
        }
        Ok(options)
    }
}

fn only_for_groups(option: &str) -> Fault {
    Fault::new(format!(
        "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
    ))
}

/// Parses the timeout after BLOCK. Returns the deadline; `None` for a timeout of 0, which means to
/// wait without limit.
fn block_deadline(cx: &Context<'_>, at: usize) -> Result<Option<u64>, Fault> {
    let timeout_ms = resp::parse_int(&cx.args[at]);
    let timeout_ms =
        timeout_ms.ok_or(Fault::of("ERR timeout is not an integer or out of range"))?;
    if timeout_ms < 0 {
        return Err(Fault::of("ERR timeout is negative"));
    }
    let deadline_ms = cx.now.checked_add(timeout_ms);
    let deadline_ms = deadline_ms.ok_or(Fault::of("ERR timeout is out of range"))?;
    Ok((timeout_ms != 0).then_some(deadline_ms.unsigned_abs()))
}

/// Returns the keys, which are the first half of the arguments from index `at` on.
fn halve<'a>(cx: &Context<'a>, at: usize) -> Result<&'a [Bytes], Fault> {
    let rest = &cx.args[at..];
    if !rest.len().is_multiple_of(2) {
        return Err(Fault::of(
            "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
        ));
    }
    Ok(&rest[..rest.len() / 2])
}

/// Parses the id of one stream, which belongs to `key`.
fn position(
    cx: &mut Context<'_>,
    key: &Bytes,
    text: &[u8],
    reader: Option<Reader<'_>>,
) -> Result<Position, Fault> {
    let stream = cx.read_as::<Stream>(key)?;
    if let Some(Reader { group, .. }) = reader {
        if stream.is_none_or(|stream| stream.group(group).is_none()) {
            return Err(no_group_to_read(key, group));
        }
        return match text {
            b">" => Ok(Position::New),
            b"$" => Err(meaningless("$")),
            b"+" => Err(meaningless("+")),
            id => parse_id(id, 0).map(Position::Pending),
        };
    }
    let last_id = stream.map_or(Id::MIN, |stream| stream.last_id);
    match text {
        b"$" => Ok(Position::After(last_id)),
        b"+" if stream.is_some_and(|stream| stream.len() != 0) => Ok(Position::Last),
        b"+" => Ok(Position::After(last_id)),
        b">" => Err(Fault::of(
            "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
        )),
        id => parse_id(id, 0).map(Position::After),
    }
}

fn meaningless(symbol: &str) -> Fault {
    Fault::new(format!(
        "ERR The {symbol} ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The {symbol} ID would just return an empty result set."
    ))
}

pub(crate) fn xread(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    let args = cx.args;
    let options = ReadOptions::parse(cx)?;
    let mut positions = Vec::with_capacity(options.keys.len());
    for (key, id) in options.keys.iter().zip(&args[options.ids_at..]) {
        positions.push(position(cx, key, id, options.reader)?);
    }
    let mut ready: Vec<(&Bytes, Position)> = Vec::new();
    for (key, &position) in options.keys.iter().zip(&positions) {
        // A key may occur twice. The entries that its first occurrence gets are then no longer new.
        let earlier = ready.iter().filter(|&&it| it == (key, position)).count();
        let read_count = earlier.saturating_mul(options.count_max);
        let group = options.reader.map(|reader| &reader.group[..]);
        let stream = cx.peek_as::<Stream>(key)?;
        if stream.is_some_and(|stream| has_entries(stream, position, group, read_count)) {
            ready.push((key, position));
        } else if let Some(reader) = options.reader {
            record_visit(cx, key, reader)?;
        }
    }
    if ready.is_empty() {
        return Ok(wait(cx, &options, &positions, out));
    }
    match out.proto() {
        Proto::Resp2 => out.array(ready.len()),
        Proto::Resp3 => out.map(ready.len()),
    }
    for (key, position) in ready {
        if out.proto() == Proto::Resp2 {
            out.array(2);
        }
        out.bulk(key);
        match options.reader {
            None => send_read(cx, key, position, options.count_max, out)?,
            Some(reader) => deliver(cx, key, position, (reader, &options), out)?,
        }
    }
    Ok(None)
}

/// Returns whether the reply has a part for this stream. `read_count` is the number of new entries
/// of the group that earlier parts of the same reply already contain.
fn has_entries(
    stream: &Stream,
    position: Position,
    group: Option<&[u8]>,
    read_count: usize,
) -> bool {
    let last = stream.last_entry_id();
    match position {
        Position::After(id) => last.is_some_and(|last| id < last),
        Position::Last => last.is_some(),
        // The history of a consumer is always sent, even if it is empty.
        Position::Pending(_) => true,
        Position::New => {
            let group = group.and_then(|name| stream.group(name));
            let start = group.and_then(|group| group.last_id.next());
            start.is_some_and(|start| {
                read_count < stream.count(start, Id::MAX, read_count.saturating_add(1))
            })
        }
    }
}

/// Returns the keys for which the command waits, and its deadline. If the client must not block,
/// writes a null array and returns `None`.
fn wait(
    cx: &Context<'_>,
    options: &ReadOptions<'_>,
    positions: &[Position],
    out: &mut Out,
) -> Option<Block> {
    if !options.blocks {
        out.null_array();
        return None;
    }
    let mut block = super::block(cx, options.keys, options.deadline_ms, out)?;
    // Ids replace `$` and `+`, which would otherwise mean a later moment when the command runs
    // again.
    let mut again = cx.args.to_vec();
    for (id, position) in again[options.ids_at..].iter_mut().zip(positions) {
        if let Position::After(after) = position {
            *id = id_text(*after);
        }
    }
    block.again = Some(again);
    Some(block)
}

/// Sends the entries of one stream to a client that reads without a group.
fn send_read(
    cx: &mut Context<'_>,
    key: &Bytes,
    position: Position,
    count_max: usize,
    out: &mut Out,
) -> Result<(), Fault> {
    let stream = cx.peek_as::<Stream>(key)?.expect("the stream has entries");
    let start = match position {
        Position::After(id) => id.next(),
        _ => stream.last_entry_id(),
    };
    let start = start.expect("the stream has an entry after this id");
    send_range(stream, start, Id::MAX, count_max, out);
    Ok(())
}

/// Records that a consumer asked for new entries of a stream that has none. As in Redis, the
/// consumer is added to its group if it does not exist yet.
fn record_visit(cx: &mut Context<'_>, key: &Bytes, reader: Reader<'_>) -> Result<(), Fault> {
    let now = cx.now;
    let is_new = edit_group(cx, key, reader.group, |group| {
        let (consumer, is_new) = consumer_of(group, reader.consumer, now);
        group.set_seen(consumer, now);
        is_new
    })?;
    if is_new == Some(true) {
        consumer_created(cx, reader.names(key));
    }
    Ok(())
}

/// Changes of a group by new deliveries, for the append-only file.
struct Delivered {
    ids: Vec<Id>,
    has_new_consumer: bool,
    position: (Id, Option<u64>),
}

/// Delivers entries of one stream to a consumer, and records the deliveries.
fn deliver(
    cx: &mut Context<'_>,
    key: &Bytes,
    position: Position,
    (reader, options): (Reader<'_>, &ReadOptions<'_>),
    out: &mut Out,
) -> Result<(), Fault> {
    const STREAM_EXISTS: &str = "only a stream that exists adds entries to the reply";
    let (now, names) = (cx.now, reader.names(key));
    if let Position::Pending(after) = position {
        let range = (after, options.count_max);
        let has_new_consumer =
            cx.edit::<Stream, _>(key, |stream| deliver_again(stream, reader, range, now, out))?;
        if has_new_consumer.expect(STREAM_EXISTS) {
            consumer_created(cx, names);
        }
        return Ok(());
    }
    let delivered = cx.edit::<Stream, _>(key, |stream| {
        deliver_new(stream, (reader, options), now, out)
    })?;
    let delivered = delivered.expect(STREAM_EXISTS);
    if delivered.has_new_consumer {
        consumer_created(cx, names);
    }
    cx.dirty += 1;
    journal_claims(cx, names, &delivered.ids, (now, 1));
    journal_position(cx, names, delivered.position);
    Ok(())
}

/// Sends entries that the group has not read, and makes them pending.
fn deliver_new(
    stream: &mut Stream,
    (reader, options): (Reader<'_>, &ReadOptions<'_>),
    now: i64,
    out: &mut Out,
) -> Delivered {
    const GROUP_EXISTS: &str = "the caller has found the group";
    let group = stream.group(reader.group).expect(GROUP_EXISTS);
    let start = group
        .last_id
        .next()
        .expect("there is an entry after this id");
    let count = stream.count(start, Id::MAX, options.count_max);
    let (mut ids, mut entries_read) = (Vec::with_capacity(count), group.entries_read);
    out.array(count);
    for entry in stream.range(start, Id::MAX).take(count) {
        // Entries that the client cannot receive any more stay new.
        if out.is_full() {
            break;
        }
        send_entry(&entry, out);
        ids.push(entry.id);
        entries_read = stream.entries_read_after(entries_read, entry.id);
    }
    let delivered = stream.edit_group(reader.group, |group| {
        group.entries_read = entries_read;
        group.last_id = ids.last().copied().unwrap_or(group.last_id);
        let (consumer, has_new_consumer) = consumer_of(group, reader.consumer, now);
        group.set_seen(consumer, now);
        group.set_active(consumer, Some(now));
        if options.acknowledgement == Acknowledgement::None {
            ids.clear();
        }
        for &id in &ids {
            let delivery = Delivery {
                time_ms: now,
                count: 1,
                consumer,
            };
            group.deliver(id, delivery);
        }
        Delivered {
            ids,
            has_new_consumer,
            position: (group.last_id, entries_read),
        }
    });
    delivered.expect(GROUP_EXISTS)
}

/// Sends pending entries of a consumer once more. As in Redis, this updates the times and counts of
/// their deliveries, but does not count as a change: the append-only file does not record it.
/// Returns whether the consumer was added to the group.
fn deliver_again(
    stream: &mut Stream,
    reader: Reader<'_>,
    (after, count_max): (Id, usize),
    now: i64,
    out: &mut Out,
) -> bool {
    const GROUP_EXISTS: &str = "the caller has found the group";
    let visited = stream.edit_group(reader.group, |group| {
        let (number, is_new) = consumer_of(group, reader.consumer, now);
        group.set_seen(number, now);
        (number, is_new)
    });
    let (number, has_new_consumer) = visited.expect(GROUP_EXISTS);
    let group = stream.group(reader.group).expect(GROUP_EXISTS);
    let start = after.next().unwrap_or(Id::MAX);
    let pending = group.consumer(number).pending.iter_from(start);
    let pending: Vec<Id> = pending.map(|(id, ())| id).take(count_max).collect();
    let mut ids = Vec::new();
    out.array(pending.len());
    for &id in &pending {
        if out.is_full() {
            break;
        }
        if let Some(entry) = stream.get(id) {
            send_entry(&entry, out);
            ids.push(id);
        } else {
            out.array(2);
            send_id(id, out);
            out.null_array();
        }
    }
    let delivered = stream.edit_group(reader.group, |group| {
        if !ids.is_empty() {
            group.set_active(number, Some(now));
        }
        for id in ids {
            let delivery = group.delivery_mut(id);
            let delivery = delivery.expect("a consumer's entries are pending in its group");
            delivery.time_ms = now;
            delivery.count = delivery.count.saturating_add(1);
        }
    });
    delivered.expect(GROUP_EXISTS);
    has_new_consumer
}

impl crate::Keyspace {
    /// Returns the error for a blocked command that can never be served, because the stream `key`
    /// or the consumer group of the command was removed.
    #[must_use]
    pub fn vanished(&self, db: usize, args: &[Bytes], key: &[u8]) -> Option<&'static str> {
        let is_group = args.first()?.eq_ignore_ascii_case(b"xreadgroup");
        let group_at = args
            .iter()
            .position(|arg| arg.eq_ignore_ascii_case(b"group"))?;
        let name = args.get(group_at + 1).filter(|_| is_group)?;
        let entry = self.dbs[db].dict.get(key);
        let stream = entry.and_then(|entry| <Stream as crate::value::Kind>::of(&entry.value));
        match stream {
            None => Some(STREAM_VANISHED),
            Some(stream) if stream.group(name).is_none() => Some(GROUP_VANISHED),
            Some(_) => None,
        }
    }
}
