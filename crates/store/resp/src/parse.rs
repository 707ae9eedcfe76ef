//! Parser of requests.

use std::ops::Range;

use bytes::buf::Limit;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use memchr::memchr;

use crate::inline::split_line;
use crate::{BLOB_BYTES_MIN, Limits, number};

/// Parser that removes requests from a read buffer; a request may arrive over several reads. The
/// arguments of the current request remain in the parser until the next call of [`Parser::next`].
///
/// ```text
/// args   SET k v │ GET k │ GET k │ SET k
///        current │ parsed ahead  │ unfinished
/// ```
#[derive(Debug)]
pub struct Parser {
    limits: Limits,
    authenticated: bool,
    args: Vec<Bytes>,
    /// For each request that was parsed ahead, the index in `args` at which it ends.
    /// [`Parser::next`] has already returned the first `taken` of these requests.
    ends: Vec<usize>,
    taken: usize,
    current: Range<usize>,
    /// Error in the input after the last complete request.
    fault: Option<ProtocolError>,
    /// Bytes of the incomplete request's arguments, including their entries in `args`.
    args_bytes: usize,
    /// Number of entries in `args` that no longer refer to the read buffer.
    detached_args: usize,
    blob_allocator: BlobAllocator,
    state: State,
}

/// Functions that allocate blobs and make them immutable.
#[derive(Clone, Copy, Debug)]
pub struct BlobAllocator {
    /// Allocates space for a blob of the given length and its line end (two bytes). The buffer may
    /// start with a copy of the given slice, which is the head of a reply that sends this blob.
    pub make: fn(&[u8], usize) -> BytesMut,
    /// Returns the blob at the given range of the buffer as immutable bytes, without changing them.
    /// The buffer also holds the line end after the blob, so that an allocator can keep head, blob
    /// and line end together, as a reply that can be sent without copying.
    pub keep: fn(BytesMut, Range<usize>) -> Bytes,
}

impl Default for BlobAllocator {
    fn default() -> BlobAllocator {
        BlobAllocator {
            make: |_, bytes| BytesMut::with_capacity(bytes + 2),
            keep: |buffer, blob| buffer.freeze().slice(blob),
        }
    }
}

#[derive(Debug)]
enum State {
    /// The next byte starts a request.
    Idle,
    /// Inside a request; `left` arguments have not started.
    Args { left: usize },
    /// The length of an argument is known; `left` arguments follow it.
    Bulk { len: usize, left: usize },
    /// The bytes of a blob and its line end are being read; `left` arguments follow the blob.
    Blob {
        blob: Limit<BytesMut>,
        /// Number of bytes that precede the blob in its buffer.
        head: usize,
        left: usize,
    },
}

impl Parser {
    /// Returns a parser at the start of a connection whose client need not authenticate.
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
            detached_args: 0,
            blob_allocator: BlobAllocator::default(),
            state: State::Idle,
        }
    }

    /// Sets whether the client has authenticated. Stricter limits apply to a client that has not.
    pub fn set_authenticated(&mut self, authenticated: bool) {
        self.authenticated = authenticated;
    }

    /// Sets the functions that allocate blobs and make them immutable.
    #[must_use]
    pub fn with_blob_allocator(self, blob_allocator: BlobAllocator) -> Parser {
        Parser {
            blob_allocator,
            ..self
        }
    }

    /// Sets the limits. They apply from the next length that is parsed.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Advances to the next request. If no request was parsed ahead, parses one from `input`.
    /// Returns `false` if more bytes are needed. The caller then reads into [`Parser::blob_mut`] if
    /// that returns a buffer, and into `input` otherwise. Empty requests are skipped, as in Redis.
    ///
    /// # Errors
    /// If the input violates the protocol. The caller sends the error's text and closes the
    /// connection.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<bool, ProtocolError> {
        if !self.has_ahead() {
            self.parse_ahead(input, 1);
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

    /// Parses up to `requests_max` requests ahead, so that their keys can be prefetched together.
    /// Drops the current request. If the input violates the protocol, [`Parser::next`] first
    /// returns the requests before the violation, then the error.
    ///
    /// # Panics
    /// If [`Parser::next`] has not yet returned all requests that were parsed ahead before.
    pub fn parse_ahead(&mut self, input: &mut BytesMut, requests_max: usize) {
        assert!(!self.has_ahead(), "requests ahead must be taken first");
        self.drop_current();
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

    /// Returns whether the next request was already parsed.
    pub fn has_ahead(&self) -> bool {
        self.taken < self.ends.len()
    }

    /// Returns the requests that were parsed ahead and that [`Parser::next`] has not returned yet.
    pub fn ahead(&self) -> impl Iterator<Item = &[Bytes]> {
        let begins =
            std::iter::once(self.current.end).chain(self.ends[self.taken..].iter().copied());
        let ends = self.ends[self.taken..].iter();
        begins.zip(ends).map(|(begin, end)| &self.args[begin..*end])
    }

    /// Drops the arguments of the current request and of all earlier requests.
    fn drop_current(&mut self) {
        let done = self.current.end;
        self.current = 0..0;
        if done == self.args.len() {
            self.args.clear();
        } else {
            self.args.drain(..done);
        }
        self.detached_args = self.detached_args.saturating_sub(done);
        for end in &mut self.ends[self.taken..] {
            *end -= done;
        }
    }

    /// Parses `input` until a request is complete. Returns `false` if more bytes are needed.
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
                    self.start_bulk(len, left, input)?;
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
                    let mut buffer = std::mem::take(blob.get_mut());
                    // The client may have sent any two bytes in place of the line end after the
                    // blob. A reply may be sent from this buffer, so the buffer gets a line end.
                    let end = buffer.len() - 2;
                    buffer[end..].copy_from_slice(b"\r\n");
                    self.args
                        .push((self.blob_allocator.keep)(buffer, *head..end));
                    self.state = State::Args { left: *left };
                }
            }
        }
    }

    /// Returns the arguments of the current request, to which [`Parser::next`] advanced; the first
    /// is the command's name.
    pub fn args(&self) -> &[Bytes] {
        &self.args[self.current.clone()]
    }

    /// Moves the arguments of the current request out of the parser.
    pub fn take_args(&mut self) -> Vec<Bytes> {
        let current = self.current.clone();
        self.args[current].iter_mut().map(std::mem::take).collect()
    }

    /// Releases the read buffer before the next read, so that no argument refers to it. Drops the
    /// arguments of the current request. Copies the arguments of all later requests, except blobs,
    /// which have their own allocations.
    pub fn release(&mut self) {
        self.drop_current();
        self.ends.drain(..self.taken);
        self.taken = 0;
        for arg in &mut self.args[self.detached_args..] {
            if arg.len() < BLOB_BYTES_MIN {
                *arg = Bytes::copy_from_slice(arg);
            }
        }
        self.detached_args = self.args.len();
    }

    /// Returns the buffer for the next bytes while a blob is being read. The buffer is limited, so
    /// that a read cannot go beyond the blob's end. Bytes read into this buffer must not be put
    /// into `input`.
    pub fn blob_mut(&mut self) -> Option<&mut Limit<BytesMut>> {
        match &mut self.state {
            State::Blob { blob, .. } if blob.has_remaining_mut() => Some(blob),
            _ => None,
        }
    }

    /// Returns whether the next byte starts a request and [`Parser::next`] has returned all
    /// requests that were parsed ahead.
    pub fn is_between_requests(&self) -> bool {
        matches!(self.state, State::Idle) && !self.has_ahead()
    }

    /// Returns the number of bytes that requests parsed ahead and the incomplete request use
    /// outside the read buffer.
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
        let unauthenticated_max = self.limits.unauthenticated_args_max as i64;
        if !self.authenticated && unauthenticated_max < count {
            return Err(ProtocolError::Unauthenticated("multibulk length"));
        }
        input.advance(end);
        Ok(Some(usize::try_from(count).unwrap_or(0)))
    }

    fn bulk_len(&self, input: &mut BytesMut) -> Result<Option<usize>, ProtocolError> {
        match input.first() {
            None => return Ok(None),
            Some(b'$') => {}
            Some(other) => return Err(ProtocolError::MissingDollar(*other)),
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

    /// Returns the first line of `input`, and the offset of the next line. The returned line lacks
    /// its first byte, which is its type, and its line end. Returns `None` if the line is
    /// incomplete.
    fn line<'a>(
        &self,
        input: &'a [u8],
        too_long: ProtocolError,
    ) -> Result<Option<(&'a [u8], usize)>, ProtocolError> {
        // Lines that state a length are short, so a loop over the first bytes is faster than a call
        // of `memchr`.
        let near = input.iter().take(8).position(|byte| *byte == b'\r');
        let end = near.or_else(|| memchr(b'\r', input));
        match end {
            Some(end) if end + 1 < input.len() => Ok(Some((&input[1..end], end + 2))),
            None if self.limits.line_bytes_max < input.len() => Err(too_long),
            _ => Ok(None),
        }
    }

    fn start_bulk(
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
            // Reserve space for the rest of the argument, so that the argument is contiguous in
            // memory.
            input.reserve((len + 2).saturating_sub(input.len()));
            State::Bulk { len, left }
        } else {
            // The kernel allocates memory only for pages that are written to, so a length far above
            // the bytes that arrive costs only address space.
            let buffer = (self.blob_allocator.make)(format!("${len}\r\n").as_bytes(), len);
            State::Blob {
                head: buffer.len(),
                blob: buffer.limit(len + 2),
                left,
            }
        };
        Ok(())
    }

    /// Parses an inline command. Returns whether the line contained a command; `None` if the line
    /// is incomplete.
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

/// Returns the number of bytes that an argument uses, including its entry in a list: even an empty
/// argument uses some bytes.
pub fn arg_bytes(arg: &Bytes) -> usize {
    arg.len() + size_of::<Bytes>()
}

/// Violation of the protocol by the client. The caller must close the connection. `Display` writes
/// the error text of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// An invalid length or count: text that is not a number, a value above its limit, or a
    /// negative length of an argument. The text names the value, such as `bulk length`.
    #[error("Protocol error: invalid {0}")]
    Invalid(&'static str),
    /// A length of an argument, or a number of arguments, above the limit for clients that have not
    /// authenticated. The text names the value.
    #[error("Protocol error: unauthenticated {0}")]
    Unauthenticated(&'static str),
    /// A line that does not end within [`Limits::line_bytes_max`] bytes. The text names the kind of
    /// line.
    #[error("Protocol error: too big {0}")]
    TooLong(&'static str),
    /// A byte other than `$` at the start of an argument.
    #[error("Protocol error: expected '$', got '{}'", char::from(*.0))]
    MissingDollar(u8),
    /// An inline command with an unclosed quote.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
    /// A request larger than [`Limits::query_bytes_max`]. Redis closes the connection without a
    /// reply.
    #[error("Protocol error: query buffer limit reached")]
    QueryTooLarge,
}
