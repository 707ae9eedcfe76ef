//! Opens the listening sockets, one per address and core. All sockets of one address form a
//! `SO_REUSEPORT` group.
//!
//! The kernel spreads new connections over a group by a hash of their addresses and ports.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::{CoreId, Counters, Error, Limits, Network, Steering, socket, steering};

/// Open listening sockets, ready for [`crate::run`]. The kernel already queues connections to them.
#[derive(Debug)]
pub struct Listeners {
    pub(crate) cores: Vec<CoreListeners>,
    pub(crate) counters: Arc<[Counters]>,
    pub(crate) exempt: Vec<Network>,
    pub(crate) steering: Steering,
    addresses: Vec<SocketAddr>,
}

/// One core's sockets: one per address, or more if more sockets were inherited than there are
/// cores.
#[derive(Debug)]
pub(crate) struct CoreListeners {
    pub(crate) id: CoreId,
    pub(crate) sockets: Vec<CoreSocket>,
}

/// Listening socket, and the index of its address in the list passed to [`bind`].
#[derive(Debug)]
pub(crate) struct CoreSocket {
    pub(crate) socket: TcpListener,
    pub(crate) address: usize,
}

impl Listeners {
    /// Exempts connections from `networks` from the limit on connections per address: for example
    /// connections from proxies that forward many clients, or from this host.
    #[must_use]
    pub fn exempt(mut self, networks: Vec<Network>) -> Listeners {
        self.exempt = networks;
        self
    }

    /// Sets how connections are spread over the cores; the default is by hash.
    ///
    /// # Errors
    /// The kernel does not support `steering`.
    pub fn steer(mut self, steering: Steering) -> Result<Listeners, Error> {
        let failed = |source| {
            Error::host(
                format!(
                    "cannot distribute connections over the cores by {}",
                    steering.name()
                ),
                source,
            )
        };
        let cores: Vec<_> = self.cores.iter().map(|core| core.id).collect();
        for core in &self.cores {
            for CoreSocket { socket, .. } in &core.sockets {
                // Inherited sockets may prefer some processor already, so the preference is set or
                // removed on every socket.
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

    /// Returns the addresses in the order requested, with the port that the kernel chose for port
    /// 0.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns duplicates of the sockets, to be sent to another process with
    /// [`crate::send_listeners`]. While a duplicate is open, the kernel continues to queue
    /// connections, so close the duplicates before the reactor stops for good.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn sockets(&self) -> Result<Vec<TcpListener>, Error> {
        let sockets = self.cores.iter().flat_map(|core| &core.sockets);
        let cloned = sockets.map(|socket| socket.socket.try_clone());
        cloned.collect::<Result<_, _>>().map_err(|source| {
            Error::host("cannot duplicate the listeners for another process", source)
        })
    }

    /// Returns the counters of each core, readable while the reactor runs and afterwards.
    #[must_use]
    pub fn counters(&self) -> Arc<[Counters]> {
        Arc::clone(&self.counters)
    }
}

/// Listens on every address for every core. `[::]` means IPv6 only; to serve IPv4 too, also pass
/// `0.0.0.0`. If `addresses` is empty, the cores run with only the sockets that their handlers
/// open.
///
/// # Errors
/// An address cannot be listened on; the error names the address and says what to do.
///
/// # Panics
/// `cores` is empty, or [`Limits::check`] rejects `limits`.
pub fn bind(
    addresses: &[SocketAddr],
    cores: &[CoreId],
    limits: &Limits,
) -> Result<Listeners, Error> {
    adopt(addresses, cores, limits, &mut Vec::new())
}

/// Listens as [`bind`] does, but uses inherited sockets where possible. If sockets in `inherited`
/// listen on one of the addresses, the function removes them from `inherited` and opens no new
/// sockets for this address. Port 0 matches any port. Sockets that match no address stay in
/// `inherited`.
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
    assert!(!cores.is_empty(), "bind needs at least one core");
    assert_eq!(limits.check(), Ok(()), "this limit must not be zero");
    let mut resolved = Vec::with_capacity(addresses.len());
    let mut by_core: Vec<_> = cores
        .iter()
        .map(|id| CoreListeners {
            id: *id,
            sockets: Vec::with_capacity(addresses.len()),
        })
        .collect();
    for (address, requested_address) in addresses.iter().enumerate() {
        let sockets = match take(*requested_address, inherited) {
            sockets if sockets.is_empty() => open(*requested_address, cores.len(), limits),
            sockets => share(sockets, cores.len()),
        };
        let sockets = sockets.map_err(|source| Error::listen(*requested_address, source))?;
        for socket in &sockets {
            socket::set_unsent_max(socket, limits.unsent_bytes_max)
                .map_err(|source| Error::listen(*requested_address, source))?;
        }
        let bound = sockets[0].local_addr();
        resolved.push(bound.map_err(|source| Error::listen(*requested_address, source))?);
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

/// Removes the sockets that listen on `requested_address` from `inherited` and returns them. If the
/// port of `requested_address` is 0, the port is taken from the first socket of `inherited` with
/// the same IP address.
fn take(requested_address: SocketAddr, inherited: &mut Vec<TcpListener>) -> Vec<TcpListener> {
    let address = |socket: &TcpListener| socket.local_addr().ok();
    let fits = |found: &SocketAddr| {
        found.ip() == requested_address.ip()
            && (requested_address.port() == 0 || found.port() == requested_address.port())
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

/// Returns `sockets`, with duplicates appended until there is one socket per core. Cores with
/// duplicates of one socket share its backlog.
fn share(mut sockets: Vec<TcpListener>, cores: usize) -> io::Result<Vec<TcpListener>> {
    let inherited_count = sockets.len();
    for index in inherited_count..cores {
        sockets.push(sockets[index % inherited_count].try_clone()?);
    }
    Ok(sockets)
}

/// Opens one socket per core, in one `SO_REUSEPORT` group.
fn open(
    requested_address: SocketAddr,
    cores: usize,
    limits: &Limits,
) -> io::Result<Vec<TcpListener>> {
    refuse_shared(requested_address)?;
    let mut address = requested_address;
    let mut sockets = Vec::with_capacity(cores);
    for _ in 0..cores {
        let socket = listen(address, limits.backlog)?;
        // If port 0 was requested, the kernel chooses a port for the first socket. The other
        // sockets use the same port.
        address = socket.local_addr()?;
        sockets.push(socket);
    }
    Ok(sockets)
}

/// Fails if another socket listens on `address`. `SO_REUSEPORT` would let a second server of the
/// same user silently take half of the connections. A socket without that option detects this: it
/// cannot be bound to an address in use.
fn refuse_shared(address: SocketAddr) -> io::Result<()> {
    let socket = stream_socket(address)?;
    rustix::net::bind(&socket, &address)?;
    Ok(())
}

fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = stream_socket(address)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    // Accepted sockets inherit the option, which saves one system call per connection.
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
    // Lets a restart bind the address while connections are in TIME_WAIT.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}
