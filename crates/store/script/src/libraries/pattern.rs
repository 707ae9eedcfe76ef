//! Patterns of Lua: a backtracking matcher that the caller of the script can interrupt. Some
//! patterns take time that is exponential in their length.

use std::ops::Range;

use mlua::Lua;

use crate::fault::Fault;
use crate::shared::Shared;

/// Maximum number of captures of a pattern, as in Lua 5.1.
const CAPTURES_MAX: usize = 32;
/// Maximum nesting of the matcher's functions, which grows with the number of parts of a pattern.
const DEPTH_MAX: usize = 1_000;

/// A match and its captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) from: usize,
    /// Index behind the last byte of the match.
    pub(super) to: usize,
    pub(super) captures: Vec<Captured>,
}

/// Part of the text, or position, that a capture in a pattern matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Captured {
    /// A position: `()`.
    Position(usize),
    /// The part of the text between the parentheses.
    Text(Range<usize>),
}

/// Reason why a match ends without a result.
#[derive(Debug)]
pub(super) enum MatchError {
    /// The pattern is not valid.
    Malformed(&'static str),
    /// The script is killed.
    Ended(mlua::Error),
}

impl From<mlua::Error> for MatchError {
    fn from(error: mlua::Error) -> MatchError {
        MatchError::Ended(error)
    }
}

impl MatchError {
    pub(super) fn into_lua(self, lua: &Lua) -> mlua::Error {
        match self {
            MatchError::Malformed(text) => Fault::at_caller(lua, text),
            MatchError::Ended(error) => error,
        }
    }
}

type Found = Result<Option<usize>, MatchError>;

/// State of a capture while the matcher runs.
#[derive(Clone, Copy, Debug)]
enum Extent {
    Open,
    Position,
    Until(usize),
}

/// Matcher of one pattern, which does not start with the anchor `^`, at positions of one text.
pub(super) struct Matcher<'a> {
    shared: &'a Shared,
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<(usize, Extent)>,
    depth: usize,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(shared: &'a Shared, text: &'a [u8], pattern: &'a [u8]) -> Matcher<'a> {
        Matcher {
            shared,
            text,
            pattern,
            captures: Vec::new(),
            depth: 0,
        }
    }

    /// Returns the match at `at`, if any.
    pub(super) fn at(&mut self, at: usize) -> Result<Option<Match>, MatchError> {
        self.captures.clear();
        self.depth = 0;
        let Some(to) = self.rest(at, 0)? else {
            return Ok(None);
        };
        let captures = self.captures.iter().map(|(from, extent)| match extent {
            Extent::Open => Err(MatchError::Malformed("unfinished capture")),
            Extent::Position => Ok(Captured::Position(*from)),
            Extent::Until(to) => Ok(Captured::Text(*from..*to)),
        });
        let captures = captures.collect::<Result<_, _>>()?;
        Ok(Some(Match {
            from: at,
            to,
            captures,
        }))
    }

    /// Matches the pattern from `p` at `s`. Returns the end of the match.
    fn rest(&mut self, s: usize, p: usize) -> Found {
        if self.depth == DEPTH_MAX {
            return Err(MatchError::Malformed("pattern too complex"));
        }
        self.depth += 1;
        let found = self.parts(s, p);
        self.depth -= 1;
        found
    }

    /// Matches one part of the pattern after another, without recursion as long as there is only
    /// one way to go on.
    fn parts(&mut self, mut s: usize, mut p: usize) -> Found {
        loop {
            self.shared.work(1)?;
            let Some(first) = self.pattern.get(p) else {
                return Ok(Some(s));
            };
            match (first, self.pattern.get(p + 1)) {
                (b'(', Some(b')')) => return self.open(s, p + 2, Extent::Position),
                (b'(', _) => return self.open(s, p + 1, Extent::Open),
                (b')', _) => return self.close(s, p + 1),
                (b'$', None) => return Ok((s == self.text.len()).then_some(s)),
                (b'%', Some(b'b')) => match self.balanced(s, p + 2)? {
                    None => return Ok(None),
                    Some(end) => (s, p) = (end, p + 4),
                },
                (b'%', Some(b'f')) => match self.frontier(s, p + 2)? {
                    None => return Ok(None),
                    Some(end) => p = end,
                },
                (b'%', Some(digit @ b'0'..=b'9')) => match self.repeated(s, *digit)? {
                    None => return Ok(None),
                    Some(end) => (s, p) = (end, p + 2),
                },
                _ => {
                    let end = self.class_end(p)?;
                    match self.pattern.get(end) {
                        Some(b'*') => return self.greedy(s, p, end, 0),
                        Some(b'+') => return self.greedy(s, p, end, 1),
                        Some(b'-') => return self.reluctant(s, p, end),
                        Some(b'?') => {
                            if self.is_single(s, p, end)
                                && let Some(found) = self.rest(s + 1, end + 1)?
                            {
                                return Ok(Some(found));
                            }
                            p = end + 1;
                        }
                        _ if self.is_single(s, p, end) => (s, p) = (s + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    /// Returns the end of the single-character class at `p`.
    fn class_end(&self, p: usize) -> Result<usize, MatchError> {
        match self.pattern[p] {
            b'%' if p + 1 == self.pattern.len() => {
                Err(MatchError::Malformed("malformed pattern (ends with '%')"))
            }
            b'%' => Ok(p + 2),
            b'[' => {
                let mut at = p + 1;
                if self.pattern.get(at) == Some(&b'^') {
                    at += 1;
                }
                // The first character may be a bracket.
                loop {
                    let missing = MatchError::Malformed("malformed pattern (missing ']')");
                    let byte = self.pattern.get(at).ok_or(missing)?;
                    at += if *byte == b'%' { 2 } else { 1 };
                    if self.pattern.get(at) == Some(&b']') {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    /// Returns whether the class from `p` to `end` matches the byte at `s`.
    fn is_single(&self, s: usize, p: usize, end: usize) -> bool {
        let Some(byte) = self.text.get(s) else {
            return false;
        };
        match self.pattern[p] {
            b'.' => true,
            b'%' => is_in_class(*byte, self.pattern[p + 1]),
            b'[' => is_in_set(*byte, &self.pattern[p + 1..end - 1]),
            literal => literal == *byte,
        }
    }

    /// Matches as many repetitions of a class as possible, at least `count_min`.
    fn greedy(&mut self, s: usize, p: usize, end: usize, count_min: usize) -> Found {
        let mut count = 0;
        while self.is_single(s + count, p, end) {
            count += 1;
            self.shared.work(1)?;
        }
        loop {
            if count < count_min {
                return Ok(None);
            }
            if let Some(found) = self.rest(s + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    /// Matches as few repetitions of a class as possible.
    fn reluctant(&mut self, mut s: usize, p: usize, end: usize) -> Found {
        loop {
            if let Some(found) = self.rest(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.is_single(s, p, end) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open(&mut self, s: usize, p: usize, extent: Extent) -> Found {
        if self.captures.len() == CAPTURES_MAX {
            return Err(MatchError::Malformed("too many captures"));
        }
        self.captures.push((s, extent));
        let captures = self.captures.len();
        let found = self.rest(s, p)?;
        if found.is_none() {
            self.captures.truncate(captures - 1);
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> Found {
        let open = |(_, extent): &(usize, Extent)| matches!(extent, Extent::Open);
        let index = self.captures.iter().rposition(open);
        let index = index.ok_or(MatchError::Malformed("invalid pattern capture"))?;
        self.captures[index].1 = Extent::Until(s);
        let found = self.rest(s, p)?;
        if found.is_none() {
            self.captures[index].1 = Extent::Open;
        }
        Ok(found)
    }

    /// Matches `%bxy` at `s`, where `p` is the index of x. Returns the end of the match.
    fn balanced(&mut self, s: usize, p: usize) -> Found {
        let (Some(open), Some(close)) = (self.pattern.get(p), self.pattern.get(p + 1)) else {
            return Err(MatchError::Malformed("unbalanced pattern"));
        };
        if self.text.get(s) != Some(open) {
            return Ok(None);
        }
        let mut level = 1;
        for at in s + 1..self.text.len() {
            self.shared.work(1)?;
            let byte = self.text[at];
            if byte == *close {
                level -= 1;
                if level == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == *open {
                level += 1;
            }
        }
        Ok(None)
    }

    /// Matches `%f[set]` at `s`, where `p` is the index of the set. Returns the end of the set.
    fn frontier(&mut self, s: usize, p: usize) -> Found {
        if self.pattern.get(p) != Some(&b'[') {
            return Err(MatchError::Malformed("missing '[' after '%f' in pattern"));
        }
        let end = self.class_end(p)?;
        let set = &self.pattern[p + 1..end - 1];
        let before = s.checked_sub(1).map_or(0, |before| self.text[before]);
        let here = self.text.get(s).copied().unwrap_or(0);
        let is_frontier = !is_in_set(before, set) && is_in_set(here, set);
        Ok(is_frontier.then_some(end))
    }

    /// Matches the text of a former capture again.
    fn repeated(&mut self, s: usize, digit: u8) -> Found {
        let invalid = MatchError::Malformed("invalid capture index");
        let index = usize::from(digit).checked_sub(usize::from(b'1'));
        let capture = index.and_then(|index| self.captures.get(index));
        let Some((from, Extent::Until(to))) = capture else {
            return Err(invalid);
        };
        let wanted = &self.text[*from..*to];
        self.shared.work(1 + (wanted.len() as u32 >> 6))?;
        let found = self.text[s..].starts_with(wanted);
        Ok(found.then_some(s + wanted.len()))
    }
}

/// Returns whether a byte is in the class `%class`. A letter in upper case names the complement.
fn is_in_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | b'\t'..=b'\r'),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is_in != class.is_ascii_uppercase()
}

/// Returns whether a byte is in a set: the text between the brackets.
fn is_in_set(byte: u8, set: &[u8]) -> bool {
    let (is_complement, set) = match set {
        [b'^', rest @ ..] => (true, rest),
        set => (false, set),
    };
    let mut at = 0;
    while at < set.len() {
        let is_in = match (set[at], set.get(at + 1), set.get(at + 2)) {
            (b'%', Some(class), _) => {
                at += 2;
                is_in_class(byte, *class)
            }
            (low, Some(b'-'), Some(high)) => {
                at += 3;
                (low..=*high).contains(&byte)
            }
            (literal, ..) => {
                at += 1;
                literal == byte
            }
        };
        if is_in {
            return !is_complement;
        }
    }
    is_complement
}
