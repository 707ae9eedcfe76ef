//! Number of connections per address, which is limited so that one address cannot use up the
//! server's connections.
//!
//! All cores share one table behind a lock. The lock is held for one map operation, on accept and
//! on close, never for a request.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use crate::sync::UNPOISONED;

/// Range of addresses that share a prefix, written `192.0.2.0/24`. A text without a prefix length
/// stands for one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u32,
}

impl Network {
    /// Returns the network of the addresses that share the first `prefix_bits` bits of `address`;
    /// `None` if `address` has fewer than `prefix_bits` bits.
    #[must_use]
    pub fn new(address: IpAddr, prefix_bits: u32) -> Option<Network> {
        let network = Network {
            address,
            prefix_bits,
        };
        (prefix_bits <= width(address)).then_some(network)
    }

    /// Returns whether `address` is in the network.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        if self.address.is_ipv4() != address.is_ipv4() {
            return false;
        }
        let difference = bits(self.address) ^ bits(address);
        // With a prefix of 0 bits, the shift would be by the whole width of the address, which
        // overflows.
        self.prefix_bits == 0 || difference >> (width(address) - self.prefix_bits) == 0
    }
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Network, &'static str> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address = address
            .parse()
            .map_err(|_| "the text is not an IP address")?;
        let prefix_bits = match prefix {
            None => width(address),
            Some(prefix) => prefix
                .parse()
                .map_err(|_| "the text after the slash is not a prefix length")?,
        };
        Network::new(address, prefix_bits).ok_or("the prefix is longer than the address")
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.prefix_bits == width(self.address) {
            write!(out, "{}", self.address)
        } else {
            write!(out, "{}/{}", self.address, self.prefix_bits)
        }
    }
}

fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns the address under which connections and requests from `address` are counted: an IPv4
/// address itself, or the /64 network from which an IPv6 host chooses its addresses.
#[must_use]
pub fn counted_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

/// Number of open connections per address, over all cores.
#[derive(Debug)]
pub(crate) struct Addresses {
    connections_max: usize,
    exempt: Vec<Network>,
    /// Number of open connections by the address that [`counted_address`] returns. An address
    /// without connections has no entry.
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// Guard that keeps one connection counted for its address. Dropping the guard ends the count.
#[derive(Debug)]
pub(crate) struct AddressSlot {
    addresses: Arc<Addresses>,
    counted: IpAddr,
}

/// Error: the address has the maximum number of connections already.
#[derive(Debug)]
pub(crate) struct AddressLimitReached;

impl Addresses {
    pub(crate) fn new(connections_max: usize, exempt: Vec<Network>) -> Addresses {
        Addresses {
            connections_max,
            exempt,
            open: Mutex::default(),
        }
    }

    /// Counts one more connection from `peer`. Returns a guard that ends the count, or `None` if
    /// `peer` is exempt and therefore not counted.
    pub(crate) fn count(
        self: &Arc<Self>,
        peer: IpAddr,
    ) -> Result<Option<AddressSlot>, AddressLimitReached> {
        let peer = peer.to_canonical();
        if self.exempt.iter().any(|network| network.contains(peer)) {
            return Ok(None);
        }
        let counted = counted_address(peer);
        let mut open = self.open.lock().expect(UNPOISONED);
        let count = open.entry(counted).or_insert(0);
        if self.connections_max <= *count {
            return Err(AddressLimitReached);
        }
        *count += 1;
        Ok(Some(AddressSlot {
            addresses: Arc::clone(self),
            counted,
        }))
    }
}

impl Drop for AddressSlot {
    fn drop(&mut self) {
        let open = &self.addresses.open;
        let mut open = open.lock().expect(UNPOISONED);
        let count = open
            .get_mut(&self.counted)
            .expect("`count` counted this connection");
        *count -= 1;
        if *count == 0 {
            open.remove(&self.counted);
        }
    }
}

#[cfg(test)]
mod tests;
