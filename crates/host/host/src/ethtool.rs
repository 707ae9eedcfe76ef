//! Properties of network cards, by the generic netlink family `ethtool`. Only requests that read
//! are sent; they need no privileges.

use std::time::Instant;

use host_checks::{Channels, Coalescing, Rings, Unread};
use rustix::net::netlink::GENERIC;

use crate::netlink::{Expect, Netlink, attribute, attributes, number, push_attribute, text};

// linux/genetlink.h, linux/ethtool_netlink.h.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const GENL_HEADER_BYTES: usize = 4;
const FEATURES_GET: u8 = 11;
const RINGS_GET: u8 = 15;
const CHANNELS_GET: u8 = 17;
const COALESCE_GET: u8 = 19;
/// Type of the header attribute in a request. The next constant is the type of the attribute in the
/// header that holds the interface's index.
const HEADER: u16 = 1;
const HEADER_DEV_INDEX: u16 = 1;
const NLA_F_NESTED: u16 = 0x8000;

/// Connection to the family `ethtool` of the kernel.
#[derive(Debug)]
pub(crate) struct Ethtool {
    netlink: Netlink,
    family: u16,
}

impl Ethtool {
    /// Opens a socket, and looks up the number of the family.
    pub(crate) fn open(deadline: Instant) -> Result<Ethtool, Unread> {
        let mut netlink = Netlink::open(Some(GENERIC), deadline)?;
        let mut payload = command(CTRL_CMD_GETFAMILY);
        push_attribute(&mut payload, CTRL_ATTR_FAMILY_NAME, b"ethtool\0");
        let found = netlink.ask(GENL_ID_CTRL, Expect::Acknowledgement, &payload)?;
        let family = found.first().and_then(|message| {
            let attributes = message.payload.get(GENL_HEADER_BYTES..)?;
            let id = attribute(attributes, CTRL_ATTR_FAMILY_ID)?;
            Some(u16::from_ne_bytes(*id.first_chunk::<2>()?))
        });
        Ok(Ethtool {
            netlink,
            family: family.ok_or(Unread::Malformed)?,
        })
    }

    /// Returns the numbers of queues of the interface `index`.
    pub(crate) fn channels(&mut self, index: u32) -> Result<Channels, Unread> {
        self.get(CHANNELS_GET, index).map(|reply| channels(&reply))
    }

    /// Returns the sizes of the receive ring of the interface `index`.
    pub(crate) fn rings(&mut self, index: u32) -> Result<Rings, Unread> {
        let reply = self.get(RINGS_GET, index)?;
        rings(&reply).ok_or(Unread::Unsupported)
    }

    /// Returns the moderation of interrupts of the interface `index`.
    pub(crate) fn coalescing(&mut self, index: u32) -> Result<Coalescing, Unread> {
        let reply = self.get(COALESCE_GET, index)?;
        Ok(coalescing(&reply))
    }

    /// Returns the names of the active features of the interface `index`.
    pub(crate) fn features(&mut self, index: u32) -> Result<Vec<String>, Unread> {
        let reply = self.get(FEATURES_GET, index)?;
        features(&reply).ok_or(Unread::Malformed)
    }

    /// Sends a request about one interface, and returns the attributes of the reply.
    fn get(&mut self, request: u8, index: u32) -> Result<Vec<u8>, Unread> {
        let mut header = Vec::new();
        push_attribute(&mut header, HEADER_DEV_INDEX, &index.to_ne_bytes());
        let mut payload = command(request);
        push_attribute(&mut payload, HEADER | NLA_F_NESTED, &header);
        let found = self
            .netlink
            .ask(self.family, Expect::Acknowledgement, &payload)?;
        let reply = found.first().ok_or(Unread::Malformed)?;
        let attributes = reply.payload.get(GENL_HEADER_BYTES..);
        attributes.map(<[u8]>::to_vec).ok_or(Unread::Malformed)
    }
}

/// Returns a `struct genlmsghdr`.
fn command(number: u8) -> Vec<u8> {
    vec![number, 1, 0, 0]
}

fn value(bytes: &[u8], kind: u16) -> Option<u32> {
    number(attribute(bytes, kind)?, 0)
}

/// Parses a reply to `CHANNELS_GET`. Packets are received by receive queues and by combined queues
/// (receive and transmit), so the number of receive queues in use is the sum of both counts. The
/// driver omits the count of a kind that the card lacks. A card that supports both kinds uses one
/// kind instead of the other, so the maximum is the larger of the two maxima, not their sum.
pub(crate) fn channels(reply: &[u8]) -> Channels {
    let counts = |kinds: [u16; 2]| kinds.map(|kind| value(reply, kind).unwrap_or(0));
    let [receive, combined] = counts([6, 9]);
    let [receive_max, combined_max] = counts([2, 5]);
    Channels {
        receive_max: receive_max.max(combined_max),
        receive: receive.saturating_add(combined),
    }
}

/// Parses a reply to `RINGS_GET`. Returns `None` if the card has no receive ring.
pub(crate) fn rings(reply: &[u8]) -> Option<Rings> {
    Some(Rings {
        receive_max: value(reply, 2)?,
        receive: value(reply, 6)?,
    })
}

/// Parses a reply to `COALESCE_GET`.
pub(crate) fn coalescing(reply: &[u8]) -> Coalescing {
    let adaptive = attribute(reply, 11).and_then(|value| value.first());
    Coalescing {
        is_adaptive: adaptive.map(|value| *value != 0),
        receive_us: value(reply, 2),
    }
}

/// Parses a reply to `FEATURES_GET`: the names in the set of active features.
pub(crate) fn features(reply: &[u8]) -> Option<Vec<String>> {
    const ACTIVE: u16 = 4;
    const BITSET_BITS: u16 = 3;
    const BITSET_BIT_NAME: u16 = 2;
    let bits = attribute(attribute(reply, ACTIVE)?, BITSET_BITS)?;
    let names = attributes(bits).map(|(_, bit)| text(attribute(bit, BITSET_BIT_NAME)?));
    names.collect()
}
