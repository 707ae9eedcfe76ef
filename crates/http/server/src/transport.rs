//! Transports of an HTTP/1.1 connection: a socket, or TLS over a socket.
//!
//! The transport is chosen when the connection starts, and is a type parameter from then on. So a
//! response over a plain socket has no overhead for TLS.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use reactor::{Conn, CountedStream, Deadline, Ended, FileRange, Wait};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use conversion::chunks::{CHUNK_BYTES, Chunks};

/// TLS over a socket.
#[derive(Debug)]
pub(crate) struct Secured {
    /// TLS stream. Unboxed, it would add a kilobyte to each state of the connection's task.
    pub(crate) tls: Box<TlsStream<CountedStream>>,
    /// Number of bytes that the client had acknowledged when the deadline for writing was last
    /// armed.
    acked_bytes: Cell<u64>,
}

impl Secured {
    pub(crate) fn new(tls: TlsStream<CountedStream>) -> Secured {
        Secured {
            tls: Box::new(tls),
            acked_bytes: Cell::new(0),
        }
    }
}

/// Connection whose calls wait no longer than its deadline.
pub(crate) trait Transport {
    /// Returns the address of the client.
    fn remote(&self) -> IpAddr;

    fn deadline(&self) -> &Deadline;

    /// Returns the same as [`Conn::written_bytes`].
    fn written_bytes(&self) -> u64;

    /// Waits for bytes to read, as [`Conn::readable`] does.
    async fn readable(&mut self) -> Result<(), Ended>;

    /// Reads as [`Conn::read`] does.
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ended>;

    /// Writes as [`Conn::write_all`] does.
    async fn write_all(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), Ended>;

    /// Writes `head` and then a range of a file, as [`Conn::write_file`] does.
    async fn write_file(
        &mut self,
        head: &[u8],
        file: &File,
        range: Range<u64>,
    ) -> Result<(), Ended>;

    /// Closes a connection whose client has sent its whole request.
    async fn close(self);

    /// Closes a connection whose client may still send, as [`Conn::linger`] does.
    async fn linger(self);

    /// Closes a connection whose client does not read its response, as
    /// [`reactor::reset_when_closed`] does.
    fn abandon(self);
}

impl Transport for Conn<TcpStream> {
    fn remote(&self) -> IpAddr {
        self.peer.ip()
    }

    fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    fn written_bytes(&self) -> u64 {
        self.written_bytes.get()
    }

    async fn readable(&mut self) -> Result<(), Ended> {
        Conn::readable(self).await
    }

    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ended> {
        Conn::read(self, buffer).await
    }

    async fn write_all(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), Ended> {
        Conn::write_all(self, parts).await
    }

    async fn write_file(
        &mut self,
        head: &[u8],
        file: &File,
        range: Range<u64>,
    ) -> Result<(), Ended> {
        let body = FileRange {
            file,
            offset: range.start,
            len: range.end - range.start,
        };
        Conn::write_file(self, head, body).await
    }

    async fn close(self) {}

    async fn linger(self) {
        // The connection closes in any case, so the result is ignored.
        drop(Conn::linger(self).await);
    }

    fn abandon(self) {
        reactor::reset_when_closed(&self.stream);
    }
}

impl Transport for Conn<Secured> {
    fn remote(&self) -> IpAddr {
        self.peer.ip()
    }

    fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    fn written_bytes(&self) -> u64 {
        self.written_bytes.get()
    }

    async fn readable(&mut self) -> Result<(), Ended> {
        let (socket, session) = self.stream.tls.get_ref();
        // While decrypted bytes are unread, `wants_read` returns false. They do not make the socket
        // readable, so the function must not wait for the socket.
        if !session.wants_read() {
            return Ok(());
        }
        self.deadline.note_read_start();
        let readable = self.deadline.within(socket.get_ref().readable());
        readable.await?.map_err(Ended::Socket)
    }

    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ended> {
        let Conn {
            stream, deadline, ..
        } = self;
        deadline.note_read_start();
        let read = poll_fn(|context| poll_read(&mut stream.tls, context, buffer));
        let read = deadline.within(read).await?.map_err(Ended::Socket)?;
        deadline.note_request_start();
        Ok(read)
    }

    async fn write_all(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), Ended> {
        let mut left = parts;
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let written = write_some(self, left).await?;
            IoSlice::advance_slices(&mut left, written);
            let queued = left.iter().map(|part| part.len());
            self.deadline.set_queued(queued.sum());
        }
        writing(self, |stream, context| stream.poll_flush(context)).await?;
        self.deadline.disarm();
        Ok(())
    }

    async fn write_file(
        &mut self,
        head: &[u8],
        file: &File,
        range: Range<u64>,
    ) -> Result<(), Ended> {
        let mut head = head;
        let mut chunks = Chunks::new(range);
        loop {
            // All bytes are written before the next chunk is read, so that a slow client holds at
            // most one chunk in memory.
            writing(self, |stream, context| stream.poll_flush(context)).await?;
            let chunk = poll_fn(|context| chunks.poll_next(file, CHUNK_BYTES, context)).await?;
            let Some(chunk) = chunk else { break };
            let mut parts = [IoSlice::new(head), IoSlice::new(&chunk)];
            let mut left = &mut parts[..];
            IoSlice::advance_slices(&mut left, 0);
            while !left.is_empty() {
                let written = write_some(self, left).await?;
                IoSlice::advance_slices(&mut left, written);
            }
            head = &[];
            // Let other connections of the core run.
            tokio::task::yield_now().await;
        }
        Transport::write_all(self, &mut [IoSlice::new(head)]).await
    }

    async fn close(mut self) {
        // RFC 8446 §6.1: `close_notify` proves to the client that nothing was cut off. The result
        // of sending it is ignored, since a client that closes before `close_notify` arrives knows
        // from the length that its response is complete.
        self.deadline.arm(Wait::Linger);
        let Conn {
            stream, deadline, ..
        } = &mut self;
        let closed = poll_fn(|context| Pin::new(&mut *stream.tls).poll_shutdown(context));
        drop(deadline.within(closed).await);
    }

    async fn linger(mut self) {
        let Conn {
            stream, deadline, ..
        } = &mut self;
        let mut linger = deadline.linger();
        let lingering = async {
            poll_fn(|context| Pin::new(&mut *stream.tls).poll_shutdown(context)).await?;
            loop {
                let read =
                    poll_fn(|context| poll_read(&mut stream.tls, context, &mut [0; 4096])).await?;
                if !linger.received(read) {
                    return io::Result::Ok(());
                }
            }
        };
        drop(deadline.within(lingering).await);
    }

    fn abandon(self) {
        reactor::reset_when_closed(self.stream.tls.get_ref().0.get_ref());
    }
}

/// Writes some of `parts` and returns the number of bytes written.
async fn write_some(conn: &mut Conn<Secured>, parts: &[IoSlice<'_>]) -> Result<usize, Ended> {
    let written = writing(conn, |stream, context| {
        stream.poll_write_vectored(context, parts)
    })
    .await?;
    let before = conn.written_bytes.get();
    conn.written_bytes.set(before + written as u64);
    Ok(written)
}

/// Calls `poll`, which writes, until it is ready. Waits as long as the client reads at the minimum
/// rate, as [`Conn::room`] does.
async fn writing<T>(
    conn: &mut Conn<Secured>,
    mut poll: impl FnMut(Pin<&mut TlsStream<CountedStream>>, &mut Context<'_>) -> Poll<io::Result<T>>,
) -> Result<T, Ended> {
    let Conn {
        stream,
        deadline,
        core,
        ..
    } = conn;
    let Secured { tls, acked_bytes } = stream;
    // A `RefCell` suffices: the future `written` and the closure `reads_fast_enough` borrow the
    // stream only while they run, and never run at the same time.
    let tls = RefCell::new(tls);
    let acked = || reactor::acked_bytes(tls.borrow().get_ref().0.get_ref());
    let written = poll_fn(|context| {
        let written = poll(Pin::new(&mut **tls.borrow_mut()), context);
        if written.is_pending() && !deadline.is_armed(Wait::Write) {
            acked_bytes.set(acked()?);
            deadline.arm(Wait::Write);
        }
        written
    });
    let reads_fast_enough = || {
        acked().is_ok_and(|acked| {
            let before = acked_bytes.replace(acked);
            core.limits().write_window_bytes() <= acked.saturating_sub(before)
        })
    };
    let written = deadline.within_while(written, reads_fast_enough);
    written.await?.map_err(Ended::Socket)
}

fn poll_read(
    stream: &mut TlsStream<CountedStream>,
    context: &mut Context<'_>,
    buffer: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut buffer = ReadBuf::new(buffer);
    Pin::new(stream)
        .poll_read(context, &mut buffer)
        .map_ok(|()| buffer.filled().len())
}
