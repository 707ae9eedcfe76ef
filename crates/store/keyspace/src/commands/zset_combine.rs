//! Unions, intersections and differences of sorted sets and plain sets. Each member of a plain set
//! has the score 1.

use bytes::Bytes;
use resp::Out;

use super::zsets::send_pairs;
use crate::context::{Context, StoreEvent};
use crate::fault::Fault;
use crate::notify::Class;
use crate::set::Set;
use crate::text::{Key, parse_double};
use crate::value::Value;
use crate::zset::Zset;

type Done = Result<(), Fault>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersect,
    Subtract,
    /// An intersection whose result is only the number of its members.
    Count,
}

#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn combine(self, left: f64, right: f64) -> f64 {
        match self {
            // The sum of opposite infinities is NaN. As in Redis, the result is then 0.
            Self::Sum => number_or_zero(left + right),
            // 0 and -0 compare equal, so `left` is kept.
            Self::Min if right < left => right,
            Self::Max if left < right => right,
            Self::Min | Self::Max => left,
        }
    }
}

fn number_or_zero(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

struct Request<'a> {
    keys: &'a [Bytes],
    /// Maximum number of members to count: the LIMIT of ZINTERCARD.
    count_max: usize,
    weights: Vec<f64>,
    aggregate: Aggregate,
    with_scores: bool,
}

impl<'a> Request<'a> {
    /// Parses `numkeys key … [WEIGHTS …] [AGGREGATE …] [WITHSCORES]`.
    fn parse(
        cx: &mut Context<'a>,
        at: usize,
        operation: Operation,
        name: &str,
    ) -> Result<Self, Fault> {
        let args = cx.args;
        let count = cx.int(at)?;
        let too_few_keys = || {
            Fault::new(format!(
                "ERR at least 1 input key is needed for '{name}' command"
            ))
        };
        let count = usize::try_from(count)
            .ok()
            .filter(|&count| 0 < count)
            .ok_or_else(too_few_keys)?;
        let end = count.saturating_add(at + 1);
        let keys = args.get(at + 1..end).ok_or(Fault::SYNTAX)?;
        check_types(cx, keys)?;
        let mut request = Self {
            keys,
            count_max: usize::MAX,
            weights: vec![1.0; count],
            aggregate: Aggregate::Sum,
            with_scores: false,
        };
        let stores = at == 2;
        let weighs = matches!(operation, Operation::Union | Operation::Intersect);
        let counts = operation == Operation::Count;
        let mut next = end;
        while next < args.len() {
            if weighs && cx.is(next, "weights") && count < args.len() - next {
                let weights = &args[next + 1..=next + count];
                let weights: Option<Vec<f64>> = weights.iter().map(|it| parse_double(it)).collect();
                request.weights = weights.ok_or(Fault::of("ERR weight value is not a float"))?;
                next += count;
            } else if weighs && cx.is(next, "aggregate") && next + 1 < args.len() {
                next += 1;
                request.aggregate = match args[next].to_ascii_lowercase().as_slice() {
                    b"sum" => Aggregate::Sum,
                    b"min" => Aggregate::Min,
                    b"max" => Aggregate::Max,
                    _ => return Err(Fault::SYNTAX),
                };
            } else if counts && cx.is(next, "limit") && next + 1 < args.len() {
                next += 1;
                let limit = resp::parse_int(&args[next]).and_then(|it| usize::try_from(it).ok());
                let limit = limit.ok_or(Fault::of("ERR LIMIT can't be negative"))?;
                request.count_max = if limit == 0 { usize::MAX } else { limit };
            } else if !stores && !counts && cx.is(next, "withscores") {
                request.with_scores = true;
            } else {
                return Err(Fault::SYNTAX);
            }
            next += 1;
        }
        Ok(request)
    }
}

enum Input<'a> {
    Absent,
    Set(&'a Set),
    Zset(&'a Zset),
}

impl Input<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Set(set) => set.len(),
            Self::Zset(zset) => zset.len(),
        }
    }

    fn score(&self, name: &[u8]) -> Option<f64> {
        match self {
            Self::Absent => None,
            Self::Set(set) => set.contains(name).then_some(1.0),
            Self::Zset(zset) => zset.score(name),
        }
    }

    fn each(&self, mut visit: impl FnMut(&[u8], f64) -> bool) {
        match self {
            Self::Absent => {}
            Self::Set(set) => set.each(|name| visit(name, 1.0)),
            Self::Zset(zset) => zset.each(0..zset.len(), false, visit),
        }
    }
}

fn check_types(cx: &mut Context<'_>, keys: &[Bytes]) -> Done {
    for key in keys {
        match cx.read(key) {
            None | Some(Value::Set(_) | Value::Zset(_)) => {}
            Some(_) => return Err(Fault::WRONG_TYPE),
        }
    }
    Ok(())
}

/// Returns the values at `keys`. The caller has already checked the types of these values.
fn inputs<'c>(cx: &'c Context<'_>, keys: &[Bytes]) -> Vec<Input<'c>> {
    let dict = &cx.ks.dbs[cx.db].dict;
    let inputs = keys
        .iter()
        .map(|key| match dict.get(key).map(|entry| &entry.value) {
            Some(Value::Set(set)) => Input::Set(set),
            Some(Value::Zset(zset)) => Input::Zset(zset),
            _ => Input::Absent,
        });
    inputs.collect()
}

/// Returns the union, intersection or difference in the encoding of large sorted sets, which
/// preserves the sign of a zero. As in Redis, the sign is lost only if the result is small and is
/// stored.
fn combine(cx: &Context<'_>, request: &Request<'_>, operation: Operation) -> Zset {
    let growth = cx.growth();
    let inputs = inputs(cx, request.keys);
    let mut result = Zset::large(growth.seed);
    let weighted = |score: f64, weight: f64| number_or_zero(score * weight);
    match operation {
        Operation::Union => {
            for (input, &weight) in inputs.iter().zip(&request.weights) {
                input.each(|name, score| {
                    let score = weighted(score, weight);
                    let old = result.remove(name);
                    let score = old.map_or(score, |old| request.aggregate.combine(old, score));
                    result.set(name, score, growth);
                    true
                });
            }
        }
        Operation::Intersect | Operation::Count => {
            let mut order: Vec<usize> = (0..inputs.len()).collect();
            order.sort_by_key(|&at| inputs[at].len());
            inputs[order[0]].each(|name, score| {
                let mut total = weighted(score, request.weights[order[0]]);
                for &at in &order[1..] {
                    let Some(score) = inputs[at].score(name) else {
                        return true;
                    };
                    // As in Redis, a product that is NaN is not replaced by 0 here. A sum that
                    // contains this product becomes 0 instead.
                    let score = score * request.weights[at];
                    total = request.aggregate.combine(total, score);
                }
                result.set(name, total, growth);
                true
            });
        }
        Operation::Subtract => inputs[0].each(|name, score| {
            if inputs[1..].iter().all(|input| input.score(name).is_none()) {
                result.set(name, score, growth);
            }
            true
        }),
    }
    result
}

fn send(cx: &mut Context<'_>, operation: Operation, name: &str, out: &mut Out) -> Done {
    let request = Request::parse(cx, 1, operation, name)?;
    let zset = combine(cx, &request, operation);
    let mut pairs: Vec<(Key, f64)> = Vec::with_capacity(zset.len());
    zset.each(0..zset.len(), false, |name, score| {
        pairs.push((Key::new(name), score));
        true
    });
    send_pairs(&pairs, request.with_scores, out);
    Ok(())
}

fn store(cx: &mut Context<'_>, operation: Operation, name: &'static str, out: &mut Out) -> Done {
    let request = Request::parse(cx, 2, operation, name)?;
    let zset = combine(cx, &request, operation).pack(cx.growth());
    out.int(zset.len() as i64);
    let args = cx.args;
    let class = Class::Zset;
    cx.store(
        &args[1],
        Value::Zset(Box::new(zset)),
        StoreEvent { class, name },
    );
    Ok(())
}

pub(crate) fn zunion(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(cx, Operation::Union, "zunion", out)
}

pub(crate) fn zinter(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(cx, Operation::Intersect, "zinter", out)
}

pub(crate) fn zdiff(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(cx, Operation::Subtract, "zdiff", out)
}

pub(crate) fn zunionstore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    store(cx, Operation::Union, "zunionstore", out)
}

pub(crate) fn zinterstore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    store(cx, Operation::Intersect, "zinterstore", out)
}

pub(crate) fn zdiffstore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    store(cx, Operation::Subtract, "zdiffstore", out)
}

pub(crate) fn zintercard(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let request = Request::parse(cx, 1, Operation::Count, "zintercard")?;
    let mut inputs = inputs(cx, request.keys);
    inputs.sort_by_key(Input::len);
    let mut found = 0;
    inputs[0].each(|name, _| {
        found += usize::from(inputs[1..].iter().all(|input| input.score(name).is_some()));
        found < request.count_max
    });
    out.int(found as i64);
    Ok(())
}
