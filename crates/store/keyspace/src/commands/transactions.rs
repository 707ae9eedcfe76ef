//! Transactions: MULTI, EXEC, DISCARD and WATCH.

use bytes::Bytes;
use resp::Out;

use crate::context::Context;
use crate::fault::Fault;
use crate::outcome::Outcome;
use crate::watches::{KeyState, Watched};

type Done = Result<(), Fault>;

pub(crate) fn multi(cx: &mut Context<'_>, out: &mut Out) -> Done {
    if cx.session.in_multi() {
        return Err(Fault::of("ERR MULTI calls can not be nested"));
    }
    cx.session.start_multi();
    out.ok();
    Ok(())
}

pub(crate) fn discard(cx: &mut Context<'_>, out: &mut Out) -> Done {
    if cx.session.queue.take().is_none() {
        return Err(Fault::of("ERR DISCARD without MULTI"));
    }
    cx.ks.watches.unwatch(cx.session.take_watched());
    out.ok();
    Ok(())
}

pub(crate) fn watch(cx: &mut Context<'_>, out: &mut Out) -> Done {
    if cx.session.in_multi() {
        return Err(Fault::of("ERR WATCH inside MULTI is not allowed"));
    }
    for key in &cx.args[1..] {
        let db = cx.db;
        let watched = &cx.session.watched;
        if watched
            .iter()
            .any(|watched| watched.db == db && watched.key == key)
        {
            continue;
        }
        let key = Bytes::copy_from_slice(key);
        let state_at_watch = key_state(cx, db, &key);
        let version = cx.ks.watches.watch(db, &key);
        cx.session.watched_bytes += Watched::bytes(&key);
        cx.session.watched.push(Watched {
            db,
            key,
            version,
            state_at_watch,
        });
    }
    out.ok();
    Ok(())
}

pub(crate) fn unwatch(cx: &mut Context<'_>, out: &mut Out) -> Done {
    cx.ks.watches.unwatch(cx.session.take_watched());
    out.ok();
    Ok(())
}

fn key_state(cx: &Context<'_>, db: usize, key: &[u8]) -> KeyState {
    let db = &cx.ks.dbs[db];
    match db.dict.find(key) {
        None => KeyState::Nothing,
        Some(slot) if db.is_gone(slot, cx.now) => KeyState::Expired,
        Some(_) => KeyState::Value,
    }
}

pub(crate) fn exec(cx: &mut Context<'_>, out: &mut Out) -> Outcome {
    match take_queue(cx, out) {
        None => Outcome::Done,
        Some(commands) => {
            out.array(commands.len());
            cx.session.in_exec = true;
            Outcome::Exec(commands)
        }
    }
}

/// Returns the queued commands if the transaction may run. Otherwise writes an error, or a null
/// array if a watched key has changed, and returns `None`.
fn take_queue(cx: &mut Context<'_>, out: &mut Out) -> Option<Vec<Vec<Bytes>>> {
    let Some(queue) = cx.session.queue.take() else {
        out.error("ERR EXEC without MULTI");
        return None;
    };
    let has_changed = has_changed(cx);
    cx.ks.watches.unwatch(cx.session.take_watched());
    if queue.aborted {
        out.error("EXECABORT Transaction discarded because of previous errors.");
        return None;
    }
    if has_changed {
        out.null_array();
        return None;
    }
    Some(queue.commands)
}

/// Returns whether a watched key has changed since WATCH.
fn has_changed(cx: &Context<'_>) -> bool {
    let mut watched = cx.session.watched.iter();
    watched.any(|watched| {
        let Watched {
            db,
            key,
            version,
            state_at_watch,
        } = watched;
        match (*state_at_watch, key_state(cx, *db, key)) {
            (KeyState::Value, KeyState::Expired) => true,
            (KeyState::Expired, KeyState::Expired | KeyState::Nothing) => false,
            _ => cx.ks.watches.version(*db, key) != *version,
        }
    })
}
