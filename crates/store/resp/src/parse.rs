//! Requests off a read buffer.

use std::fmt;
use std::ops::Range;

use bytes::buf::Limit;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use memchr::memchr;

use crate::inline::split_line;
use crate::{BLOB_BYTES_MIN, Limits, number};

/// Takes requests off a read buffer, across reads. The arguments of the current request stay in it until the next is
/// asked for.
///
/// ```text
/// args   SET k v │ GET k │ GET k │ SET k         requests that were found ahead, and one that is not whole yet
///        current   ahead           unfinished
/// ```
#[derive(Debug)]
pub struct Parser {
    limits: Limits,
    authenticated: bool,
    args: Vec<Bytes>,
    /// Where the requests that were found ahead end in `args`; those before `taken` were asked for.
    ends: Vec<usize>,
    taken: usize,
    current: Range<usize>,
    /// What follows the last of them is no request.
    fault: Option<ProtocolError>,
    /// Bytes of the arguments of the request that is not whole yet, their places in `args` included.
    args_bytes: usize,
    /// How many of `args` are no slices of the read buffer any more.
    own_args: usize,
    places: Places,
    state: State,
}

/// Where blobs are read, and who makes them read-only.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Room for a blob of so many bytes and two behind it; what it begins with may be the bytes that are given, with which a
    /// reply begins that is this blob.
    pub make: fn(&[u8], usize) -> BytesMut,
    /// Makes the blob at a range read-only, and changes nothing. Behind it is a line's end, as in a reply.
    pub keep: fn(BytesMut, Range<usize>) -> Bytes,
}

impl Default for Places {
    fn default() -> Places {
        Places {
            make: |_, bytes| BytesMut::with_capacity(bytes + 2),
            keep: |place, blob| place.freeze().slice(blob),
        }
    }
}

#[derive(Debug)]
enum State {
    /// Between requests.
    Idle,
    /// So many arguments have not begun.
    Args { left: usize },
    /// An argument's length is known; after it, so many have not begun.
    Bulk { len: usize, left: usize },
    /// A blob is filled, its line end included; after it, so many arguments have not begun.
    Blob {
        blob: Limit<BytesMut>,
        /// What stands before it in its place.
        head: usize,
        left: usize,
    },
}

impl Parser {
    /// At the beginning of a connection whose client need not authenticate.
    pub fn new(limits: Limits) -> Parser {
        Parser {
            limits,
            authenticated: true,
            args: Vec::new(),
            ends: Vec::new(),
            taken: 0,
            current: 0..0,
            fault: None,
            args_bytes: 0,
            own_args: 0,
            places: Places::default(),
            state: State::Idle,
        }
    }

    /// Whether the bounds for strangers are lifted.
    pub fn set_authenticated(&mut self, authenticated: bool) {
        self.authenticated = authenticated;
    }

    /// Has blobs read there.
    #[must_use]
    pub fn with_places(self, places: Places) -> Parser {
        Parser { places, ..self }
    }

    /// From the next length on, other bounds hold.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Takes the next request, off `input` unless it was found ahead. False when more bytes are needed; then, if there is
    /// a [`Parser::blob_mut`], that is where they go. Empty requests are skipped, as in Redis.
    ///
    /// # Errors
    /// What follows cannot be understood. The connection is to be closed, after the error's text was sent.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<bool, ProtocolError> {
        if !self.has_ahead() {
            self.look_ahead(input, 1);
        }
        match self.ends.get(self.taken) {
            Some(end) => {
                self.current = self.current.end..*end;
                self.taken += 1;
                Ok(true)
            }
            None => self.fault.take().map_or(Ok(false), Err),
        }
    }

    /// Finds up to so many requests before they are asked for, so that they can be looked at together. Lets go of the
    /// current one. What is no request is told by [`Parser::next`], after those before it.
    ///
    /// # Panics
    /// When there are requests ahead.
    pub fn look_ahead(&mut self, input: &mut BytesMut, requests_max: usize) {
        assert!(!self.has_ahead(), "requests are found once");
        self.forget_current();
        self.ends.clear();
        self.taken = 0;
        while self.fault.is_none() && self.ends.len() < requests_max {
            match self.find(input) {
                Ok(true) => self.ends.push(self.args.len()),
                Ok(false) => return,
                Err(fault) => self.fault = Some(fault),
            }
        }
    }

    /// Whether the next request was found already.
    pub fn has_ahead(&self) -> bool {
        self.taken < self.ends.len()
    }

    /// The requests that were found and not asked for yet.
    pub fn ahead(&self) -> impl Iterator<Item = &[Bytes]> {
        let begins =
            std::iter::once(self.current.end).chain(self.ends[self.taken..].iter().copied());
        let ends = self.ends[self.taken..].iter();
        begins.zip(ends).map(|(begin, end)| &self.args[begin..*end])
    }

    /// Drops the arguments of the request that was asked for last, and of those before it.
    fn forget_current(&mut self) {
        let done = self.current.end;
        self.current = 0..0;
        if done == self.args.len() {
            self.args.clear();
        } else {
            self.args.drain(..done);
        }
        self.own_args = self.own_args.saturating_sub(done);
        for end in &mut self.ends[self.taken..] {
            *end -= done;
        }
    }

    /// Goes on until a request is whole.
    fn find(&mut self, input: &mut BytesMut) -> Result<bool, ProtocolError> {
        loop {
            match &mut self.state {
                State::Idle => match input.first() {
                    None => return Ok(false),
                    Some(b'*') => {
                        let Some(count) = self.count(input)? else {
                            return Ok(false);
                        };
                        if 0 < count {
                            self.state = State::Args { left: count };
                        }
                    }
                    Some(_) => match self.inline(input)? {
                        None => return Ok(false),
                        Some(true) => return Ok(true),
                        Some(false) => {}
                    },
                },
                State::Args { left: 0 } => {
                    self.state = State::Idle;
                    self.args_bytes = 0;
                    return Ok(true);
                }
                State::Args { left } => {
                    let left = *left - 1;
                    let Some(len) = self.bulk_len(input)? else {
                        return Ok(false);
                    };
                    self.begin_bulk(len, left, input)?;
                }
                State::Bulk { len, left } => {
                    let (len, left) = (*len, *left);
                    if input.len() < len + 2 {
                        return Ok(false);
                    }
                    self.args.push(input.split_to(len).freeze());
                    input.advance(2);
                    self.state = State::Args { left };
                }
                State::Blob { blob, head, left } => {
                    let part = blob.remaining_mut().min(input.len());
                    blob.put_slice(&input[..part]);
                    input.advance(part);
                    if blob.has_remaining_mut() {
                        return Ok(false);
                    }
                    let mut place = std::mem::take(blob.get_mut());
                    // Whatever ended the line in the request.
                    let end = place.len() - 2;
                    place[end..].copy_from_slice(b"\r\n");
                    self.args.push((self.places.keep)(place, *head..end));
                    self.state = State::Args { left: *left };
                }
            }
        }
    }

    /// The arguments of the request that [`Parser::next`] found, the command's name first.
    pub fn args(&self) -> &[Bytes] {
        &self.args[self.current.clone()]
    }

    /// The same, to keep.
    pub fn take_args(&mut self) -> Vec<Bytes> {
        let current = self.current.clone();
        self.args[current].iter_mut().map(std::mem::take).collect()
    }

    /// Lets go of the read buffer at the end of a turn: drops the arguments of the last request, and copies those of
    /// requests ahead and of one that is not whole yet.
    pub fn release(&mut self) {
        self.forget_current();
        self.ends.drain(..self.taken);
        self.taken = 0;
        for arg in &mut self.args[self.own_args..] {
            if arg.len() < BLOB_BYTES_MIN {
                *arg = Bytes::copy_from_slice(arg);
            }
        }
        self.own_args = self.args.len();
    }

    /// Where the next bytes belong while a blob is read: its own allocation, bounded so that a read cannot pass its
    /// end. What was read there is not to go through `input`.
    pub fn blob_mut(&mut self) -> Option<&mut Limit<BytesMut>> {
        match &mut self.state {
            State::Blob { blob, .. } if blob.has_remaining_mut() => Some(blob),
            _ => None,
        }
    }

    /// Whether what comes next begins a request.
    pub fn is_between(&self) -> bool {
        matches!(self.state, State::Idle) && !self.has_ahead()
    }

    /// Bytes of requests ahead, and those that a request holds which is not whole yet; what is in the read buffer comes
    /// on top.
    pub fn held_bytes(&self) -> usize {
        let blob = match &self.state {
            State::Blob { blob, head, .. } => blob.get_ref().len() - head,
            _ => 0,
        };
        let ahead: usize = self.ahead().flatten().map(arg_bytes).sum();
        ahead + self.args_bytes + blob
    }

    fn count(&self, input: &mut BytesMut) -> Result<Option<usize>, ProtocolError> {
        let too_long = ProtocolError::TooLong("mbulk count string");
        let Some((line, end)) = self.line(input, too_long)? else {
            return Ok(None);
        };
        let count = number::parse_int(line)
            .filter(|count| *count <= self.limits.args_max as i64)
            .ok_or(ProtocolError::Invalid("multibulk length"))?;
        let stranger_max = self.limits.unauthenticated_args_max as i64;
        if !self.authenticated && stranger_max < count {
            return Err(ProtocolError::Unauthenticated("multibulk length"));
        }
        input.advance(end);
        Ok(Some(usize::try_from(count).unwrap_or(0)))
    }

    fn bulk_len(&self, input: &mut BytesMut) -> Result<Option<usize>, ProtocolError> {
        match input.first() {
            None => return Ok(None),
            Some(b'$') => {}
            Some(other) => return Err(ProtocolError::NoBulk(*other)),
        }
        let too_long = ProtocolError::TooLong("bulk count string");
        let Some((line, end)) = self.line(input, too_long)? else {
            return Ok(None);
        };
        let len = number::parse_int(line)
            .and_then(|len| usize::try_from(len).ok())
            .filter(|len| *len <= self.limits.bulk_bytes_max)
            .ok_or(ProtocolError::Invalid("bulk length"))?;
        if !self.authenticated && self.limits.unauthenticated_bulk_bytes_max < len {
            return Err(ProtocolError::Unauthenticated("bulk length"));
        }
        input.advance(end);
        Ok(Some(len))
    }

    /// What stands between the first byte and the line's end, and where the next line begins.
    fn line<'a>(
        &self,
        input: &'a [u8],
        too_long: ProtocolError,
    ) -> Result<Option<(&'a [u8], usize)>, ProtocolError> {
        // Lengths are short, so this loop is done before a search would have begun.
        let near = input.iter().take(8).position(|byte| *byte == b'\r');
        let end = near.or_else(|| memchr(b'\r', input));
        match end {
            Some(end) if end + 1 < input.len() => Ok(Some((&input[1..end], end + 2))),
            None if self.limits.line_bytes_max < input.len() => Err(too_long),
            _ => Ok(None),
        }
    }

    fn begin_bulk(
        &mut self,
        len: usize,
        left: usize,
        input: &mut BytesMut,
    ) -> Result<(), ProtocolError> {
        self.args_bytes += len + size_of::<Bytes>();
        if self.limits.query_bytes_max < self.args_bytes {
            return Err(ProtocolError::QueryTooLarge);
        }
        self.state = if len < BLOB_BYTES_MIN {
            // So that the rest of the argument arrives beside what is there.
            input.reserve((len + 2).saturating_sub(input.len()));
            State::Bulk { len, left }
        } else {
            // Pages of it that are not filled are never touched, so an alleged length costs address space only.
            let place = (self.places.make)(format!("${len}\r\n").as_bytes(), len);
            State::Blob {
                head: place.len(),
                blob: place.limit(len + 2),
                left,
            }
        };
        Ok(())
    }

    /// Whether the line held a command; `None` when it is not whole.
    fn inline(&mut self, input: &mut BytesMut) -> Result<Option<bool>, ProtocolError> {
        let Some(end) = memchr(b'\n', input) else {
            return match self.limits.line_bytes_max < input.len() {
                true => Err(ProtocolError::TooLong("inline request")),
                false => Ok(None),
            };
        };
        let line = input.split_to(end + 1);
        let line = line[..end].strip_suffix(b"\r").unwrap_or(&line[..end]);
        let words = split_line(line).ok_or(ProtocolError::Quotes)?;
        let is_request = !words.is_empty();
        self.args.extend(words);
        Ok(Some(is_request))
    }
}

/// Bytes that an argument takes, its place in a list of arguments included: an empty one is not for nothing.
pub fn arg_bytes(arg: &Bytes) -> usize {
    arg.len() + size_of::<Bytes>()
}

/// Why a connection cannot go on: the client sent what is no request. `Display` gives Redis's own text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A length that is no number, negative, or above its limit; and of what.
    Invalid(&'static str),
    /// A length above what a client may send before it has authenticated.
    Unauthenticated(&'static str),
    /// A line that does not end within [`Limits::line_bytes_max`].
    TooLong(&'static str),
    /// Something else where an argument's `$` belongs.
    NoBulk(u8),
    /// An inline command whose quotes do not close.
    Quotes,
    /// More than [`Limits::query_bytes_max`]. Redis sends nothing, and closes.
    QueryTooLarge,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        match self {
            ProtocolError::Invalid(what) => write!(f, "invalid {what}"),
            ProtocolError::Unauthenticated(what) => write!(f, "unauthenticated {what}"),
            ProtocolError::TooLong(what) => write!(f, "too big {what}"),
            ProtocolError::NoBulk(byte) => write!(f, "expected '$', got '{}'", *byte as char),
            ProtocolError::Quotes => f.write_str("unbalanced quotes in request"),
            ProtocolError::QueryTooLarge => f.write_str("query buffer limit reached"),
        }
    }
}

impl std::error::Error for ProtocolError {}
