//! Interfaces and their queueing disciplines, by rtnetlink.

use std::time::Instant;

use host_checks::{Qdisc, Unread};
use rustix::net::Protocol;

use crate::netlink::{Expect, Netlink, attribute, number, text};

// linux/rtnetlink.h, linux/if_link.h, linux/pkt_sched.h.
/// Protocol of rtnetlink, which has the number 0.
pub(crate) const ROUTE: Option<Protocol> = None;
const RTM_GETLINK: u16 = 18;
pub(crate) const RTM_GETQDISC: u16 = 38;
const IFINFO_BYTES: usize = 16;
pub(crate) const TCMSG_BYTES: usize = 20;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFF_UP: u32 = 1;
const IFF_LOOPBACK: u32 = 8;
pub(crate) const TCA_KIND: u16 = 1;
pub(crate) const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_H_INGRESS: u32 = 0xffff_fff1;

/// Interface as rtnetlink describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    /// Hardware address as `/sys` writes it; empty if there is none.
    pub(crate) address: String,
    /// Kind of a virtual interface; empty for a network card.
    pub(crate) kind: String,
    pub(crate) has_xdp: bool,
    pub(crate) is_up: bool,
    pub(crate) is_loopback: bool,
}

/// Lists all interfaces.
pub(crate) fn links(deadline: Instant) -> Result<Vec<Link>, Unread> {
    let mut netlink = Netlink::open(ROUTE, deadline)?;
    let found = netlink.ask(RTM_GETLINK, Expect::Dump, &[0; IFINFO_BYTES])?;
    let links = found
        .iter()
        .map(|message| link(&message.payload).ok_or(Unread::Malformed));
    links.collect()
}

/// Lists the queueing disciplines of all interfaces, each with the index of its interface.
pub(crate) fn qdiscs(deadline: Instant) -> Result<Vec<(u32, Qdisc)>, Unread> {
    let mut netlink = Netlink::open(ROUTE, deadline)?;
    let found = netlink.ask(RTM_GETQDISC, Expect::Dump, &[0; TCMSG_BYTES])?;
    let qdiscs = found
        .iter()
        .map(|message| qdisc(&message.payload).ok_or(Unread::Malformed));
    qdiscs.collect()
}

/// Parses a `struct ifinfomsg` with its attributes.
pub(crate) fn link(message: &[u8]) -> Option<Link> {
    let attributes = message.get(IFINFO_BYTES..)?;
    let flags = number(message, 8)?;
    let kind =
        attribute(attributes, IFLA_LINKINFO).and_then(|info| attribute(info, IFLA_INFO_KIND));
    let xdp = attribute(attributes, IFLA_XDP).and_then(|xdp| attribute(xdp, IFLA_XDP_ATTACHED));
    Some(Link {
        index: number(message, 4)?,
        name: text(attribute(attributes, IFLA_IFNAME)?)?,
        address: address(attribute(attributes, IFLA_ADDRESS).unwrap_or_default()),
        kind: kind.map_or(Some(String::new()), text)?,
        has_xdp: xdp.is_some_and(|attached| attached.first().is_some_and(|mode| *mode != 0)),
        is_up: flags & IFF_UP != 0,
        is_loopback: flags & IFF_LOOPBACK != 0,
    })
}

/// Returns a hardware address in the form `02:00:00:00:00:01`.
fn address(bytes: &[u8]) -> String {
    let parts = bytes.iter().map(|byte| format!("{byte:02x}"));
    parts.collect::<Vec<_>>().join(":")
}

/// Parses a `struct tcmsg` with its attributes.
pub(crate) fn qdisc(message: &[u8]) -> Option<(u32, Qdisc)> {
    let parent = number(message, 12)?;
    let kind = text(attribute(message.get(TCMSG_BYTES..)?, TCA_KIND)?)?;
    let qdisc = Qdisc {
        kind,
        is_root: parent == TC_H_ROOT,
        is_ingress: parent == TC_H_INGRESS,
    };
    Some((number(message, 4)?, qdisc))
}
