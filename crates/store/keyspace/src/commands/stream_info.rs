//! XINFO.

use resp::Out;

use super::stream_groups::{no_such_group, subcommand_syntax};
use super::streams::{send_entry, send_id, send_range};
use crate::context::Context;
use crate::fault::Fault;
use crate::stream::{Consumer, Group, Id, Stream};

type Done = Result<(), Fault>;

/// Number of entries that XINFO STREAM FULL sends without COUNT.
const SHOWN_DEFAULT: usize = 10;

/// Parses the options of XINFO STREAM. Returns the limit of FULL, which is the number of entries
/// per list, or `None` without FULL.
fn full_limit(cx: &Context<'_>) -> Result<Option<usize>, Fault> {
    match cx.args.len() {
        3 => Ok(None),
        4 if cx.is(3, "full") => Ok(Some(SHOWN_DEFAULT)),
        6 if cx.is(3, "full") && cx.is(4, "count") => Ok(Some(match cx.int(5)? {
            0 => usize::MAX,
            count => usize::try_from(count).unwrap_or(SHOWN_DEFAULT),
        })),
        _ => Err(subcommand_syntax(cx)),
    }
}

pub(crate) fn stream(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    cx.read_as::<Stream>(&args[2])?.ok_or(Fault::NO_KEY)?;
    let limit = full_limit(cx)?;
    let stream = cx.peek_as::<Stream>(&args[2])?.ok_or(Fault::NO_KEY)?;
    out.map(if limit.is_some() { 9 } else { 10 });
    send_figures(stream, out);
    let Some(limit) = limit else {
        out.bulk(b"groups");
        out.int(stream.groups().len() as i64);
        let all = || stream.range(Id::MIN, Id::MAX).next();
        let last = stream.last_entry_id().and_then(|id| stream.get(id));
        for (name, entry) in [("first-entry", all()), ("last-entry", last)] {
            out.bulk(name.as_bytes());
            match entry {
                Some(entry) => send_entry(&entry, out),
                None => out.null(),
            }
        }
        return Ok(());
    };
    out.bulk(b"entries");
    send_range(stream, Id::MIN, Id::MAX, limit, out);
    out.bulk(b"groups");
    out.array(stream.groups().len());
    for group in stream.groups() {
        if out.is_full() {
            break;
        }
        send_group(stream, group, limit, out);
    }
    Ok(())
}

fn send_figures(stream: &Stream, out: &mut Out) {
    out.bulk(b"length");
    out.int(stream.len() as i64);
    out.bulk(b"radix-tree-keys");
    out.int(stream.nodes().len() as i64);
    // Redis counts the inner nodes of its radix tree too. This store has no tree, and reports
    // one root in addition to the nodes.
    out.bulk(b"radix-tree-nodes");
    out.int(stream.nodes().len() as i64 + 1);
    let ids = [
        ("last-generated-id", stream.last_id),
        ("max-deleted-entry-id", stream.max_deleted_id),
    ];
    for (name, id) in ids {
        out.bulk(name.as_bytes());
        send_id(id, out);
    }
    out.bulk(b"entries-added");
    out.int(stream.entries_added as i64);
    out.bulk(b"recorded-first-entry-id");
    send_id(stream.first_id(), out);
}

/// Writes the progress of a group: its last id, and the numbers of entries that it has and has not
/// read.
fn send_progress(stream: &Stream, group: &Group, out: &mut Out) {
    out.bulk(b"last-delivered-id");
    send_id(group.last_id, out);
    out.bulk(b"entries-read");
    send_count(group.entries_read.map(|count| count as i64), out);
    out.bulk(b"lag");
    send_count(stream.lag(group), out);
}

fn send_count(count: Option<i64>, out: &mut Out) {
    match count {
        Some(count) => out.int(count),
        None => out.null(),
    }
}

fn send_group(stream: &Stream, group: &Group, limit: usize, out: &mut Out) {
    out.map(7);
    out.bulk(b"name");
    out.bulk(&group.name);
    send_progress(stream, group, out);
    out.bulk(b"pel-count");
    out.int(group.pending().len() as i64);
    out.bulk(b"pending");
    out.array(group.pending().len().min(limit));
    for (id, delivery) in group.pending().iter_from(Id::MIN).take(limit) {
        if out.is_full() {
            return;
        }
        out.array(4);
        send_id(id, out);
        out.bulk(&group.consumer(delivery.consumer).name);
        out.int(delivery.time_ms);
        out.int(delivery.count as i64);
    }
    out.bulk(b"consumers");
    out.array(group.consumers().len());
    for consumer in group.consumers() {
        if out.is_full() {
            return;
        }
        send_consumer(group, consumer, limit, out);
    }
}

fn send_consumer(group: &Group, consumer: &Consumer, limit: usize, out: &mut Out) {
    out.map(5);
    out.bulk(b"name");
    out.bulk(&consumer.name);
    out.bulk(b"seen-time");
    out.int(consumer.seen_ms);
    out.bulk(b"active-time");
    out.int(consumer.active_ms.unwrap_or(-1));
    out.bulk(b"pel-count");
    out.int(consumer.pending.len() as i64);
    out.bulk(b"pending");
    out.array(consumer.pending.len().min(limit));
    for (id, ()) in consumer.pending.iter_from(Id::MIN).take(limit) {
        if out.is_full() {
            return;
        }
        let delivery = group.pending().get(id);
        let delivery = delivery.expect("a consumer's entries are pending in its group");
        out.array(3);
        send_id(id, out);
        out.int(delivery.time_ms);
        out.int(delivery.count as i64);
    }
}

pub(crate) fn groups(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let stream = cx.read_as::<Stream>(&args[2])?.ok_or(Fault::NO_KEY)?;
    out.array(stream.groups().len());
    for group in stream.groups() {
        if out.is_full() {
            break;
        }
        out.map(6);
        out.bulk(b"name");
        out.bulk(&group.name);
        out.bulk(b"consumers");
        out.int(group.consumers_len() as i64);
        out.bulk(b"pending");
        out.int(group.pending().len() as i64);
        send_progress(stream, group, out);
    }
    Ok(())
}

pub(crate) fn consumers(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (args, now) = (cx.args, cx.now);
    let stream = cx.read_as::<Stream>(&args[2])?.ok_or(Fault::NO_KEY)?;
    let group = stream.group(&args[3]);
    let group = group.ok_or_else(|| no_such_group(&args[2], &args[3]))?;
    out.array(group.consumers().len());
    for consumer in group.consumers() {
        if out.is_full() {
            break;
        }
        let since = |time_ms: i64| now.saturating_sub(time_ms).max(0);
        out.map(4);
        out.bulk(b"name");
        out.bulk(&consumer.name);
        out.bulk(b"pending");
        out.int(consumer.pending.len() as i64);
        out.bulk(b"idle");
        out.int(since(consumer.seen_ms));
        out.bulk(b"inactive");
        out.int(consumer.active_ms.map_or(-1, since));
    }
    Ok(())
}
