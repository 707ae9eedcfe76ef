//! Commands on the consumer groups of streams.

use bytes::Bytes;
use resp::Out;

use super::streams::{id_text, parse_end, parse_id, parse_ids, parse_start, send_id};
use crate::context::Context;
use crate::fault::Fault;
use crate::stream::{ConsumerNumber, Delivery, Group, Id, Stream};
use crate::value::Kind;

type Done = Result<(), Fault>;

/// Stream, group and consumer that a command names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub(super) key: &'a Bytes,
    pub(super) group: &'a Bytes,
    pub(super) consumer: &'a Bytes,
}

impl<'a> Names<'a> {
    /// Returns the first three arguments of a command. The error is that of a stream or a group
    /// that does not exist.
    pub(super) fn of_group(cx: &mut Context<'a>) -> Result<Self, Fault> {
        let args = cx.args;
        let [key, group, consumer] = [&args[1], &args[2], &args[3]];
        let stream = cx.read_as::<Stream>(key)?;
        if stream.is_none_or(|stream| stream.group(group).is_none()) {
            return Err(no_key_or_group(key, group));
        }
        Ok(Self {
            key,
            group,
            consumer,
        })
    }
}

/// Returns the error for a key or a group that does not exist.
pub(super) fn no_key_or_group(key: &[u8], group: &[u8]) -> Fault {
    no_group([b"No such key '", key, b"' or consumer group '", group, b"'"])
}

/// Returns the error for a group that does not exist in an existing stream.
pub(super) fn no_such_group(key: &[u8], group: &[u8]) -> Fault {
    no_group([
        b"No such consumer group '",
        group,
        b"' for key name '",
        key,
        b"'",
    ])
}

/// Returns the error of XREADGROUP for a key or a group that does not exist.
pub(super) fn no_group_to_read(key: &[u8], group: &[u8]) -> Fault {
    let tail = b"' in XREADGROUP with GROUP option";
    no_group([b"No such key '", key, b"' or consumer group '", group, tail])
}

fn no_group(parts: [&[u8]; 5]) -> Fault {
    Fault::new([b"NOGROUP ", &parts.concat()[..]].concat())
}

/// Returns the error for options that a subcommand does not have.
pub(super) fn subcommand_syntax(cx: &Context<'_>) -> Fault {
    let upper = cx.args[0].to_ascii_uppercase();
    let text: [&[u8]; 5] = [
        b"ERR unknown subcommand or wrong number of arguments for '",
        &cx.args[1],
        b"'. Try ",
        &upper,
        b" HELP.",
    ];
    Fault::new(text.concat())
}

/// Returns the number of a consumer, which is added to its group if it does not exist yet, and
/// whether it was added.
pub(super) fn consumer_of(group: &mut Group, name: &[u8], now: i64) -> (ConsumerNumber, bool) {
    match group.find_consumer(name) {
        Some(number) => (number, false),
        None => {
            let added = group.add_consumer(name, now);
            (added.expect("the name was not found"), true)
        }
    }
}

/// Changes a group. Returns `None` if the key or the group does not exist.
pub(super) fn edit_group<R>(
    cx: &mut Context<'_>,
    key: &[u8],
    group: &[u8],
    change: impl FnOnce(&mut Group) -> R,
) -> Result<Option<R>, Fault> {
    let changed = cx.edit::<Stream, _>(key, |stream| stream.edit_group(group, change))?;
    Ok(changed.flatten())
}

/// Options of XGROUP CREATE and XGROUP SETID.
#[derive(Debug, Default)]
struct GroupOptions {
    may_create_stream: bool,
    entries_read: Option<u64>,
}

impl GroupOptions {
    fn parse(cx: &Context<'_>) -> Result<Self, Fault> {
        let mut options = Self::default();
        let mut at = 5;
        while at < cx.args.len() {
            if cx.is(at, "mkstream") && cx.is(1, "create") {
                options.may_create_stream = true;
                at += 1;
            } else if cx.is(at, "entriesread") && at + 1 < cx.args.len() {
                options.entries_read = match cx.int(at + 1)? {
                    -1 => None,
                    count => Some(u64::try_from(count).map_err(|_| {
                        Fault::of("ERR value for ENTRIESREAD must be positive or -1")
                    })?),
                };
                at += 2;
            } else {
                return Err(subcommand_syntax(cx));
            }
        }
        Ok(options)
    }
}

/// Returns the stream, or the error for a missing key that all subcommands of XGROUP have.
fn stream_of<'c>(cx: &'c mut Context<'_>, key: &[u8]) -> Result<&'c Stream, Fault> {
    cx.peek_as::<Stream>(key)?.ok_or(Fault::of(
        "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.",
    ))
}

/// Returns the stream, or the error for a missing key or group.
fn stream_with_group<'c>(
    cx: &'c mut Context<'_>,
    key: &[u8],
    group: &[u8],
) -> Result<&'c Stream, Fault> {
    let stream = stream_of(cx, key)?;
    match stream.group(group) {
        Some(_) => Ok(stream),
        None => Err(no_such_group(key, group)),
    }
}

/// Parses the id of XGROUP CREATE and XGROUP SETID; `$` is the last id of the stream.
fn group_id(text: &[u8], last_id: Id) -> Result<Id, Fault> {
    match text {
        b"$" => Ok(last_id),
        text => parse_id(text, 0),
    }
}

pub(crate) fn create(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let options = GroupOptions::parse(cx)?;
    let args = cx.args;
    let (key, name) = (&args[2], &args[3]);
    let last_id = match cx.peek_as::<Stream>(key)? {
        Some(stream) => Some(stream.last_id),
        None if options.may_create_stream => None,
        None => Some(stream_of(cx, key)?.last_id),
    };
    let id = group_id(&args[4], last_id.unwrap_or(Id::MIN))?;
    if last_id.is_none() {
        cx.insert(key, Stream::new().into_value(), crate::db::NEVER);
        cx.ks.touch(cx.db, key);
    }
    let group = Group::new(name, id, options.entries_read);
    let is_added = cx.edit::<Stream, _>(key, |stream| stream.add_group(group))?;
    if is_added != Some(true) {
        return Err(Fault::of("BUSYGROUP Consumer Group name already exists"));
    }
    cx.changed_inside(key, "xgroup-create");
    out.ok();
    Ok(())
}

pub(crate) fn setid(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let options = GroupOptions::parse(cx)?;
    let args = cx.args;
    let (key, name) = (&args[2], &args[3]);
    let last_id = stream_with_group(cx, key, name)?.last_id;
    let id = group_id(&args[4], last_id)?;
    edit_group(cx, key, name, |group| {
        group.last_id = id;
        group.entries_read = options.entries_read;
    })?;
    cx.changed_inside(key, "xgroup-setid");
    out.ok();
    Ok(())
}

pub(crate) fn destroy(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let (key, name) = (&args[2], &args[3]);
    stream_of(cx, key)?;
    let removed = cx.edit::<Stream, _>(key, |stream| stream.remove_group(name))?;
    let removed = removed.flatten();
    let is_removed = removed.is_some();
    if let Some(removed) = removed {
        cx.ks.discard(removed.into_value());
        cx.changed_inside(key, "xgroup-destroy");
        // Clients that wait in XREADGROUP for this group get an error.
        cx.ks.mark_ready(cx.db, key);
    }
    out.int(i64::from(is_removed));
    Ok(())
}

pub(crate) fn createconsumer(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let (key, name) = (&args[2], &args[3]);
    stream_with_group(cx, key, name)?;
    let now = cx.now;
    let added = edit_group(cx, key, name, |group| group.add_consumer(&args[4], now))?;
    let is_added = added.flatten().is_some();
    if is_added {
        cx.changed_inside(key, "xgroup-createconsumer");
    }
    out.int(i64::from(is_added));
    Ok(())
}

pub(crate) fn delconsumer(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let (key, name) = (&args[2], &args[3]);
    stream_with_group(cx, key, name)?;
    let removed = edit_group(cx, key, name, |group| {
        let number = group.find_consumer(&args[4])?;
        Some(group.remove_consumer(number))
    })?;
    let removed = removed.flatten();
    if removed.is_some() {
        cx.changed_inside(key, "xgroup-delconsumer");
    }
    out.int(removed.unwrap_or(0) as i64);
    Ok(())
}

pub(crate) fn xack(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let (key, name) = (&args[1], &args[2]);
    let stream = cx.read_as::<Stream>(key)?;
    if stream.is_none_or(|stream| stream.group(name).is_none()) {
        out.int(0);
        return Ok(());
    }
    let ids = parse_ids(&args[3..])?;
    let acknowledged = edit_group(cx, key, name, |group| {
        let ids = ids.into_iter();
        ids.filter(|&id| group.acknowledge(id)).count()
    })?;
    let acknowledged = acknowledged.unwrap_or(0);
    cx.dirty += acknowledged as u64;
    out.int(acknowledged as i64);
    Ok(())
}

/// Arguments of XPENDING after the group, if there are any.
struct PendingFilter<'a> {
    idle_ms_min: i64,
    start: Id,
    end: Id,
    count_max: usize,
    consumer: Option<&'a Bytes>,
}

impl<'a> PendingFilter<'a> {
    fn parse(cx: &Context<'a>) -> Result<Option<Self>, Fault> {
        let args = cx.args;
        if args.len() == 3 {
            return Ok(None);
        }
        if !(6..=9).contains(&args.len()) {
            return Err(Fault::SYNTAX);
        }
        let (mut at, mut idle_ms_min) = (3, 0);
        if cx.is(3, "idle") {
            idle_ms_min = cx.int(4)?;
            if args.len() < 8 {
                return Err(Fault::SYNTAX);
            }
            at = 5;
        }
        let count_max = super::streams::parse_count(cx, at + 2)?;
        Ok(Some(Self {
            idle_ms_min,
            start: parse_start(&args[at])?,
            end: parse_end(&args[at + 1])?,
            count_max,
            consumer: args.get(at + 3),
        }))
    }

    /// Returns the pending entries that the filter accepts.
    fn deliveries(&self, group: &Group, now: i64) -> Vec<(Id, Delivery)> {
        let accepts = |delivery: &Delivery| {
            self.idle_ms_min == 0 || self.idle_ms_min <= now.saturating_sub(delivery.time_ms)
        };
        let (end, count_max) = (self.end, self.count_max);
        let consumer = match self.consumer {
            None => {
                let all = group.pending().iter_from(self.start);
                let wanted = all.take_while(|(id, _)| *id <= end);
                let wanted = wanted.filter(|(_, delivery)| accepts(delivery));
                return wanted.take(count_max).map(|(id, it)| (id, *it)).collect();
            }
            Some(name) => group.find_consumer(name),
        };
        let Some(consumer) = consumer else {
            return Vec::new();
        };
        let ids = group.consumer(consumer).pending.iter_from(self.start);
        let wanted = ids.take_while(|(id, ())| *id <= end).map(|(id, ())| {
            let delivery = group.pending().get(id);
            (
                id,
                *delivery.expect("a consumer's entries are pending in its group"),
            )
        });
        let wanted = wanted.filter(|(_, delivery)| accepts(delivery));
        wanted.take(count_max).collect()
    }
}

pub(crate) fn xpending(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let filter = PendingFilter::parse(cx)?;
    let now = cx.now;
    let stream = cx.read_as::<Stream>(&args[1])?;
    let group = stream.and_then(|stream| stream.group(&args[2]));
    let group = group.ok_or_else(|| no_key_or_group(&args[1], &args[2]))?;
    let Some(filter) = filter else {
        send_summary(group, out);
        return Ok(());
    };
    let deliveries = filter.deliveries(group, now);
    out.array(deliveries.len());
    for (id, delivery) in deliveries {
        if out.is_full() {
            break;
        }
        out.array(4);
        send_id(id, out);
        out.bulk(&group.consumer(delivery.consumer).name);
        out.int(now.saturating_sub(delivery.time_ms).max(0));
        out.int(delivery.count as i64);
    }
    Ok(())
}

fn send_summary(group: &Group, out: &mut Out) {
    out.array(4);
    out.int(group.pending().len() as i64);
    let ends = group.pending().first().zip(group.pending().last());
    let Some((first, last)) = ends else {
        out.null();
        out.null();
        out.null_array();
        return;
    };
    send_id(first, out);
    send_id(last, out);
    let busy = || {
        group
            .consumers()
            .filter(|consumer| consumer.pending.len() != 0)
    };
    out.array(busy().count());
    for consumer in busy() {
        if out.is_full() {
            return;
        }
        out.array(2);
        out.bulk(&consumer.name);
        out.bulk_int(consumer.pending.len() as i64);
    }
}

/// Records in the append-only file that pending entries belong to a consumer.
pub(super) fn journal_claims(
    cx: &mut Context<'_>,
    names: Names<'_>,
    ids: &[Id],
    (time_ms, count): (i64, u64),
) {
    if ids.is_empty() || !cx.ks.journals() {
        return;
    }
    let mut call = vec![
        Bytes::from_static(b"XCLAIM"),
        names.key.clone(),
        names.group.clone(),
        names.consumer.clone(),
        Bytes::from_static(b"0"),
    ];
    call.extend(ids.iter().map(|&id| id_text(id)));
    call.extend([
        Bytes::from_static(b"TIME"),
        Bytes::from(time_ms.to_string()),
        Bytes::from_static(b"RETRYCOUNT"),
        Bytes::from(count.to_string()),
        Bytes::from_static(b"FORCE"),
        Bytes::from_static(b"JUSTID"),
    ]);
    cx.rewrite_as(call);
}

/// Records in the append-only file that pending entries, which the stream no longer has, were
/// removed.
pub(super) fn journal_acknowledged(cx: &mut Context<'_>, names: Names<'_>, ids: &[Id]) {
    if !ids.is_empty() {
        let (key, group) = (names.key.clone(), names.group.clone());
        let mut call = vec![Bytes::from_static(b"XACK"), key, group];
        call.extend(ids.iter().map(|&id| id_text(id)));
        cx.rewrite_as(call);
    }
}

/// Records in the append-only file how far a group has read.
pub(super) fn journal_position(
    cx: &mut Context<'_>,
    names: Names<'_>,
    (last_id, entries_read): (Id, Option<u64>),
) {
    let words = [b"XGROUP".as_slice(), b"SETID", b"ENTRIESREAD"].map(Bytes::from_static);
    let [xgroup, setid, entriesread] = words;
    let count = entries_read.map_or("-1".to_owned(), |count| count.to_string());
    cx.rewrite([
        xgroup,
        setid,
        names.key.clone(),
        names.group.clone(),
        id_text(last_id),
        entriesread,
        Bytes::from(count),
    ]);
}

/// Sends the event of a new consumer, and records the consumer in the append-only file.
pub(super) fn consumer_created(cx: &mut Context<'_>, names: Names<'_>) {
    cx.changed_inside(names.key, "xgroup-createconsumer");
    let words = [b"XGROUP".as_slice(), b"CREATECONSUMER"].map(Bytes::from_static);
    let [xgroup, create] = words;
    let Names {
        key,
        group,
        consumer,
    } = names;
    cx.rewrite([xgroup, create, key.clone(), group.clone(), consumer.clone()]);
}
