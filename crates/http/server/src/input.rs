//! Input of a connection: bytes that were read and are not processed yet.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use reactor::Ended;
use tokio::io::{AsyncRead, ReadBuf};

use crate::transport::Transport;

/// Maximum bytes per read. A usual request head is a tenth of this size, so a batch of pipelined
/// requests arrives in one read.
const READ_BYTES: usize = 16 << 10;
/// Maximum size, in bytes, of an incomplete request that is moved out of the read buffer while the
/// connection waits for the rest. Its new buffer has exactly its size.
const REST_BYTES_MAX: usize = 4 << 10;
/// Maximum number of unused buffers kept for later reads. A core rarely needs more, since a
/// connection that waits for a request holds no buffer.
const BUFFERS_MAX: usize = 64;

thread_local! {
    /// Buffers that no connection uses. A connection that waits for a request holds no buffer.
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Received bytes in order of arrival. An empty input holds no buffer.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Buffer whose whole length was initialised once, so that a read need not clear it.
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

    /// Reads once and returns the number of bytes, or 0 if the client closed its side. Holds no
    /// read buffer while it waits, only the bytes received earlier: ten thousand waiting
    /// connections must not hold ten thousand buffers.
    pub(crate) async fn read(&mut self, conn: &mut impl Transport) -> Result<usize, Ended> {
        loop {
            self.rest();
            conn.readable().await?;
            if let Poll::Ready(read) = self.read_now(conn).await {
                let read = read?;
                self.filled += read;
                return Ok(read);
            }
            // No bytes were read: a socket may be reported readable before bytes arrive. The empty
            // buffer is released until the next attempt.
            self.drop_front(0);
        }
    }

    async fn read_now(&mut self, conn: &mut impl Transport) -> Poll<Result<usize, Ended>> {
        let mut reading = pin!(conn.read(self.room()));
        poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await
    }

    /// Reads from a stream, without a deadline. If nothing has arrived, releases the empty buffer.
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

    /// Moves the received bytes to a buffer of exactly their size, if they are few. The rest of the
    /// request may take long to arrive, and needs no large buffer meanwhile.
    pub(crate) fn rest(&mut self) {
        if 0 < self.filled && self.filled <= REST_BYTES_MAX && READ_BYTES <= self.buffer.len() {
            let received = self.bytes().to_vec();
            give_back(std::mem::replace(&mut self.buffer, received));
        }
    }

    fn room(&mut self) -> &mut [u8] {
        if self.buffer.len() <= REST_BYTES_MAX {
            let pooled = BUFFERS.with_borrow_mut(Vec::pop);
            let pooled = pooled.unwrap_or_else(|| vec![0; READ_BYTES]);
            let received = std::mem::replace(&mut self.buffer, pooled);
            self.buffer[..self.filled].copy_from_slice(&received[..self.filled]);
        } else if self.buffer.len() < self.filled + READ_BYTES {
            self.buffer.resize(self.filled + READ_BYTES, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// Drops the first `count` bytes, and releases the buffer if no bytes are left.
    pub(crate) fn drop_front(&mut self, count: usize) {
        self.buffer.copy_within(count..self.filled, 0);
        self.filled -= count;
        if self.filled == 0 {
            give_back(std::mem::take(&mut self.buffer));
        }
    }
}

fn give_back(buffer: Vec<u8>) {
    BUFFERS.with_borrow_mut(|buffers| {
        // A buffer that was enlarged for a long head is not kept.
        if buffers.len() < BUFFERS_MAX && buffer.len() == READ_BYTES {
            buffers.push(buffer);
        }
    });
}
