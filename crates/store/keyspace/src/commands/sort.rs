//! The command SORT, which sorts by the elements themselves or by the values of other keys.

use std::cmp::Ordering;

use bytes::Bytes;
use resp::Out;

use crate::context::{Context, StoreEvent};
use crate::fault::Fault;
use crate::hash::Hash;
use crate::list::{End, List, NodeLimit};
use crate::notify::Class;
use crate::string::Str;
use crate::text::parse_double;
use crate::value::{Kind, Value};

type Done = Result<(), Fault>;

struct Request<'a> {
    by: Option<&'a [u8]>,
    gets: Vec<&'a [u8]>,
    limit: Option<(i64, i64)>,
    descending: bool,
    alpha: bool,
    store: Option<&'a Bytes>,
}

impl<'a> Request<'a> {
    fn parse(cx: &Context<'a>, may_store: bool) -> Result<Self, Fault> {
        let args = cx.args;
        let mut request = Self {
            by: None,
            gets: Vec::new(),
            limit: None,
            descending: false,
            alpha: false,
            store: None,
        };
        let mut at = 2;
        while at < args.len() {
            let left = args.len() - at - 1;
            if cx.is(at, "asc") {
                request.descending = false;
            } else if cx.is(at, "desc") {
                request.descending = true;
            } else if cx.is(at, "alpha") {
                request.alpha = true;
            } else if cx.is(at, "limit") && 2 <= left {
                request.limit = Some((cx.int(at + 1)?, cx.int(at + 2)?));
                at += 2;
            } else if cx.is(at, "store") && 1 <= left && may_store {
                request.store = Some(&args[at + 1]);
                at += 1;
            } else if cx.is(at, "by") && 1 <= left {
                request.by = Some(&args[at + 1]);
                at += 1;
            } else if cx.is(at, "get") && 1 <= left {
                request.gets.push(&args[at + 1]);
                at += 1;
            } else {
                return Err(Fault::SYNTAX);
            }
            at += 1;
        }
        Ok(request)
    }

    /// Returns whether the elements are not sorted: a BY pattern without `*` disables sorting.
    fn keeps_order(&self) -> bool {
        self.by.is_some_and(|by| !by.contains(&b'*'))
    }
}

/// Value by which an element is sorted.
enum Weight {
    Number(f64),
    Text(Option<Bytes>),
}

struct Row {
    element: Bytes,
    weight: Weight,
}

pub(crate) fn sort(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let request = Request::parse(cx, true)?;
    run(cx, &request, out)
}

pub(crate) fn sort_ro(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let request = Request::parse(cx, false)?;
    run(cx, &request, out)
}

fn run(cx: &mut Context<'_>, request: &Request<'_>, out: &mut Out) -> Done {
    let elements = elements(cx, request)?;
    let rows = if request.keeps_order() {
        elements
    } else {
        sorted(cx, elements, request)?
    };
    let rows = limited(rows, request.limit);
    let mut results: Vec<Option<Bytes>> = Vec::new();
    for element in rows {
        if request.gets.is_empty() {
            results.push(Some(element));
            continue;
        }
        for pattern in &request.gets {
            results.push(lookup(cx, pattern, &element));
        }
    }
    let Some(target) = request.store else {
        out.array(results.len());
        for result in results {
            match result {
                Some(result) => out.blob(&result),
                None => out.null(),
            }
        }
        return Ok(());
    };
    let mut list = List::new(NodeLimit(cx.ks.limits.encodings.list_node_size));
    results
        .iter()
        .for_each(|it| list.push(End::Right, it.as_ref().unwrap_or(&Bytes::new())));
    out.int(list.len() as i64);
    let stored = StoreEvent {
        class: Class::List,
        name: "sortstore",
    };
    cx.store(target, Value::List(Box::new(list)), stored);
    Ok(())
}

/// Returns the elements in the order of the value. If the command keeps this order (BY without
/// `*`), DESC reverses the order of lists and sorted sets. A set has no order. If the command does
/// not sort the set but stores the result, or belongs to a script, the elements are in byte order,
/// so that the result is the same on all servers.
fn elements(cx: &mut Context<'_>, request: &Request<'_>) -> Result<Vec<Bytes>, Fault> {
    let args = cx.args;
    let mut elements = Vec::new();
    match cx.read(&args[1]) {
        None => {}
        Some(Value::List(list)) => {
            elements.extend(list.iter().map(|piece| piece.to_bytes()));
            if request.keeps_order() && request.descending {
                elements.reverse();
            }
        }
        Some(Value::Set(set)) => {
            set.each(|name| {
                elements.push(Bytes::copy_from_slice(name));
                true
            });
            let is_fixed = request.store.is_some() || cx.session.is_script;
            if request.keeps_order() && is_fixed {
                elements.sort_unstable();
                if request.descending {
                    elements.reverse();
                }
            }
        }
        Some(Value::Zset(zset)) => {
            let reverse = request.keeps_order() && request.descending;
            zset.each(0..zset.len(), reverse, |name, _| {
                elements.push(Bytes::copy_from_slice(name));
                true
            });
        }
        Some(Value::Str(_) | Value::Hash(_) | Value::Stream(_)) => return Err(Fault::WRONG_TYPE),
    }
    Ok(elements)
}

fn sorted(
    cx: &mut Context<'_>,
    elements: Vec<Bytes>,
    request: &Request<'_>,
) -> Result<Vec<Bytes>, Fault> {
    let mut rows = Vec::with_capacity(elements.len());
    for element in elements {
        let value = match request.by {
            None => Some(element.clone()),
            Some(pattern) => lookup(cx, pattern, &element),
        };
        let weight = if request.alpha {
            Weight::Text(value)
        } else {
            // A missing or empty value counts as 0; as in C, a string ends at a NUL.
            let text = value.as_deref().unwrap_or_default();
            let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
            let number = match text.is_empty() {
                true => Some(0.0),
                false => parse_double(text),
            };
            let text = "ERR One or more scores can't be converted into double";
            Weight::Number(number.ok_or(Fault::of(text))?)
        };
        rows.push(Row { element, weight });
    }
    rows.sort_by(|left, right| {
        // Ties are resolved by comparing the elements, so that the result is deterministic.
        let order = compare(&left.weight, &right.weight);
        let order = order.then_with(|| left.element.cmp(&right.element));
        if request.descending {
            order.reverse()
        } else {
            order
        }
    });
    Ok(rows.into_iter().map(|row| row.element).collect())
}

fn compare(left: &Weight, right: &Weight) -> Ordering {
    match (left, right) {
        (Weight::Number(left), Weight::Number(right)) => left.total_cmp(right),
        (Weight::Text(left), Weight::Text(right)) => left.cmp(right),
        (Weight::Number(_), Weight::Text(_)) | (Weight::Text(_), Weight::Number(_)) => {
            unreachable!("all weights of one request are of one kind")
        }
    }
}

fn limited(mut elements: Vec<Bytes>, limit: Option<(i64, i64)>) -> Vec<Bytes> {
    let Some((start, count)) = limit else {
        return elements;
    };
    let start = usize::try_from(start.max(0))
        .expect("the number is not negative")
        .min(elements.len());
    let mut rest = elements.split_off(start);
    if let Ok(count) = usize::try_from(count) {
        rest.truncate(count);
    }
    rest
}

/// Resolves a BY or GET pattern for an element: `#` stands for the element itself, `key_*` for a
/// string, and `key_*->field` for a field of a hash. The element replaces the star.
fn lookup(cx: &mut Context<'_>, pattern: &[u8], element: &Bytes) -> Option<Bytes> {
    if pattern == b"#" {
        return Some(element.clone());
    }
    let star = pattern.iter().position(|&byte| byte == b'*')?;
    let (before, behind) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = behind.windows(2).position(|two| two == b"->");
    // An arrow at the very end belongs to the key's name.
    let arrow = arrow.filter(|at| at + 2 < behind.len());
    let (behind, field) = match arrow {
        Some(at) => (&behind[..at], Some(&behind[at + 2..])),
        None => (behind, None),
    };
    let key = [before, element, behind].concat();
    let value = &cx.entry(&key)?.value;
    match field {
        None => Str::of(value).map(Str::to_bytes),
        Some(field) => {
            let value = Hash::of(value)?.get(field)?;
            Some(Bytes::copy_from_slice(
                value.bytes(&mut itoa::Buffer::new()),
            ))
        }
    }
}
