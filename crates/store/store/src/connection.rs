//! Serves one connection in a loop: reads once, runs every complete command, writes once.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use keyspace::Prefetched;
use reactor::ZeroCopyWriter;
use resp::{BLOB_BYTES_MIN, Parser};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::yield_now;

use crate::client::{Closing, Peer};
use crate::dispatch::{Flow, dispatch};
use crate::settings::{ZERO_COPY_ALLOCATOR, parser_limits};
use crate::shared::{ClientGuard, Shared};

/// Maximum length of an incomplete command that is copied out of the core's read buffer, so that
/// the incomplete command does not keep the whole buffer alive.
const REST_COPIED_MAX: usize = 4 << 10;

/// Maximum length of the next read from a client whose last request contained a large value. Such a
/// client often sends another large value. The short read gets the arguments that precede this
/// value. Most of the value can then be read straight into the memory where it is kept.
const FIRST_READ_BYTES: usize = 4 << 10;

/// Transport of a client's connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {
    /// Writes some bytes of `parts`, and returns their number. If the stream is a socket, large
    /// parts are sent without a copy. `more` is true if further bytes follow.
    fn poll_write_zero_copy(
        &mut self,
        zero_copy_writer: &ZeroCopyWriter,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
        more: bool,
    ) -> Poll<io::Result<usize>>;
}

macro_rules! sockets {
    ($($stream:ident)*) => {$(
        impl Stream for $stream {
            fn poll_write_zero_copy(
                &mut self,
                zero_copy_writer: &ZeroCopyWriter,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
                more: bool,
            ) -> Poll<io::Result<usize>> {
                zero_copy_writer.poll_write(self, context, parts, more)
            }
        }
    )*};
}

sockets!(TcpStream UnixStream);

/// Serves a client until either side closes the connection.
pub(crate) async fn serve<S: Stream>(shared: Rc<Shared>, mut stream: S, peer: Peer) {
    let admitted = shared.state.borrow_mut().admit(peer);
    let key = match admitted {
        Ok(key) => key,
        Err(refusal) => return refuse(stream, refusal).await,
    };
    let parser = Parser::new(parser_limits(&shared.state.borrow().config))
        .with_blob_allocator(ZERO_COPY_ALLOCATOR);
    let mut connection = Connection {
        guard: ClientGuard::new(shared, key),
        parser,
        input: BytesMut::new(),
        prefetched: VecDeque::new(),
        sends_blobs: false,
        postponed: None,
    };
    // A failed socket affects only its own client, so the error is ignored.
    drop(connection.run(&mut stream).await);
}

/// Sends an error to a refused client and closes the connection. The client's requests are not
/// read, because that would use resources for a refused client. If requests have arrived, closing
/// resets the connection, so the client may not receive the error.
async fn refuse<S: AsyncWrite + Unpin>(mut stream: S, text: &str) {
    let line = format!("-{text}\r\n");
    let parts = [IoSlice::new(line.as_bytes())];
    drop(poll_fn(|context| Pin::new(&mut stream).poll_write_vectored(context, &parts)).await);
    drop(poll_fn(|context| Pin::new(&mut stream).poll_shutdown(context)).await);
}

struct Connection {
    guard: ClientGuard,
    parser: Parser,
    /// Bytes read that do not form a complete command yet.
    input: BytesMut,
    /// Results of the prefetch for requests that are parsed but have not run yet.
    prefetched: VecDeque<Prefetched>,
    /// True if the client's last request contained a large value.
    sends_blobs: bool,
    /// Command that waits until a pause of commands ends (such as that of `CLIENT PAUSE`), if any.
    postponed: Option<Vec<Bytes>>,
}

/// An event that a connection waits for.
enum Event {
    /// Bytes were read. If `more` is true, the socket may hold further bytes. Other connections are
    /// then served before the next read.
    Read { more: bool },
    /// All or some output was written.
    Written,
    /// Another task changed the client's state and woke this connection.
    Woken,
    /// The client has closed its sending side.
    End,
}

impl Connection {
    async fn run<S: Stream>(&mut self, stream: &mut S) -> io::Result<()> {
        let mut more = false;
        loop {
            self.run_commands();
            self.wait_until_durable().await;
            if self.closing() == Closing::Now {
                return Ok(());
            }
            let all_written = self.write(stream).await?;
            match self.closing() {
                Closing::Now => return Ok(()),
                Closing::AfterReply if all_written => return self.shut_down(stream).await,
                Closing::AfterReply | Closing::No => {}
            }
            if more {
                yield_now().await;
            }
            more = match poll_fn(|context| self.poll_event(stream, context)).await? {
                Event::Read { more } => more,
                Event::Written | Event::Woken => false,
                Event::End => return Ok(()),
            };
        }
    }

    /// Waits until the client's replies may be sent: either the changes that the replies report are
    /// as durable as `appendfsync` requires, or writing the changes has failed.
    async fn wait_until_durable(&self) {
        let ClientGuard { shared, key } = &self.guard;
        let is_written = shared.committed().await;
        let flush = shared.state.borrow_mut().clients[*key].flush.take();
        if let Some(flush) = flush {
            shared.flushed(flush).await;
        }
        shared.state.borrow_mut().release_replies(*key, is_written);
    }

    fn closing(&self) -> Closing {
        self.guard.shared.state.borrow().clients[self.guard.key].closing
    }

    /// Runs the complete commands that were read, in order, until one of them has to wait.
    fn run_commands(&mut self) {
        let ClientGuard { shared, key } = &self.guard;
        let mut state = shared.state.borrow_mut();
        let state = &mut *state;
        state.clock.start_turn();
        state.clients[*key].input_bytes = self.input.len() + self.parser.held_bytes();
        loop {
            let client = &state.clients[*key];
            if client.closing != Closing::No || client.blocked_command.is_some() || client.postponed
            {
                break;
            }
            let flow = if let Some(args) = self.postponed.take() {
                let flow = dispatch(state, *key, &args, Prefetched::default());
                if flow == Flow::Postponed {
                    self.postponed = Some(args);
                }
                flow
            } else {
                if !self.parser.has_ahead() {
                    self.parser.set_authenticated(client.authenticated);
                    // Before authentication, requests are parsed one at a time: the limits for the
                    // next request depend on whether this request authenticates the client.
                    let requests = match client.authenticated {
                        true => shared.limits.requests_ahead_max,
                        false => 1,
                    };
                    self.parser.parse_ahead(&mut self.input, requests);
                    let calls = self.parser.ahead();
                    state
                        .keyspace
                        .prefetch(&client.session, calls, &mut self.prefetched);
                }
                let prefetched = self.prefetched.pop_front().unwrap_or_default();
                match self.parser.next(&mut self.input) {
                    Ok(false) => break,
                    Err(error) => {
                        state.protocol_error(*key, error);
                        break;
                    }
                    Ok(true) => {
                        let flow = dispatch(state, *key, self.parser.args(), prefetched);
                        if flow == Flow::Postponed {
                            self.postponed = Some(self.parser.take_args());
                        }
                        flow
                    }
                }
            };
            if flow != Flow::Next {
                break;
            }
        }
        self.parser.release();
        state.clients[*key].input_bytes = self.input.len() + self.parser.held_bytes();
        state.clients.recount(*key);
        state.clients.evict();
        if self.input.is_empty() {
            self.input = BytesMut::new();
        } else if self.input.len() <= REST_COPIED_MAX {
            self.input = BytesMut::from(&self.input[..]);
        }
    }

    /// Writes the waiting output to the socket in slices of limited size, and yields to other
    /// connections after each full slice. Returns whether all output was written; `false` means
    /// that the socket accepts no more bytes at present.
    async fn write<S: Stream>(&mut self, stream: &mut S) -> io::Result<bool> {
        loop {
            let (is_empty, promises) = {
                let client = &self.guard.shared.state.borrow().clients[self.guard.key];
                (client.out.is_empty(), !client.unwritten.is_empty())
            };
            if is_empty {
                return Ok(true);
            }
            if promises {
                // This client may have been blocked by a command. While this task was suspended, a
                // command of another client may have completed the blocked command. The reply to
                // the blocked command must then wait until its changes are on disk.
                self.wait_until_durable().await;
            }
            let written = poll_fn(|context| match self.poll_write(stream, context) {
                Poll::Pending => Poll::Ready(Ok(None)),
                Poll::Ready(Ok(written)) => Poll::Ready(Ok(Some(written))),
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            });
            match written.await? {
                None => return Ok(false),
                Some(written) if written < self.guard.shared.limits.write_slice_bytes => {}
                Some(_) => yield_now().await,
            }
        }
    }

    /// Makes one vectored write of at most `write_slice_bytes`.
    fn poll_write<S: Stream>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let ClientGuard { shared, key } = &self.guard;
        let mut state = shared.state.borrow_mut();
        let state = &mut *state;
        let out = &mut state.clients[*key].out;
        let mut parts = [IoSlice::new(&[]); PARTS];
        let count = out.parts(&mut parts, shared.limits.write_slice_bytes);
        let parts = &parts[..count];
        let lends = parts.iter().any(|part| BLOB_BYTES_MIN <= part.len());
        let zero_copy_writer = shared.zero_copy_writer.as_ref().filter(|_| lends);
        let written = match (parts, zero_copy_writer) {
            (parts, Some(zero_copy_writer)) => {
                let bytes: usize = parts.iter().map(|part| part.len()).sum();
                stream.poll_write_zero_copy(zero_copy_writer, context, parts, bytes < out.len())
            }
            // A plain write of one part costs the kernel less than a vectored write.
            ([part], None) => Pin::new(stream).poll_write(context, part),
            (parts, None) => Pin::new(stream).poll_write_vectored(context, parts),
        };
        let written = match written {
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(written)) => written,
            other => return other,
        };
        out.advance(written);
        state.clients.recount(*key);
        state.stats.counters.net_output_bytes += written as u64;
        state.stats.counters.writes += 1;
        Poll::Ready(Ok(written))
    }

    fn poll_event<S: Stream>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Event>> {
        let (waits_to_write, reads) = {
            let mut state = self.guard.shared.state.borrow_mut();
            let client = &mut state.clients[self.guard.key];
            if std::mem::take(&mut client.woken) {
                return Poll::Ready(Ok(Event::Woken));
            }
            match &mut client.waker {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            let held_back = client.blocked_command.is_some() || client.postponed;
            let held = self.input.len() + self.parser.held_bytes();
            let room = held < self.guard.shared.limits.ahead_bytes_max;
            let ends = client.closing != Closing::No;
            (!client.out.is_empty(), !ends && (!held_back || room))
        };
        if waits_to_write && let Poll::Ready(written) = self.poll_write(stream, context) {
            return Poll::Ready(written.map(|_| Event::Written));
        }
        match reads {
            true => self.poll_read(stream, context),
            false => Poll::Pending,
        }
    }

    /// Reads once from the socket: into the memory of a large value if one is being received,
    /// otherwise into the core's buffer.
    fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Event>> {
        let shared = Rc::clone(&self.guard.shared);
        let (read, more) = if let Some(blob) = self.parser.blob_mut() {
            let room = blob.remaining_mut().min(shared.limits.blob_read_bytes);
            let mut destination = blob.limit(room);
            let read = std::task::ready!(pin!(stream.read_buf(&mut destination)).poll(context))?;
            self.sends_blobs = true;
            // The second value is true, because the socket may hold further bytes after those of
            // the blob.
            (read, true)
        } else {
            let mut buffer = shared.buffer.borrow_mut();
            let room = match self.sends_blobs {
                true => FIRST_READ_BYTES,
                false => shared.limits.read_bytes,
            };
            buffer.reserve(room);
            let mut destination = (&mut *buffer).limit(room);
            let read = std::task::ready!(pin!(stream.read_buf(&mut destination)).poll(context))?;
            let received = buffer.split();
            if self.input.is_empty() {
                self.input = received;
            } else {
                self.input.extend_from_slice(&received);
            }
            // After a read that fills the buffer, other connections are served before the next
            // read. After a read limited to `FIRST_READ_BYTES`, the rest of the request is read
            // first.
            let is_head = std::mem::take(&mut self.sends_blobs);
            (read, room <= read && !is_head)
        };
        if read == 0 {
            return Poll::Ready(Ok(Event::End));
        }
        let mut state = shared.state.borrow_mut();
        state.stats.counters.net_input_bytes += read as u64;
        state.stats.counters.reads += 1;
        Poll::Ready(Ok(Event::Read { more }))
    }

    /// Closes the sending side. The client still receives all bytes that were written before.
    async fn shut_down<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> io::Result<()> {
        poll_fn(|context| Pin::new(&mut *stream).poll_shutdown(context)).await
    }
}

/// Maximum number of parts of a vectored write.
const PARTS: usize = 64;
