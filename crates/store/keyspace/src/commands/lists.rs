//! Commands on lists.

use bytes::Bytes;
use resp::Out;

use super::index_range;
use crate::command::Block;
use crate::context::Context;
use crate::fault::Fault;
use crate::list::{End, List, NodeLimit};
use crate::notify::Class;

type Done = Result<(), Fault>;
type Wait = Result<Option<Block>, Fault>;

impl End {
    const fn push_event(self) -> &'static str {
        match self {
            Self::Left => "lpush",
            Self::Right => "rpush",
        }
    }

    const fn pop_event(self) -> &'static str {
        match self {
            Self::Left => "lpop",
            Self::Right => "rpop",
        }
    }

    fn pop_command(self) -> Bytes {
        Bytes::from_static(match self {
            Self::Left => b"LPOP",
            Self::Right => b"RPOP",
        })
    }

    fn word(self) -> Bytes {
        Bytes::from_static(match self {
            Self::Left => b"LEFT",
            Self::Right => b"RIGHT",
        })
    }

    fn parse(word: &[u8]) -> Result<Self, Fault> {
        if word.eq_ignore_ascii_case(b"left") {
            Ok(Self::Left)
        } else if word.eq_ignore_ascii_case(b"right") {
            Ok(Self::Right)
        } else {
            Err(Fault::SYNTAX)
        }
    }
}

fn node_limit(cx: &Context<'_>) -> NodeLimit {
    NodeLimit(cx.ks.limits.encodings.list_node_size)
}

pub(crate) fn lpush(cx: &mut Context<'_>, out: &mut Out) -> Done {
    push(cx, End::Left, out)
}

pub(crate) fn rpush(cx: &mut Context<'_>, out: &mut Out) -> Done {
    push(cx, End::Right, out)
}

pub(crate) fn lpushx(cx: &mut Context<'_>, out: &mut Out) -> Done {
    push_to_old(cx, End::Left, out)
}

pub(crate) fn rpushx(cx: &mut Context<'_>, out: &mut Out) -> Done {
    push_to_old(cx, End::Right, out)
}

fn push_to_old(cx: &mut Context<'_>, end: End, out: &mut Out) -> Done {
    let args = cx.args;
    if cx.peek_as::<List>(&args[1])?.is_none() {
        out.int(0);
        return Ok(());
    }
    push(cx, end, out)
}

fn push(cx: &mut Context<'_>, end: End, out: &mut Out) -> Done {
    let args = cx.args;
    let limit = node_limit(cx);
    let len = cx.edit_or_new(
        &args[1],
        || List::new(limit),
        |list| {
            args[2..].iter().for_each(|value| list.push(end, value));
            list.len()
        },
    )?;
    cx.changed(&args[1], Class::List, end.push_event());
    out.int(len as i64);
    Ok(())
}

pub(crate) fn lpop(cx: &mut Context<'_>, out: &mut Out) -> Done {
    pop(cx, End::Left, out)
}

pub(crate) fn rpop(cx: &mut Context<'_>, out: &mut Out) -> Done {
    pop(cx, End::Right, out)
}

fn pop(cx: &mut Context<'_>, end: End, out: &mut Out) -> Done {
    let args = cx.args;
    if 3 < args.len() {
        return Err(Fault::arity(if end == End::Left { "lpop" } else { "rpop" }));
    }
    let count = match args.get(2) {
        None => None,
        Some(_) => Some(super::non_negative(cx, 2)?),
    };
    let Some(list) = cx.peek_as::<List>(&args[1])? else {
        if count.is_some() {
            out.null_array();
        } else {
            out.null();
        }
        return Ok(());
    };
    let Some(count) = count else {
        send_end(list, end, out);
        drop_ends(cx, &args[1], end, 1)?;
        return Ok(());
    };
    let count = count.min(list.len());
    send_ends(list, end, count, out);
    if 0 < count {
        drop_ends(cx, &args[1], end, count)?;
    }
    Ok(())
}

fn send_end(list: &List, end: End, out: &mut Out) {
    list.end(end).expect("a list is never empty").send(out);
}

/// Sends elements from one end of the list as an array, in the order in which they are popped.
fn send_ends(list: &List, end: End, count: usize, out: &mut Out) {
    out.array(count);
    match end {
        End::Left => list.iter().take(count).for_each(|piece| piece.send(out)),
        End::Right => list
            .iter()
            .rev()
            .take(count)
            .for_each(|piece| piece.send(out)),
    }
}

fn drop_ends(cx: &mut Context<'_>, key: &[u8], end: End, count: usize) -> Done {
    cx.edit::<List, _>(key, |list| match end {
        End::Left => list.remove_range(0..count),
        End::Right => list.remove_range(list.len() - count..list.len()),
    })?;
    cx.changed(key, Class::List, end.pop_event());
    Ok(())
}

pub(crate) fn llen(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    out.int(cx.read_as::<List>(&args[1])?.map_or(0, List::len) as i64);
    Ok(())
}

pub(crate) fn lrange(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (start, end) = (cx.int(2)?, cx.int(3)?);
    let args = cx.args;
    let Some(list) = cx.read_as::<List>(&args[1])? else {
        out.array(0);
        return Ok(());
    };
    let range = index_range(start, end, list.len());
    out.array(range.len());
    list.range(range).for_each(|piece| piece.send(out));
    Ok(())
}

/// Converts an index, which counts from the end if it is negative, to an index from the start.
/// Returns `None` if there is no element with this index.
fn absolute_index(index: i64, len: usize) -> Option<usize> {
    let index = if index < 0 { index + len as i64 } else { index };
    usize::try_from(index).ok().filter(|&index| index < len)
}

pub(crate) fn lindex(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let index = resp::parse_int(&args[2]);
    let list = cx.read_as::<List>(&args[1])?;
    let Some(list) = list else {
        out.null();
        return Ok(());
    };
    let index = index.ok_or(Fault::NOT_INT)?;
    match absolute_index(index, list.len()).and_then(|index| list.get(index)) {
        Some(piece) => piece.send(out),
        None => out.null(),
    }
    Ok(())
}

pub(crate) fn lset(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let Some(len) = cx.peek_as::<List>(&args[1])?.map(List::len) else {
        return Err(Fault::NO_KEY);
    };
    let index = cx.int(2)?;
    let index = absolute_index(index, len).ok_or(Fault::OUT_OF_RANGE)?;
    cx.edit::<List, _>(&args[1], |list| list.set(index, &args[3]))?;
    cx.changed(&args[1], Class::List, "lset");
    out.ok();
    Ok(())
}

pub(crate) fn linsert(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let insert_offset = if cx.is(2, "after") {
        1
    } else if cx.is(2, "before") {
        0
    } else {
        return Err(Fault::SYNTAX);
    };
    let Some(list) = cx.peek_as::<List>(&args[1])? else {
        out.int(0);
        return Ok(());
    };
    let len = list.len();
    let Some(at) = list.iter().position(|piece| piece.bytes() == args[3]) else {
        out.int(-1);
        return Ok(());
    };
    cx.edit::<List, _>(&args[1], |list| list.insert(at + insert_offset, &args[4]))?;
    cx.changed(&args[1], Class::List, "linsert");
    out.int(len as i64 + 1);
    Ok(())
}

pub(crate) fn lrem(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let count = cx.int(2)?;
    let args = cx.args;
    let from = if count < 0 { End::Right } else { End::Left };
    let count_max = if count == 0 {
        usize::MAX
    } else {
        count.unsigned_abs() as usize
    };
    let removed = cx
        .edit::<List, _>(&args[1], |list| {
            list.remove_equal(&args[3], count_max, from)
        })?
        .unwrap_or(0);
    if 0 < removed {
        cx.changed(&args[1], Class::List, "lrem");
    }
    out.int(removed as i64);
    Ok(())
}

pub(crate) fn ltrim(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (start, end) = (cx.int(2)?, cx.int(3)?);
    let args = cx.args;
    let trimmed = cx.edit::<List, _>(&args[1], |list| {
        let kept_range = index_range(start, end, list.len());
        list.remove_range(kept_range.end..list.len());
        list.remove_range(0..kept_range.start);
    })?;
    if trimmed.is_some() {
        cx.changed(&args[1], Class::List, "ltrim");
    }
    out.ok();
    Ok(())
}

struct PositionOptions {
    rank: i64,
    count: Option<usize>,
    len_max: usize,
}

impl PositionOptions {
    fn parse(cx: &Context<'_>) -> Result<Self, Fault> {
        let mut options = Self {
            rank: 1,
            count: None,
            len_max: 0,
        };
        for at in (3..cx.args.len()).step_by(2) {
            if at + 1 == cx.args.len() {
                return Err(Fault::SYNTAX);
            } else if cx.is(at, "rank") {
                options.rank = cx.int(at + 1)?;
                if options.rank == i64::MIN {
                    return Err(Fault::of(
                        "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
                    ));
                }
                if options.rank == 0 {
                    return Err(Fault::of(
                        "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                         negative to start from the end of the list",
                    ));
                }
            } else if cx.is(at, "count") {
                let fault = Fault::of("ERR COUNT can't be negative");
                options.count = Some(not_negative(cx, at + 1).ok_or(fault)?);
            } else if cx.is(at, "maxlen") {
                let fault = Fault::of("ERR MAXLEN can't be negative");
                options.len_max = not_negative(cx, at + 1).ok_or(fault)?;
            } else {
                return Err(Fault::SYNTAX);
            }
        }
        Ok(options)
    }
}

fn not_negative(cx: &Context<'_>, at: usize) -> Option<usize> {
    resp::parse_int(&cx.args[at]).and_then(|number| usize::try_from(number).ok())
}

pub(crate) fn lpos(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let options = PositionOptions::parse(cx)?;
    let args = cx.args;
    let Some(list) = cx.read_as::<List>(&args[1])? else {
        if options.count.is_some() {
            out.array(0);
        } else {
            out.null();
        }
        return Ok(());
    };
    let count_max = match options.count {
        None => 1,
        Some(0) => usize::MAX,
        Some(count) => count,
    };
    let scanned_max = if options.len_max == 0 {
        list.len()
    } else {
        options.len_max
    };
    let skipped = options.rank.unsigned_abs() as usize - 1;
    let pieces: Box<dyn Iterator<Item = _>> = if options.rank < 0 {
        Box::new((0..list.len()).rev().zip(list.iter().rev()))
    } else {
        Box::new(list.iter().enumerate())
    };
    let equal = pieces
        .take(scanned_max)
        .filter(|(_, piece)| piece.bytes() == args[2]);
    let found: Vec<usize> = equal
        .map(|(at, _)| at)
        .skip(skipped)
        .take(count_max)
        .collect();
    match options.count {
        None => match found.first() {
            Some(at) => out.int(*at as i64),
            None => out.null(),
        },
        Some(_) => {
            out.array(found.len());
            found.iter().for_each(|at| out.int(*at as i64));
        }
    }
    Ok(())
}

pub(crate) fn lmove(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let (from, to) = (End::parse(&cx.args[3])?, End::parse(&cx.args[4])?);
    if !move_end(cx, from, to, out)? {
        out.null();
    }
    Ok(())
}

pub(crate) fn rpoplpush(cx: &mut Context<'_>, out: &mut Out) -> Done {
    if !move_end(cx, End::Right, End::Left, out)? {
        out.null();
    }
    Ok(())
}

/// Moves an element from the list that the first argument names to the list that the second
/// argument names. Returns whether there was an element.
fn move_end(cx: &mut Context<'_>, from: End, to: End, out: &mut Out) -> Result<bool, Fault> {
    let args = cx.args;
    let (source, target) = (&args[1], &args[2]);
    let Some(list) = cx.peek_as::<List>(source)? else {
        return Ok(false);
    };
    let piece = list.end(from).expect("a list is never empty").to_bytes();
    cx.peek_as::<List>(target)?;
    let limit = node_limit(cx);
    // The pop comes before the push: in the other order, the pop would take the wrong element if
    // both lists are the same. An empty source list is kept until both steps are done.
    cx.edit::<List, _>(source, |list| list.drop_end(from))?;
    cx.edit_or_new(target, || List::new(limit), |list| list.push(to, &piece))?;
    cx.changed(target, Class::List, to.push_event());
    cx.changed(source, Class::List, from.pop_event());
    cx.dirty -= 1;
    out.blob(&piece);
    cx.rewrite([
        Bytes::from_static(b"LMOVE"),
        source.clone(),
        target.clone(),
        from.word(),
        to.word(),
    ]);
    Ok(true)
}

/// Arguments of LMPOP and BLMPOP: `numkeys key … LEFT|RIGHT [COUNT n]`.
struct MultiPop<'a> {
    keys: &'a [Bytes],
    end: End,
    count: usize,
}

impl<'a> MultiPop<'a> {
    fn parse(cx: &Context<'a>, at: usize) -> Result<Self, Fault> {
        let keys = super::counted_keys(cx, at)?;
        let next = at + 1 + keys.len();
        let end = cx.args.get(next).ok_or(Fault::SYNTAX)?;
        let end = End::parse(end)?;
        let count = super::pop_count(cx, next + 1)?;
        Ok(Self { keys, end, count })
    }

    /// Pops elements from the first list that exists. Returns whether any of the lists exists.
    fn run(&self, cx: &mut Context<'_>, out: &mut Out) -> Result<bool, Fault> {
        for key in self.keys {
            let Some(list) = cx.peek_as::<List>(key)? else {
                continue;
            };
            let count = self.count.min(list.len());
            out.array(2);
            out.bulk(key);
            send_ends(list, self.end, count, out);
            drop_ends(cx, key, self.end, count)?;
            let count = Bytes::from(count.to_string());
            cx.rewrite([self.end.pop_command(), key.clone(), count]);
            return Ok(true);
        }
        Ok(false)
    }
}

pub(crate) fn lmpop(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let request = MultiPop::parse(cx, 1)?;
    if !request.run(cx, out)? {
        out.null_array();
    }
    Ok(())
}

pub(crate) fn blmpop(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    let deadline_ms = super::timeout(cx, 1)?;
    let request = MultiPop::parse(cx, 2)?;
    if request.run(cx, out)? {
        return Ok(None);
    }
    Ok(super::block(cx, request.keys, deadline_ms, out))
}

pub(crate) fn blpop(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    pop_or_wait(cx, End::Left, out)
}

pub(crate) fn brpop(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    pop_or_wait(cx, End::Right, out)
}

fn pop_or_wait(cx: &mut Context<'_>, end: End, out: &mut Out) -> Wait {
    let args = cx.args;
    let last = args.len() - 1;
    let deadline_ms = super::timeout(cx, last)?;
    let keys = &args[1..last];
    for key in keys {
        let Some(list) = cx.peek_as::<List>(key)? else {
            continue;
        };
        out.array(2);
        out.bulk(key);
        send_end(list, end, out);
        drop_ends(cx, key, end, 1)?;
        cx.rewrite([end.pop_command(), key.clone()]);
        return Ok(None);
    }
    Ok(super::block(cx, keys, deadline_ms, out))
}

pub(crate) fn blmove(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    let (from, to) = (End::parse(&cx.args[3])?, End::parse(&cx.args[4])?);
    move_or_wait(cx, (from, to), 5, out)
}

pub(crate) fn brpoplpush(cx: &mut Context<'_>, out: &mut Out) -> Wait {
    move_or_wait(cx, (End::Right, End::Left), 3, out)
}

fn move_or_wait(
    cx: &mut Context<'_>,
    (from, to): (End, End),
    timeout_at: usize,
    out: &mut Out,
) -> Wait {
    let deadline_ms = super::timeout(cx, timeout_at)?;
    if move_end(cx, from, to, out)? {
        return Ok(None);
    }
    if !cx.session.may_block() {
        out.null();
        return Ok(None);
    }
    let keys = &cx.args[1..2];
    Ok(super::block(cx, keys, deadline_ms, out))
}
