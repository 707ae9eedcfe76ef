//! Opening the listening sockets: for each address one a core, all in one `SO_REUSEPORT` group.
//!
//! The kernel spreads new connections over a group by hash of their addresses and ports.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::{CoreId, Counters, Error, Limits, Network, Steering, socket, steering};

/// Open listening sockets, ready for [`crate::run`]. The kernel queues connections from now on.
#[derive(Debug)]
pub struct Listeners {
    pub(crate) cores: Vec<CoreListeners>,
    pub(crate) counters: Arc<[Counters]>,
    pub(crate) exempt: Vec<Network>,
    pub(crate) steering: Steering,
    addresses: Vec<SocketAddr>,
}

/// One core's sockets: one an address, and more where there were more than cores.
#[derive(Debug)]
pub(crate) struct CoreListeners {
    pub(crate) id: CoreId,
    pub(crate) sockets: Vec<CoreSocket>,
}

/// A socket, and the place of its address among those asked for.
#[derive(Debug)]
pub(crate) struct CoreSocket {
    pub(crate) socket: TcpListener,
    pub(crate) address: usize,
}

impl Listeners {
    /// The same listeners, and `networks` may have any number of connections: proxies that speak for many clients, and
    /// this host itself.
    #[must_use]
    pub fn exempt(mut self, networks: Vec<Network>) -> Listeners {
        self.exempt = networks;
        self
    }

    /// The same listeners, and connections are spread over the cores as `steering` says instead of by hash.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn steer(mut self, steering: Steering) -> Result<Listeners, Error> {
        let failed =
            |source| Error::host(format!("steer connections by {}", steering.name()), source);
        let cores: Vec<_> = self.cores.iter().map(|core| core.id).collect();
        for core in &self.cores {
            for CoreSocket { socket, .. } in &core.sockets {
                // Sockets that were inherited may have been told otherwise.
                let preferred = (steering == Steering::IncomingCpu).then_some(core.id);
                steering::prefer(socket, preferred).map_err(failed)?;
            }
        }
        if steering == Steering::Cbpf {
            for CoreSocket { socket, .. } in &self.cores[0].sockets {
                steering::attach(socket, &cores).map_err(failed)?;
            }
        }
        self.steering = steering;
        Ok(self)
    }

    /// The addresses, in the order asked for, with the port the kernel chose where 0 was asked.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The sockets once more, to be handed to another process with [`crate::send_listeners`]. Nobody is refused while they
    /// are open, so close them before the reactor is stopped for good.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn sockets(&self) -> Result<Vec<TcpListener>, Error> {
        let sockets = self.cores.iter().flat_map(|core| &core.sockets);
        let cloned = sockets.map(|socket| socket.socket.try_clone());
        cloned
            .collect::<Result<_, _>>()
            .map_err(|source| Error::host("keep the listeners for another process", source))
    }

    /// The counters of each core, to be read while it runs and after.
    #[must_use]
    pub fn counters(&self) -> Arc<[Counters]> {
        Arc::clone(&self.counters)
    }
}

/// Listens on every address for every core. `[::]` means IPv6 only: to serve both, name `0.0.0.0` too. Without an address
/// the cores run all the same, with what their handlers listen on themselves.
///
/// # Errors
/// An address cannot be had; the error names it and says what to do.
///
/// # Panics
/// Without a core, or with limits that [`Limits::check`] refuses.
pub fn bind(
    addresses: &[SocketAddr],
    cores: &[CoreId],
    limits: &Limits,
) -> Result<Listeners, Error> {
    adopt(addresses, cores, limits, &mut Vec::new())
}

/// As [`bind`], but takes those of `inherited` that listen on one of the addresses, instead of opening others there. Port
/// 0 takes any port. What is left in `inherited` nobody asked for.
///
/// # Errors
/// As [`bind`].
///
/// # Panics
/// As [`bind`].
pub fn adopt(
    addresses: &[SocketAddr],
    cores: &[CoreId],
    limits: &Limits,
    inherited: &mut Vec<TcpListener>,
) -> Result<Listeners, Error> {
    assert!(!cores.is_empty(), "no core to listen with");
    assert_eq!(limits.check(), Ok(()), "this bound must not be zero");
    let mut resolved = Vec::with_capacity(addresses.len());
    let mut by_core: Vec<_> = cores
        .iter()
        .map(|id| CoreListeners {
            id: *id,
            sockets: Vec::with_capacity(addresses.len()),
        })
        .collect();
    for (address, asked) in addresses.iter().enumerate() {
        let sockets = match take(*asked, inherited) {
            sockets if sockets.is_empty() => open(*asked, cores.len(), limits),
            sockets => share(sockets, cores.len()),
        };
        let sockets = sockets.map_err(|source| Error::listen(*asked, source))?;
        for socket in &sockets {
            socket::set_unsent_max(socket, limits.unsent_bytes_max)
                .map_err(|source| Error::listen(*asked, source))?;
        }
        let bound = sockets[0].local_addr();
        resolved.push(bound.map_err(|source| Error::listen(*asked, source))?);
        for (index, socket) in sockets.into_iter().enumerate() {
            let sockets = &mut by_core[index % cores.len()].sockets;
            sockets.push(CoreSocket { socket, address });
        }
    }
    Ok(Listeners {
        counters: cores.iter().map(|_| Counters::default()).collect(),
        cores: by_core,
        exempt: Vec::new(),
        steering: Steering::Hash,
        addresses: resolved,
    })
}

/// Those of `inherited` that listen on `asked`. If its port is 0, those that listen on the first port there is.
fn take(asked: SocketAddr, inherited: &mut Vec<TcpListener>) -> Vec<TcpListener> {
    let address = |socket: &TcpListener| socket.local_addr().ok();
    let fits = |found: &SocketAddr| {
        found.ip() == asked.ip() && (asked.port() == 0 || found.port() == asked.port())
    };
    let Some(first) = inherited.iter().filter_map(address).find(fits) else {
        return Vec::new();
    };
    let (taken, left) = inherited
        .drain(..)
        .partition(|socket| address(socket) == Some(first));
    *inherited = left;
    taken
}

/// At least one socket for each core; where there are fewer, cores wait at the same one.
fn share(mut sockets: Vec<TcpListener>, cores: usize) -> io::Result<Vec<TcpListener>> {
    let given = sockets.len();
    for index in given..cores {
        sockets.push(sockets[index % given].try_clone()?);
    }
    Ok(sockets)
}

/// One socket for each core, in a group.
fn open(asked: SocketAddr, cores: usize, limits: &Limits) -> io::Result<Vec<TcpListener>> {
    refuse_shared(asked)?;
    let mut address = asked;
    let mut sockets = Vec::with_capacity(cores);
    for _ in 0..cores {
        let socket = listen(address, limits.backlog)?;
        // The port that the kernel chose where 0 was asked.
        address = socket.local_addr()?;
        sockets.push(socket);
    }
    Ok(sockets)
}

/// `SO_REUSEPORT` would let a second server of the same user take half of the connections in silence. A socket without
/// the option finds out: it cannot be bound where anybody listens.
fn refuse_shared(address: SocketAddr) -> io::Result<()> {
    let socket = stream_socket(address)?;
    rustix::net::bind(&socket, &address)?;
    Ok(())
}

fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = stream_socket(address)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    // Accepted sockets inherit it, which saves a system call for each.
    sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

fn stream_socket(address: SocketAddr) -> io::Result<rustix::fd::OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // So that a restart need not wait for the last connections' TIME_WAIT.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}
