//! The bytes of an HTTP/2 connection, counted on their way.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use reactor::CountedStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::pulse::Pulse;
use crate::transport::Secured;

/// What HTTP/2 travels on: a socket, or TLS over one.
pub(crate) trait Carrier: Unpin + 'static {
    /// As [`AsyncRead`] and [`AsyncWrite`] have it.
    type Stream: AsyncRead + AsyncWrite + Unpin;

    fn stream(&mut self) -> &mut Self::Stream;

    /// Bytes that the client has acknowledged.
    fn acked_bytes(&self) -> io::Result<u64>;

    /// As [`reactor::reset_when_closed`].
    fn reset_when_closed(&self);
}

impl Carrier for CountedStream {
    type Stream = CountedStream;

    fn stream(&mut self) -> &mut CountedStream {
        self
    }

    fn acked_bytes(&self) -> io::Result<u64> {
        reactor::acked_bytes(self.get_ref())
    }

    fn reset_when_closed(&self) {
        reactor::reset_when_closed(self.get_ref());
    }
}

impl Carrier for Secured {
    type Stream = TlsStream<CountedStream>;

    fn stream(&mut self) -> &mut TlsStream<CountedStream> {
        &mut self.tls
    }

    fn acked_bytes(&self) -> io::Result<u64> {
        reactor::acked_bytes(self.tls.get_ref().0.get_ref())
    }

    fn reset_when_closed(&self) {
        reactor::reset_when_closed(self.tls.get_ref().0.get_ref());
    }
}

/// A stream whose first bytes were read already. Shared with whoever asks it what was acknowledged.
pub(super) struct Wire<S> {
    begun: Vec<u8>,
    stream: Rc<RefCell<S>>,
    pulse: Rc<Pulse>,
}

impl<S: Carrier> Wire<S> {
    pub(super) fn new(begun: Vec<u8>, stream: Rc<RefCell<S>>, pulse: Rc<Pulse>) -> Wire<S> {
        Wire {
            begun,
            stream,
            pulse,
        }
    }

    /// Borrowed for one poll.
    fn with<T>(&self, poll: impl FnOnce(Pin<&mut S::Stream>) -> T) -> T {
        poll(Pin::new(self.stream.borrow_mut().stream()))
    }
}

impl<S: Carrier> AsyncRead for Wire<S> {
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
            self.with(|stream| stream.poll_read(context, buffer))
        } else {
            let count = self.begun.len().min(buffer.remaining());
            buffer.put_slice(&self.begun[..count]);
            self.begun.drain(..count);
            Poll::Ready(Ok(()))
        };
        self.pulse.came(buffer.filled().len() - before);
        read
    }
}

impl<S: Carrier> AsyncWrite for Wire<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|stream| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.with(|stream| stream.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.with(|stream| stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|stream| stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|stream| stream.poll_shutdown(context))
    }
}
