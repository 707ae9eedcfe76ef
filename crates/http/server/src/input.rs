//! What was read from a connection and is not answered yet.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use reactor::Ended;
use tokio::io::{AsyncRead, ReadBuf};

use crate::transport::Transport;

/// Bytes read at a time. A usual head is a tenth of it, so a batch of pipelined requests comes in one read.
const READ_BYTES: usize = 16 << 10;
/// What came of a request, up to which a connection that waits for more holds no buffer but that.
const REST_BYTES_MAX: usize = 4 << 10;
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

    /// Reads once, and tells how much came; 0 is the end of what the client sends. While nothing comes, only what came before
    /// is held: ten thousand connections that wait must not hold ten thousand buffers.
    pub(crate) async fn read(&mut self, conn: &mut impl Transport) -> Result<usize, Ended> {
        loop {
            self.rest();
            conn.readable().await?;
            if let Poll::Ready(read) = self.read_now(conn).await {
                let read = read?;
                self.filled += read;
                return Ok(read);
            }
            // A socket may be taken for readable before anything has come.
            self.drop_front(0);
        }
    }

    async fn read_now(&mut self, conn: &mut impl Transport) -> Poll<Result<usize, Ended>> {
        let mut reading = pin!(conn.read(self.room()));
        poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await
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

    /// Holds no more memory than what came, if that is little: the rest may take its time.
    pub(crate) fn rest(&mut self) {
        if 0 < self.filled && self.filled <= REST_BYTES_MAX && READ_BYTES <= self.buffer.len() {
            let came = self.bytes().to_vec();
            give_back(std::mem::replace(&mut self.buffer, came));
        }
    }

    fn room(&mut self) -> &mut [u8] {
        if self.buffer.len() <= REST_BYTES_MAX {
            let pooled = BUFFERS.with_borrow_mut(Vec::pop);
            let pooled = pooled.unwrap_or_else(|| vec![0; READ_BYTES]);
            let came = std::mem::replace(&mut self.buffer, pooled);
            self.buffer[..self.filled].copy_from_slice(&came[..self.filled]);
        } else if self.buffer.len() < self.filled + READ_BYTES {
            self.buffer.resize(self.filled + READ_BYTES, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// Drops the first `count` bytes, and the buffer when nothing is left.
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
        // One that a long head made larger is not worth keeping.
        if buffers.len() < BUFFERS_MAX && buffer.len() == READ_BYTES {
            buffers.push(buffer);
        }
    });
}
