//! TAG and GETORLOCK, which are extensions to Redis.

use resp::Out;

use crate::command::Block;
use crate::context::Context;
use crate::fault::Fault;
use crate::string::Str;

type Done = Result<(), Fault>;

pub(crate) fn invalidate(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let mut dropped = 0;
    for name in &cx.args[2..] {
        dropped += cx.ks.dbs[cx.db].tags.invalidate(name);
    }
    cx.dirty += dropped as u64;
    out.int(dropped as i64);
    Ok(())
}

pub(crate) fn count(cx: &mut Context<'_>, out: &mut Out) -> Done {
    out.int(cx.ks.dbs[cx.db].tags.count(&cx.args[2]) as i64);
    Ok(())
}

pub(crate) fn get(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let slot = cx.find(&args[2]);
    let names = slot.map_or(Vec::new(), |slot| cx.ks.dbs[cx.db].tags.names(slot));
    out.set(names.len());
    names.iter().for_each(|name| out.bulk(name));
    Ok(())
}

/// Runs `GETORLOCK key milliseconds`. If the key exists, replies with its value. If the key does
/// not exist and no client holds its build lock, this client gets the lock for the given time, and
/// the reply is null: the client should compute the value. If another client holds the lock, this
/// client waits. The creation of the key releases the lock. DEL also releases the lock, and the
/// next waiter gets it.
pub(crate) fn getorlock(cx: &mut Context<'_>, out: &mut Out) -> Result<Option<Block>, Fault> {
    let ms = cx.int(2)?;
    if ms <= 0 || cx.now.checked_add(ms).is_none() {
        return Err(Fault::expire_time("getorlock"));
    }
    let args = cx.args;
    let key = &args[1];
    if let Some(value) = cx.read_as::<Str>(key)? {
        value.send(out);
        return Ok(None);
    }
    let held_until = cx.ks.lock(cx.db, key, (cx.now, cx.now + ms));
    match held_until {
        Some(until) if cx.session.may_block() => {
            let deadline_ms = Some(until.unsigned_abs());
            Ok(super::block(cx, &args[1..2], deadline_ms, out))
        }
        _ => {
            out.null();
            Ok(None)
        }
    }
}
