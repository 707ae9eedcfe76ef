//! State of one connection: received frames are validated, and data to send is framed.

mod receive;
mod send;

use crate::error::Fault;
use crate::frame::{self, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, FrameHead, Kind, PREFACE};
use crate::hpack::{Decoder, Encoder};
use crate::settings::{self, WINDOW_BYTES};
use crate::streams::Streams;
use crate::{ErrorCode, Head, Limits};

/// Payload of the PING that follows the first GOAWAY. Its echo proves that the client has received
/// the GOAWAY.
const SHUTDOWN_PING: [u8; 8] = *b"leaving.";
/// Highest possible stream number.
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
    /// Partially received head, if any; more of its frames must follow.
    partial_head: Option<PartialHead>,
    /// Bytes that the client allows us to send over all streams.
    window: i64,
    /// Initial window of each stream in bytes, as the client's settings request it.
    initial_window: u32,
    /// Bytes that we allow the client to send over all streams.
    allowed: u32,
    /// Bytes that were consumed, but not yet returned to the client's window by a WINDOW_UPDATE.
    unreturned_bytes: u32,
    leave: Shutdown,
    /// Number of the last stream that was processed.
    last_processed: u32,
}

/// Next input that the client must send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Preface,
    /// The first frame, which must be SETTINGS: RFC 9113 §3.4.
    Settings,
    Frames,
}

/// Partially received head.
#[derive(Debug)]
struct PartialHead {
    stream: u32,
    ends: bool,
    /// True if the stream's priority depends on the stream itself. The error is reported once the
    /// head is complete.
    depends_on_itself: bool,
    block: Vec<u8>,
    frames: u32,
}

/// Phase of a graceful shutdown: RFC 9113 §6.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shutdown {
    No,
    /// The first GOAWAY was sent, and the client may not have received it yet.
    Announced,
    /// The final GOAWAY was sent: later streams are ignored.
    Last,
}

/// Result of one [`Connection::receive`].
#[derive(Debug)]
pub struct Received<'i> {
    /// Bytes of the input that were consumed.
    pub bytes: usize,
    /// Event that the caller must handle, if any.
    pub event: Option<Event<'i>>,
}

/// Event that the caller must handle: a request, a part of a body, or the end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'i> {
    /// Request. [`Connection::head`] returns its head until the next frame is received.
    Request {
        /// The new stream.
        stream: u32,
        /// True if there is no body.
        ends: bool,
    },
    /// Part of a body. After consuming it, call [`Connection::release`] to let the client send
    /// more.
    Data {
        /// The stream of the body.
        stream: u32,
        /// The bytes, which may be empty.
        bytes: &'i [u8],
        /// True if this is the last part of the body.
        ends: bool,
    },
    /// End of a stream whose response is not complete: the client reset the stream, or we reset it
    /// for an error of the client. Possibly no request was reported on the stream.
    Reset {
        /// The stream that ended.
        stream: u32,
    },
}

impl Connection {
    /// Creates a connection that has received nothing, not even the preface.
    #[must_use]
    pub fn new(limits: Limits) -> Connection {
        Connection {
            limits,
            streams: Streams::default(),
            decoder: Decoder::default(),
            encoder: Encoder::default(),
            head: Head::default(),
            expected: Expected::Preface,
            partial_head: None,
            window: i64::from(WINDOW_BYTES),
            initial_window: WINDOW_BYTES,
            allowed: WINDOW_BYTES,
            unreturned_bytes: 0,
            leave: Shutdown::No,
            last_processed: 0,
        }
    }

    /// Appends the server's first frame, its settings.
    pub fn begin(&self, out: &mut Vec<u8>) {
        settings::write(out, &self.limits);
    }

    /// Returns the head of the last [`Event::Request`].
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns whether a head is partially received.
    #[must_use]
    pub fn is_in_head(&self) -> bool {
        self.partial_head.is_some()
    }

    /// Returns the number of open streams.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Returns whether `stream` is open.
    #[must_use]
    pub fn is_open(&self, stream: u32) -> bool {
        self.streams.get(stream).is_some()
    }

    /// Returns whether the connection is finished: the final GOAWAY was sent, and no stream is
    /// open.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.leave == Shutdown::Last && self.streams.len() == 0
    }

    /// Consumes the preface or one frame at the start of `input`. Returns `None` and consumes
    /// nothing if the preface or the frame is incomplete. Replies are appended to `out`.
    ///
    /// # Errors
    /// A [`Fault`] of the client. Report it with [`Connection::fail`], and close the connection.
    pub fn receive<'i>(
        &mut self,
        input: &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Received<'i>>, Fault> {
        if self.expected == Expected::Preface {
            let compared = input.len().min(PREFACE.len());
            if input[..compared] != PREFACE[..compared] {
                return Err(Fault::protocol(
                    "the connection does not begin with the preface of HTTP/2",
                ));
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
            return Err(Fault::size("the client sent a frame larger than 16 KiB"));
        }
        let bytes = FRAME_HEAD_BYTES + head.length;
        let Some(payload) = input.get(FRAME_HEAD_BYTES..bytes) else {
            return Ok(None);
        };
        let event = self.frame(&head, payload, out)?;
        Ok(Some(Received { bytes, event }))
    }

    /// Starts a graceful shutdown (RFC 9113 §6.8): sends the first of two GOAWAYs, and a PING. The
    /// reply to the PING shows that the client has received the first GOAWAY. Then the final GOAWAY
    /// is sent. Streams that the client opens before that are still processed.
    pub fn leave(&mut self, out: &mut Vec<u8>) {
        if self.leave == Shutdown::No {
            self.leave = Shutdown::Announced;
            frame::write_goaway(out, STREAM_MAX, ErrorCode::No, "");
            frame::write_head(out, SHUTDOWN_PING.len(), Kind::Ping, 0, 0);
            out.extend_from_slice(&SHUTDOWN_PING);
        }
    }

    /// Sends the final GOAWAY: later streams are ignored.
    pub fn leave_now(&mut self, out: &mut Vec<u8>) {
        if self.leave != Shutdown::Last {
            self.leave = Shutdown::Last;
            frame::write_goaway(out, self.last_processed, ErrorCode::No, "");
        }
    }

    /// Reports an error to the client with the final GOAWAY. No frame may follow it.
    pub fn fail(&mut self, fault: Fault, out: &mut Vec<u8>) {
        self.leave = Shutdown::Last;
        frame::write_goaway(out, self.last_processed, fault.code, fault.reason);
    }
}
