//! Framing a request's body, so that the next request begins where it really begins.

use crate::class::is_token;
use crate::{Framing, Limits, Reject};

/// Frames a body, in whatever pieces it arrives, and throws it away or gives its content on. RFC 9112 §6.2, §7.1.
#[derive(Clone, Debug)]
pub struct Drain {
    state: State,
    /// Bytes on the wire that may still come.
    allowed_bytes: u64,
    /// Bytes of the present chunk line that may still come.
    line_bytes: u32,
    /// Bytes of the trailer section that may still come.
    trailer_bytes: u32,
    chunk_line_bytes_max: u32,
}

/// How far a piece went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Bytes of the piece that belong to the body.
    pub bytes: usize,
    /// The body has ended; what follows is the next request.
    pub is_done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Bytes of a body with a known length that are still to come.
    Length(u64),
    /// In a chunk's size; whether it has a digit yet.
    Size {
        size: u64,
        has_digits: bool,
    },
    /// In a chunk's extensions.
    Extension {
        size: u64,
        at: Extension,
    },
    /// After the CR of a chunk line.
    SizeLf {
        size: u64,
    },
    /// Bytes of the chunk's data that are still to come.
    Data(u64),
    DataCr,
    DataLf,
    /// At the begin of a trailer line.
    Trailer,
    TrailerName,
    TrailerValue,
    TrailerLf,
    /// After the CR of the empty line.
    EndLf,
    Done,
    Failed(Reject),
}

/// Place in `*( BWS ";" BWS name [ BWS "=" BWS value ] )`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extension {
    /// White space was seen where only `;` may follow.
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

impl Drain {
    /// Begins a body.
    ///
    /// # Errors
    /// 413 when its length is known to be too large.
    pub fn new(framing: Framing, limits: &Limits) -> Result<Drain, Reject> {
        let state = match framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) if limits.body_bytes_max < length => return Err(TOO_LARGE),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::SIZE,
        };
        Ok(Drain {
            state,
            allowed_bytes: limits.body_bytes_max,
            line_bytes: limits.chunk_line_bytes_max,
            trailer_bytes: limits.trailer_bytes_max,
            chunk_line_bytes_max: limits.chunk_line_bytes_max,
        })
    }

    /// Whether the body has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes the next piece of the connection's bytes, which may reach beyond the body.
    ///
    /// # Errors
    /// [`Reject`] when the framing is malformed or a limit is passed; so does every later call.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Drained, Reject> {
        self.feed_to(piece, |_| {})
    }

    /// As [`Drain::feed`], and gives what of the piece is content to `keep`, in order.
    ///
    /// # Errors
    /// As [`Drain::feed`].
    pub fn feed_to(
        &mut self,
        piece: &[u8],
        mut keep: impl FnMut(&[u8]),
    ) -> Result<Drained, Reject> {
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
        Ok(Drained {
            bytes: piece.len() - rest.len(),
            is_done: self.is_done(),
        })
    }

    /// How many of `available` bytes are content, of which `left` are due. They were allowed when their size was read.
    fn take(&mut self, left: u64, available: usize) -> usize {
        let taken = left.min(available as u64);
        self.allowed_bytes -= taken;
        taken as usize
    }

    /// One byte of a chunk's framing or of the trailers.
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
            State::SizeLf { size } => self.begin_chunk(size, byte),
            State::DataCr if byte == b'\r' => Ok(State::DataLf),
            State::DataCr => Err(Reject::bad("a chunk is longer than its size")),
            State::DataLf if byte == b'\n' => {
                self.line_bytes = self.chunk_line_bytes_max;
                Ok(State::SIZE)
            }
            State::DataLf => Err(Reject::bad("a chunk is longer than its size")),
            _ => step_trailer(state, byte),
        }
    }

    fn begin_chunk(&mut self, size: u64, byte: u8) -> Result<State, Reject> {
        if byte != b'\n' {
            return Err(CHUNK_LINE);
        }
        if self.allowed_bytes < size {
            return Err(TOO_LARGE);
        }
        Ok(match size {
            // RFC 9112 §7.1: the last chunk has no data and no line after it but the trailers.
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

/// RFC 9112 §7.1: hex digits and nothing else; the arithmetic must not wrap.
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

/// RFC 9112 §7.1.1. Extensions mean nothing here; they are read only to find their end.
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
        // White space may stand around `;` and `=`, but not at the line's end.
        (BeforeName | BeforeValue | BeforeSemicolon | AfterName, _) if is_blank => at,
        (Name, _) if is_blank => AfterName,
        (Value | AfterValue, _) if is_blank => BeforeSemicolon,
        _ => return Err(CHUNK_LINE),
    };
    Ok(State::Extension { size, at })
}

/// RFC 9112 §7.1.2. Trailers are held to the grammar of fields and then forgotten.
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
