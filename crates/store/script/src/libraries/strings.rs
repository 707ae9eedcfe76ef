//! Functions on strings whose work is not bounded by the size of their arguments: patterns, and
//! repetition.

use mlua::{Lua, LuaString, MultiValue, Value};

use super::args::{Args, Member, one};
use super::pattern::{Captured, Match, Matcher};
use crate::fault::Fault;
use crate::shared::Shared;

/// Functions for the prelude. `next_match` is for its `gmatch` and `gsub`.
pub(super) const MEMBERS: &[(&str, Member)] = &[
    ("find", find),
    ("match", match_),
    ("next_match", next_match),
    ("gsub", gsub),
    ("rep", rep),
];

/// Characters with a meaning in patterns.
const SPECIALS: &[u8] = b"^$*+?.([%-";

/// string.find(text, pattern, init, plain)
fn find(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "find", args);
    let (text, pattern) = (args.text(0)?, args.text(1)?);
    let init = start(args.whole_or(2, 1)?, text.as_bytes().len());
    let is_plain = !matches!(args.value(3), Value::Nil | Value::Boolean(false));
    let literal = is_plain
        || !pattern
            .as_bytes()
            .iter()
            .any(|byte| SPECIALS.contains(byte));
    if literal {
        let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
        // The time of this search is linear in the length of the text.
        let Some(at) = memchr::memmem::find(&text[init..], &pattern) else {
            return Ok(one(Value::Nil));
        };
        let from = init + at;
        return Ok(MultiValue::from_vec(vec![
            position(from + 1),
            position(from + pattern.len()),
        ]));
    }
    let search = Search::of(&pattern);
    let Some(found) = search.first(lua, shared, &text, init)? else {
        return Ok(one(Value::Nil));
    };
    let mut results = vec![position(found.from + 1), position(found.to)];
    captures(lua, &text, &found.captures, &mut results)?;
    Ok(MultiValue::from_vec(results))
}

/// string.match(text, pattern, init)
fn match_(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "match", args);
    let (text, pattern) = (args.text(0)?, args.text(1)?);
    let init = start(args.whole_or(2, 1)?, text.as_bytes().len());
    let search = Search::of(&pattern);
    let Some(found) = search.first(lua, shared, &text, init)? else {
        return Ok(one(Value::Nil));
    };
    let mut results = Vec::new();
    whole_or_captures(lua, &text, &found, &mut results)?;
    Ok(MultiValue::from_vec(results))
}

/// Finds the next match at or after a position: returns its first and last position, then its
/// captures, or the whole match if it has none.
fn next_match(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "gmatch", args);
    let (text, pattern) = (args.text(0)?, args.text(1)?);
    let init = start(args.whole_or(2, 1)?, text.as_bytes().len());
    // Unlike in `find`, `^` is an ordinary character at the start of the pattern.
    let search = Search {
        pattern: pattern.as_bytes().to_vec(),
        is_anchored: matches!(args.value(3), Value::Boolean(true)),
    };
    let Some(found) = search.first(lua, shared, &text, init)? else {
        return Ok(one(Value::Nil));
    };
    let mut results = vec![position(found.from + 1), position(found.to)];
    whole_or_captures(lua, &text, &found, &mut results)?;
    Ok(MultiValue::from_vec(results))
}

/// string.gsub(text, pattern, replacement, count), for a replacement that is a string.
fn gsub(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "gsub", args);
    let (text, pattern) = (args.text(0)?, args.text(1)?);
    let Ok(replacement) = args.text(2) else {
        return Err(args.error(2, "string/function/table expected"));
    };
    let (bytes, pattern) = (text.as_bytes(), pattern.as_bytes());
    let count_max = args.whole_or(3, bytes.len() as i64 + 1)?;
    let is_anchored = pattern.first() == Some(&b'^');
    let pattern = &pattern[usize::from(is_anchored)..];
    let (mut result, mut at, mut count) = (Vec::new(), 0, 0);
    while count < count_max {
        let mut matcher = Matcher::new(shared, &bytes, pattern);
        let found = matcher.at(at).map_err(|fault| fault.into_lua(lua))?;
        if let Some(found) = &found {
            count += 1;
            expand(lua, &bytes, found, &replacement.as_bytes(), &mut result)?;
        }
        match found {
            Some(found) if at < found.to => at = found.to,
            _ if at < bytes.len() => {
                result.push(bytes[at]);
                at += 1;
            }
            _ => break,
        }
        if shared.limits.memory_bytes_max < result.len() {
            return Err(Fault::out_of_memory());
        }
        if is_anchored {
            break;
        }
    }
    result.extend_from_slice(&bytes[at..]);
    let result = Value::String(lua.create_string(result)?);
    Ok(MultiValue::from_vec(vec![result, Value::Integer(count)]))
}

/// string.rep(text, count)
fn rep(lua: &Lua, shared: &Shared, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = Args::new(lua, "rep", args);
    let text = args.text(0)?;
    let count = args.number(1)?;
    let text = text.as_bytes();
    let count = if 1.0 <= count && !text.is_empty() {
        count as usize
    } else {
        0
    };
    let bytes = text.len().checked_mul(count);
    let used_bytes = lua.used_memory();
    let is_small = bytes
        .is_some_and(|bytes| used_bytes.saturating_add(bytes) <= shared.limits.memory_bytes_max);
    match is_small {
        true => Ok(one(Value::String(lua.create_string(text.repeat(count))?))),
        false => Err(Fault::out_of_memory()),
    }
}

/// Returns the index at which a search starts.
fn start(init: i64, len: usize) -> usize {
    let index = match init {
        1.. => init - 1,
        0 => 0,
        _ => (len as i64).saturating_add(init).max(0),
    };
    usize::try_from(index).unwrap_or(0).min(len)
}

fn position(index: usize) -> Value {
    Value::Integer(index as i64)
}

/// A pattern without the anchor `^` that may precede it.
struct Search {
    pattern: Vec<u8>,
    /// True if the pattern matches only where the search starts.
    is_anchored: bool,
}

impl Search {
    fn of(pattern: &LuaString) -> Search {
        let pattern = pattern.as_bytes();
        let is_anchored = pattern.first() == Some(&b'^');
        let pattern = pattern[usize::from(is_anchored)..].to_vec();
        Search {
            pattern,
            is_anchored,
        }
    }

    /// Returns the first match at or after `init`, if any.
    fn first(
        &self,
        lua: &Lua,
        shared: &Shared,
        text: &LuaString,
        init: usize,
    ) -> mlua::Result<Option<Match>> {
        let text = text.as_bytes();
        let mut matcher = Matcher::new(shared, &text, &self.pattern);
        for at in init..=text.len() {
            let found = matcher.at(at).map_err(|fault| fault.into_lua(lua))?;
            if found.is_some() || self.is_anchored {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

fn captures(
    lua: &Lua,
    text: &LuaString,
    all: &[Captured],
    results: &mut Vec<Value>,
) -> mlua::Result<()> {
    let bytes = text.as_bytes();
    for captured in all {
        results.push(match captured {
            Captured::Position(at) => position(at + 1),
            Captured::Text(range) => Value::String(lua.create_string(&bytes[range.clone()])?),
        });
    }
    Ok(())
}

fn whole_or_captures(
    lua: &Lua,
    text: &LuaString,
    found: &Match,
    results: &mut Vec<Value>,
) -> mlua::Result<()> {
    match found.captures.is_empty() {
        true => {
            let whole = lua.create_string(&text.as_bytes()[found.from..found.to])?;
            results.push(Value::String(whole));
            Ok(())
        }
        false => captures(lua, text, &found.captures, results),
    }
}

/// Appends the replacement of a match, in which `%1` stands for the first capture.
fn expand(
    lua: &Lua,
    text: &[u8],
    found: &Match,
    replacement: &[u8],
    result: &mut Vec<u8>,
) -> mlua::Result<()> {
    let mut bytes = replacement.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'%' {
            result.push(*byte);
            continue;
        }
        let next = bytes.next().copied().unwrap_or(0);
        let index = match next {
            b'0' => {
                result.extend_from_slice(&text[found.from..found.to]);
                continue;
            }
            b'1'..=b'9' => usize::from(next - b'1'),
            _ => {
                result.push(next);
                continue;
            }
        };
        match found.captures.get(index) {
            Some(Captured::Text(range)) => result.extend_from_slice(&text[range.clone()]),
            Some(Captured::Position(at)) => {
                result.extend_from_slice((at + 1).to_string().as_bytes())
            }
            // Without captures, %1 is the whole match.
            None if index == 0 => result.extend_from_slice(&text[found.from..found.to]),
            None => return Err(Fault::at_caller(lua, "invalid capture index")),
        }
    }
    Ok(())
}
