//! Accepts connections from a core's listeners, and sheds connections when the server has no room
//! for them.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use tokio::net::{TcpListener, TcpStream};

use crate::{Core, CoreId, steering};

/// Listeners of a core, and a spare descriptor. The spare descriptor is used when the process has
/// no other descriptor left.
#[derive(Debug)]
pub(crate) struct Acceptor {
    core: Core,
    /// Each listener, with the index of its address in the list of addresses to listen on.
    listeners: Vec<(TcpListener, usize)>,
    /// Index of the listener to poll first. It rotates, so that a busy listener does not starve the
    /// others.
    next: usize,
    shed_response: &'static [u8],
    /// Spare descriptor. It is closed to accept and shed one connection when the process has no
    /// descriptor left.
    reserve: Option<OwnedFd>,
    /// True if accept failed for lack of a resource, so that trying again before the next tick is
    /// pointless.
    paused: bool,
}

/// Connection accepted from a listener.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    /// Index of the address that the connection arrived on.
    pub(crate) listener: usize,
}

/// Cause of a failed accept.
enum AcceptFailure {
    /// No descriptor is left.
    Descriptors,
    /// No memory is left, or accept returned an unexpected error.
    Host,
    /// This one connection failed before it was accepted, for example because of a reset (RFC
    /// 9293), a firewall or a lost route.
    Client,
}

impl Acceptor {
    pub(crate) fn new(
        core: Core,
        listeners: Vec<(TcpListener, usize)>,
        shed_response: &'static [u8],
    ) -> io::Result<Acceptor> {
        let mut acceptor = Acceptor {
            core,
            listeners,
            next: 0,
            shed_response,
            reserve: None,
            paused: false,
        };
        acceptor.reserve = acceptor.open_reserve()?;
        Ok(acceptor)
    }

    /// Waits for the next connection to serve. Cancel-safe.
    pub(crate) async fn accept(&mut self) -> Accepted {
        poll_fn(|context| self.poll_accept(context)).await
    }

    pub(crate) fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<Accepted> {
        while !self.paused {
            match self.poll_listeners(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(accepted)) => return Poll::Ready(accepted),
                Poll::Ready(Err(error)) => self.failed(&error, context),
            }
        }
        // Registers no waker: the task that polls this future also calls `resume`, and then polls
        // the listeners again.
        Poll::Pending
    }

    /// Makes the kernel prefer this core's listeners for connections whose packets arrive on the
    /// processor `core`. `None` removes this preference.
    pub(crate) fn prefer(&self, core: Option<CoreId>) -> io::Result<()> {
        self.listeners
            .iter()
            .try_for_each(|(socket, _)| steering::prefer(socket, core))
    }

    /// Resumes accepting after a pause. Called on each tick.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }

    /// Sheds a connection: sends the prepared response, then closes the connection. A client that
    /// sends more data afterwards may not receive the response. This function does not wait for
    /// such data, because the server has no room for the connection.
    pub(crate) fn shed(&self, stream: TcpStream) {
        self.core.counters().shed.count();
        let answered = rustix::net::send(&stream, self.shed_response, SendFlags::NOSIGNAL)
            .and_then(|_| rustix::net::shutdown(&stream, Shutdown::Write));
        if answered.is_err() {
            return;
        }
        // The received bytes are read and dropped: closing a socket with unread bytes sends a
        // reset, which discards a response still in flight.
        let mut request = [0; 4096];
        while let Ok((_, read)) = rustix::net::recv(&stream, &mut request, RecvFlags::empty())
            && read == request.len()
        {}
    }

    fn poll_listeners(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        for _ in 0..self.listeners.len() {
            let (socket, listener) = &self.listeners[self.next];
            self.next = (self.next + 1) % self.listeners.len();
            if let Poll::Ready(accepted) = socket.poll_accept(context) {
                self.core.counters().accepts.count();
                return Poll::Ready(accepted.map(|(stream, peer)| Accepted {
                    stream,
                    peer,
                    listener: *listener,
                }));
            }
        }
        Poll::Pending
    }

    fn failed(&mut self, error: &io::Error, context: &mut Context<'_>) {
        self.core.counters().accept_failed.count();
        match AcceptFailure::of(error) {
            AcceptFailure::Client => {}
            AcceptFailure::Host => self.paused = true,
            AcceptFailure::Descriptors => self.shed_by_reserve(context),
        }
    }

    /// Frees the reserved descriptor, and uses it to accept and shed the next connection of the
    /// backlog. After that, evicts an idle connection, so that a later connection finds a
    /// descriptor. Each call accepts one connection, finds the backlog empty, or pauses accepting,
    /// so the core never loops on a failing accept.
    fn shed_by_reserve(&mut self, context: &mut Context<'_>) {
        drop(self.reserve.take());
        match self.poll_listeners(context) {
            Poll::Ready(Ok(accepted)) => {
                self.shed(accepted.stream);
                self.core.evict();
            }
            Poll::Ready(Err(_)) => self.paused = true,
            Poll::Pending => {}
        }
        // Another thread may have taken the freed descriptor. Then accepting pauses until the next
        // tick.
        match self.open_reserve() {
            Ok(reserve) => self.reserve = reserve,
            Err(_) => self.paused = true,
        }
    }

    /// Duplicates a listener as the reserved descriptor. Returns `None` if there is no listener.
    fn open_reserve(&self) -> io::Result<Option<OwnedFd>> {
        let first = self.listeners.first();
        let reserve = first.map(|(socket, _)| rustix::io::fcntl_dupfd_cloexec(socket, 0));
        Ok(reserve.transpose()?)
    }
}

impl AcceptFailure {
    fn of(error: &io::Error) -> AcceptFailure {
        match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE) => AcceptFailure::Descriptors,
            // accept(2) also returns errors that are already pending on the new socket. According
            // to its manual, the caller should retry after these errors.
            Some(
                Errno::CONNABORTED
                | Errno::INTR
                | Errno::PROTO
                | Errno::PERM
                | Errno::NETDOWN
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::OPNOTSUPP
                | Errno::NETUNREACH
                | Errno::TIMEDOUT,
            ) => AcceptFailure::Client,
            _ => AcceptFailure::Host,
        }
    }
}
