//! Queue of bytes to the client, in order. Heads and small bodies are copied into one buffer;
//! larger bodies are referenced.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::AsyncWrite;

use crate::batch::Batch;

/// Maximum number of pieces per write.
const PIECES_AT_ONCE: usize = 32;
/// Maximum number of written bytes that stay at the front of the frame buffer. Above this number,
/// the unwritten bytes are moved to the front.
const WRITTEN_TEXT_MAX: usize = 64 << 10;

/// Queue of bytes to be written.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Buffer of frames; its memory comes from a [`Batch`]. Frames behind the offset `text_sealed`
    /// belong to no piece yet. They are sent after all pieces.
    text: Vec<u8>,
    /// Offsets in `text`. The bytes before `text_sealed` belong to pieces. The bytes before
    /// `text_written` belong to pieces that were written completely.
    text_written: usize,
    text_sealed: usize,
    pieces: VecDeque<Piece>,
    /// Number of bytes of the first queued piece that were already written.
    begun: usize,
    /// Total bytes of all pieces (`piece_bytes`), and of the pieces whose memory no other response
    /// shares (`own_bytes`).
    piece_bytes: usize,
    own_bytes: usize,
    /// Bytes of pieces that were completely written since the last call of
    /// [`Outgoing::take_written`]. Bytes of the buffer of frames are never counted.
    written_bytes: usize,
}

/// Part of the queue that is contiguous in memory.
#[derive(Debug)]
pub(super) enum Piece {
    /// Number of bytes in the buffer of frames. They directly follow the bytes of the previous
    /// `Text` piece.
    Text(usize),
    Shared(Arc<[u8]>, Range<usize>),
    Owned(Bytes),
    Chunk(Vec<u8>),
}

impl Outgoing {
    /// Returns the buffer to which frames are appended.
    pub(super) fn text(&mut self) -> &mut Vec<u8> {
        if self.text.capacity() == 0 {
            self.text = Batch::take().out;
        }
        &mut self.text
    }

    /// Appends a piece behind all frames queued so far.
    pub(super) fn push(&mut self, piece: Piece) {
        self.seal();
        self.piece_bytes += self.bytes(&piece).len();
        self.own_bytes += piece.own_bytes();
        self.pieces.push_back(piece);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued_bytes() == 0
    }

    /// Returns the number of bytes that wait to be written.
    pub(super) fn queued_bytes(&self) -> usize {
        self.piece_bytes - self.begun + self.text.len() - self.text_sealed
    }

    /// Returns the number of body bytes that wait to be written. Bytes in memory that other
    /// responses share are not counted.
    pub(super) fn own_bytes(&self) -> usize {
        self.own_bytes
    }

    /// Returns the number of body bytes written since the last call. Bodies that were copied into
    /// the buffer of frames are not counted.
    pub(super) fn take_written(&mut self) -> usize {
        std::mem::take(&mut self.written_bytes)
    }

    /// Returns the number of bytes in the buffer of frames that are not written yet.
    pub(super) fn text_bytes(&self) -> usize {
        self.text.len() - self.text_written
    }

    /// Appends the frames that belong to no piece yet, as one piece.
    fn seal(&mut self) {
        let bytes = self.text.len() - self.text_sealed;
        if bytes != 0 {
            self.text_sealed = self.text.len();
            self.piece_bytes += bytes;
            self.pieces.push_back(Piece::Text(bytes));
        }
    }

    fn bytes<'a>(&'a self, piece: &'a Piece) -> &'a [u8] {
        match piece {
            Piece::Text(bytes) => &self.text[self.text_written..self.text_written + bytes],
            Piece::Shared(bytes, range) => &bytes[range.clone()],
            Piece::Owned(bytes) => bytes,
            Piece::Chunk(bytes) => bytes,
        }
    }

    /// Writes once and returns the number of bytes written.
    pub(super) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.seal();
        let mut parts = [IoSlice::new(&[]); PIECES_AT_ONCE];
        let mut count = 0;
        let mut text_begin = self.text_written;
        for (part, piece) in parts.iter_mut().zip(&self.pieces) {
            let bytes = match piece {
                // In the buffer, the frames of this piece follow the frames of earlier pieces.
                Piece::Text(bytes) => {
                    let range = text_begin..text_begin + bytes;
                    text_begin = range.end;
                    &self.text[range]
                }
                piece => self.bytes(piece),
            };
            let begun = if count == 0 { self.begun } else { 0 };
            *part = IoSlice::new(&bytes[begun..]);
            count += 1;
        }
        let stream = Pin::new(stream);
        let written = ready!(match &parts[..count] {
            [only] => stream.poll_write(context, only),
            parts => stream.poll_write_vectored(context, parts),
        })?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.drop_front(written);
        Poll::Ready(Ok(written))
    }

    fn drop_front(&mut self, written: usize) {
        self.begun += written;
        while let Some(first) = self.pieces.front() {
            let bytes = match first {
                Piece::Text(bytes) => *bytes,
                piece => self.bytes(piece).len(),
            };
            if self.begun < bytes {
                break;
            }
            self.own_bytes -= first.own_bytes();
            match first {
                Piece::Text(bytes) => self.text_written += bytes,
                _ => self.written_bytes += bytes,
            }
            self.begun -= bytes;
            self.piece_bytes -= bytes;
            self.pieces.pop_front();
        }
        if self.is_empty() {
            self.text.clear();
            (self.text_written, self.text_sealed) = (0, 0);
        } else if WRITTEN_TEXT_MAX < self.text_written {
            self.text.drain(..self.text_written);
            self.text_sealed -= self.text_written;
            self.text_written = 0;
        }
    }

    /// Frees memory that an idle connection does not need.
    pub(super) fn rest(&mut self) {
        if self.text.is_empty() && self.text.capacity() != 0 {
            let out = std::mem::take(&mut self.text);
            Batch {
                out,
                ..Batch::default()
            }
            .give_back();
            self.pieces = VecDeque::new();
        }
    }
}

impl Piece {
    fn own_bytes(&self) -> usize {
        match self {
            Piece::Text(_) | Piece::Shared(..) => 0,
            Piece::Owned(bytes) => bytes.len(),
            Piece::Chunk(bytes) => bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests;
