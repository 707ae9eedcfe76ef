//! HTTP/2 by `http2`, with the answers of HTTP/1.1.
//!
//! A stream's head is put into the words of HTTP/1.1 and judged by the same rules ([`translate`]), answered by the same
//! code, and the answer's fields put into a block ([`crate::head`]). What a read brought is answered as a whole and leaves
//! in one write ([`outgoing`]); a hit is no task of its own. Bodies in memory are passed on as they are, files in chunks,
//! a few at a time for each connection.
//!
//! `http2` bounds what it must remember. [`pulse`] judges what only we can know: whether a client takes what it asked for,
//! and whether what it sends is more than noise. Deadlines are the connection's own, so that eviction and drain work as
//! they do for HTTP/1.1.

mod making;
mod outgoing;
mod pulse;
mod sending;
mod session;
mod told;
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
pub(crate) use wire::Carrier;

/// Bounds of one HTTP/2 connection. A head is bounded as HTTP/1.1's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Streams open at the same time; RFC 9113 §6.5.2 wants 100 at least. Default 100.
    pub streams_max: u32,
    /// Bytes read from files that wait for the client, over all streams; one chunk more is possible. What is sent from
    /// memory is shared and does not count. Default 16 KiB.
    pub buffer_bytes_max: usize,
    /// Answers in the making that are not ready, over all streams; more wait for their turn. Default 32.
    pub making_max: usize,
    /// Bytes a client may send without a new request, or taking anything of an answer. Default 256 KiB.
    pub idle_bytes_max: usize,
    /// Streams given up by the client before their answer was sent, or refused for its mistakes, beyond those it took.
    /// Default 256.
    pub resets_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            streams_max: 100,
            buffer_bytes_max: 16 << 10,
            making_max: 32,
            idle_bytes_max: 256 << 10,
            resets_max: 256,
        }
    }
}

/// Bytes that are dropped behind the end of a connection whose client made a mistake or floods: it has a GOAWAY to read, and
/// no answer.
const FAULT_LINGER_BYTES_MAX: usize = 64 << 10;

/// Serves `conn`, of which `begun` has been read, until either side ends it.
pub(crate) async fn serve<S: Carrier>(core: Rc<Core>, conn: Conn<S>, begun: Input) {
    let (stream, conn) = conn.swap(());
    let mut drained = pin!(core.reactor.drain_begun());
    // Looked at by both of what follows, never at the same time.
    let session = RefCell::new(Session::new(&core, &conn, stream, begun));
    let serving = poll_fn(|context| {
        let session = &mut *session.borrow_mut();
        // A new configuration wakes nobody: as in HTTP/1.1, it is noticed with the next request.
        if !session.is_leaving()
            && (session.has_had_enough(0)
                || core.is_superseded()
                || drained.as_mut().poll(context).is_ready())
        {
            session.leave();
        }
        session.poll(context)
    });
    let keeps_pace = || session.borrow().keeps_pace();
    let ended = conn.deadline.within_while(serving, keeps_pace).await;
    let mut session = session.into_inner();
    if ended.is_err() {
        // It has been waited for long enough, or its place is needed.
        if conn.deadline.is_armed(Wait::Write) {
            session.stream.reset_when_closed();
        }
        session.leave_now();
        conn.deadline.arm(Wait::Linger);
        let leaving = poll_fn(|context| session.poll(context));
        // How the client takes its leave changes nothing any more.
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

/// Says that nothing more comes, and drops what the client still sends: to close with bytes unread would send a reset,
/// which discards the last words that are on their way.
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
            Ok(read) if bounds.came(read) => {}
            _ => return,
        }
    }
}
