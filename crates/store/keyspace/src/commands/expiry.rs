//! Commands on the deadlines of keys.

use bytes::Bytes;
use resp::Out;

use crate::context::Context;
use crate::db::{Entry, NEVER, is_due};
use crate::fault::Fault;
use crate::notify::Class;

type Done = Result<(), Fault>;

/// Interpretation of an argument that contains an expire time: the unit of the number, whether the
/// number is a point in time or a duration, and the index of the argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expire {
    is_seconds: bool,
    is_absolute: bool,
    at: usize,
}

impl Expire {
    pub(crate) const fn seconds(at: usize) -> Self {
        let (is_seconds, is_absolute) = (true, false);
        Self {
            is_seconds,
            is_absolute,
            at,
        }
    }

    pub(crate) const fn milliseconds(at: usize) -> Self {
        let (is_seconds, is_absolute) = (false, false);
        Self {
            is_seconds,
            is_absolute,
            at,
        }
    }

    const fn absolute(self) -> Self {
        Self {
            is_absolute: true,
            ..self
        }
    }

    /// Returns the interpretation of the argument that follows the option EX, PX, EXAT or PXAT of
    /// SET and GETEX. Returns `None` if `word` is any other word.
    pub(crate) fn option(word: &[u8]) -> Option<Self> {
        let found = if word.eq_ignore_ascii_case(b"ex") {
            Self::seconds(0)
        } else if word.eq_ignore_ascii_case(b"px") {
            Self::milliseconds(0)
        } else if word.eq_ignore_ascii_case(b"exat") {
            Self::seconds(0).absolute()
        } else if word.eq_ignore_ascii_case(b"pxat") {
            Self::milliseconds(0).absolute()
        } else {
            return None;
        };
        Some(found)
    }

    pub(crate) const fn with(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// Returns the deadline in Unix milliseconds, or `None` if the number is too large.
    fn deadline(self, value: i64, now: i64) -> Option<i64> {
        let ms = if self.is_seconds {
            value.checked_mul(1000)?
        } else {
            value
        };
        if self.is_absolute {
            Some(ms)
        } else {
            ms.checked_add(now)
        }
    }
}

/// Parses the deadline for a command that also sets a value. Zero and negative values are errors.
pub(crate) fn parse_expire(cx: &Context<'_>, expire: Expire, name: &str) -> Result<i64, Fault> {
    let value = cx.int(expire.at)?;
    let deadline = expire.deadline(value, cx.now).filter(|_| 0 < value);
    deadline.ok_or_else(|| Fault::expire_time(name))
}

pub(crate) fn expire(cx: &mut Context<'_>, out: &mut Out) -> Done {
    set_deadline(cx, Expire::seconds(2), "expire", out)
}

pub(crate) fn pexpire(cx: &mut Context<'_>, out: &mut Out) -> Done {
    set_deadline(cx, Expire::milliseconds(2), "pexpire", out)
}

pub(crate) fn expireat(cx: &mut Context<'_>, out: &mut Out) -> Done {
    set_deadline(cx, Expire::seconds(2).absolute(), "expireat", out)
}

pub(crate) fn pexpireat(cx: &mut Context<'_>, out: &mut Out) -> Done {
    set_deadline(cx, Expire::milliseconds(2).absolute(), "pexpireat", out)
}

/// Conditions NX, XX, GT and LT for replacing a deadline.
#[derive(Default)]
struct Conditions {
    none_before: bool,
    some_before: bool,
    later: bool,
    earlier: bool,
}

impl Conditions {
    fn parse(cx: &Context<'_>) -> Result<Self, Fault> {
        let mut conditions = Self::default();
        for (at, word) in cx.args.iter().enumerate().skip(3) {
            if cx.is(at, "nx") {
                conditions.none_before = true;
            } else if cx.is(at, "xx") {
                conditions.some_before = true;
            } else if cx.is(at, "gt") {
                conditions.later = true;
            } else if cx.is(at, "lt") {
                conditions.earlier = true;
            } else {
                return Err(Fault::new(
                    [b"ERR Unsupported option ", word.as_ref()].concat(),
                ));
            }
        }
        let others = conditions.some_before || conditions.later || conditions.earlier;
        if conditions.none_before && others {
            let text = "ERR NX and XX, GT or LT options at the same time are not compatible";
            return Err(Fault::of(text));
        }
        if conditions.later && conditions.earlier {
            let text = "ERR GT and LT options at the same time are not compatible";
            return Err(Fault::of(text));
        }
        Ok(conditions)
    }

    /// Returns whether the deadline may change from `before` to `after`. A key without a deadline
    /// is compared as if its deadline were later than all others.
    fn allow(&self, before: i64, after: i64) -> bool {
        !(self.none_before && before != NEVER
            || self.some_before && before == NEVER
            || self.later && after <= before
            || self.earlier && before <= after)
    }
}

fn set_deadline(cx: &mut Context<'_>, expire: Expire, name: &str, out: &mut Out) -> Done {
    let conditions = Conditions::parse(cx)?;
    let value = cx.int(expire.at)?;
    let deadline = expire.deadline(value, cx.now);
    let deadline = deadline.ok_or_else(|| Fault::expire_time(name))?;
    let args = cx.args;
    let key = &args[1];
    let Some(slot) = cx.find(key) else {
        out.int(0);
        return Ok(());
    };
    let before = cx.ks.dbs[cx.db].dict.at(slot).deadline_ms;
    if !conditions.allow(before, deadline) {
        out.int(0);
        return Ok(());
    }
    if is_due(deadline, cx.now) && !cx.session.replay {
        cx.delete(key);
        cx.rewrite([Bytes::from_static(b"DEL"), key.clone()]);
    } else {
        cx.set_deadline(slot, deadline);
        cx.changed(key, Class::Generic, "expire");
        let deadline = Bytes::from(deadline.to_string());
        cx.rewrite([Bytes::from_static(b"PEXPIREAT"), key.clone(), deadline]);
    }
    out.int(1);
    Ok(())
}

pub(crate) fn persist(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    let slot = cx.find(&args[1]);
    let had_one = slot.is_some_and(|slot| cx.set_deadline(slot, NEVER) != NEVER);
    if had_one {
        cx.changed(&args[1], Class::Generic, "persist");
    }
    out.int(i64::from(had_one));
    Ok(())
}

pub(crate) fn ttl(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let now = cx.now;
    send_deadline(cx, |deadline| ms_to_seconds((deadline - now).max(0)), out)
}

pub(crate) fn pttl(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let now = cx.now;
    send_deadline(cx, |deadline| (deadline - now).max(0), out)
}

pub(crate) fn expiretime(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send_deadline(cx, ms_to_seconds, out)
}

pub(crate) fn pexpiretime(cx: &mut Context<'_>, out: &mut Out) -> Done {
    send_deadline(cx, |deadline| deadline, out)
}

/// Converts milliseconds to seconds, rounded to the nearest second.
fn ms_to_seconds(ms: i64) -> i64 {
    ms.saturating_add(500) / 1000
}

fn send_deadline(cx: &mut Context<'_>, show: impl Fn(i64) -> i64, out: &mut Out) -> Done {
    let args = cx.args;
    out.int(match cx.entry_untouched(&args[1]).map(Entry::deadline) {
        None => -2,
        Some(None) => -1,
        Some(Some(deadline)) => show(deadline),
    });
    Ok(())
}
