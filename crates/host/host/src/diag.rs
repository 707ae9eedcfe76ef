//! Listening sockets, by requests to `sock_diag` of the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use host_checks::Unread;
use rustix::net::netlink::SOCK_DIAG;

use crate::netlink::{Expect, Netlink, number};

// linux/sock_diag.h, linux/inet_diag.h, net/tcp_states.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_BYTES: usize = 56;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const TCP_LISTEN: u32 = 10;

/// Listening TCP socket of the network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListeningSocket {
    pub(crate) address: SocketAddr,
    /// Connections that wait for accept.
    pub(crate) waiting: u32,
    /// Maximum number of connections that wait for accept.
    pub(crate) backlog: u32,
    pub(crate) inode: u64,
}

/// Lists all listening TCP sockets.
pub(crate) fn listening(deadline: Instant) -> Result<Vec<ListeningSocket>, Unread> {
    let mut netlink = Netlink::open(Some(SOCK_DIAG), deadline)?;
    let mut found = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let mut request = [0; REQUEST_BYTES];
        request[0] = family;
        request[1] = IPPROTO_TCP;
        request[4..8].copy_from_slice(&(1_u32 << TCP_LISTEN).to_ne_bytes());
        let reply = netlink.ask(SOCK_DIAG_BY_FAMILY, Expect::Dump, &request)?;
        for message in reply {
            found.push(socket(&message.payload).ok_or(Unread::Malformed)?);
        }
    }
    Ok(found)
}

/// Parses a `struct inet_diag_msg`.
pub(crate) fn socket(message: &[u8]) -> Option<ListeningSocket> {
    let port = u16::from_be_bytes(*message.get(4..)?.first_chunk::<2>()?);
    let bytes = message.get(8..)?.first_chunk::<16>()?;
    let address = match *message.first()? {
        AF_INET => {
            let [first, second, third, fourth, ..] = *bytes;
            IpAddr::V4(Ipv4Addr::new(first, second, third, fourth))
        }
        AF_INET6 => IpAddr::V6(Ipv6Addr::from(*bytes)),
        _ => return None,
    };
    Some(ListeningSocket {
        address: SocketAddr::new(address, port),
        waiting: number(message, 56)?,
        backlog: number(message, 60)?,
        inode: number(message, 68)?.into(),
    })
}
