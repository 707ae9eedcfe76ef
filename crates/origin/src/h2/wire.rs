//! The bytes of an HTTP/2 connection, counted on their way.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::pulse::Pulse;

/// A stream whose first bytes were read already.
pub(super) struct Wire<S> {
    begun: Vec<u8>,
    stream: S,
    pulse: Rc<Pulse>,
}

impl<S> Wire<S> {
    pub(super) fn new(begun: Vec<u8>, stream: S, pulse: Rc<Pulse>) -> Wire<S> {
        Wire {
            begun,
            stream,
            pulse,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // hyper ends the connection, and whatever it was sent is not read.
        if self.pulse.is_abused() {
            return Poll::Ready(Err(io::ErrorKind::QuotaExceeded.into()));
        }
        let before = buffer.filled().len();
        let read = if self.begun.is_empty() {
            Pin::new(&mut self.stream).poll_read(context, buffer)
        } else {
            let count = self.begun.len().min(buffer.remaining());
            buffer.put_slice(&self.begun[..count]);
            self.begun.drain(..count);
            if self.begun.is_empty() {
                self.begun = Vec::new();
            }
            Poll::Ready(Ok(()))
        };
        self.pulse.came(buffer.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
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
