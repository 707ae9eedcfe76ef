//! Commands on hashes.

use bytes::Bytes;
use resp::{Out, Proto};

use crate::context::Context;
use crate::decimal::{self, Sum};
use crate::fault::Fault;
use crate::hash::Hash;
use crate::notify::Class;
use crate::string::Str;
use crate::text::Key;

type Done = Result<(), Fault>;

/// Sets hash fields. The arguments after the key are alternately names and values. Returns the
/// number of new fields.
fn set_pairs(cx: &mut Context<'_>, name: &str) -> Result<usize, Fault> {
    let args = cx.args;
    if args.len() % 2 == 1 {
        return Err(Fault::arity(name));
    }
    let growth = cx.growth();
    let added = cx.edit_or_new(&args[1], Hash::new, |hash| {
        let pairs = args[2..].chunks_exact(2);
        pairs
            .filter(|pair| hash.set(&pair[0], Str::new(&pair[1]), growth))
            .count()
    })?;
    cx.changed(&args[1], Class::Hash, "hset");
    Ok(added)
}

pub(crate) fn hset(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let added = set_pairs(cx, "hset")?;
    out.int(added as i64);
    Ok(())
}

pub(crate) fn hmset(cx: &mut Context<'_>, out: &mut Out) -> Done {
    set_pairs(cx, "hmset")?;
    out.ok();
    Ok(())
}

pub(crate) fn hsetnx(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let hash = cx.peek_as::<Hash>(&args[1])?;
    let is_new = hash.is_none_or(|hash| hash.get(&args[2]).is_none());
    if is_new {
        set_pairs(cx, "hsetnx")?;
    }
    out.int(i64::from(is_new));
    Ok(())
}

pub(crate) fn hget(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let hash = cx.read_as::<Hash>(&args[1])?;
    match hash.and_then(|hash| hash.get(&args[2])) {
        Some(value) => value.send(out),
        None => out.null(),
    }
    Ok(())
}

pub(crate) fn hmget(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let hash = cx.read_as::<Hash>(&args[1])?;
    out.array(args.len() - 2);
    for name in &args[2..] {
        match hash.and_then(|hash| hash.get(name)) {
            Some(value) => value.send(out),
            None => out.null(),
        }
    }
    Ok(())
}

pub(crate) fn hdel(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let names = &args[2..];
    let removed = cx.edit::<Hash, _>(&args[1], |hash| {
        names.iter().filter(|name| hash.remove(name)).count()
    })?;
    let removed = removed.unwrap_or(0);
    if 0 < removed {
        cx.changed(&args[1], Class::Hash, "hdel");
    }
    out.int(removed as i64);
    Ok(())
}

pub(crate) fn hlen(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    out.int(cx.read_as::<Hash>(&args[1])?.map_or(0, Hash::len) as i64);
    Ok(())
}

pub(crate) fn hexists(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let hash = cx.read_as::<Hash>(&args[1])?;
    out.int(i64::from(
        hash.is_some_and(|hash| hash.get(&args[2]).is_some()),
    ));
    Ok(())
}

pub(crate) fn hstrlen(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let hash = cx.read_as::<Hash>(&args[1])?;
    let value = hash.and_then(|hash| hash.get(&args[2]));
    out.int(value.map_or(0, |value| value.len()) as i64);
    Ok(())
}

pub(crate) fn hgetall(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let Some(hash) = cx.read_as::<Hash>(&args[1])? else {
        out.map(0);
        return Ok(());
    };
    out.map(hash.len());
    hash.each(|name, value| {
        out.bulk(name);
        value.send(out);
    });
    Ok(())
}

pub(crate) fn hkeys(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let hash = cx.read_as::<Hash>(&args[1])?;
    out.array(hash.map_or(0, Hash::len));
    if let Some(hash) = hash {
        hash.each(|name, _| out.bulk(name));
    }
    Ok(())
}

pub(crate) fn hvals(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let hash = cx.read_as::<Hash>(&args[1])?;
    out.array(hash.map_or(0, Hash::len));
    if let Some(hash) = hash {
        hash.each(|_, value| value.send(out));
    }
    Ok(())
}

/// Returns the current value of the hash field that the second argument names.
fn old_value(cx: &mut Context<'_>) -> Result<Option<Vec<u8>>, Fault> {
    let args = cx.args;
    let hash = cx.peek_as::<Hash>(&args[1])?;
    let value = hash.and_then(|hash| hash.get(&args[2]));
    Ok(value.map(|value| value.bytes(&mut itoa::Buffer::new()).to_vec()))
}

pub(crate) fn hincrby(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let by = cx.int(3)?;
    let args = cx.args;
    let old = match old_value(cx)? {
        Some(text) => {
            resp::parse_int(&text).ok_or(Fault::of("ERR hash value is not an integer"))?
        }
        None => 0,
    };
    let sum = old.checked_add(by).ok_or(Fault::OVERFLOW)?;
    let growth = cx.growth();
    cx.edit_or_new(&args[1], Hash::new, |hash| {
        hash.set(&args[2], Str::Int(sum), growth)
    })?;
    cx.changed(&args[1], Class::Hash, "hincrby");
    out.int(sum);
    Ok(())
}

pub(crate) fn hincrbyfloat(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let by = cx.double(3)?;
    if !by.is_finite() {
        return Err(Fault::of("ERR value is NaN or Infinity"));
    }
    let args = cx.args;
    let old = old_value(cx)?.unwrap_or(b"0".to_vec());
    let sum = match decimal::add(&old, &args[3]) {
        Some(Sum::Text(sum)) => Bytes::from(sum),
        Some(Sum::NotFinite) => return Err(Fault::NAN_OR_INFINITY),
        None => return Err(Fault::of("ERR hash value is not a float")),
    };
    let growth = cx.growth();
    cx.edit_or_new(&args[1], Hash::new, |hash| {
        hash.set(&args[2], Str::new(&sum), growth)
    })?;
    cx.changed(&args[1], Class::Hash, "hincrbyfloat");
    out.bulk(&sum);
    cx.rewrite([
        Bytes::from_static(b"HSET"),
        args[1].clone(),
        args[2].clone(),
        sum,
    ]);
    Ok(())
}

pub(crate) fn hrandfield(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    if args.len() == 2 {
        let mut rng = cx.ks.rng.fork();
        let hash = cx.read_as::<Hash>(&args[1])?;
        match hash.and_then(|hash| hash.random(&mut rng)) {
            Some((name, _)) => out.bulk(name),
            None => out.null(),
        }
        return Ok(());
    }
    let count = super::random_count(cx, 2)?;
    let with_values = cx.is(3, "withvalues");
    if 4 < args.len() || args.len() == 4 && !with_values {
        return Err(Fault::SYNTAX);
    }
    if with_values && !(-i64::MAX / 2..=i64::MAX / 2).contains(&count) {
        return Err(Fault::of("ERR value is out of range"));
    }
    let mut rng = cx.ks.rng.fork();
    let Some(hash) = cx.read_as::<Hash>(&args[1])? else {
        out.array(0);
        return Ok(());
    };
    let source = super::RandomSource {
        pick: |rng: &mut fastrand::Rng| {
            let (name, _) = hash.random(rng).expect("a hash is never empty");
            Key::new(name)
        },
        all: || {
            let mut names = Vec::with_capacity(hash.len());
            hash.each(|name, _| names.push(Key::new(name)));
            names
        },
        len: hash.len(),
    };
    let pairs = with_values && out.proto() == Proto::Resp3;
    let begin = |out: &mut Out, len| out.array(len * if with_values && !pairs { 2 } else { 1 });
    let send = |out: &mut Out, name: Key| {
        if pairs {
            out.array(2);
        }
        out.bulk(name.bytes());
        if with_values {
            hash.get(name.bytes())
                .expect("the picked field exists")
                .send(out);
        }
    };
    source.send(count, &mut rng, out, begin, send);
    Ok(())
}
