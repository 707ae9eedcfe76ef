//! Parser of replies, for clients.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;

use crate::{ReplyLimits, number};

/// A reply or a push message. `Double` and `BigNumber` contain the received text, so two of these
/// numbers are equal only if their texts are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `+`: a status.
    Simple(Bytes),
    /// `-` or `!`: an error.
    Error(Bytes),
    /// `:`: an integer.
    Int(i64),
    /// `$`: a string.
    Bulk(Bytes),
    /// `$-1`, `*-1` or `_`: a null.
    Null,
    /// `*`: an array.
    Array(Vec<Reply>),
    /// `%`: a map.
    Map(Vec<(Reply, Reply)>),
    /// `~`: a set.
    Set(Vec<Reply>),
    /// `>`: a push message.
    Push(Vec<Reply>),
    /// `,`: a floating-point number.
    Double(Bytes),
    /// `#`: a boolean.
    Bool(bool),
    /// `(`: an integer of any size.
    BigNumber(Bytes),
    /// `=`: three letters for the format, a colon and the text.
    Verbatim(Bytes),
}

impl Reply {
    /// Removes the next reply from `input` and returns it. If the reply is incomplete, returns
    /// `None` and removes nothing.
    ///
    /// # Errors
    /// If the input is not a reply. The connection is then unusable.
    pub fn take(input: &mut BytesMut, limits: &ReplyLimits) -> Result<Option<Reply>, BadReply> {
        // Find the end of the reply first. An incomplete reply must stay in `input`, and the
        // strings of a complete reply can be taken without a copy.
        let mut scanner = ReplyScanner {
            input,
            at: 0,
            limits,
        };
        match scanner.skip(0) {
            Ok(()) => {
                let len = scanner.at;
                let mut whole = input.split_to(len).freeze();
                Ok(Some(read(&mut whole)))
            }
            Err(Stop::Short) => Ok(None),
            Err(Stop::Bad(bad)) => Err(bad),
        }
    }
}

/// Violation of the protocol by a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReply {
    /// The first byte does not name a known type.
    #[error("the reply starts with an unknown byte {:?}", char::from(*.0))]
    Kind(u8),
    /// A length or an integer that is invalid or exceeds its limit.
    #[error("a number in the reply is invalid or too large")]
    Number,
    /// Nesting deeper than the limit.
    #[error("the reply is nested too deeply")]
    Depth,
}

enum Stop {
    Short,
    Bad(BadReply),
}

/// Scanner that finds the end of a reply, and checks everything that `read` relies on.
struct ReplyScanner<'a> {
    input: &'a [u8],
    at: usize,
    limits: &'a ReplyLimits,
}

impl ReplyScanner<'_> {
    fn skip(&mut self, depth: usize) -> Result<(), Stop> {
        let kind = *self.input.get(self.at).ok_or(Stop::Short)?;
        if !b"+-,(_#:$=!*~>%".contains(&kind) {
            return Err(Stop::Bad(BadReply::Kind(kind)));
        }
        let end = memchr(b'\n', &self.input[self.at..]).ok_or(Stop::Short)? + self.at;
        let line = &self.input[self.at + 1..end];
        let line = line
            .strip_suffix(b"\r")
            .ok_or(Stop::Bad(BadReply::Number))?;
        self.at = end + 1;
        let per_element = match kind {
            b'+' | b'-' | b',' | b'(' | b'_' | b'#' => return Ok(()),
            b':' => return int(line).map(drop),
            b'$' | b'=' | b'!' => return self.skip_text(line),
            b'%' => 2,
            _ => 1,
        };
        if depth == self.limits.depth_max {
            return Err(Stop::Bad(BadReply::Depth));
        }
        let Some(count) = length(line, self.limits.elements_max)? else {
            return Ok(());
        };
        for _ in 0..count * per_element {
            self.skip(depth + 1)?;
        }
        Ok(())
    }

    fn skip_text(&mut self, line: &[u8]) -> Result<(), Stop> {
        let Some(len) = length(line, self.limits.bulk_bytes_max)? else {
            return Ok(());
        };
        self.at += len + 2;
        match self.at <= self.input.len() {
            true => Ok(()),
            false => Err(Stop::Short),
        }
    }
}

fn int(line: &[u8]) -> Result<i64, Stop> {
    number::parse_int(line).ok_or(Stop::Bad(BadReply::Number))
}

/// Parses a length of at most `max`. Returns `None` for −1, which is the null of RESP2.
fn length(line: &[u8], max: usize) -> Result<Option<usize>, Stop> {
    match int(line)? {
        -1 => Ok(None),
        len => match usize::try_from(len) {
            Ok(len) if len <= max => Ok(Some(len)),
            _ => Err(Stop::Bad(BadReply::Number)),
        },
    }
}

/// Reads a reply that [`ReplyScanner`] found complete and valid.
fn read(input: &mut Bytes) -> Reply {
    const REPLY_IS_CHECKED: &str = "`ReplyScanner` has checked the reply";
    let kind = input[0];
    let end = memchr(b'\n', input).expect(REPLY_IS_CHECKED);
    let line = input.slice(1..end - 1);
    input.advance(end + 1);
    let mut elements = |per_element| {
        let count = number::parse_int(&line).expect(REPLY_IS_CHECKED);
        let count = usize::try_from(count).ok()?;
        Some((0..count * per_element).map(|_| read(input)).collect())
    };
    let elements_or_null = |elements: Option<Vec<Reply>>, wrap: fn(Vec<Reply>) -> Reply| {
        elements.map_or(Reply::Null, wrap)
    };
    match kind {
        b'+' => Reply::Simple(line),
        b'-' => Reply::Error(line),
        b':' => Reply::Int(number::parse_int(&line).expect(REPLY_IS_CHECKED)),
        b',' => Reply::Double(line),
        b'(' => Reply::BigNumber(line),
        b'#' => Reply::Bool(line == "t"),
        b'_' => Reply::Null,
        b'*' => elements_or_null(elements(1), Reply::Array),
        b'~' => elements_or_null(elements(1), Reply::Set),
        b'>' => elements_or_null(elements(1), Reply::Push),
        b'%' => elements_or_null(elements(2), |elements| {
            let mut elements = elements.into_iter();
            let mut pairs = Vec::with_capacity(elements.len() / 2);
            while let (Some(key), Some(value)) = (elements.next(), elements.next()) {
                pairs.push((key, value));
            }
            Reply::Map(pairs)
        }),
        text => {
            let len = number::parse_int(&line).expect(REPLY_IS_CHECKED);
            let Ok(len) = usize::try_from(len) else {
                return Reply::Null;
            };
            let value = input.split_to(len);
            input.advance(2);
            match text {
                b'$' => Reply::Bulk(value),
                b'!' => Reply::Error(value),
                _ => Reply::Verbatim(value),
            }
        }
    }
}
