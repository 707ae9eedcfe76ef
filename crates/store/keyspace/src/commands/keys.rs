//! Commands on keys of any type, and on databases.

use bytes::Bytes;
use resp::Out;

use crate::context::Context;
use crate::fault::Fault;
use crate::notify::Class;
use crate::string::Str;
use crate::text::{Key, glob};
use crate::value::Value;

type Done = Result<(), Fault>;

/// Maximum number of random keys that RANDOMKEY tries. If all of them have expired, the reply is
/// null.
const RANDOM_TRIES: usize = 100;

pub(crate) fn del(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let mut removed = 0;
    for key in &cx.args[1..] {
        match cx.delete(key) {
            true => removed += 1,
            // A key that does not exist may have a build lock, which GETORLOCK acquired. The holder
            // of the lock releases it with DEL.
            false => cx.ks.unlock(cx.db, key),
        }
    }
    out.int(removed);
    Ok(())
}

pub(crate) fn exists(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = &cx.args[1..];
    let found = args
        .iter()
        .filter(|key| cx.entry_untouched(key).is_some())
        .count();
    out.int(found as i64);
    Ok(())
}

pub(crate) fn touch(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let found = cx.args[1..]
        .iter()
        .filter(|key| cx.read(key).is_some())
        .count();
    out.int(found as i64);
    Ok(())
}

pub(crate) fn type_of(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    out.simple(
        cx.entry_untouched(&args[1])
            .map_or("none", |entry| entry.value.type_name()),
    );
    Ok(())
}

pub(crate) fn dbsize(cx: &mut Context<'_>, out: &mut Out) -> Done {
    out.int(cx.ks.dbs[cx.db].dict.len() as i64);
    Ok(())
}

pub(crate) fn keys(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let pattern = &cx.args[1];
    let all = pattern.as_ref() == b"*";
    let db = &cx.ks.dbs[cx.db];
    let slots = 0..db.dict.slots();
    let names = slots.filter_map(|slot| Some((slot, &db.dict.peek(slot)?.key)));
    let live = names.filter(|(slot, _)| !db.is_gone(*slot, cx.now));
    let found = live.filter(|(_, key)| all || glob(pattern, key.bytes()));
    let found: Vec<&Key> = found.map(|(_, key)| key).collect();
    out.array(found.len());
    for key in found {
        out.bulk(key.bytes());
    }
    Ok(())
}

pub(crate) fn randomkey(cx: &mut Context<'_>, out: &mut Out) -> Done {
    for _ in 0..RANDOM_TRIES {
        let Some(slot) = cx.ks.dbs[cx.db].dict.random(&mut cx.ks.rng) else {
            break;
        };
        let key = cx.ks.dbs[cx.db].dict.at(slot).key.clone();
        if cx.exists(key.bytes()) {
            out.bulk(key.bytes());
            return Ok(());
        }
    }
    out.null();
    Ok(())
}

pub(crate) fn rename(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    if !cx.exists(&args[1]) {
        return Err(Fault::NO_KEY);
    }
    if args[1] != args[2] {
        move_key(cx);
    }
    out.ok();
    Ok(())
}

pub(crate) fn renamenx(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    if !cx.exists(&args[1]) {
        return Err(Fault::NO_KEY);
    }
    let is_free = !cx.exists(&args[2]);
    if is_free {
        move_key(cx);
    }
    out.int(i64::from(is_free));
    Ok(())
}

fn move_key(cx: &mut Context<'_>) {
    let args = cx.args;
    cx.clear(&args[2]);
    let tags = tags_of(cx, &args[1]);
    let (from, entry) = cx.remove(&args[1]).expect("the caller found the key");
    let slot = cx.insert(&args[2], entry.value, entry.deadline_ms);
    cx.ks.moved((cx.db, from), entry.access, (cx.db, slot));
    cx.ks.dbs[cx.db].set_tags(slot, &tags);
    cx.changed(&args[1], Class::Generic, "rename_from");
    cx.changed(&args[2], Class::Generic, "rename_to");
}

/// Returns the cache tags of a key, or no tags if the key does not exist.
fn tags_of(cx: &mut Context<'_>, key: &[u8]) -> Vec<Bytes> {
    let slot = cx.find(key);
    let names = slot.map_or(Vec::new(), |slot| cx.ks.dbs[cx.db].tags.names(slot));
    names.into_iter().map(Bytes::copy_from_slice).collect()
}

/// Parses the argument at index `at` as the index of a database. Returns an error if no database
/// has this index.
fn db_index(cx: &Context<'_>, at: usize) -> Result<usize, Fault> {
    let index = cx.int(at)?;
    i32::try_from(index).map_err(|_| {
        Fault::of("ERR value is out of range, value must between -2147483648 and 2147483647")
    })?;
    let index = usize::try_from(index)
        .ok()
        .filter(|&index| index < cx.ks.dbs.len());
    index.ok_or(Fault::DB_OUT_OF_RANGE)
}

pub(crate) fn move_to_db(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (from, to) = (cx.db, db_index(cx, 2)?);
    if from == to {
        return Err(Fault::of("ERR source and destination objects are the same"));
    }
    let args = cx.args;
    let key = &args[1];
    cx.db = to;
    let is_taken = cx.exists(key);
    cx.db = from;
    if is_taken || !cx.exists(key) {
        out.int(0);
        return Ok(());
    }
    let tags = tags_of(cx, key);
    let (slot_before, entry) = cx.remove(key).expect("seen above");
    cx.db = to;
    let slot = cx.insert(key, entry.value, entry.deadline_ms);
    cx.ks.moved((from, slot_before), entry.access, (to, slot));
    cx.ks.dbs[to].set_tags(slot, &tags);
    cx.db = from;
    cx.changed(key, Class::Generic, "move_from");
    cx.db = to;
    cx.changed(key, Class::Generic, "move_to");
    cx.db = from;
    out.int(1);
    Ok(())
}

pub(crate) fn copy(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (mut to, mut replace) = (cx.db, false);
    let mut at = 3;
    while at < cx.args.len() {
        if cx.is(at, "replace") {
            replace = true;
        } else if cx.is(at, "db") && at + 1 < cx.args.len() {
            at += 1;
            to = db_index(cx, at)?;
        } else {
            return Err(Fault::SYNTAX);
        }
        at += 1;
    }
    let (from, args) = (cx.db, cx.args);
    if from == to && args[1] == args[2] {
        return Err(Fault::of("ERR source and destination objects are the same"));
    }
    // A copy counts as a use of the source.
    cx.read(&args[1]);
    let source = cx
        .entry(&args[1])
        .map(|entry| (entry.value.clone(), entry.deadline_ms));
    let Some((value, deadline_ms)) = source else {
        out.int(0);
        return Ok(());
    };
    let tags = tags_of(cx, &args[1]);
    cx.db = to;
    let is_taken = cx.exists(&args[2]);
    if is_taken && !replace {
        out.int(0);
    } else {
        cx.clear(&args[2]);
        let slot = cx.insert(&args[2], value, deadline_ms);
        cx.ks.dbs[to].set_tags(slot, &tags);
        cx.changed(&args[2], Class::Generic, "copy_to");
        out.int(1);
    }
    cx.db = from;
    Ok(())
}

pub(crate) fn select(cx: &mut Context<'_>, out: &mut Out) -> Done {
    cx.session.db = db_index(cx, 1)?;
    out.ok();
    Ok(())
}

pub(crate) fn swapdb(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let parse = |at: usize, text| {
        let index = cx.int(at).ok().and_then(|index| i32::try_from(index).ok());
        index.ok_or(Fault::of(text))
    };
    parse(1, "ERR invalid first DB index")?;
    parse(2, "ERR invalid second DB index")?;
    let (first, second) = (db_index(cx, 1)?, db_index(cx, 2)?);
    if first != second {
        cx.ks.touch_all(first, second, cx.now);
        cx.ks.touch_all(second, first, cx.now);
        cx.ks.mark_streams_ready(first);
        cx.ks.mark_streams_ready(second);
        cx.ks.swap_dbs(first, second);
        cx.ks.mark_all_ready(first);
        cx.ks.mark_all_ready(second);
    }
    cx.dirty += 1;
    out.ok();
    Ok(())
}

/// Checks the arguments of FLUSHDB and FLUSHALL. SYNC and ASYNC behave the same: large data is
/// always freed a few entries at a time.
fn check_flush(cx: &Context<'_>) -> Done {
    let known = match cx.args.len() {
        1 => true,
        2 => cx.is(1, "sync") || cx.is(1, "async"),
        _ => false,
    };
    if known { Ok(()) } else { Err(Fault::SYNTAX) }
}

pub(crate) fn flushdb(cx: &mut Context<'_>, out: &mut Out) -> Done {
    check_flush(cx)?;
    cx.ks.flush(cx.db, cx.now);
    cx.dirty += 1;
    out.ok();
    Ok(())
}

pub(crate) fn flushall(cx: &mut Context<'_>, out: &mut Out) -> Done {
    check_flush(cx)?;
    for db in 0..cx.ks.dbs.len() {
        cx.ks.flush(db, cx.now);
    }
    cx.ks.effects.flushed_all = true;
    cx.dirty += 1;
    out.ok();
    Ok(())
}

pub(crate) fn object(cx: &mut Context<'_>, out: &mut Out) -> Done {
    const TAIL: &str = "Please note that when switching between policies at runtime LRU and LFU data will take some \
                        time to adjust.";
    let args = cx.args;
    let is_lfu = cx.ks.limits.policy.is_lfu();
    let (now, decay) = (cx.now, cx.ks.limits.lfu_decay_minutes);
    let subcommand = args[1].to_ascii_lowercase();
    let Some(entry) = cx.entry(&args[2]) else {
        out.null();
        return Ok(());
    };
    match subcommand.as_slice() {
        b"encoding" => out.bulk(entry.value.encoding().as_bytes()),
        b"refcount" => out.int(match &entry.value {
            // Redis shares these integers and reports this constant as their reference count.
            Value::Str(Str::Int(0..=9_999)) => i64::from(i32::MAX),
            _ => 1,
        }),
        b"idletime" if is_lfu => {
            let text = "ERR An LFU maxmemory policy is selected, idle time not tracked.";
            return Err(Fault::new(format!("{text} {TAIL}")));
        }
        b"idletime" => out.int(i64::from(entry.idle_s(now))),
        b"freq" if is_lfu => out.int(i64::from(entry.frequency(now, decay))),
        _ => {
            let text = "ERR An LFU maxmemory policy is not selected, access frequency not tracked.";
            return Err(Fault::new(format!("{text} {TAIL}")));
        }
    }
    Ok(())
}

pub(crate) fn memory_usage(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    if 3 < args.len() {
        if args.len() != 5 || !cx.is(3, "samples") {
            return Err(Fault::SYNTAX);
        }
        if cx.int(4)? < 0 {
            return Err(Fault::SYNTAX);
        }
    }
    match cx.entry(&args[2]) {
        Some(entry) => out.int(entry.bytes() as i64),
        None => out.null(),
    }
    Ok(())
}
