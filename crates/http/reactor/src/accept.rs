//! Taking connections off a core's listeners, and turning them away when there is no room.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use tokio::net::{TcpListener, TcpStream};

use crate::{Core, CoreId, steering};

/// A core's listeners and the descriptor it keeps for the day there are none left.
#[derive(Debug)]
pub(crate) struct Acceptor {
    core: Core,
    /// Each with the place of its address among those listened on.
    listeners: Vec<(TcpListener, usize)>,
    /// The listener asked first, so that a busy one does not starve the others.
    next: usize,
    shed_answer: &'static [u8],
    /// Closed to accept and turn away one connection when the process has no descriptor left.
    reserve: Option<OwnedFd>,
    /// Accept fails for want of something that only time brings; no use asking before the next tick.
    paused: bool,
}

/// A connection off a listener.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    /// Which of the addresses listened on it came by.
    pub(crate) listener: usize,
}

/// Why a connection is turned away rather than served.
enum Failed {
    /// No descriptor is left.
    Descriptors,
    /// No memory, or an error accept should not give.
    Host,
    /// This connection failed before it was taken: RFC 9293 reset, a firewall, a route that vanished.
    Client,
}

impl Acceptor {
    pub(crate) fn new(
        core: Core,
        listeners: Vec<(TcpListener, usize)>,
        shed_answer: &'static [u8],
    ) -> io::Result<Acceptor> {
        let mut acceptor = Acceptor {
            core,
            listeners,
            next: 0,
            shed_answer,
            reserve: None,
            paused: false,
        };
        acceptor.reserve = acceptor.open_reserve()?;
        Ok(acceptor)
    }

    /// The next connection that is to be served. Cancel-safe.
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
        // `resume` runs in the task that polls this, so no waker is needed.
        Poll::Pending
    }

    /// Has the kernel prefer this core's sockets for what arrives on `core`, or no longer.
    pub(crate) fn prefer(&self, core: Option<CoreId>) -> io::Result<()> {
        self.listeners
            .iter()
            .try_for_each(|(socket, _)| steering::prefer(socket, core))
    }

    /// Ends a pause; called each tick.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
    }

    /// Turns a connection away: the prepared answer, then the end. A client that sends more after this may miss the
    /// answer; to wait for that would take the room there is not.
    pub(crate) fn shed(&self, stream: TcpStream) {
        self.core.counters().shed.count();
        let answered = rustix::net::send(&stream, self.shed_answer, SendFlags::NOSIGNAL)
            .and_then(|_| rustix::net::shutdown(&stream, Shutdown::Write));
        if answered.is_err() {
            return;
        }
        // Closing with bytes unread would send a reset, and a reset discards an answer that is still on its way.
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
        match Failed::of(error) {
            Failed::Client => {}
            Failed::Host => self.paused = true,
            Failed::Descriptors => self.shed_by_reserve(context),
        }
    }

    /// Each call takes one connection off the backlog, finds it empty or pauses, so that accept never spins on an error.
    /// Who waits is turned away, and an idle connection ends to make room for who comes next.
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
        // Another thread may have taken the place; then the next tick tries again.
        match self.open_reserve() {
            Ok(reserve) => self.reserve = reserve,
            Err(_) => self.paused = true,
        }
    }

    /// None without a listener.
    fn open_reserve(&self) -> io::Result<Option<OwnedFd>> {
        let first = self.listeners.first();
        let reserve = first.map(|(socket, _)| rustix::io::fcntl_dupfd_cloexec(socket, 0));
        Ok(reserve.transpose()?)
    }
}

impl Failed {
    fn of(error: &io::Error) -> Failed {
        match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE) => Failed::Descriptors,
            // accept(2): errors already pending on the new socket are passed on, and are to be treated like a retry.
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
            ) => Failed::Client,
            _ => Failed::Host,
        }
    }
}
