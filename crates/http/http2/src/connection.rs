//! The state of one connection: what comes is judged, what leaves is framed.

mod receive;
mod send;

use crate::error::Fault;
use crate::frame::{self, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, FrameHead, Kind, PREFACE};
use crate::hpack::{Decoder, Encoder};
use crate::settings::{self, WINDOW_BYTES};
use crate::streams::Streams;
use crate::{ErrorCode, Head, Limits};

/// What a PING carries whose echo says that the client knows of our leave.
const LEAVING: [u8; 8] = *b"leaving.";
/// The highest number a stream can have.
const STREAM_MAX: u32 = 0x7fff_ffff;

/// One connection with a client.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    streams: Streams,
    decoder: Decoder,
    encoder: Encoder,
    head: Head,
    expected: Expected,
    /// A head whose frames have not all come.
    begun: Option<Begun>,
    /// What the client allows us over all streams.
    window: i64,
    /// What it allows each stream at its begin.
    stream_window: u32,
    /// What we allow the client over all streams.
    allowed: u32,
    /// What it was allowed once and has been read since.
    to_allow: u32,
    leave: Leave,
    /// The last stream that was looked at.
    last_taken: u32,
}

/// What has to come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Preface,
    /// RFC 9113 §3.4: the first frame.
    Settings,
    Frames,
}

/// A head in the making.
#[derive(Debug)]
struct Begun {
    stream: u32,
    ends: bool,
    /// It is to depend on itself, which is only told once it is whole.
    depends_on_itself: bool,
    block: Vec<u8>,
    frames: u32,
}

/// How far we are in leaving: RFC 9113 §6.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    No,
    /// The client was told, and may not know yet.
    Told,
    /// Streams beyond the last are not looked at.
    Last,
}

/// One step of [`Connection::receive`].
#[derive(Debug)]
pub struct Received<'i> {
    /// Bytes of the input that it took.
    pub bytes: usize,
    /// What the caller has to know of.
    pub event: Option<Event<'i>>,
}

/// What a frame means for whoever answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'i> {
    /// A request, whose head is [`Connection::head`] until the next frame.
    Request {
        /// The stream it opened.
        stream: u32,
        /// There is no body.
        ends: bool,
    },
    /// A part of a body. Once it is read, [`Connection::release`] lets more come.
    Data {
        /// Whose.
        stream: u32,
        /// The part, which may be empty.
        bytes: &'i [u8],
        /// It was the last one.
        ends: bool,
    },
    /// A stream is over without an answer: the client gave it up, or made a mistake of which it was told. It need not
    /// have opened as a request.
    Reset {
        /// Which.
        stream: u32,
    },
}

impl Connection {
    /// A connection of which nothing has come, not even the preface.
    #[must_use]
    pub fn new(limits: Limits) -> Connection {
        Connection {
            limits,
            streams: Streams::default(),
            decoder: Decoder::default(),
            encoder: Encoder::default(),
            head: Head::default(),
            expected: Expected::Preface,
            begun: None,
            window: i64::from(WINDOW_BYTES),
            stream_window: WINDOW_BYTES,
            allowed: WINDOW_BYTES,
            to_allow: 0,
            leave: Leave::No,
            last_taken: 0,
        }
    }

    /// Appends what a server says first.
    pub fn begin(&self, out: &mut Vec<u8>) {
        settings::write(out, &self.limits);
    }

    /// The head that the last event told of.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Whether a head has begun, of which more frames are to come.
    #[must_use]
    pub fn is_in_head(&self) -> bool {
        self.begun.is_some()
    }

    /// Streams that are open.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether a stream is open.
    #[must_use]
    pub fn is_open(&self, stream: u32) -> bool {
        self.streams.get(stream).is_some()
    }

    /// Whether nothing more will be asked or answered: it was left, and no stream is open.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.leave == Leave::Last && self.streams.len() == 0
    }

    /// Takes what `input` begins with: the preface, or one frame. `None` while that is not whole; then nothing was
    /// taken. Answers to it are appended to `out`.
    ///
    /// # Errors
    /// The client's mistake. Tell it with [`Connection::fail`], and close.
    pub fn receive<'i>(
        &mut self,
        input: &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Received<'i>>, Fault> {
        if self.expected == Expected::Preface {
            let compared = input.len().min(PREFACE.len());
            if input[..compared] != PREFACE[..compared] {
                return Err(Fault::protocol("no preface"));
            }
            if compared < PREFACE.len() {
                return Ok(None);
            }
            self.expected = Expected::Settings;
            let event = None;
            let bytes = PREFACE.len();
            return Ok(Some(Received { bytes, event }));
        }
        let Some(head) = FrameHead::read(input) else {
            return Ok(None);
        };
        if FRAME_BYTES_MAX < head.length {
            return Err(Fault::size("a frame larger than 16 KiB"));
        }
        let bytes = FRAME_HEAD_BYTES + head.length;
        let Some(payload) = input.get(FRAME_HEAD_BYTES..bytes) else {
            return Ok(None);
        };
        let event = self.frame(&head, payload, out)?;
        Ok(Some(Received { bytes, event }))
    }

    /// Says that no more streams are wanted: twice, so that none is lost that is on its way (RFC 9113 §6.8).
    pub fn leave(&mut self, out: &mut Vec<u8>) {
        if self.leave == Leave::No {
            self.leave = Leave::Told;
            frame::write_goaway(out, STREAM_MAX, ErrorCode::No, "");
            frame::write_head(out, LEAVING.len(), Kind::Ping, 0, 0);
            out.extend_from_slice(&LEAVING);
        }
    }

    /// Says that no more streams are looked at.
    pub fn leave_now(&mut self, out: &mut Vec<u8>) {
        if self.leave != Leave::Last {
            self.leave = Leave::Last;
            frame::write_goaway(out, self.last_taken, ErrorCode::No, "");
        }
    }

    /// Tells the client its mistake. There is nothing more to be said after it.
    pub fn fail(&mut self, fault: Fault, out: &mut Vec<u8>) {
        self.leave = Leave::Last;
        frame::write_goaway(out, self.last_taken, fault.code, fault.reason);
    }
}
