//! Properties of network cards, by the generic netlink family `ethtool`. Reading needs no
//! privileges; [`Ethtool::write`] needs `CAP_NET_ADMIN`.

use std::time::Instant;

use host_checks::{Channels, Coalescing, Rings, Unread};
use rustix::net::netlink::GENERIC;

use crate::netlink::{
    Expect, Message, Netlink, attribute, attributes, number, push_attribute, text,
};

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
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const BITSET_BITS: u16 = 3;
const BITSET_BIT: u16 = 1;
const BITSET_BIT_NAME: u16 = 2;
const BITSET_BIT_VALUE: u16 = 3;
const RINGS_RX: u16 = 6;
const CHANNELS_COMBINED_MAX: u16 = 5;
const CHANNELS_RX_COUNT: u16 = 6;
const CHANNELS_COMBINED_COUNT: u16 = 9;
const COALESCE_ADAPTIVE_RX: u16 = 11;
/// Type of the header attribute in a request. The next constant is the type of the attribute in the
/// header that holds the interface's index.
const HEADER: u16 = 1;
const HEADER_DEV_INDEX: u16 = 1;
const NLA_F_NESTED: u16 = 0x8000;

/// Property with one value, which can be read and written. Switches are 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field<'f> {
    Feature(&'f str),
    ReceiveQueues,
    ReceiveRing,
    AdaptiveReceive,
}

impl Field<'_> {
    /// Returns the number of the request that reads. The next number is the request that writes.
    fn request(self) -> u8 {
        match self {
            Field::Feature(_) => FEATURES_GET,
            Field::ReceiveQueues => CHANNELS_GET,
            Field::ReceiveRing => RINGS_GET,
            Field::AdaptiveReceive => COALESCE_GET,
        }
    }

    /// Returns the value in the reply to the request that reads.
    pub(crate) fn of(self, reply: &[u8]) -> Option<u32> {
        match self {
            Field::Feature(name) => {
                let is_on = features(reply)?.iter().any(|on| on == name);
                Some(u32::from(is_on))
            }
            Field::ReceiveQueues => value(reply, queue_kind(reply)),
            Field::ReceiveRing => value(reply, RINGS_RX),
            Field::AdaptiveReceive => {
                let value = attribute(reply, COALESCE_ADAPTIVE_RX)?.first()?;
                Some(u32::from(*value != 0))
            }
        }
    }

    /// Returns the attributes of the request that writes. `reply` is what the kernel last read.
    pub(crate) fn attributes(self, reply: &[u8], number: u32) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Field::Feature(name) => {
                let mut bit = Vec::new();
                push_attribute(&mut bit, BITSET_BIT_NAME, &[name.as_bytes(), &[0]].concat());
                if number != 0 {
                    push_attribute(&mut bit, BITSET_BIT_VALUE, &[]);
                }
                let mut bits = Vec::new();
                push_attribute(&mut bits, BITSET_BIT | NLA_F_NESTED, &bit);
                let mut set = Vec::new();
                push_attribute(&mut set, BITSET_BITS | NLA_F_NESTED, &bits);
                push_attribute(&mut out, FEATURES_WANTED | NLA_F_NESTED, &set);
            }
            Field::ReceiveQueues => {
                push_attribute(&mut out, queue_kind(reply), &number.to_ne_bytes());
            }
            Field::ReceiveRing => push_attribute(&mut out, RINGS_RX, &number.to_ne_bytes()),
            Field::AdaptiveReceive => {
                push_attribute(&mut out, COALESCE_ADAPTIVE_RX, &[u8::from(number != 0)]);
            }
        }
        out
    }
}

/// Returns the attribute with the number of queues that receive: the combined ones, if the card can
/// have such.
fn queue_kind(reply: &[u8]) -> u16 {
    match value(reply, CHANNELS_COMBINED_MAX) {
        None | Some(0) => CHANNELS_RX_COUNT,
        Some(_) => CHANNELS_COMBINED_COUNT,
    }
}

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

    /// Returns the value of a property of the interface `index`.
    pub(crate) fn read(&mut self, index: u32, field: Field<'_>) -> Result<u32, Unread> {
        let reply = self.get(field.request(), index)?;
        field.of(&reply).ok_or(Unread::Unsupported)
    }

    /// Changes a property of the interface `index`.
    pub(crate) fn write(
        &mut self,
        index: u32,
        field: Field<'_>,
        number: u32,
    ) -> Result<(), Unread> {
        let reply = self.get(field.request(), index)?;
        let attributes = field.attributes(&reply, number);
        self.send(field.request() + 1, index, &attributes)?;
        Ok(())
    }

    /// Sends a request that reads, and returns the attributes of the reply.
    fn get(&mut self, request: u8, index: u32) -> Result<Vec<u8>, Unread> {
        let found = self.send(request, index, &[])?;
        let reply = found.first().ok_or(Unread::Malformed)?;
        let attributes = reply.payload.get(GENL_HEADER_BYTES..);
        attributes.map(<[u8]>::to_vec).ok_or(Unread::Malformed)
    }

    /// Sends a request about one interface, and returns the messages before the acknowledgement.
    fn send(&mut self, request: u8, index: u32, attributes: &[u8]) -> Result<Vec<Message>, Unread> {
        let mut header = Vec::new();
        push_attribute(&mut header, HEADER_DEV_INDEX, &index.to_ne_bytes());
        let mut payload = command(request);
        push_attribute(&mut payload, HEADER | NLA_F_NESTED, &header);
        payload.extend_from_slice(attributes);
        self.netlink
            .ask(self.family, Expect::Acknowledgement, &payload)
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
    let bits = attribute(attribute(reply, FEATURES_ACTIVE)?, BITSET_BITS)?;
    let names = attributes(bits).map(|(_, bit)| text(attribute(bit, BITSET_BIT_NAME)?));
    names.collect()
}
