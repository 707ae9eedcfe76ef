//! Handlers of the commands, one module per family, and their shared argument parsers.

pub(crate) mod bitfield;
pub(crate) mod bits;
pub(crate) mod dump;
pub(crate) mod expiry;
pub(crate) mod hashes;
pub(crate) mod keys;
pub(crate) mod lcs;
pub(crate) mod lists;
pub(crate) mod scan;
pub(crate) mod server;
pub(crate) mod sets;
pub(crate) mod sort;
pub(crate) mod stream_claims;
pub(crate) mod stream_groups;
pub(crate) mod stream_info;
pub(crate) mod stream_reads;
pub(crate) mod streams;
pub(crate) mod strings;
pub(crate) mod tags;
pub(crate) mod transactions;
pub(crate) mod zset_combine;
pub(crate) mod zset_range;
pub(crate) mod zsets;

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;
use resp::Out;

use crate::command::Block;
use crate::context::Context;
use crate::fault::Fault;
use crate::text::{self, Key};

/// Returns the byte range between two positions, the last position included; negative positions
/// count from the end.
fn byte_range(start: i64, end: i64, len: usize) -> Range<usize> {
    let signed = len as i64;
    if start < 0 && end < 0 && end < start {
        return 0..0;
    }
    let from = |position: i64| {
        if position < 0 {
            (signed + position).max(0)
        } else {
            position
        }
    };
    let (start, end) = (from(start), from(end).min(signed - 1));
    if signed == 0 || end < start {
        0..0
    } else {
        start as usize..end as usize + 1
    }
}

/// Returns the index range between two indices, the last index included; negative indices count
/// from the end.
fn index_range(start: i64, end: i64, len: usize) -> Range<usize> {
    let signed = len as i64;
    let start = if start < 0 {
        (signed.saturating_add(start)).max(0)
    } else {
        start
    };
    let end = if end < 0 {
        signed.saturating_add(end)
    } else {
        end.min(signed - 1)
    };
    if end < start {
        0..0
    } else {
        start as usize..end as usize + 1
    }
}

/// Parses the argument at index `at` as a non-negative number.
fn non_negative(cx: &Context<'_>, at: usize) -> Result<usize, Fault> {
    let number = resp::parse_int(&cx.args[at]);
    number
        .and_then(|number| usize::try_from(number).ok())
        .ok_or(Fault::NOT_POSITIVE)
}

/// Parses `numkeys key …`, where `numkeys` is the argument at index `at`, and returns the keys.
fn counted_keys<'a>(cx: &Context<'a>, at: usize) -> Result<&'a [Bytes], Fault> {
    let count = resp::parse_int(&cx.args[at]).and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|&count| 0 < count);
    let count = count.ok_or(Fault::of("ERR numkeys should be greater than 0"))?;
    let end = count.checked_add(at + 1).ok_or(Fault::SYNTAX)?;
    cx.args.get(at + 1..end).ok_or(Fault::SYNTAX)
}

/// Parses the optional `[COUNT n]` at the end of LMPOP and similar commands.
fn pop_count(cx: &Context<'_>, at: usize) -> Result<usize, Fault> {
    let left = cx.args.len() - at.min(cx.args.len());
    if left == 0 {
        return Ok(1);
    }
    if left == 1 || !cx.is(at, "count") {
        return Err(Fault::SYNTAX);
    }
    let count = resp::parse_int(&cx.args[at + 1]);
    let count = count.and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|&count| 0 < count);
    let count = count.ok_or(Fault::of("ERR count should be greater than 0"))?;
    if left == 2 {
        Ok(count)
    } else {
        Err(Fault::SYNTAX)
    }
}

/// Parses a timeout in seconds. Returns the deadline in Unix milliseconds; `None` for a timeout of
/// 0, which means to wait without limit.
fn timeout(cx: &Context<'_>, at: usize) -> Result<Option<u64>, Fault> {
    let seconds = text::parse_double(&cx.args[at]);
    let seconds = seconds.ok_or(Fault::of("ERR timeout is not a float or out of range"))?;
    if seconds < 0.0 {
        return Err(Fault::of("ERR timeout is negative"));
    }
    let ms = (seconds * 1000.0).ceil();
    if (i64::MAX - cx.now) as f64 <= ms {
        return Err(Fault::of("ERR timeout is out of range"));
    }
    Ok((0.0 < ms).then_some(cx.now.unsigned_abs() + ms as u64))
}

/// Returns the keys and the deadline of a command that must wait. If its client must not block,
/// writes a null array and returns `None`.
fn block(
    cx: &Context<'_>,
    keys: &[Bytes],
    deadline_ms: Option<u64>,
    out: &mut Out,
) -> Option<Block> {
    if !cx.session.may_block() {
        out.null_array();
        return None;
    }
    let keys = keys.iter().map(|key| Bytes::copy_from_slice(key)).collect();
    Some(Block {
        keys,
        deadline_ms,
        again: None,
    })
}

/// Parses the requested number of random elements; a negative number allows repetitions.
fn random_count(cx: &Context<'_>, at: usize) -> Result<i64, Fault> {
    let count = cx.int(at)?;
    if count == i64::MIN {
        return Err(Fault::of(
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        ));
    }
    Ok(count)
}

/// Random access to a collection of `len` elements: `pick` returns a random element, `all` returns
/// all elements.
struct RandomSource<P, A> {
    pick: P,
    all: A,
    len: usize,
}

impl<P, A> RandomSource<P, A>
where
    P: FnMut(&mut fastrand::Rng) -> Key,
    A: FnOnce() -> Vec<Key>,
{
    /// Sends random elements. If `count` is negative, sends -`count` elements, with repetitions;
    /// otherwise at most `count` elements, without repetitions. Calls `begin` with the number of
    /// elements, then `send` for each element.
    fn send(
        mut self,
        count: i64,
        rng: &mut fastrand::Rng,
        out: &mut Out,
        begin: impl FnOnce(&mut Out, usize),
        mut send: impl FnMut(&mut Out, Key),
    ) {
        if 0 <= count {
            let picked = self.take(count.unsigned_abs(), rng);
            begin(out, picked.len());
            return picked.into_iter().for_each(|key| send(out, key));
        }
        // For a huge count, the loop stops when `out` is full.
        let many = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        begin(out, many);
        for _ in 0..many {
            if out.is_full() {
                return;
            }
            send(out, (self.pick)(rng));
        }
    }

    /// Picks at most `count` distinct random elements.
    fn take(mut self, count: u64, rng: &mut fastrand::Rng) -> Vec<Key> {
        let many = usize::try_from(count).unwrap_or(usize::MAX);
        if self.len < many.saturating_mul(3) {
            // More than a third of the elements are requested: shuffle all elements, then truncate.
            let mut all = (self.all)();
            if many < all.len() {
                rng.shuffle(&mut all);
                all.truncate(many);
            }
            return all;
        }
        let mut seen = HashSet::new();
        let mut picked = Vec::with_capacity(many);
        while picked.len() < many {
            let key = (self.pick)(rng);
            if seen.insert(key.bytes().to_vec()) {
                picked.push(key);
            }
        }
        picked
    }
}
