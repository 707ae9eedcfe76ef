//! Commands on sets.

use bytes::Bytes;
use resp::Out;

use crate::context::{Context, StoreEvent};
use crate::fault::Fault;
use crate::notify::Class;
use crate::set::Set;
use crate::text::Key;
use crate::value::{Kind, Value};

type Done = Result<(), Fault>;

pub(crate) fn sadd(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let growth = cx.growth();
    let added = cx.edit_or_new(&args[1], Set::new, |set| {
        args[2..]
            .iter()
            .filter(|name| set.add(name, growth))
            .count()
    })?;
    if 0 < added {
        cx.changed(&args[1], Class::Set, "sadd");
    }
    out.int(added as i64);
    Ok(())
}

pub(crate) fn srem(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let removed = cx.edit::<Set, _>(&args[1], |set| {
        args[2..].iter().filter(|name| set.remove(name)).count()
    })?;
    let removed = removed.unwrap_or(0);
    if 0 < removed {
        cx.changed(&args[1], Class::Set, "srem");
    }
    out.int(removed as i64);
    Ok(())
}

pub(crate) fn smove(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let (source, target, name) = (&args[1], &args[2], &args[3]);
    let Some(is_member) = cx.peek_as::<Set>(source)?.map(|set| set.contains(name)) else {
        out.int(0);
        return Ok(());
    };
    cx.peek_as::<Set>(target)?;
    if is_member && source != target {
        cx.edit::<Set, _>(source, |set| set.remove(name))?;
        cx.changed(source, Class::Set, "srem");
        let growth = cx.growth();
        let added = cx.edit_or_new(target, Set::new, |set| set.add(name, growth))?;
        if added {
            cx.changed(target, Class::Set, "sadd");
        }
    }
    out.int(i64::from(is_member));
    Ok(())
}

pub(crate) fn sismember(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let set = cx.read_as::<Set>(&args[1])?;
    out.int(i64::from(set.is_some_and(|set| set.contains(&args[2]))));
    Ok(())
}

pub(crate) fn smismember(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let set = cx.read_as::<Set>(&args[1])?;
    out.array(args.len() - 2);
    for name in &args[2..] {
        out.int(i64::from(set.is_some_and(|set| set.contains(name))));
    }
    Ok(())
}

pub(crate) fn scard(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    out.int(cx.read_as::<Set>(&args[1])?.map_or(0, Set::len) as i64);
    Ok(())
}

pub(crate) fn smembers(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    match cx.read_as::<Set>(&args[1])? {
        Some(set) => set.send(out),
        None => out.set(0),
    }
    Ok(())
}

fn names(set: &Set) -> Vec<Key> {
    let mut names = Vec::with_capacity(set.len());
    set.each(|name| {
        names.push(Key::new(name));
        true
    });
    names
}

fn source(
    set: &Set,
) -> super::RandomSource<impl FnMut(&mut fastrand::Rng) -> Key, impl FnOnce() -> Vec<Key>> {
    super::RandomSource {
        pick: |rng: &mut fastrand::Rng| set.random(rng).expect("a set is never empty"),
        all: || names(set),
        len: set.len(),
    }
}

pub(crate) fn srandmember(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    if 3 < args.len() {
        return Err(Fault::SYNTAX);
    }
    let count = if args.len() == 3 {
        Some(super::random_count(cx, 2)?)
    } else {
        None
    };
    let mut rng = cx.ks.rng.fork();
    let set = cx.read_as::<Set>(&args[1])?;
    match (set, count) {
        (None, None) => out.null(),
        (None, Some(_)) => out.array(0),
        (Some(set), None) => {
            out.bulk(set.random(&mut rng).expect("a set is never empty").bytes());
        }
        (Some(set), Some(count)) => {
            let send = |out: &mut Out, name: Key| out.bulk(name.bytes());
            source(set).send(count, &mut rng, out, Out::array, send);
        }
    }
    Ok(())
}

pub(crate) fn spop(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    if 3 < args.len() {
        return Err(Fault::SYNTAX);
    }
    let count = if args.len() == 3 {
        Some(super::non_negative(cx, 2)?)
    } else {
        None
    };
    let mut rng = cx.ks.rng.fork();
    let Some(set) = cx.peek_as::<Set>(&args[1])? else {
        match count {
            None => out.null(),
            Some(_) => out.set(0),
        }
        return Ok(());
    };
    let picked = source(set).take(count.unwrap_or(1) as u64, &mut rng);
    match count {
        None => out.bulk(picked[0].bytes()),
        Some(_) => {
            out.set(picked.len());
            picked.iter().for_each(|name| out.bulk(name.bytes()));
        }
    }
    if picked.is_empty() {
        return Ok(());
    }
    cx.edit::<Set, _>(&args[1], |set| {
        picked.iter().for_each(|name| _ = set.remove(name.bytes()));
    })?;
    cx.changed(&args[1], Class::Set, "spop");
    let names = picked
        .iter()
        .map(|name| Bytes::copy_from_slice(name.bytes()));
    let mut srem = vec![Bytes::from_static(b"SREM"), args[1].clone()];
    srem.extend(names);
    cx.rewrite_as(srem);
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersect,
    Subtract,
}

/// Checks the types of the values at all keys. Returns for each key whether it exists.
fn present(cx: &mut Context<'_>, keys: &[Bytes]) -> Result<Vec<bool>, Fault> {
    keys.iter()
        .map(|key| Ok(cx.read_as::<Set>(key)?.is_some()))
        .collect()
}

/// Returns the set at a key that [`present`] has found.
fn set_at<'a>(cx: &'a Context<'_>, key: &[u8]) -> &'a Set {
    let entry = cx.ks.dbs[cx.db]
        .dict
        .get(key)
        .expect("the caller found the key");
    Set::of(&entry.value).expect("the caller checked its type")
}

/// Returns members that all of the sets contain, at most `count_max` of them.
fn intersect(cx: &mut Context<'_>, keys: &[Bytes], count_max: usize) -> Result<Vec<Key>, Fault> {
    if present(cx, keys)?.contains(&false) {
        return Ok(Vec::new());
    }
    let mut sets: Vec<&Set> = keys.iter().map(|key| set_at(cx, key)).collect();
    sets.sort_by_key(|set| set.len());
    let mut found = Vec::new();
    sets[0].each(|name| {
        if sets[1..].iter().all(|set| set.contains(name)) {
            found.push(Key::new(name));
        }
        found.len() < count_max
    });
    Ok(found)
}

fn combine(cx: &mut Context<'_>, keys: &[Bytes], operation: Operation) -> Result<Set, Fault> {
    let growth = cx.growth();
    let mut result = Set::new();
    if operation == Operation::Intersect {
        for name in intersect(cx, keys, usize::MAX)? {
            result.add(name.bytes(), growth);
        }
        return Ok(result);
    }
    let present = present(cx, keys)?;
    if operation == Operation::Subtract && !present[0] {
        return Ok(result);
    }
    let found = keys.iter().zip(present).filter(|(_, is_there)| *is_there);
    let sets: Vec<&Set> = found.map(|(key, _)| set_at(cx, key)).collect();
    if operation == Operation::Union {
        for set in sets {
            set.each(|name| {
                result.add(name, growth);
                true
            });
        }
        return Ok(result);
    }
    sets[0].each(|name| {
        if !sets[1..].iter().any(|set| set.contains(name)) {
            result.add(name, growth);
        }
        true
    });
    Ok(result)
}

fn send(cx: &mut Context<'_>, operation: Operation, out: &mut Out) -> Done {
    let args = cx.args;
    combine(cx, &args[1..], operation)?.send(out);
    Ok(())
}

fn store(cx: &mut Context<'_>, operation: Operation, name: &'static str, out: &mut Out) -> Done {
    let args = cx.args;
    let set = combine(cx, &args[2..], operation)?;
    out.int(set.len() as i64);
    let class = Class::Set;
    cx.store(
        &args[1],
        Value::Set(Box::new(set)),
        StoreEvent { class, name },
    );
    Ok(())
}

pub(crate) fn sinter(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(cx, Operation::Intersect, out)
}

pub(crate) fn sunion(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(cx, Operation::Union, out)
}

pub(crate) fn sdiff(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(cx, Operation::Subtract, out)
}

pub(crate) fn sinterstore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    store(cx, Operation::Intersect, "sinterstore", out)
}

pub(crate) fn sunionstore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    store(cx, Operation::Union, "sunionstore", out)
}

pub(crate) fn sdiffstore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    store(cx, Operation::Subtract, "sdiffstore", out)
}

pub(crate) fn sintercard(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (keys, count_max) = card_request(cx)?;
    out.int(intersect(cx, keys, count_max)?.len() as i64);
    Ok(())
}

/// Parses `numkeys key … [LIMIT n]` of SINTERCARD. Returns the keys and the maximum count.
fn card_request<'a>(cx: &Context<'a>) -> Result<(&'a [Bytes], usize), Fault> {
    let count = resp::parse_int(&cx.args[1]).and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|&count| 0 < count);
    let count = count.ok_or(Fault::of("ERR numkeys should be greater than 0"))?;
    let end = count.saturating_add(2);
    let keys = cx.args.get(2..end);
    let text = "ERR Number of keys can't be greater than number of args";
    let keys = keys.ok_or(Fault::of(text))?;
    let mut count_max = 0;
    for at in (end..cx.args.len()).step_by(2) {
        let limit = cx.args.get(at + 1).filter(|_| cx.is(at, "limit"));
        let limit = resp::parse_int(limit.ok_or(Fault::SYNTAX)?);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        count_max = limit.ok_or(Fault::of("ERR LIMIT can't be negative"))?;
    }
    Ok((
        keys,
        if count_max == 0 {
            usize::MAX
        } else {
            count_max
        },
    ))
}
