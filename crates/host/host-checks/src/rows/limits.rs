//! Rows about limits that a server can reach.

use crate::check::{Check, Class, Judged};
use crate::verdict::{fine, gain, not_applicable, problem};
use crate::{Facts, Unread};

/// Limits that the commands of these rows set at least.
const DESCRIPTORS_SET: u64 = 65_536;
const CONNTRACK_SET: u64 = 262_144;
const PACKETS_SET: u64 = 4_096;
/// Descriptors that the default limits of the server can use: two per connection, and files.
const DESCRIPTORS: u64 = 2 * 16_384 + 4_096;
/// Share of a limit, in percent, from which the limit counts as nearly reached.
const NEARLY_PCT: u64 = 80;
/// Minimum number of ports, so that outgoing connections rarely need more.
const PORTS_MIN: u64 = 16_384;

pub(super) const ROWS: &[Check] = &[
    Check {
        id: "lim.nofile",
        title: "limit on open file descriptors",
        class: Class::Process,
        gain: "no published measurement of the effect of the limit on file descriptors is known; at the limit, the server refuses connections",
        sizes: "responses of all sizes, if the server has many connections",
        risk: "no risk, because the server itself limits its connections",
        change: "set LimitNOFILE=65536 in the systemd service, or run ulimit -Hn 65536 before the server starts",
        undo: "restore the previous value of LimitNOFILE or of ulimit -Hn",
        judge: descriptors,
    },
    Check {
        id: "lim.memlock",
        title: "limit on locked memory",
        class: Class::Process,
        gain: "no published measurement of the effect of the limit on locked memory is known, which restricts the zero-copy writes of servers that use MSG_ZEROCOPY",
        sizes: "none: this server does not need locked memory",
        risk: "locked memory cannot be swapped",
        change: "set LimitMEMLOCK=64M in the systemd service",
        undo: "restore the previous value of LimitMEMLOCK",
        judge: locked_memory,
    },
    Check {
        id: "lim.conntrack",
        title: "the kernel's table of tracked connections (conntrack)",
        class: Class::Tunable,
        gain: "no published measurement of the effect of the size of the connection table is known; a full table drops new connections",
        sizes: "responses of all sizes, if the server has many connections",
        risk: "about 300 bytes of kernel memory per entry",
        change: "sysctl -w net.netfilter.nf_conntrack_max=262144, or exempt the server from connection tracking as the row nf.hooks describes",
        undo: "set net.netfilter.nf_conntrack_max to its previous value",
        judge: conntrack,
    },
    Check {
        id: "lim.ports",
        title: "ports for outgoing connections",
        class: Class::Tunable,
        gain: "no published measurement of the effect of the range of ports is known; a proxy on this host needs one port per connection to the server",
        sizes: "responses of all sizes, if a proxy on this host opens a connection per request",
        risk: "a service that binds a port in the range later may find the port in use",
        change: "sysctl -w net.ipv4.ip_local_port_range='10000 65000'",
        undo: "set net.ipv4.ip_local_port_range to its previous range",
        judge: ports,
    },
    Check {
        id: "lim.packets",
        title: "packets dropped before a processor handled them",
        class: Class::Tunable,
        gain: "no published measurement of the effect of dropped packets is known; each of them is sent again after a delay",
        sizes: "uploads and requests in bursts",
        risk: "longer queues add delay",
        change: "sysctl -w net.core.netdev_max_backlog=4096; see also the rows nic.rps_rfs and nic.rings",
        undo: "set net.core.netdev_max_backlog to its previous value",
        judge: packets,
    },
];

fn descriptors(facts: &Facts) -> Judged {
    let (limit, open) = (&facts.process.descriptors_max, &facts.process.descriptors);
    let bounds = *limit.get()?;
    let used = open.ok().filter(|_| facts.server.pid.ok().is_some());
    let judgement = match used {
        Some(used) if bounds.soft / 100 * NEARLY_PCT <= *used => {
            let limit = match bounds.hard {
                u64::MAX => "infinity".to_owned(),
                hard => DESCRIPTORS_SET.max(hard.saturating_mul(2)).to_string(),
            };
            problem(format!(
                "{used} of {} file descriptors are open",
                bounds.soft
            ))
            .with_change(format!("set LimitNOFILE={limit} in the systemd service"))
        }
        // Only the hard limit matters, because the server raises the soft limit to it at start.
        _ if bounds.hard < DESCRIPTORS => gain(format!(
            "the server may open at most {} file descriptors; {DESCRIPTORS} are enough for 16,384 connections that each download a file",
            bounds.hard
        )),
        _ => fine(format!("the server may open {}", count(bounds.hard))),
    };
    Ok(judgement.seen(limit).seen(open))
}

fn count(limit: u64) -> String {
    match limit {
        u64::MAX => "any number of file descriptors".to_owned(),
        limit => format!("{limit} file descriptors"),
    }
}

fn locked_memory(facts: &Facts) -> Judged {
    let found = &facts.process.locked_bytes_max;
    let limit = match found.get()?.soft {
        u64::MAX => "locked memory has no limit".to_owned(),
        bytes => format!("at most {bytes} bytes of memory may be locked"),
    };
    let state = format!(
        "{limit}; the server locks no memory, because it passes pages to the kernel by vmsplice"
    );
    Ok(not_applicable(state).seen(found))
}

fn conntrack(facts: &Facts) -> Judged {
    let (count, limit) = (&facts.network.conntrack, &facts.network.conntrack_max);
    if count.value == Err(Unread::Absent) {
        return Ok(not_applicable("the kernel tracks no connections").seen(count));
    }
    let (used, most) = (*count.get()?, *limit.get()?);
    let state = format!("{used} of {most} entries of the connection table are in use");
    let judgement = match most / 100 * NEARLY_PCT <= used {
        true => {
            let limit = CONNTRACK_SET.max(most.saturating_mul(2));
            problem(state).with_change(format!(
                "sysctl -w net.netfilter.nf_conntrack_max={limit}, or exempt the server from connection tracking as the row nf.hooks describes"
            ))
        }
        false => fine(state),
    };
    Ok(judgement.seen(count).seen(limit))
}

fn ports(facts: &Facts) -> Judged {
    let found = &facts.network.ports;
    let ports = *found.get()?;
    let judgement = match ports < PORTS_MIN {
        true => gain(format!("{ports} ports")),
        false => fine(format!("{ports} ports")),
    };
    Ok(judgement.seen(found))
}

fn packets(facts: &Facts) -> Judged {
    let (dropped, squeezed) = (
        &facts.network.softnet_dropped,
        &facts.network.softnet_squeezed,
    );
    let backlog = &facts.network.packet_backlog;
    let judgement = match *dropped.get()? {
        0 => fine("no packet has been dropped since boot"),
        count => {
            let length = PACKETS_SET.max(backlog.get()?.saturating_mul(2));
            gain(format!("{count} packets have been dropped since boot")).with_change(format!(
                "sysctl -w net.core.netdev_max_backlog={length}; see also the rows nic.rps_rfs and nic.rings"
            ))
        }
    };
    Ok(judgement.seen(dropped).seen(squeezed).seen(backlog))
}
