//! Decoder of the framing of a request's body. It finds the end of the body, where the next request
//! starts.

use crate::class::is_token;
use crate::{Framing, Limits, Reject};

/// Incremental decoder of a body's framing, RFC 9112 §6.2 and §7.1. It accepts pieces of any size,
/// and drops the content or passes it on.
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    state: State,
    /// Number of further bytes on the wire that [`Limits::body_bytes_max`] allows the body.
    allowed_bytes: u64,
    /// Number of further bytes that `chunk_line_bytes_max` allows the current chunk line.
    line_bytes: u32,
    /// Number of further bytes that [`Limits::trailer_bytes_max`] allows the trailer section.
    trailer_bytes: u32,
    chunk_line_bytes_max: u32,
}

/// Result of feeding one piece of a connection's bytes to a [`BodyDecoder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes of the piece that belong to the body.
    pub bytes: usize,
    /// True if the body has ended. The remaining bytes of the piece then belong to the next
    /// request.
    pub is_done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Body of a known length, with the number of bytes still due.
    Length(u64),
    /// Part of the chunk size that was read so far. `has_digits` is true if at least one digit was
    /// read.
    Size {
        size: u64,
        has_digits: bool,
    },
    /// Position `at` within the extensions of a chunk of `size` bytes.
    Extension {
        size: u64,
        at: Extension,
    },
    /// After the CR of a chunk line.
    SizeLf {
        size: u64,
    },
    /// Chunk data, with the number of bytes still due.
    Data(u64),
    DataCr,
    DataLf,
    /// Start of a trailer line.
    Trailer,
    TrailerName,
    TrailerValue,
    TrailerLf,
    /// After the CR of the empty line.
    EndLf,
    Done,
    Failed(Reject),
}

/// Position in `*( BWS ";" BWS name [ BWS "=" BWS value ] )`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extension {
    /// White space. Only a `;` may follow.
    BeforeSemicolon,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Value,
    Quoted,
    QuotedPair,
    AfterValue,
}

const TOO_LARGE: Reject = Reject::with(413, "the body is too large");
const CHUNK_LINE: Reject = Reject::bad("a chunk line is malformed");
const TRAILER: Reject = Reject::bad("a trailer line is malformed");

impl BodyDecoder {
    /// Creates the decoder of a body with this framing.
    ///
    /// # Errors
    /// 413 if the length is known to exceed the limit.
    pub fn new(framing: Framing, limits: &Limits) -> Result<BodyDecoder, Reject> {
        let state = match framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) if limits.body_bytes_max < length => return Err(TOO_LARGE),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::SIZE,
        };
        Ok(BodyDecoder {
            state,
            allowed_bytes: limits.body_bytes_max,
            line_bytes: limits.chunk_line_bytes_max,
            trailer_bytes: limits.trailer_bytes_max,
            chunk_line_bytes_max: limits.chunk_line_bytes_max,
        })
    }

    /// Returns whether the body has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Consumes the next piece of the connection's bytes, which may extend beyond the body.
    ///
    /// # Errors
    /// [`Reject`] if the framing is malformed or a limit is exceeded; every later call fails too.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Decoded, Reject> {
        self.feed_to(piece, |_| {})
    }

    /// Feeds a piece as [`BodyDecoder::feed`] does, and passes the content that the piece contains
    /// to `keep`, in order.
    ///
    /// # Errors
    /// As [`BodyDecoder::feed`].
    pub fn feed_to(
        &mut self,
        piece: &[u8],
        mut keep: impl FnMut(&[u8]),
    ) -> Result<Decoded, Reject> {
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            match self.state {
                State::Done | State::Failed(_) => break,
                State::Length(left) => {
                    let taken = self.take(left, rest.len());
                    keep(&rest[..taken]);
                    rest = &rest[taken..];
                    self.state = match left - taken as u64 {
                        0 => State::Done,
                        left => State::Length(left),
                    };
                }
                State::Data(left) => {
                    let taken = self.take(left, rest.len());
                    keep(&rest[..taken]);
                    rest = &rest[taken..];
                    self.state = match left - taken as u64 {
                        0 => State::DataCr,
                        left => State::Data(left),
                    };
                }
                state => {
                    self.state = self.step(state, byte).unwrap_or_else(State::Failed);
                    rest = after;
                }
            }
        }
        if let State::Failed(reject) = self.state {
            return Err(reject);
        }
        Ok(Decoded {
            bytes: piece.len() - rest.len(),
            is_done: self.is_done(),
        })
    }

    /// Returns how many of the `available` bytes are content, at most `left`, and subtracts them
    /// from `allowed_bytes`. The subtraction cannot overflow, because the limit of the body was
    /// checked when the length or the chunk size was parsed.
    fn take(&mut self, left: u64, available: usize) -> usize {
        let taken = left.min(available as u64);
        self.allowed_bytes -= taken;
        taken as usize
    }

    /// Consumes one byte of a chunk's framing or of the trailers.
    fn step(&mut self, state: State, byte: u8) -> Result<State, Reject> {
        self.allowed_bytes = self.allowed_bytes.checked_sub(1).ok_or(TOO_LARGE)?;
        match state {
            State::Size { .. } | State::Extension { .. } => {
                self.line_bytes = self
                    .line_bytes
                    .checked_sub(1)
                    .ok_or(Reject::bad("a chunk line is too long"))?;
            }
            State::Trailer | State::TrailerName | State::TrailerValue => {
                self.trailer_bytes = self
                    .trailer_bytes
                    .checked_sub(1)
                    .ok_or(Reject::with(431, "the trailers are too large"))?;
            }
            _ => {}
        }
        match state {
            State::Size { size, has_digits } => step_size(size, has_digits, byte),
            State::Extension { size, at } => step_extension(size, at, byte),
            State::SizeLf { size } => self.start_chunk(size, byte),
            State::DataCr if byte == b'\r' => Ok(State::DataLf),
            State::DataCr => Err(Reject::bad("a chunk is longer than its stated size")),
            State::DataLf if byte == b'\n' => {
                self.line_bytes = self.chunk_line_bytes_max;
                Ok(State::SIZE)
            }
            State::DataLf => Err(Reject::bad("a chunk is longer than its stated size")),
            _ => step_trailer(state, byte),
        }
    }

    fn start_chunk(&mut self, size: u64, byte: u8) -> Result<State, Reject> {
        if byte != b'\n' {
            return Err(CHUNK_LINE);
        }
        if self.allowed_bytes < size {
            return Err(TOO_LARGE);
        }
        Ok(match size {
            // RFC 9112 §7.1: the last chunk has no data, and only the trailers follow it.
            0 => State::Trailer,
            size => State::Data(size),
        })
    }
}

impl State {
    const SIZE: State = State::Size {
        size: 0,
        has_digits: false,
    };
}

/// Consumes one byte of a chunk size. RFC 9112 §7.1: only hex digits; the arithmetic must not
/// overflow.
fn step_size(size: u64, has_digits: bool, byte: u8) -> Result<State, Reject> {
    if let Some(digit) = char::from(byte).to_digit(16) {
        let size = size.checked_mul(16).ok_or(TOO_LARGE)? | u64::from(digit);
        return Ok(State::Size {
            size,
            has_digits: true,
        });
    }
    if !has_digits {
        return Err(CHUNK_LINE);
    }
    step_extension(size, Extension::AfterValue, byte)
}

/// Consumes one byte of a chunk extension, RFC 9112 §7.1.1. The content of extensions is ignored:
/// they are parsed only to find their end.
fn step_extension(size: u64, at: Extension, byte: u8) -> Result<State, Reject> {
    use Extension::*;
    let is_blank = matches!(byte, b' ' | b'\t');
    let at = match (at, byte) {
        (Name | Value | AfterValue, b'\r') => return Ok(State::SizeLf { size }),
        (Name | AfterName | Value | AfterValue | BeforeSemicolon, b';') => BeforeName,
        (Name | AfterName, b'=') => BeforeValue,
        (BeforeName | Name, _) if is_token(byte) => Name,
        (BeforeValue | Value, _) if is_token(byte) => Value,
        (BeforeValue, b'"') => Quoted,
        (Quoted, b'"') => AfterValue,
        (Quoted, b'\\') => QuotedPair,
        (Quoted | QuotedPair, b'\t' | b' '..=0x7e | 0x80..) => Quoted,
        // White space is allowed around `;` and `=`, but not at the end of the line.
        (BeforeName | BeforeValue | BeforeSemicolon | AfterName, _) if is_blank => at,
        (Name, _) if is_blank => AfterName,
        (Value | AfterValue, _) if is_blank => BeforeSemicolon,
        _ => return Err(CHUNK_LINE),
    };
    Ok(State::Extension { size, at })
}

/// Consumes one byte of the trailers, RFC 9112 §7.1.2. Trailers must match the grammar of fields,
/// and are then dropped.
fn step_trailer(state: State, byte: u8) -> Result<State, Reject> {
    match (state, byte) {
        (State::Trailer, b'\r') => Ok(State::EndLf),
        (State::Trailer, _) if is_token(byte) => Ok(State::TrailerName),
        (State::TrailerName, b':') => Ok(State::TrailerValue),
        (State::TrailerName, _) if is_token(byte) => Ok(State::TrailerName),
        (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
        (State::TrailerValue, b'\t' | b' '..=0x7e | 0x80..) => Ok(State::TrailerValue),
        (State::TrailerLf, b'\n') => Ok(State::Trailer),
        (State::EndLf, b'\n') => Ok(State::Done),
        _ => Err(TRAILER),
    }
}
