//! Reads and writes of one accepted connection, bounded by the connection's deadline.

use std::cell::Cell;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::accept::Accepted;
use crate::address::AddressSlot;
use crate::{Core, CountedStream, Deadline, Ended, Wait, file, socket};

/// Size of the buffer of [`Conn::linger`], which reads and drops bytes until the client closes its
/// side.
const LINGER_BYTES: usize = 16 << 10;

/// One accepted connection. Its task owns it; dropping it closes the socket.
#[derive(Debug)]
pub struct Conn<S = TcpStream> {
    /// The socket, with `TCP_NODELAY` set, or a stream that wraps it.
    pub stream: S,
    /// The client's address.
    pub peer: SocketAddr,
    /// Index of the address that the connection arrived on, among those passed to [`crate::bind`].
    pub listener: usize,
    /// The connection's deadline. It is armed for [`Wait::FirstByte`] on accept.
    pub deadline: Deadline,
    /// The core that serves the connection.
    pub core: Core,
    /// Response bytes written so far: to the socket, or to the layer that encrypts them.
    pub written_bytes: Cell<u64>,
    /// Bytes that the client had acknowledged at the start of the current interval over which its
    /// rate is measured. Such an interval is `write_stall_ms` long.
    acked_bytes: Cell<u64>,
    /// Guard for the count of connections per client address. `None` if the client's address is
    /// exempt from the limit on this count.
    _address_slot: Option<AddressSlot>,
}

/// Byte range of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRange<'a> {
    /// The file.
    pub file: &'a File,
    /// Offset of the first byte to send.
    pub offset: u64,
    /// Number of bytes to send.
    pub len: u64,
}

impl Conn {
    pub(crate) fn new(accepted: Accepted, core: &Core, address_slot: Option<AddressSlot>) -> Conn {
        Conn {
            stream: accepted.stream,
            peer: accepted.peer,
            listener: accepted.listener,
            deadline: Deadline::new(core),
            core: core.clone(),
            written_bytes: Cell::new(0),
            acked_bytes: Cell::new(0),
            _address_slot: address_slot,
        }
    }

    /// Wraps the socket in a [`CountedStream`], for layers that read and write it themselves: TLS
    /// and HTTP/2.
    #[must_use]
    pub fn counted(self) -> Conn<CountedStream> {
        let (stream, conn) = self.swap(());
        let stream = CountedStream::new(stream, &conn.core);
        conn.swap(stream).1
    }

    /// Waits until the socket has bytes to read, or the client has closed its side. Holds no buffer
    /// while it waits. Cancel-safe.
    ///
    /// # Errors
    /// The socket failed, or the armed deadline passed. If none is armed, [`Wait::Idle`] is armed
    /// first.
    pub async fn readable(&self) -> Result<(), Ended> {
        self.deadline.note_read_start();
        self.deadline
            .within(self.stream.readable())
            .await?
            .map_err(Ended::Socket)
    }

    /// Reads the available bytes, waiting if there are none. Returns 0 once the client has closed
    /// its side. The first bytes of a request arm [`Wait::Head`]. Cancel-safe.
    ///
    /// # Errors
    /// The socket failed, or the armed deadline passed. If none is armed, [`Wait::Idle`] is armed
    /// first.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ended> {
        let Conn {
            stream,
            deadline,
            core,
            ..
        } = self;
        deadline.note_read_start();
        let read = poll_fn(|context| poll_read(stream, core, context, buffer));
        let read = deadline.within(read).await?.map_err(Ended::Socket)?;
        deadline.note_request_start();
        Ok(read)
    }

    /// Writes all parts in order, with one system call if the socket has room. Waits as
    /// [`Conn::room`] does. Afterwards no deadline is armed, so the next read arms [`Wait::Idle`].
    ///
    /// If the future is dropped, the response may be incomplete: close the connection then.
    ///
    /// # Errors
    /// [`Ended::TimedOut`] with [`Wait::Write`], or the socket failed.
    pub async fn write_all(&self, parts: &mut [IoSlice<'_>]) -> Result<(), Ended> {
        let mut left = parts;
        // Drops leading empty parts. A write of only empty parts would return 0, as if the socket
        // accepted nothing.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let written = self
                .when_writable(|| match &*left {
                    // `send` costs the kernel less than `writev`.
                    [last] => self.send(last, SendFlags::empty()),
                    _ => self.send_parts(left),
                })
                .await?;
            IoSlice::advance_slices(&mut left, written);
            if !left.is_empty() {
                let queued = left.iter().map(|part| part.len());
                self.deadline.set_queued(queued.sum());
            }
        }
        self.deadline.set_queued(0);
        self.deadline.disarm();
        Ok(())
    }

    /// Writes `head`, then the range of the file, which is not copied. The last packet of the head
    /// is filled up with bytes of the body. Other connections get a turn after every
    /// `sendfile_slice_bytes` of the file. Bytes that are not in the page cache are first read on
    /// the blocking pool. [`Conn::write_all`] describes the deadlines, and what to do if the future
    /// is dropped.
    ///
    /// # Errors
    /// As [`Conn::write_all`]; [`Ended::File`]; [`Ended::ShortFile`] if the file ends early. After
    /// [`Ended::ShortFile`], close the connection: the head has announced bytes that do not exist.
    pub async fn write_file(&self, head: &[u8], body: FileRange<'_>) -> Result<(), Ended> {
        // Makes the kernel hold the head back until the body's first bytes fill the packet.
        // With an empty body the flag must not be set, since the kernel would hold the head for
        // 200 ms.
        let more = match body.len {
            0 => SendFlags::empty(),
            _ => SendFlags::MORE,
        };
        let mut head = head;
        while !head.is_empty() {
            let sent = self.when_writable(|| self.send(head, more)).await?;
            head = &head[sent..];
        }
        let mut offset = body.offset;
        let end = body.offset.saturating_add(body.len);
        while offset < end {
            let slice = (end - offset).min(self.core.limits().sendfile_slice_bytes as u64);
            self.load(body.file, offset, slice).await?;
            let sent = self
                .when_writable(|| self.send_file(body.file, offset, slice as usize))
                .await?;
            if sent == 0 {
                return Err(Ended::ShortFile {
                    missing_bytes: end - offset,
                });
            }
            offset += sent as u64;
            if offset < end {
                tokio::task::yield_now().await;
            }
        }
        self.deadline.disarm();
        Ok(())
    }

    /// Loads a range of a file into the page cache. Does nothing if the range was already found
    /// there since the last tick of the core's clock.
    async fn load(&self, file: &File, offset: u64, len: u64) -> Result<(), Ended> {
        let now_ms = self.core.clock().now_ms();
        let cached_ranges = self.core.cached_ranges();
        if cached_ranges.contains(file, offset + len, now_ms) {
            return Ok(());
        }
        self.core.counters().reads.count();
        file::load(file, offset, len).await.map_err(Ended::File)?;
        cached_ranges.note(file, offset + len, now_ms);
        Ok(())
    }

    /// Closes the connection, but lets the client receive the written bytes first, even if the
    /// client is still sending. Closes the server's side. Then reads and drops bytes until the
    /// client closes its side, is silent for `linger_ms`, or reaches `linger_ms_max` or
    /// `linger_bytes_max`.
    ///
    /// # Errors
    /// [`Ended::TimedOut`] with [`Wait::Linger`], or the socket failed. The connection is closed
    /// after both errors.
    pub async fn linger(mut self) -> Result<(), Ended> {
        rustix::net::shutdown(&self.stream, Shutdown::Write)
            .map_err(|errno| Ended::Socket(errno.into()))?;
        let mut linger = self.deadline.linger();
        loop {
            let (stream, core) = (&mut self.stream, &self.core);
            // The buffer exists only during a poll, so it does not increase the size of each
            // connection's task.
            let read = poll_fn(|context| poll_read(stream, core, context, &mut [0; LINGER_BYTES]));
            let read = self.deadline.within(read).await?;
            if !linger.received(read.map_err(Ended::Socket)?) {
                return Ok(());
            }
        }
    }

    /// Waits until the socket has room for more of a response. In each interval of
    /// `write_stall_ms`, the client's kernel must acknowledge bytes at a rate of at least
    /// `write_bytes_per_s_min`; otherwise the wait ends with an error. Readiness of the socket
    /// would be too coarse a measure of this rate: the kernel reports a socket as writable only
    /// once a third of its buffer is free, which may be a megabyte. If [`Wait::Write`] is already
    /// armed, it is not armed again: the rate is measured over all pieces of a response.
    /// Cancel-safe.
    ///
    /// # Errors
    /// [`Ended::TimedOut`] with [`Wait::Write`], or the socket failed.
    pub async fn room(&self) -> Result<(), Ended> {
        if !self.deadline.is_armed(Wait::Write) {
            self.acked_bytes
                .set(socket::acked_bytes(&self.stream).map_err(Ended::Socket)?);
            self.deadline.arm(Wait::Write);
        }
        self.deadline
            .within_while(self.stream.writable(), || self.is_fast_enough())
            .await?
            .map_err(Ended::Socket)
    }

    /// Returns whether the client has acknowledged enough bytes since the last call. Returns false
    /// if the kernel cannot report the number of these bytes, which happens only for a broken
    /// socket.
    fn is_fast_enough(&self) -> bool {
        socket::acked_bytes(&self.stream).is_ok_and(|acked_bytes| {
            let before = self.acked_bytes.replace(acked_bytes);
            self.core.limits().write_window_bytes() <= acked_bytes.saturating_sub(before)
        })
    }

    /// Calls `write`, and waits only if the socket is full.
    async fn when_writable(
        &self,
        mut write: impl FnMut() -> io::Result<usize>,
    ) -> Result<usize, Ended> {
        loop {
            match write() {
                Ok(written) => {
                    let before = self.written_bytes.get();
                    self.written_bytes.set(before + written as u64);
                    return Ok(written);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A TCP socket never fails with EIO, so this error comes from the disk that
                // `sendfile` reads.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => {
                    return Err(Ended::File(error));
                }
                Err(error) => return Err(Ended::Socket(error)),
            }
            self.room().await?;
        }
    }

    fn send(&self, bytes: &[u8], flags: SendFlags) -> io::Result<usize> {
        self.stream.try_io(Interest::WRITABLE, || {
            self.core.counters().writes.count();
            let flags = flags | SendFlags::NOSIGNAL;
            Ok(rustix::net::send(self.stream.as_fd(), bytes, flags)?)
        })
    }

    fn send_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_io(Interest::WRITABLE, || {
            self.core.counters().writes.count();
            Ok(rustix::io::writev(self.stream.as_fd(), parts)?)
        })
    }

    fn send_file(&self, file: &File, offset: u64, len: usize) -> io::Result<usize> {
        let mut offset = offset;
        self.stream.try_io(Interest::WRITABLE, || {
            self.core.counters().writes.count();
            Ok(rustix::fs::sendfile(
                self.stream.as_fd(),
                file,
                Some(&mut offset),
                len,
            )?)
        })
    }
}

impl<S> Conn<S> {
    /// Replaces the stream, for example by a TLS stream around it. Returns the previous stream, and
    /// the connection with the new stream.
    pub fn swap<T>(self, stream: T) -> (S, Conn<T>) {
        let conn = Conn {
            stream,
            peer: self.peer,
            listener: self.listener,
            deadline: self.deadline,
            core: self.core,
            written_bytes: self.written_bytes,
            acked_bytes: self.acked_bytes,
            _address_slot: self._address_slot,
        };
        (self.stream, conn)
    }
}

/// Polls a read with `AsyncRead`. Unlike tokio's `try_read`, this lets tokio treat the socket as
/// empty after a read that does not fill the buffer, which saves a system call.
fn poll_read(
    stream: &mut TcpStream,
    core: &Core,
    context: &mut Context<'_>,
    buffer: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut buffer = ReadBuf::new(buffer);
    let read = Pin::new(stream).poll_read(context, &mut buffer);
    if read.is_ready() {
        core.counters().reads.count();
    }
    read.map_ok(|()| buffer.filled().len())
}
