//! Queueing discipline of an interface as a setting, by rtnetlink.
//!
//! A value is the kind of the root, for `mq` also the kinds of its transmit queues, and at last the
//! handle of the root: `pfifo_fast default`, `mq fq_codel default`, `fq 8001:`. The kernel gives
//! the handle 0, here `default`, to the discipline that the kernel has chosen itself, and chooses
//! the same again when another root is deleted. Values that [`qdisc_replacement`] returns have the
//! handle `7e17:`.

use std::time::Instant;

use host_checks::Unread;

use crate::netlink::{Expect, Netlink, attribute, number, push_attribute, text};
use crate::route::{ROUTE, RTM_GETQDISC, TC_H_ROOT, TCA_KIND, TCMSG_BYTES};

// linux/rtnetlink.h.
const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
/// Handle of the roots that are created here, as the kernel counts and as `tc` shows it.
const HANDLE: u32 = 0x7e17_0000;
const HANDLE_TEXT: &str = "7e17:";
/// Handle of a root that the kernel has chosen, in values.
const DEFAULT: &str = "default";
/// Discipline that has one discipline per transmit queue.
const MULTI_QUEUE: &str = "mq";
/// Discipline without a queue, which cannot belong to a transmit queue of `mq`.
const NO_QUEUE: &str = "noqueue";
/// Kinds that are created here. None of them has classes or needs parameters.
const KINDS: [&str; 5] = ["fq", "fq_codel", NO_QUEUE, "pfifo", "pfifo_fast"];

/// Queueing discipline as rtnetlink describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Discipline {
    pub(crate) index: u32,
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    pub(crate) kind: String,
}

/// Value in the form in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target<'v> {
    /// The kernel's own choice.
    Default,
    /// Root of this kind.
    Root(&'v str),
    /// Root `mq`, and a discipline of this kind for each transmit queue.
    Queues(&'v str),
}

/// Returns the value that replaces `present` by disciplines of `kind`: one for the interface, or
/// one per transmit queue. Returns `None` if the present discipline is not the kernel's choice, and
/// so stays; or if the kernel's choice has that kind already.
#[must_use]
pub fn qdisc_replacement(present: &str, kind: &str) -> Option<String> {
    let kinds = present.strip_suffix(DEFAULT)?.strip_suffix(' ')?;
    match kinds.split_once(' ') {
        None if kinds == kind => None,
        Some((MULTI_QUEUE, of_queues)) if of_queues == kind => None,
        Some((MULTI_QUEUE, _)) if kind != NO_QUEUE => {
            Some(format!("{MULTI_QUEUE} {kind} {HANDLE_TEXT}"))
        }
        _ => Some(format!("{kind} {HANDLE_TEXT}")),
    }
}

/// Returns whether only a write of [`qdisc_replacement`] can have led to a value, perhaps a write
/// that ended before the last transmit queue.
pub(crate) fn is_own(value: &str) -> bool {
    value.split(' ').next_back() == Some(HANDLE_TEXT)
}

/// Returns the command of `tc` that sets the value.
pub(crate) fn command(interface: &str, value: &str) -> String {
    match parse(value) {
        Some(Target::Root(kind)) => {
            format!("tc qdisc replace dev {interface} root handle {HANDLE_TEXT} {kind}")
        }
        Some(Target::Queues(kind)) => format!(
            "tc qdisc replace dev {interface} root handle {HANDLE_TEXT} mq, then parent {HANDLE_TEXT}N {kind} for each transmit queue N"
        ),
        Some(Target::Default) | None => format!("tc qdisc del dev {interface} root"),
    }
}

/// Parses a value that can be written.
fn parse(value: &str) -> Option<Target<'_>> {
    let known = |kind: &&str| KINDS.contains(kind);
    match value.split(' ').collect::<Vec<_>>().as_slice() {
        [.., DEFAULT] => Some(Target::Default),
        [kind, HANDLE_TEXT] if known(kind) => Some(Target::Root(kind)),
        [MULTI_QUEUE, kind, HANDLE_TEXT] if known(kind) => Some(Target::Queues(kind)),
        _ => None,
    }
}

/// Returns the value of the disciplines of one interface. Returns `None` if they have no root.
pub(crate) fn value(disciplines: &[Discipline]) -> Option<String> {
    let root = root(disciplines)?;
    let mut words = vec![root.kind.clone()];
    if root.kind == MULTI_QUEUE {
        // The queues have the number of the root and their own. A root of the kernel has none.
        let of_queues = disciplines
            .iter()
            .filter(|one| one.parent >> 16 == root.handle >> 16);
        let mut kinds: Vec<String> = of_queues.map(|one| one.kind.clone()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        words.extend(kinds);
    }
    words.push(match root.handle >> 16 {
        0 => DEFAULT.to_owned(),
        handle => format!("{handle:x}:"),
    });
    Some(words.join(" "))
}

fn root(disciplines: &[Discipline]) -> Option<&Discipline> {
    disciplines.iter().find(|one| one.parent == TC_H_ROOT)
}

/// Lists the disciplines of an interface.
fn list(netlink: &mut Netlink, index: u32) -> Result<Vec<Discipline>, Unread> {
    let found = netlink.ask(RTM_GETQDISC, Expect::Dump, &[0; TCMSG_BYTES])?;
    let all = found
        .iter()
        .map(|message| discipline(&message.payload).ok_or(Unread::Malformed));
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    all.retain(|one| one.index == index);
    Ok(all)
}

/// Parses a `struct tcmsg` with its attributes.
pub(crate) fn discipline(message: &[u8]) -> Option<Discipline> {
    Some(Discipline {
        index: number(message, 4)?,
        handle: number(message, 8)?,
        parent: number(message, 12)?,
        kind: text(attribute(message.get(TCMSG_BYTES..)?, TCA_KIND)?)?,
    })
}

/// Returns a `struct tcmsg`.
fn head(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    let numbers = [0, index, handle, parent, 0];
    numbers
        .iter()
        .flat_map(|number| number.to_ne_bytes())
        .collect()
}

/// Reads the value of the interface `index`.
pub(crate) fn read(index: u32, deadline: Instant) -> Result<String, Unread> {
    let mut netlink = Netlink::open(ROUTE, deadline)?;
    value(&list(&mut netlink, index)?).ok_or(Unread::Unsupported)
}

/// Writes a value to the interface `index`.
pub(crate) fn write(index: u32, value: &str, deadline: Instant) -> Result<(), Unread> {
    let target = parse(value).ok_or(Unread::Malformed)?;
    let mut netlink = Netlink::open(ROUTE, deadline)?;
    let create = |netlink: &mut Netlink, handle: u32, parent: u32, kind: &str| {
        let mut payload = head(index, handle, parent);
        push_attribute(&mut payload, TCA_KIND, &[kind.as_bytes(), &[0]].concat());
        netlink.ask(RTM_NEWQDISC, Expect::Replacement, &payload)
    };
    match target {
        Target::Default => {
            let present = list(&mut netlink, index)?;
            if let Some(root) = root(&present).filter(|root| root.handle != 0) {
                // The handle makes sure that no other root is deleted.
                let payload = head(index, root.handle, TC_H_ROOT);
                netlink.ask(RTM_DELQDISC, Expect::Acknowledgement, &payload)?;
            }
        }
        Target::Root(kind) => {
            create(&mut netlink, HANDLE, TC_H_ROOT, kind)?;
        }
        Target::Queues(kind) => {
            create(&mut netlink, HANDLE, TC_H_ROOT, MULTI_QUEUE)?;
            let queues = list(&mut netlink, index)?;
            for queue in queues.iter().filter(|one| one.parent >> 16 == HANDLE >> 16) {
                create(&mut netlink, 0, queue.parent, kind)?;
            }
        }
    }
    Ok(())
}
