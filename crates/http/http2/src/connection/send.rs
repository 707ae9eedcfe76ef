//! Frames of ours.

use super::Connection;
use crate::ErrorCode;
use crate::frame::{self, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, Kind, flag};
use crate::hpack::Encoder;
use crate::settings::WINDOW_BYTES;
use crate::streams::End;

impl Connection {
    /// Appends an answer's head, whose fields `write` appends to what it is given, `:status` first. `ends`: without a
    /// body.
    ///
    /// # Panics
    /// When the stream is not open: a bug of the caller, who was told of its end.
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

    /// How much of a body may be sent now, in one frame.
    #[must_use]
    pub fn room(&self, stream: u32) -> usize {
        let Some(stream) = self.streams.get(stream) else {
            return 0;
        };
        let window = stream.window.min(self.window);
        window.clamp(0, FRAME_BYTES_MAX as i64) as usize
    }

    /// Appends what stands before so many bytes of a body; they are to follow. `ends`: they are the last.
    ///
    /// # Panics
    /// When the stream is not open or has less [`Connection::room`]: a bug of the caller.
    pub fn send_data(&mut self, stream: u32, bytes: usize, ends: bool, out: &mut Vec<u8>) {
        assert!(bytes <= self.room(stream), "more than the client allows");
        let ending = if ends { flag::END_STREAM } else { 0 };
        frame::write_head(out, bytes, Kind::Data, ending, stream);
        self.window -= bytes as i64;
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.window -= bytes as i64;
        }
    }

    /// A stream's answer is complete: what of it was appended, and what follows. To be called once all of it is.
    pub fn sent(&mut self, stream: u32, out: &mut Vec<u8>) {
        let Some(it) = self.streams.get(stream) else {
            return;
        };
        if it.has_come {
            self.streams.end(stream, End::Both);
        } else {
            // RFC 9113 §8.1: what it still sends is not wanted.
            self.reset(stream, ErrorCode::No, out);
        }
    }

    /// Gives a stream up, if it is open.
    pub fn reset(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
        if self.is_open(stream) {
            frame::write_reset(out, stream, code);
            self.streams.end(stream, End::Ours);
        }
    }

    /// So many bytes of a stream's body were read, and as many more may come.
    pub fn release(&mut self, stream: u32, bytes: usize, out: &mut Vec<u8>) {
        self.allow(bytes as u32, out);
        let Some(it) = self.streams.get_mut(stream) else {
            return;
        };
        it.to_allow += bytes as u32;
        if !it.has_come && WINDOW_BYTES / 2 <= it.to_allow {
            let bytes = std::mem::take(&mut it.to_allow);
            it.allowed += bytes;
            frame::write_window(out, stream, bytes);
        }
    }

    /// So many bytes of a body that is not wanted were dropped. As many more may come on other streams, and none on its own.
    pub fn skip(&mut self, bytes: usize, out: &mut Vec<u8>) {
        self.allow(bytes as u32, out);
    }

    /// So many bytes more may come over all streams. Told once it is worth a frame.
    pub(super) fn allow(&mut self, bytes: u32, out: &mut Vec<u8>) {
        self.to_allow += bytes;
        if WINDOW_BYTES / 2 <= self.to_allow {
            let bytes = std::mem::take(&mut self.to_allow);
            self.allowed += bytes;
            frame::write_window(out, 0, bytes);
        }
    }
}

/// Writes the heads of the frames that the block behind `begin` needs: one, or CONTINUATIONs for what is beyond 16 KiB.
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
