//! What was read from a connection and is not answered yet.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use reactor::Ended;
use tokio::io::{AsyncRead, ReadBuf};

use crate::transport::Transport;

/// Bytes read at a time. A usual head is a tenth of it, so a batch of pipelined requests comes in one read.
const READ_BYTES: usize = 16 << 10;
/// Buffers kept for the next read: more than one core's connections read at the same moment.
const BUFFERS_MAX: usize = 64;

thread_local! {
    /// Buffers that no connection uses. A waiting connection holds none.
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Bytes in order of arrival. Empty, it holds no buffer.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Initialised to its end, once, so that a read does not clear what it is about to fill.
    buffer: Vec<u8>,
    filled: usize,
}

impl Input {
    pub(crate) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Reads once, and tells how much came; 0 is the end of what the client sends.
    pub(crate) async fn read(&mut self, conn: &mut impl Transport) -> Result<usize, Ended> {
        let read = conn.read(self.room()).await?;
        self.filled += read;
        Ok(read)
    }

    /// The same from a stream without a deadline. Where that has nothing, no empty buffer is held either.
    pub(crate) fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(self.room());
        let polled = Pin::new(stream).poll_read(context, &mut buffer);
        let read = buffer.filled().len();
        self.filled += read;
        self.drop_front(0);
        polled.map_ok(|()| read)
    }

    fn room(&mut self) -> &mut [u8] {
        if self.buffer.is_empty() {
            self.buffer = BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default();
        }
        if self.buffer.len() < self.filled + READ_BYTES {
            self.buffer.resize(self.filled + READ_BYTES, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// Drops the first `count` bytes, and the buffer when nothing is left.
    pub(crate) fn drop_front(&mut self, count: usize) {
        self.buffer.copy_within(count..self.filled, 0);
        self.filled -= count;
        if self.filled == 0 {
            let buffer = std::mem::take(&mut self.buffer);
            BUFFERS.with_borrow_mut(|buffers| {
                // One that a long head made larger is not worth keeping.
                if buffers.len() < BUFFERS_MAX && buffer.len() == READ_BYTES {
                    buffers.push(buffer);
                }
            });
        }
    }
}
