//! The socket as a byte stream, for layers that read and write the stream themselves: TLS and
//! HTTP/2.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::Core;

/// Byte stream over a connection's socket. Its system calls are counted in the core's counters.
#[derive(Debug)]
pub struct CountedStream {
    stream: TcpStream,
    core: Core,
}

impl CountedStream {
    pub(crate) fn new(stream: TcpStream, core: &Core) -> CountedStream {
        CountedStream {
            stream,
            core: core.clone(),
        }
    }

    /// Returns the socket itself. Operations on it are not counted.
    #[must_use]
    pub fn get_ref(&self) -> &TcpStream {
        &self.stream
    }

    fn written<T>(&self, written: Poll<T>) -> Poll<T> {
        if written.is_ready() {
            self.core.counters().writes.count();
        }
        written
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.core.counters().reads.count();
        }
        read
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
