//! HTTP/2 with the crate `http2`. The responses are the same as for HTTP/1.1.
//!
//! The head of a request is converted to HTTP/1.1 text ([`translate`]). Then the same code as for
//! HTTP/1.1 validates and answers the request. The fields of the response become a field block
//! ([`crate::head`]). All requests that arrive in one read are answered together, and the responses
//! leave in one write ([`outgoing`]). A cache hit needs no task of its own. Bodies in memory are
//! passed on by reference. Bodies in files are read in chunks, a few at a time per connection.
//!
//! The crate `http2` limits the memory that it uses. The module [`flood_guard`] checks that a
//! client reads the responses that it requested, and does not send mostly frames other than
//! requests. Deadlines belong to the connection, so eviction and drain work as for HTTP/1.1.

mod completed_stream;
mod flood_guard;
pub(crate) mod limits;
mod outgoing;
mod pending;
mod sending;
mod session;
mod translate;
mod upload;
mod wire;

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;

use reactor::{Conn, Linger, Wait};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::core::Core;
use crate::input::Input;
pub(crate) use http2::PREFACE;
use session::Session;
use wire::Carrier;

/// Maximum bytes that are read and dropped after a connection was closed because its client made an
/// error or sent a flood of frames. Such a client has only a GOAWAY left to read.
const FAULT_LINGER_BYTES_MAX: usize = 64 << 10;

/// Serves `conn` until either side closes it. `begun` contains the bytes that were read already.
pub(crate) async fn serve<S: Carrier>(core: Rc<Core>, conn: Conn<S>, begun: Input) {
    let (stream, conn) = conn.swap(());
    let mut drained = pin!(core.reactor.drain_started());
    // A `RefCell` suffices: the future `serving` and the closure `reads_fast_enough` borrow the
    // session only while they run, and never run at the same time.
    let session = RefCell::new(Session::new(&core, &conn, stream, begun));
    let serving = poll_fn(|context| {
        let session = &mut *session.borrow_mut();
        // A reload of the configuration wakes no connection. As in HTTP/1.1, it takes effect at the
        // next request.
        if !session.is_leaving()
            && (session.has_reached_request_limit(0)
                || core.is_superseded()
                || drained.as_mut().poll(context).is_ready())
        {
            session.leave();
        }
        session.poll(context)
    });
    let reads_fast_enough = || session.borrow().reads_fast_enough();
    let ended = conn.deadline.within_while(serving, reads_fast_enough).await;
    let mut session = session.into_inner();
    if ended.is_err() {
        // The client took too long, or the connection was evicted or drained.
        if conn.deadline.is_armed(Wait::Write) {
            session.stream.reset_when_closed();
        }
        session.leave_now();
        conn.deadline.arm(Wait::Linger);
        let leaving = poll_fn(|context| session.poll(context));
        // The connection closes in any case, so the result is ignored.
        drop(conn.deadline.within(leaving).await);
    }
    if session.is_sound() {
        let bounds = match session.is_at_fault() {
            true => conn.deadline.linger().at_most(FAULT_LINGER_BYTES_MAX),
            false => conn.deadline.linger(),
        };
        let lingering = linger(&mut session.stream, bounds);
        drop(conn.deadline.within(lingering).await);
    }
}

/// Closes the sending side, then reads and drops the bytes that the client still sends. If the
/// socket were closed with unread bytes, the kernel would send a reset, and the client could lose
/// the end of the last response.
async fn linger<S: Carrier>(stream: &mut S, mut bounds: Linger<'_>) {
    let mut stream = Pin::new(stream.stream());
    if poll_fn(|context| stream.as_mut().poll_shutdown(context))
        .await
        .is_err()
    {
        return;
    }
    loop {
        let read = poll_fn(|context| {
            let mut bytes = [0; 4096];
            let mut buffer = ReadBuf::new(&mut bytes);
            stream
                .as_mut()
                .poll_read(context, &mut buffer)
                .map_ok(|()| buffer.filled().len())
        });
        match read.await {
            Ok(read) if bounds.received(read) => {}
            _ => return,
        }
    }
}
