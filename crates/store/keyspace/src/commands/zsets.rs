//! Commands on members of sorted sets. Commands on ranges are in `zset_range`; unions,
//! intersections and differences are in `zset_combine`.

use bytes::Bytes;
use resp::{Out, Proto};

use crate::command::Block;
use crate::context::Context;
use crate::fault::Fault;
use crate::notify::Class;
use crate::text::{Key, parse_double};
use crate::zset::Zset;

type Done = Result<(), Fault>;
type Wait = Result<Option<Block>, Fault>;

#[derive(Default)]
struct AddOptions {
    only_new: bool,
    only_old: bool,
    greater: bool,
    less: bool,
    count_changed: bool,
    increment: bool,
}

impl AddOptions {
    /// Parses the options of ZADD. Returns the options and the index of the first score.
    fn parse(cx: &Context<'_>) -> Result<(Self, usize), Fault> {
        let mut options = Self::default();
        let mut at = 2;
        loop {
            let flag = if cx.is(at, "nx") {
                &mut options.only_new
            } else if cx.is(at, "xx") {
                &mut options.only_old
            } else if cx.is(at, "gt") {
                &mut options.greater
            } else if cx.is(at, "lt") {
                &mut options.less
            } else if cx.is(at, "ch") {
                &mut options.count_changed
            } else if cx.is(at, "incr") {
                &mut options.increment
            } else {
                break;
            };
            *flag = true;
            at += 1;
        }
        let left = cx.args.len() - at;
        if left == 0 || left % 2 == 1 {
            return Err(Fault::SYNTAX);
        }
        if options.only_new && options.only_old {
            let text = "ERR XX and NX options at the same time are not compatible";
            return Err(Fault::of(text));
        }
        let bounds = usize::from(options.greater) + usize::from(options.less);
        if bounds + usize::from(options.only_new) > 1 {
            let text = "ERR GT, LT, and/or NX options at the same time are not compatible";
            return Err(Fault::of(text));
        }
        if options.increment && left > 2 {
            let text = "ERR INCR option supports a single increment-element pair";
            return Err(Fault::of(text));
        }
        Ok((options, at))
    }

    /// Returns the new score of a member, or `None` if the options do not allow the change.
    fn score(&self, old: Option<f64>, given: f64) -> Result<Option<f64>, Fault> {
        let Some(old) = old else {
            return Ok((!self.only_old).then_some(given));
        };
        if self.only_new {
            return Ok(None);
        }
        let score = if self.increment { old + given } else { given };
        if score.is_nan() {
            return Err(Fault::of("ERR resulting score is not a number (NaN)"));
        }
        let refused = self.greater && score <= old || self.less && old <= score;
        Ok((!refused).then_some(score))
    }
}

pub(crate) fn zadd(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (options, at) = AddOptions::parse(cx)?;
    add(cx, &options, at, out)
}

pub(crate) fn zincrby(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let options = AddOptions {
        increment: true,
        ..AddOptions::default()
    };
    add(cx, &options, 2, out)
}

fn add(cx: &mut Context<'_>, options: &AddOptions, at: usize, out: &mut Out) -> Done {
    let args = cx.args;
    let scores: Option<Vec<f64>> = args[at..]
        .iter()
        .step_by(2)
        .map(|arg| parse_double(arg))
        .collect();
    let scores = scores.ok_or(Fault::NOT_FLOAT)?;
    let names = args[at + 1..].iter().step_by(2);
    let is_there = cx.peek_as::<Zset>(&args[1])?.is_some();
    let growth = cx.growth();
    let (mut added, mut changed, mut last) = (0, 0, None);
    if is_there || !options.only_old {
        let result = cx.edit_or_new(&args[1], Zset::new, |zset| {
            for (name, &given) in names.zip(&scores) {
                let old = zset.score(name);
                last = options.score(old, given)?;
                if let Some(score) = last {
                    zset.set(name, score, growth);
                    added += i64::from(old.is_none());
                    changed += i64::from(old.is_some_and(|old| old != score));
                }
            }
            Ok(())
        })?;
        cx.remove_if_empty(&args[1]);
        result?;
    }
    if 0 < added + changed {
        let event = if options.increment { "zincr" } else { "zadd" };
        cx.changed(&args[1], Class::Zset, event);
    }
    match last {
        _ if !options.increment => {
            out.int(if options.count_changed {
                added + changed
            } else {
                added
            });
        }
        Some(score) => out.double(score),
        None => out.null(),
    }
    Ok(())
}

pub(crate) fn zrem(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let removed = cx.edit::<Zset, _>(&args[1], |zset| {
        args[2..]
            .iter()
            .filter(|name| zset.remove(name).is_some())
            .count()
    })?;
    let removed = removed.unwrap_or(0);
    if 0 < removed {
        cx.changed(&args[1], Class::Zset, "zrem");
    }
    out.int(removed as i64);
    Ok(())
}

pub(crate) fn zcard(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    out.int(cx.read_as::<Zset>(&args[1])?.map_or(0, Zset::len) as i64);
    Ok(())
}

pub(crate) fn zscore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let zset = cx.read_as::<Zset>(&args[1])?;
    send_score(zset.and_then(|zset| zset.score(&args[2])), out);
    Ok(())
}

pub(crate) fn zmscore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let zset = cx.read_as::<Zset>(&args[1])?;
    out.array(args.len() - 2);
    for name in &args[2..] {
        send_score(zset.and_then(|zset| zset.score(name)), out);
    }
    Ok(())
}

fn send_score(score: Option<f64>, out: &mut Out) {
    match score {
        Some(score) => out.double(score),
        None => out.null(),
    }
}

pub(crate) fn zrank(cx: &mut Context<'_>, out: &mut Out) -> Done {
    rank(cx, false, out)
}

pub(crate) fn zrevrank(cx: &mut Context<'_>, out: &mut Out) -> Done {
    rank(cx, true, out)
}

fn rank(cx: &mut Context<'_>, reverse: bool, out: &mut Out) -> Done {
    let args = cx.args;
    let with_score = cx.is(3, "withscore");
    if 4 < args.len() || args.len() == 4 && !with_score {
        return Err(Fault::SYNTAX);
    }
    let zset = cx.read_as::<Zset>(&args[1])?;
    let found = zset.and_then(|zset| {
        let rank = zset.rank_of(&args[2])?;
        let rank = if reverse { zset.len() - 1 - rank } else { rank };
        Some((rank, zset.score(&args[2])?))
    });
    match found {
        None if with_score => out.null_array(),
        None => out.null(),
        Some((rank, score)) => {
            if with_score {
                out.array(2);
            }
            out.int(rank as i64);
            if with_score {
                out.double(score);
            }
        }
    }
    Ok(())
}

/// Sends members and scores as an array: nested pairs in RESP3, a flat list in RESP2.
pub(super) fn send_pairs(pairs: &[(Key, f64)], with_scores: bool, out: &mut Out) {
    begin_pairs(pairs.len(), with_scores, out);
    for (name, score) in pairs {
        send_pair(name, *score, with_scores, out);
    }
}

fn begin_pairs(len: usize, with_scores: bool, out: &mut Out) {
    let nested = with_scores && out.proto() == Proto::Resp3;
    out.array(len * if with_scores && !nested { 2 } else { 1 });
}

fn send_pair(name: &Key, score: f64, with_scores: bool, out: &mut Out) {
    if with_scores && out.proto() == Proto::Resp3 {
        out.array(2);
    }
    out.bulk(name.bytes());
    if with_scores {
        out.double(score);
    }
}

pub(crate) fn zrandmember(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let mut rng = cx.ks.rng.fork();
    if args.len() == 2 {
        let zset = cx.read_as::<Zset>(&args[1])?;
        match zset.and_then(|zset| zset.random(&mut rng)) {
            Some((name, _)) => out.bulk(name.bytes()),
            None => out.null(),
        }
        return Ok(());
    }
    let count = super::random_count(cx, 2)?;
    let with_scores = cx.is(3, "withscores");
    if 4 < args.len() || args.len() == 4 && !with_scores {
        return Err(Fault::SYNTAX);
    }
    if with_scores && !(-i64::MAX / 2..=i64::MAX / 2).contains(&count) {
        return Err(Fault::of("ERR value is out of range"));
    }
    let Some(zset) = cx.read_as::<Zset>(&args[1])? else {
        out.array(0);
        return Ok(());
    };
    let source = super::RandomSource {
        pick: |rng: &mut fastrand::Rng| zset.random(rng).expect("a sorted set is never empty").0,
        all: || {
            let mut names = Vec::with_capacity(zset.len());
            zset.each(0..zset.len(), false, |name, _| {
                names.push(Key::new(name));
                true
            });
            names
        },
        len: zset.len(),
    };
    let begin = |out: &mut Out, len| begin_pairs(len, with_scores, out);
    let send = |out: &mut Out, name: Key| {
        let score = zset.score(name.bytes()).expect("the picked member exists");
        send_pair(&name, score, with_scores, out);
    };
    source.send(count, &mut rng, out, begin, send);
    Ok(())
}

/// One end of a sorted set: the end with the lowest scores, or the end with the highest scores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extreme {
    Min,
    Max,
}

impl Extreme {
    fn event(self) -> &'static str {
        match self {
            Self::Min => "zpopmin",
            Self::Max => "zpopmax",
        }
    }

    fn command(self) -> Bytes {
        Bytes::from_static(match self {
            Self::Min => b"ZPOPMIN",
            Self::Max => b"ZPOPMAX",
        })
    }
}

/// Removes up to `count` members at one end of a sorted set and returns them. Returns `None` if the
/// key does not exist.
fn pop(
    cx: &mut Context<'_>,
    key: &Bytes,
    extreme: Extreme,
    count: usize,
) -> Result<Option<Vec<(Key, f64)>>, Fault> {
    let popped = cx.edit::<Zset, _>(key, |zset| {
        let len = zset.len();
        let count = count.min(len);
        let range = if extreme == Extreme::Min {
            0..count
        } else {
            len - count..len
        };
        let mut popped = Vec::with_capacity(count);
        zset.each(range.clone(), extreme == Extreme::Max, |name, score| {
            popped.push((Key::new(name), score));
            true
        });
        zset.remove_range(range);
        popped
    })?;
    if let Some(popped) = &popped
        && !popped.is_empty()
    {
        cx.changed(key, Class::Zset, extreme.event());
        let count = Bytes::from(popped.len().to_string());
        cx.rewrite([extreme.command(), key.clone(), count]);
    }
    Ok(popped)
}

pub(crate) fn zpopmin(cx: &mut Context<'_>, out: &mut Out) -> Done {
    pop_one_key(cx, Extreme::Min, out)
}

pub(crate) fn zpopmax(cx: &mut Context<'_>, out: &mut Out) -> Done {
    pop_one_key(cx, Extreme::Max, out)
}

fn pop_one_key(cx: &mut Context<'_>, extreme: Extreme, out: &mut Out) -> Done {
    let args = cx.args;
    if 3 < args.len() {
        return Err(Fault::SYNTAX);
    }
    let count = if args.len() == 3 {
        Some(super::non_negative(cx, 2)?)
    } else {
        None
    };
    let popped = pop(cx, &args[1], extreme, count.unwrap_or(1))?.unwrap_or_else(Vec::new);
    match (popped.first(), count) {
        (Some((name, score)), None) => {
            out.array(2);
            out.bulk(name.bytes());
            out.double(*score);
        }
        _ => send_pairs(&popped, true, out),
    }
    Ok(())
}

pub(crate) fn bzpopmin(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    pop_or_wait(cx, Extreme::Min, out)
}

pub(crate) fn bzpopmax(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    pop_or_wait(cx, Extreme::Max, out)
}

fn pop_or_wait(cx: &mut Context<'_>, extreme: Extreme, out: &mut Out) -> Wait {
    let args = cx.args;
    let last = args.len() - 1;
    let deadline_ms = super::timeout(cx, last)?;
    let keys = &args[1..last];
    for key in keys {
        if let Some(popped) = pop(cx, key, extreme, 1)? {
            let (name, score) = &popped[0];
            out.array(3);
            out.bulk(key);
            out.bulk(name.bytes());
            out.double(*score);
            return Ok(None);
        }
    }
    Ok(super::block(cx, keys, deadline_ms, out))
}

/// Arguments of ZMPOP and BZMPOP: `numkeys key … MIN|MAX [COUNT n]`.
struct MultiPop<'a> {
    keys: &'a [Bytes],
    extreme: Extreme,
    count: usize,
}

impl<'a> MultiPop<'a> {
    fn parse(cx: &Context<'a>, at: usize) -> Result<Self, Fault> {
        let keys = super::counted_keys(cx, at)?;
        let next = at + 1 + keys.len();
        let extreme = if cx.is(next, "min") {
            Extreme::Min
        } else if cx.is(next, "max") {
            Extreme::Max
        } else {
            return Err(Fault::SYNTAX);
        };
        let count = super::pop_count(cx, next + 1)?;
        Ok(Self {
            keys,
            extreme,
            count,
        })
    }

    /// Pops members from the first sorted set that exists. Returns whether any of the sorted sets
    /// exists.
    fn run(&self, cx: &mut Context<'_>, out: &mut Out) -> Result<bool, Fault> {
        for key in self.keys {
            if let Some(popped) = pop(cx, key, self.extreme, self.count)? {
                out.array(2);
                out.bulk(key);
                out.array(popped.len());
                for (name, score) in popped {
                    out.array(2);
                    out.bulk(name.bytes());
                    out.double(score);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }
}

pub(crate) fn zmpop(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let request = MultiPop::parse(cx, 1)?;
    if !request.run(cx, out)? {
        out.null_array();
    }
    Ok(())
}

pub(crate) fn bzmpop(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    let deadline_ms = super::timeout(cx, 1)?;
    let request = MultiPop::parse(cx, 2)?;
    if request.run(cx, out)? {
        return Ok(None);
    }
    Ok(super::block(cx, request.keys, deadline_ms, out))
}
