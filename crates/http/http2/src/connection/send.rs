//! Composition of the frames that the server sends.

use super::Connection;
use crate::ErrorCode;
use crate::frame::{self, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, Kind, flag};
use crate::hpack::Encoder;
use crate::settings::WINDOW_BYTES;
use crate::streams::End;

impl Connection {
    /// Appends the head of a response. `write` appends the fields to the given HPACK block,
    /// `:status` first. `ends` is true if the response has no body.
    ///
    /// # Panics
    /// The stream is not open: a bug of the caller, to whom the end of the stream was reported.
    pub fn send_head(
        &mut self,
        stream: u32,
        ends: bool,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>, &mut Encoder),
    ) {
        assert!(self.is_open(stream), "stream {stream} is not open");
        let begin = out.len();
        out.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
        self.encoder.begin(out);
        write(out, &mut self.encoder);
        let ending = if ends { flag::END_STREAM } else { 0 };
        frame_head(out, begin, stream, ending);
        if ends {
            self.sent(stream, out);
        }
    }

    /// Returns how many bytes of the stream's body may be sent now in one frame.
    #[must_use]
    pub fn room(&self, stream: u32) -> usize {
        let Some(stream) = self.streams.get(stream) else {
            return 0;
        };
        let window = stream.window.min(self.window);
        window.clamp(0, FRAME_BYTES_MAX as i64) as usize
    }

    /// Appends the head of a DATA frame. The caller must then append the payload: the next `bytes`
    /// bytes of the body. `ends` is true if the payload is the end of the body.
    ///
    /// # Panics
    /// `bytes` exceeds [`Connection::room`]: a bug of the caller. The room of a stream that is not
    /// open is 0.
    pub fn send_data(&mut self, stream: u32, bytes: usize, ends: bool, out: &mut Vec<u8>) {
        assert!(
            bytes <= self.room(stream),
            "more bytes than the client's windows allow"
        );
        let ending = if ends { flag::END_STREAM } else { 0 };
        frame::write_head(out, bytes, Kind::Data, ending, stream);
        self.window -= bytes as i64;
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.window -= bytes as i64;
        }
    }

    /// Notes that a stream's response is complete. Call after all of its frames were appended.
    pub fn sent(&mut self, stream: u32, out: &mut Vec<u8>) {
        let Some(it) = self.streams.get(stream) else {
            return;
        };
        if it.is_request_complete {
            self.streams.end(stream, End::Both);
        } else {
            // RFC 9113 §8.1: the response is complete before the request, so the client should stop
            // sending.
            self.reset(stream, ErrorCode::No, out);
        }
    }

    /// Resets a stream, if it is open.
    pub fn reset(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
        if self.is_open(stream) {
            frame::write_reset(out, stream, code);
            self.streams.end(stream, End::ByServer);
        }
    }

    /// Notes that `bytes` of a stream's body were consumed, and enlarges the client's windows by
    /// this number.
    pub fn release(&mut self, stream: u32, bytes: usize, out: &mut Vec<u8>) {
        self.allow(bytes as u32, out);
        let Some(it) = self.streams.get_mut(stream) else {
            return;
        };
        it.unreturned_bytes += bytes as u32;
        if !it.is_request_complete && WINDOW_BYTES / 2 <= it.unreturned_bytes {
            let bytes = std::mem::take(&mut it.unreturned_bytes);
            it.allowed += bytes;
            frame::write_window(out, stream, bytes);
        }
    }

    /// Notes that `bytes` of an unwanted body were dropped. Enlarges the window of the connection,
    /// not that of the stream.
    pub fn skip(&mut self, bytes: usize, out: &mut Vec<u8>) {
        self.allow(bytes as u32, out);
    }

    /// Adds `bytes` to the window of the connection. Sends an update to the client only once the
    /// additions amount to half of the window.
    pub(super) fn allow(&mut self, bytes: u32, out: &mut Vec<u8>) {
        self.unreturned_bytes += bytes;
        if WINDOW_BYTES / 2 <= self.unreturned_bytes {
            let bytes = std::mem::take(&mut self.unreturned_bytes);
            self.allowed += bytes;
            frame::write_window(out, 0, bytes);
        }
    }
}

/// Writes the frame heads of the HPACK block at the end of `out`. The caller has left space for one
/// frame head at offset `begin`, directly before the block. The first 16 KiB of the block become a
/// HEADERS frame, and any further bytes become CONTINUATION frames.
fn frame_head(out: &mut Vec<u8>, begin: usize, stream: u32, ending: u8) {
    let block_begin = begin + FRAME_HEAD_BYTES;
    let length = out.len() - block_begin;
    if length <= FRAME_BYTES_MAX {
        let flags = ending | flag::END_HEADERS;
        let head = frame::head(length, Kind::Headers, flags, stream);
        out[begin..block_begin].copy_from_slice(&head);
        return;
    }
    let block = out.split_off(block_begin);
    out.truncate(begin);
    let mut pieces = block.chunks(FRAME_BYTES_MAX).peekable();
    let (mut kind, mut flags) = (Kind::Headers, ending);
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= flag::END_HEADERS;
        }
        frame::write_head(out, piece.len(), kind, flags, stream);
        out.extend_from_slice(piece);
        (kind, flags) = (Kind::Continuation, 0);
    }
}
