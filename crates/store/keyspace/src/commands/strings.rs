//! Commands on strings.

use bytes::Bytes;
use resp::Out;

use super::expiry::{Expire, parse_expire};
use crate::context::{Context, Deadline};
use crate::db::{NEVER, is_due};
use crate::decimal::{self, Sum};
use crate::fault::Fault;
use crate::notify::Class;
use crate::string::Str;
use crate::value::Value;

type Done = Result<(), Fault>;

pub(crate) fn get(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    match cx.read_as::<Str>(&args[1])? {
        Some(value) => value.send(out),
        None => out.null(),
    }
    Ok(())
}

pub(crate) fn strlen(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let len = cx.read_as::<Str>(&args[1])?.map_or(0, Str::len);
    out.int(len as i64);
    Ok(())
}

pub(crate) fn mget(cx: &mut Context<'_>, out: &mut Out) -> Done {
    out.array(cx.args.len() - 1);
    for key in &cx.args[1..] {
        match cx.read(key) {
            Some(Value::Str(value)) => value.send(out),
            _ => out.null(),
        }
    }
    Ok(())
}

pub(crate) fn getrange(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (start, end) = (cx.int(2)?, cx.int(3)?);
    let args = cx.args;
    let Some(value) = cx.read_as::<Str>(&args[1])? else {
        out.bulk(b"");
        return Ok(());
    };
    value.send_range(super::byte_range(start, end, value.len()), out);
    Ok(())
}

#[derive(Default)]
struct SetOptions {
    only_new: bool,
    only_old: bool,
    keep_deadline: bool,
    reply_old: bool,
    expire: Option<Expire>,
    /// Index of the argument that is the first cache tag.
    tags_at: Option<usize>,
}

fn parse_set(cx: &Context<'_>) -> Result<SetOptions, Fault> {
    let mut options = SetOptions::default();
    let mut at = 3;
    while at < cx.args.len() {
        if cx.is(at, "nx") && !options.only_old {
            options.only_new = true;
        } else if cx.is(at, "xx") && !options.only_new {
            options.only_old = true;
        } else if cx.is(at, "get") {
            options.reply_old = true;
        } else if cx.is(at, "keepttl") && options.expire.is_none() {
            options.keep_deadline = true;
        } else if cx.is(at, "tag") && at + 1 < cx.args.len() {
            // An extension to Redis: all arguments after TAG are cache tags.
            options.tags_at = Some(at + 1);
            break;
        } else if options.expire.is_none()
            && !options.keep_deadline
            && let Some(expire) = Expire::option(&cx.args[at])
            && at + 1 < cx.args.len()
        {
            options.expire = Some(expire.with(at + 1));
            at += 1;
        } else {
            return Err(Fault::SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}

pub(crate) fn set(cx: &mut Context<'_>, out: &mut Out) -> Done {
    if cx.args.len() == 3 {
        store(cx, 2, Deadline::Never);
        out.ok();
        return Ok(());
    }
    let options = parse_set(cx)?;
    let deadline = match options.expire {
        Some(expire) => Deadline::At(parse_expire(cx, expire, "set")?),
        None if options.keep_deadline => Deadline::Keep,
        None => Deadline::Never,
    };
    let args = cx.args;
    if options.reply_old {
        match cx.read_as::<Str>(&args[1])? {
            Some(value) => value.send(out),
            None => out.null(),
        }
    }
    let exists = cx.exists(&args[1]);
    if options.only_new && exists || options.only_old && !exists {
        if !options.reply_old {
            out.null();
        }
        return Ok(());
    }
    store(cx, 2, deadline);
    let tags = options.tags_at.map_or(&[][..], |at| &args[at..]);
    if !tags.is_empty()
        && let Some(slot) = cx.find(&args[1])
    {
        cx.ks.dbs[cx.db].set_tags(slot, tags);
    }
    if !options.reply_old {
        out.ok();
    }
    if let Deadline::At(_) | Deadline::Keep = deadline {
        let mut plain = vec![Bytes::from_static(b"SET"), args[1].clone(), args[2].clone()];
        if let Deadline::At(at) = deadline {
            plain.extend([Bytes::from_static(b"PXAT"), Bytes::from(at.to_string())]);
        } else {
            plain.push(Bytes::from_static(b"KEEPTTL"));
        }
        if !tags.is_empty() {
            plain.push(Bytes::from_static(b"TAG"));
            plain.extend_from_slice(tags);
        }
        cx.rewrite_as(plain);
    }
    Ok(())
}

/// Sets the key that the first argument names to the value in the argument at index `value`, and
/// removes the key's cache tags.
fn store(cx: &mut Context<'_>, value: usize, deadline: Deadline) {
    let args = cx.args;
    let value = Value::Str(Str::new(&args[value]));
    let is_past = matches!(deadline, Deadline::At(at) if is_due(at, cx.now));
    if is_past && !cx.session.replay {
        // The deadline has already passed: delete the key in the same command, so that no client
        // reads the value, but report both changes to subscribers.
        cx.put(&args[1], value, Deadline::Never);
        cx.changed(&args[1], Class::String, "set");
        cx.delete(&args[1]);
        return;
    }
    let slot = cx.put(&args[1], value, deadline);
    cx.ks.dbs[cx.db].set_tags(slot, &[]);
    cx.changed(&args[1], Class::String, "set");
    if let Deadline::At(_) = deadline {
        cx.ks.emit_event(cx.db, Class::Generic, "expire", &args[1]);
    }
}

pub(crate) fn setnx(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let is_new = !cx.exists(&args[1]);
    if is_new {
        store(cx, 2, Deadline::Never);
    }
    out.int(i64::from(is_new));
    Ok(())
}

pub(crate) fn setex(cx: &mut Context<'_>, out: &mut Out) -> Done {
    set_with_ttl(cx, Expire::seconds(2), "setex", out)
}

pub(crate) fn psetex(cx: &mut Context<'_>, out: &mut Out) -> Done {
    set_with_ttl(cx, Expire::milliseconds(2), "psetex", out)
}

fn set_with_ttl(cx: &mut Context<'_>, expire: Expire, name: &str, out: &mut Out) -> Done {
    let at = parse_expire(cx, expire, name)?;
    let args = cx.args;
    store(cx, 3, Deadline::At(at));
    cx.rewrite([
        Bytes::from_static(b"SET"),
        args[1].clone(),
        args[3].clone(),
        Bytes::from_static(b"PXAT"),
        Bytes::from(at.to_string()),
    ]);
    out.ok();
    Ok(())
}

pub(crate) fn getset(cx: &mut Context<'_>, out: &mut Out) -> Done {
    get(cx, out)?;
    let args = cx.args;
    store(cx, 2, Deadline::Never);
    cx.rewrite([Bytes::from_static(b"SET"), args[1].clone(), args[2].clone()]);
    Ok(())
}

pub(crate) fn getdel(cx: &mut Context<'_>, out: &mut Out) -> Done {
    get(cx, out)?;
    let args = cx.args;
    if cx.delete(&args[1]) {
        cx.rewrite([Bytes::from_static(b"DEL"), args[1].clone()]);
    }
    Ok(())
}

pub(crate) fn getex(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let persist = cx.is(2, "persist");
    let expire = match args.len() {
        2 => None,
        3 if persist => None,
        4 => match Expire::option(&args[2]) {
            Some(expire) => Some(expire.with(3)),
            None => return Err(Fault::SYNTAX),
        },
        _ => return Err(Fault::SYNTAX),
    };
    let is_string = cx.peek_as::<Str>(&args[1])?.is_some();
    let at = match expire {
        Some(expire) if is_string => Some(parse_expire(cx, expire, "getex")?),
        _ => None,
    };
    get(cx, out)?;
    let Some(slot) = cx.find(&args[1]) else {
        return Ok(());
    };
    match at {
        Some(at) if is_due(at, cx.now) && !cx.session.replay => {
            cx.delete(&args[1]);
            cx.rewrite([Bytes::from_static(b"DEL"), args[1].clone()]);
        }
        Some(at) => {
            cx.set_deadline(slot, at);
            cx.changed(&args[1], Class::Generic, "expire");
            let at = Bytes::from(at.to_string());
            cx.rewrite([Bytes::from_static(b"PEXPIREAT"), args[1].clone(), at]);
        }
        None if persist && cx.set_deadline(slot, NEVER) != NEVER => {
            cx.changed(&args[1], Class::Generic, "persist");
            cx.rewrite([Bytes::from_static(b"PERSIST"), args[1].clone()]);
        }
        None => {}
    }
    Ok(())
}

pub(crate) fn mset(cx: &mut Context<'_>, out: &mut Out) -> Done {
    set_pairs(cx, "mset")?;
    out.ok();
    Ok(())
}

pub(crate) fn msetnx(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    if args.len().is_multiple_of(2) {
        return Err(Fault::arity("msetnx"));
    }
    let free = args[1..].iter().step_by(2).all(|key| !cx.exists(key));
    if free {
        set_pairs(cx, "msetnx")?;
    }
    out.int(i64::from(free));
    Ok(())
}

fn set_pairs(cx: &mut Context<'_>, name: &str) -> Done {
    let args = cx.args;
    if args.len().is_multiple_of(2) {
        return Err(Fault::arity(name));
    }
    for pair in args[1..].chunks_exact(2) {
        cx.put(&pair[0], Value::Str(Str::new(&pair[1])), Deadline::Never);
        cx.changed(&pair[0], Class::String, "set");
    }
    Ok(())
}

pub(crate) fn append(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let (key, tail) = (&args[1], &args[2]);
    let Some(len) = cx.peek_as::<Str>(key)?.map(Str::len) else {
        cx.put(key, Value::Str(Str::new(tail)), Deadline::Never);
        cx.changed(key, Class::String, "append");
        out.int(tail.len() as i64);
        return Ok(());
    };
    check_length(cx, len, tail.len())?;
    cx.edit::<Str, _>(key, |value| {
        value.modify(|bytes| bytes.extend_from_slice(tail))
    })?;
    cx.changed(key, Class::String, "append");
    out.int((len + tail.len()) as i64);
    Ok(())
}

/// Returns an error if writing `more` bytes at offset `at` would make a string longer than the
/// maximum.
pub(super) fn check_length(cx: &Context<'_>, at: usize, more: usize) -> Done {
    match at.checked_add(more) {
        Some(len) if len <= cx.ks.limits.string_bytes_max => Ok(()),
        _ => Err(Fault::TOO_LONG),
    }
}

pub(crate) fn setrange(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let offset = cx.int(2)?;
    let offset = usize::try_from(offset).map_err(|_| Fault::of("ERR offset is out of range"))?;
    let args = cx.args;
    let (key, part) = (&args[1], &args[3]);
    let len = cx.peek_as::<Str>(key)?.map_or(0, Str::len);
    if part.is_empty() {
        out.int(len as i64);
        return Ok(());
    }
    check_length(cx, offset, part.len())?;
    let len = cx.edit_or_new(
        key,
        || Str::copied(b""),
        |value| {
            value.modify(|bytes| {
                let end = offset + part.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[offset..end].copy_from_slice(part);
                bytes.len()
            })
        },
    )?;
    cx.changed(key, Class::String, "setrange");
    out.int(len as i64);
    Ok(())
}

pub(crate) fn incr(cx: &mut Context<'_>, out: &mut Out) -> Done {
    add(cx, 1, out)
}

pub(crate) fn decr(cx: &mut Context<'_>, out: &mut Out) -> Done {
    add(cx, -1, out)
}

pub(crate) fn incrby(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let by = cx.int(2)?;
    add(cx, by, out)
}

pub(crate) fn decrby(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let by = cx.int(2)?;
    let by = by
        .checked_neg()
        .ok_or(Fault::of("ERR decrement would overflow"))?;
    add(cx, by, out)
}

fn add(cx: &mut Context<'_>, by: i64, out: &mut Out) -> Done {
    let args = cx.args;
    let old = match cx.peek_as::<Str>(&args[1])? {
        Some(value) => value.int().ok_or(Fault::NOT_INT)?,
        None => 0,
    };
    let sum = old.checked_add(by).ok_or(Fault::OVERFLOW)?;
    cx.put(&args[1], Value::Str(Str::Int(sum)), Deadline::Keep);
    cx.changed(&args[1], Class::String, "incrby");
    out.int(sum);
    Ok(())
}

pub(crate) fn incrbyfloat(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let mut buffer = itoa::Buffer::new();
    let old = cx.peek_as::<Str>(&args[1])?;
    let old = old.map_or(b"0".to_vec(), |value| value.bytes(&mut buffer).to_vec());
    let sum = match decimal::add(&old, &args[2]).ok_or(Fault::NOT_FLOAT)? {
        Sum::Text(sum) => Bytes::from(sum),
        Sum::NotFinite => return Err(Fault::NAN_OR_INFINITY),
    };
    cx.put(&args[1], Value::Str(Str::text(&sum)), Deadline::Keep);
    cx.changed(&args[1], Class::String, "incrbyfloat");
    out.bulk(&sum);
    let keep = Bytes::from_static(b"KEEPTTL");
    cx.rewrite([Bytes::from_static(b"SET"), args[1].clone(), sum, keep]);
    Ok(())
}
