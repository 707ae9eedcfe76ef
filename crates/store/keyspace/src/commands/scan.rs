//! SCAN, HSCAN, SSCAN and ZSCAN: each call returns a part of the elements. An element that exists
//! during the whole scan is never missed.

use resp::Out;

use crate::context::Context;
use crate::fault::Fault;
use crate::hash::{FieldValue, Hash};

use crate::set::Set;
use crate::text::{Key, glob};
use crate::zset::Zset;

type Done = Result<(), Fault>;

/// Maximum number of buckets that one call visits per requested element. It bounds the work in
/// sparse tables.
const BUCKETS_PER_ENTRY: u64 = 10;
const COUNT_DEFAULT: u64 = 10;

struct Request<'a> {
    cursor: u64,
    count: u64,
    pattern: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    /// True for HSCAN NOVALUES.
    is_without_values: bool,
}

impl<'a> Request<'a> {
    /// Parses the cursor and the options after it.
    fn parse(cx: &Context<'a>, cursor_at: usize) -> Result<Self, Fault> {
        let args = cx.args;
        let takes_novalues = args[0].eq_ignore_ascii_case(b"hscan");
        let mut request = Self {
            cursor: parse_cursor(&args[cursor_at])?,
            count: COUNT_DEFAULT,
            pattern: None,
            kind: None,
            is_without_values: false,
        };
        let mut at = cursor_at + 1;
        while at < args.len() {
            if takes_novalues && cx.is(at, "novalues") {
                request.is_without_values = true;
                at += 1;
                continue;
            }
            if at + 1 == args.len() {
                return Err(Fault::SYNTAX);
            } else if cx.is(at, "count") {
                let count = cx.int(at + 1)?;
                let count = u64::try_from(count).ok().filter(|&count| 0 < count);
                request.count = count.ok_or(Fault::SYNTAX)?;
            } else if cx.is(at, "match") {
                let pattern = args[at + 1].as_ref();
                request.pattern = (pattern != b"*").then_some(pattern);
            } else if cx.is(at, "type") && cursor_at == 1 {
                request.kind = Some(&args[at + 1]);
            } else {
                return Err(Fault::SYNTAX);
            }
            at += 2;
        }
        Ok(request)
    }

    fn matches_pattern(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob(pattern, name))
    }

    /// Visits buckets until enough elements were found or the table ends. Returns the next cursor.
    fn run(&self, mut step: impl FnMut(u64) -> (u64, usize)) -> u64 {
        let mut cursor = self.cursor;
        for _ in 0..self.count.saturating_mul(BUCKETS_PER_ENTRY) {
            let (next, found) = step(cursor);
            cursor = next;
            if cursor == 0 || self.count <= found as u64 {
                break;
            }
        }
        cursor
    }
}

/// Parses a cursor like `strtoul` in Redis: an empty text is 0, and a negative number wraps around.
fn parse_cursor(text: &[u8]) -> Result<u64, Fault> {
    let text = std::str::from_utf8(text).map_err(|_| Fault::INVALID_CURSOR)?;
    let (digits, is_negative) = match text.strip_prefix('-') {
        Some(digits) if !digits.starts_with('+') => (digits, true),
        _ => (text, false),
    };
    let cursor: u64 = match text {
        "" => 0,
        _ => digits.parse().map_err(|_| Fault::INVALID_CURSOR)?,
    };
    Ok(if is_negative {
        cursor.wrapping_neg()
    } else {
        cursor
    })
}

fn send_head(cursor: u64, count: usize, out: &mut Out) {
    out.array(2);
    out.bulk(cursor.to_string().as_bytes());
    out.array(count);
}

pub(crate) fn scan(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let request = Request::parse(cx, 1)?;
    let db = &cx.ks.dbs[cx.db];
    let mut visited = 0;
    let mut found: Vec<&Key> = Vec::new();
    let mut expired_keys = Vec::new();
    let cursor = request.run(|cursor| {
        let next = db.dict.scan(cursor, |slot, entry| {
            visited += 1;
            let is_gone = db.is_gone(slot, cx.now);
            let name = entry.value.type_name().as_bytes();
            let is_kind = request
                .kind
                .is_none_or(|kind| kind.eq_ignore_ascii_case(name));
            if is_kind && request.matches_pattern(entry.key.bytes()) {
                match is_gone {
                    true => expired_keys.push(entry.key.clone()),
                    false => found.push(&entry.key),
                }
            }
        });
        (next, visited)
    });
    send_head(cursor, found.len(), out);
    for key in found {
        out.bulk(key.bytes());
    }
    for key in expired_keys {
        cx.ks.remove_gone(cx.db, key.bytes(), cx.now);
    }
    Ok(())
}

pub(crate) fn hscan(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    parse_cursor(&args[2])?;
    if cx.peek_as::<Hash>(&args[1])?.is_none() {
        send_head(0, 0, out);
        return Ok(());
    }
    let request = Request::parse(cx, 2)?;
    let Some(hash) = cx.read_as::<Hash>(&args[1])? else {
        send_head(0, 0, out);
        return Ok(());
    };
    let mut found: Vec<(&[u8], FieldValue<'_>)> = Vec::new();
    let mut visited = 0;
    let cursor = request.run(|cursor| {
        let next = hash.scan(cursor, |name, value| {
            visited += 1;
            if request.matches_pattern(name) {
                found.push((name, value));
            }
        });
        (next, visited)
    });
    let parts = if request.is_without_values { 1 } else { 2 };
    send_head(cursor, found.len() * parts, out);
    for (name, value) in found {
        out.bulk(name);
        if !request.is_without_values {
            value.send(out);
        }
    }
    Ok(())
}

pub(crate) fn sscan(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    parse_cursor(&args[2])?;
    if cx.peek_as::<Set>(&args[1])?.is_none() {
        send_head(0, 0, out);
        return Ok(());
    }
    let request = Request::parse(cx, 2)?;
    let Some(set) = cx.read_as::<Set>(&args[1])? else {
        send_head(0, 0, out);
        return Ok(());
    };
    let mut found: Vec<Key> = Vec::new();
    let mut visited = 0;
    let cursor = request.run(|cursor| {
        let next = set.scan(cursor, |name| {
            visited += 1;
            if request.matches_pattern(name) {
                found.push(Key::new(name));
            }
        });
        (next, visited)
    });
    send_head(cursor, found.len(), out);
    for name in found {
        out.bulk(name.bytes());
    }
    Ok(())
}

pub(crate) fn zscan(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    parse_cursor(&args[2])?;
    if cx.peek_as::<Zset>(&args[1])?.is_none() {
        send_head(0, 0, out);
        return Ok(());
    }
    let request = Request::parse(cx, 2)?;
    let Some(zset) = cx.read_as::<Zset>(&args[1])? else {
        send_head(0, 0, out);
        return Ok(());
    };
    let mut found: Vec<(&[u8], f64)> = Vec::new();
    let mut visited = 0;
    let cursor = request.run(|cursor| {
        let next = zset.scan(cursor, |name, score| {
            visited += 1;
            if request.matches_pattern(name) {
                found.push((name, score));
            }
        });
        (next, visited)
    });
    send_head(cursor, found.len() * 2, out);
    for (name, score) in found {
        out.bulk(name);
        out.bulk(&crate::text::double_text(score));
    }
    Ok(())
}
