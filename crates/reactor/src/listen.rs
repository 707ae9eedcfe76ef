//! Opening the listening sockets: for each address one a core, all in one `SO_REUSEPORT` group.
//!
//! The kernel spreads new connections over a group by hash of their addresses and ports.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::{CoreId, Counters, Error, Limits, Network};

/// Open listening sockets, ready for [`crate::run`]. The kernel queues connections from now on.
#[derive(Debug)]
pub struct Listeners {
    pub(crate) cores: Vec<CoreListeners>,
    pub(crate) counters: Arc<[Counters]>,
    pub(crate) exempt: Vec<Network>,
    addresses: Vec<SocketAddr>,
}

/// One core's sockets, one an address.
#[derive(Debug)]
pub(crate) struct CoreListeners {
    pub(crate) id: CoreId,
    pub(crate) sockets: Vec<TcpListener>,
}

impl Listeners {
    /// The same listeners, and `networks` may have any number of connections: proxies that speak for many clients, and
    /// this host itself.
    #[must_use]
    pub fn exempt(mut self, networks: Vec<Network>) -> Listeners {
        self.exempt = networks;
        self
    }

    /// The addresses, in the order asked for, with the port the kernel chose where 0 was asked.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The counters of each core, to be read while it runs and after.
    #[must_use]
    pub fn counters(&self) -> Arc<[Counters]> {
        Arc::clone(&self.counters)
    }
}

/// Listens on every address for every core. `[::]` means IPv6 only: to serve both, name `0.0.0.0` too.
///
/// # Errors
/// An address cannot be had; the error names it and says what to do.
///
/// # Panics
/// Without an address, without a core, or with limits that [`Limits::check`] refuses.
pub fn bind(
    addresses: &[SocketAddr],
    cores: &[CoreId],
    limits: &Limits,
) -> Result<Listeners, Error> {
    assert!(!addresses.is_empty(), "no address to listen on");
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
    for asked in addresses {
        let mut address = *asked;
        refuse_shared(address).map_err(|source| Error::listen(address, source))?;
        for core in &mut by_core {
            let socket = listen(address, limits.backlog)
                .and_then(|socket| {
                    address = socket.local_addr()?;
                    Ok(socket)
                })
                .map_err(|source| Error::listen(address, source))?;
            core.sockets.push(socket);
        }
        resolved.push(address);
    }
    Ok(Listeners {
        counters: cores.iter().map(|_| Counters::default()).collect(),
        cores: by_core,
        exempt: Vec::new(),
        addresses: resolved,
    })
}

/// `SO_REUSEPORT` would let a second server of the same user take half of the connections in silence. A socket without
/// the option finds out: it cannot be bound where anybody listens.
fn refuse_shared(address: SocketAddr) -> io::Result<()> {
    let socket = socket(address)?;
    rustix::net::bind(&socket, &address)?;
    Ok(())
}

fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = socket(address)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    // Accepted sockets inherit it, which saves a system call for each.
    sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

fn socket(address: SocketAddr) -> io::Result<rustix::fd::OwnedFd> {
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
