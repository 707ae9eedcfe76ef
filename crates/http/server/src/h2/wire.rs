//! Transports of HTTP/2.

use std::io;

use reactor::CountedStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::server::TlsStream;

use crate::transport::Secured;

/// Transport of an HTTP/2 connection: a socket, or TLS over a socket.
pub(crate) trait Carrier: Unpin + 'static {
    /// Stream with [`AsyncRead`] and [`AsyncWrite`].
    type Stream: AsyncRead + AsyncWrite + Unpin;

    fn stream(&mut self) -> &mut Self::Stream;

    /// Returns the number of bytes that the client has acknowledged.
    fn acked_bytes(&self) -> io::Result<u64>;

    /// Configures the socket so that closing it resets the connection, as
    /// [`reactor::reset_when_closed`] does.
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
