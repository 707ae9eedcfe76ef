//! Properties of network interfaces that are settings, by the netlink family `ethtool` and by
//! rtnetlink.

use std::time::{Duration, Instant};

use host_checks::Unread;
use serde::{Deserialize, Serialize};

use super::SettingFault;
use crate::ethtool::{Ethtool, Field};
use crate::files::{self, Roots};
use crate::{queueing, route};

/// Time within which the kernel must reply. A card that restarts may take seconds.
const REPLY_MAX: Duration = Duration::from_secs(30);
/// Number of `CAP_NET_ADMIN`, linux/capability.h.
const NET_ADMIN: u32 = 12;

/// Property of a network card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "property", rename_all = "snake_case")]
pub enum Property {
    /// Feature, `on` or `off`.
    Feature {
        /// Name, such as `tx-tcp-segmentation`.
        name: String,
    },
    /// Number of queues that receive; those that also transmit, if the card has such.
    ReceiveQueues,
    /// Size of the receive ring, in packets.
    ReceiveRing,
    /// Moderation of receive interrupts by the load, `on` or `off`.
    AdaptiveReceive,
    /// Queueing discipline, such as `pfifo_fast default`. See [`crate::qdisc_replacement`].
    Qdisc,
}

impl Property {
    /// Returns the command of ethtool that sets the value.
    pub(super) fn command(&self, interface: &str, value: &str) -> String {
        match self {
            Property::Feature { name } => format!("ethtool -K {interface} {name} {value}"),
            Property::ReceiveQueues => format!("ethtool -L {interface} combined {value}"),
            Property::ReceiveRing => format!("ethtool -G {interface} rx {value}"),
            Property::AdaptiveReceive => format!("ethtool -C {interface} adaptive-rx {value}"),
            Property::Qdisc => queueing::command(interface, value),
        }
    }

    /// Returns the name for people.
    pub(super) fn name(&self) -> &str {
        match self {
            Property::Feature { name } => name,
            Property::ReceiveQueues => "receive queues",
            Property::ReceiveRing => "receive ring",
            Property::AdaptiveReceive => "adaptive-rx",
            Property::Qdisc => "qdisc",
        }
    }

    /// Returns the name in the messages of the family `ethtool`, if the property belongs to it.
    fn field(&self) -> Option<Field<'_>> {
        match self {
            Property::Feature { name } => Some(Field::Feature(name)),
            Property::ReceiveQueues => Some(Field::ReceiveQueues),
            Property::ReceiveRing => Some(Field::ReceiveRing),
            Property::AdaptiveReceive => Some(Field::AdaptiveReceive),
            Property::Qdisc => None,
        }
    }

    /// Returns whether only a write of [`crate::Setting::write`] that was cut off can have led to a
    /// value.
    pub(super) fn is_cut_off(&self, value: &str) -> bool {
        *self == Property::Qdisc && queueing::is_own(value)
    }

    fn is_switch(&self) -> bool {
        matches!(self, Property::Feature { .. } | Property::AdaptiveReceive)
    }
}

/// Finds the index of the interface.
fn index(interface: &str, deadline: Instant) -> Result<u32, SettingFault> {
    let links = route::links(deadline)?;
    let link = links.iter().find(|link| link.name == interface);
    link.map(|link| link.index).ok_or(SettingFault::Absent)
}

pub(super) fn read(interface: &str, property: &Property) -> Result<String, SettingFault> {
    let deadline = Instant::now() + REPLY_MAX;
    let index = index(interface, deadline)?;
    let Some(field) = property.field() else {
        return Ok(queueing::read(index, deadline)?);
    };
    let number = Ethtool::open(deadline)?.read(index, field)?;
    Ok(match (property.is_switch(), number) {
        (true, 0) => "off".to_owned(),
        (true, _) => "on".to_owned(),
        (false, number) => number.to_string(),
    })
}

pub(super) fn write(interface: &str, property: &Property, value: &str) -> Result<(), SettingFault> {
    let deadline = Instant::now() + REPLY_MAX;
    let index = index(interface, deadline)?;
    let Some(field) = property.field() else {
        return Ok(queueing::write(index, value, deadline)?);
    };
    let number = match (property.is_switch(), value) {
        (true, "off") => Some(0),
        (true, "on") => Some(1),
        (true, _) => None,
        (false, value) => value.parse().ok(),
    };
    let number = number.ok_or(SettingFault::Malformed)?;
    Ok(Ethtool::open(deadline)?.write(index, field, number)?)
}

/// Checks that this process has the privilege to change network cards.
pub(super) fn check_access(roots: &Roots) -> Result<(), SettingFault> {
    let status = files::read(&roots.proc.join("self/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    match mask.ok_or(Unread::Malformed)? >> NET_ADMIN & 1 {
        1 => Ok(()),
        _ => Err(SettingFault::Denied),
    }
}
