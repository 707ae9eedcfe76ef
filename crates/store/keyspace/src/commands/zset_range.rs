//! Ranges of sorted sets: by rank, score or name.
//!
//! Every range is converted to a range of ranks. The members with these ranks are then sent,
//! counted, removed or stored.

use std::ops::Range;

use resp::Out;

use super::index_range;
use super::zsets::send_pairs;
use crate::context::{Context, StoreEvent};
use crate::fault::Fault;
use crate::notify::Class;
use crate::text::{Key, parse_double};
use crate::value::Value;
use crate::zset::Zset;

type Done = Result<(), Fault>;

/// One end of a range of scores.
#[derive(Clone, Copy)]
struct ScoreBound {
    score: f64,
    is_open: bool,
}

impl ScoreBound {
    fn parse(text: &[u8]) -> Result<Self, Fault> {
        let (text, is_open) = match text {
            [b'(', text @ ..] => (text, true),
            text => (text, false),
        };
        let score = parse_double(text).ok_or(Fault::of("ERR min or max is not a float"))?;
        Ok(Self { score, is_open })
    }
}

/// One end of a range of names.
#[derive(Clone, Copy)]
enum NameBound<'a> {
    Lowest,
    Highest,
    At { name: &'a [u8], is_open: bool },
}

impl<'a> NameBound<'a> {
    fn parse(text: &'a [u8]) -> Result<Self, Fault> {
        match text {
            b"-" => Ok(Self::Lowest),
            b"+" => Ok(Self::Highest),
            [b'[', name @ ..] => Ok(Self::At {
                name,
                is_open: false,
            }),
            [b'(', name @ ..] => Ok(Self::At {
                name,
                is_open: true,
            }),
            _ => Err(Fault::of("ERR min or max not valid string range item")),
        }
    }

    /// Returns whether the name `other` sorts before this bound. If `with_equal` is true, a name
    /// equal to the bound counts as before it.
    fn is_above(self, other: &[u8], with_equal: bool) -> bool {
        match self {
            Self::Lowest => false,
            Self::Highest => true,
            Self::At { name, .. } => other < name || with_equal && other == name,
        }
    }

    fn is_open(self) -> bool {
        matches!(self, Self::At { is_open: true, .. })
    }
}

/// Range of ranks, scores or names, as the request gives it.
#[derive(Clone, Copy)]
enum Span<'a> {
    Ranks(i64, i64),
    Scores(ScoreBound, ScoreBound),
    Names(NameBound<'a>, NameBound<'a>),
}

/// Kind of a range: by rank, score or name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Name,
}

impl<'a> Span<'a> {
    fn parse(cx: &Context<'a>, by: By, low: usize, high: usize) -> Result<Self, Fault> {
        let args = cx.args;
        Ok(match by {
            By::Rank => Self::Ranks(cx.int(low)?, cx.int(high)?),
            By::Score => Self::Scores(
                ScoreBound::parse(&args[low])?,
                ScoreBound::parse(&args[high])?,
            ),
            By::Name => Self::Names(
                NameBound::parse(&args[low])?,
                NameBound::parse(&args[high])?,
            ),
        })
    }

    /// Returns the ranks that the range covers. If `reverse` is true, the ranks in the request are
    /// counted from the highest score.
    fn ranks(self, zset: &Zset, reverse: bool) -> Range<usize> {
        let (start, end) = match self {
            Self::Ranks(start, end) => {
                let range = index_range(start, end, zset.len());
                if !reverse {
                    return range;
                }
                return zset.len() - range.end..zset.len() - range.start;
            }
            Self::Scores(low, high) => (
                zset.rank(|score, _| score < low.score || low.is_open && score == low.score),
                zset.rank(|score, _| score < high.score || !high.is_open && score == high.score),
            ),
            Self::Names(low, high) => (
                zset.rank(|_, name| low.is_above(name, low.is_open())),
                zset.rank(|_, name| high.is_above(name, !high.is_open())),
            ),
        };
        start..end.max(start)
    }
}

/// A range with its direction and options.
struct Request<'a> {
    span: Span<'a>,
    reverse: bool,
    with_scores: bool,
    limit: Option<(i64, i64)>,
}

/// Kind and direction of a range, as implied by the name of a command.
#[derive(Clone, Copy)]
struct Fixed {
    by: By,
    reverse: bool,
}

impl<'a> Request<'a> {
    /// Parses the range at argument index `at` and the options after it. If `fixed` is `None`,
    /// options choose the kind and direction of the range (ZRANGE).
    fn parse(
        cx: &Context<'a>,
        at: usize,
        fixed: Option<Fixed>,
        stores: bool,
    ) -> Result<Self, Fault> {
        let (mut by, mut reverse) = fixed.map_or((By::Rank, false), |it| (it.by, it.reverse));
        let (mut with_scores, mut limit) = (false, None);
        let mut next = at + 2;
        while next < cx.args.len() {
            if !stores && cx.is(next, "withscores") {
                with_scores = true;
            } else if cx.is(next, "limit") && next + 2 < cx.args.len() {
                limit = Some((cx.int(next + 1)?, cx.int(next + 2)?));
                next += 2;
            } else if fixed.is_none() && cx.is(next, "rev") {
                reverse = true;
            } else if fixed.is_none() && cx.is(next, "bylex") {
                by = By::Name;
            } else if fixed.is_none() && cx.is(next, "byscore") {
                by = By::Score;
            } else {
                return Err(Fault::SYNTAX);
            }
            next += 1;
        }
        if limit.is_some_and(|limit| limit.1 != -1) && by == By::Rank {
            return Err(Fault::of(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if with_scores && by == By::Name {
            let text = "ERR syntax error, WITHSCORES not supported in combination with BYLEX";
            return Err(Fault::of(text));
        }
        let swapped = reverse && by != By::Rank;
        let (low, high) = if swapped { (at + 1, at) } else { (at, at + 1) };
        let span = Span::parse(cx, by, low, high)?;
        Ok(Self {
            span,
            reverse,
            with_scores,
            limit,
        })
    }

    fn ranks(&self, zset: &Zset) -> Range<usize> {
        let range = self.span.ranks(zset, self.reverse);
        let Some((offset, count)) = self.limit else {
            return range;
        };
        let Ok(offset) = usize::try_from(offset) else {
            return 0..0;
        };
        let left = range.len().saturating_sub(offset);
        let count = usize::try_from(count).unwrap_or(left).min(left);
        if self.reverse {
            let end = range.end.saturating_sub(offset).max(range.start);
            end - count..end
        } else {
            let start = (range.start.saturating_add(offset)).min(range.end);
            start..start + count
        }
    }

    fn collect(&self, zset: &Zset) -> Vec<(Key, f64)> {
        let ranks = self.ranks(zset);
        let mut found = Vec::with_capacity(ranks.len());
        zset.each(ranks, self.reverse, |name, score| {
            found.push((Key::new(name), score));
            true
        });
        found
    }
}

fn send(cx: &mut Context<'_>, fixed: Option<Fixed>, out: &mut Out) -> Done {
    let request = Request::parse(cx, 2, fixed, false)?;
    let args = cx.args;
    let Some(zset) = cx.read_as::<Zset>(&args[1])? else {
        out.array(0);
        return Ok(());
    };
    if request.with_scores {
        send_pairs(&request.collect(zset), true, out);
        return Ok(());
    }
    let ranks = request.ranks(zset);
    out.array(ranks.len());
    zset.each(ranks, request.reverse, |name, _| {
        out.bulk(name);
        true
    });
    Ok(())
}

pub(crate) fn zrange(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(cx, None, out)
}

pub(crate) fn zrevrange(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(
        cx,
        Some(Fixed {
            by: By::Rank,
            reverse: true,
        }),
        out,
    )
}

pub(crate) fn zrangebyscore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(
        cx,
        Some(Fixed {
            by: By::Score,
            reverse: false,
        }),
        out,
    )
}

pub(crate) fn zrevrangebyscore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(
        cx,
        Some(Fixed {
            by: By::Score,
            reverse: true,
        }),
        out,
    )
}

pub(crate) fn zrangebylex(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(
        cx,
        Some(Fixed {
            by: By::Name,
            reverse: false,
        }),
        out,
    )
}

pub(crate) fn zrevrangebylex(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send(
        cx,
        Some(Fixed {
            by: By::Name,
            reverse: true,
        }),
        out,
    )
}

pub(crate) fn zrangestore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let request = Request::parse(cx, 3, None, true)?;
    let args = cx.args;
    let found = cx
        .read_as::<Zset>(&args[2])?
        .map(|zset| request.collect(zset));
    let growth = cx.growth();
    let mut zset = Zset::new();
    for (name, score) in found.into_iter().flatten() {
        zset.set(name.bytes(), score, growth);
    }
    out.int(zset.len() as i64);
    let stored = StoreEvent {
        class: Class::Zset,
        name: "zrangestore",
    };
    cx.store(&args[1], Value::Zset(Box::new(zset)), stored);
    Ok(())
}

fn count(cx: &mut Context<'_>, by: By, out: &mut Out) -> Done {
    let span = Span::parse(cx, by, 2, 3)?;
    let args = cx.args;
    let zset = cx.read_as::<Zset>(&args[1])?;
    out.int(zset.map_or(0, |zset| span.ranks(zset, false).len()) as i64);
    Ok(())
}

pub(crate) fn zcount(cx: &mut Context<'_>, out: &mut Out) -> Done {
    count(cx, By::Score, out)
}

pub(crate) fn zlexcount(cx: &mut Context<'_>, out: &mut Out) -> Done {
    count(cx, By::Name, out)
}

fn remove(cx: &mut Context<'_>, by: By, event: &'static str, out: &mut Out) -> Done {
    let span = Span::parse(cx, by, 2, 3)?;
    let args = cx.args;
    let removed = cx.edit::<Zset, _>(&args[1], |zset| {
        let ranks = span.ranks(zset, false);
        let removed = ranks.len();
        zset.remove_range(ranks);
        removed
    })?;
    let removed = removed.unwrap_or(0);
    if 0 < removed {
        cx.changed(&args[1], Class::Zset, event);
    }
    out.int(removed as i64);
    Ok(())
}

pub(crate) fn zremrangebyrank(cx: &mut Context<'_>, out: &mut Out) -> Done {
    remove(cx, By::Rank, "zremrangebyrank", out)
}

pub(crate) fn zremrangebyscore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    remove(cx, By::Score, "zremrangebyscore", out)
}

pub(crate) fn zremrangebylex(cx: &mut Context<'_>, out: &mut Out) -> Done {
    remove(cx, By::Name, "zremrangebylex", out)
}
