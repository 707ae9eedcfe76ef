//! Facts of a network namespace that belong to no interface: settings, counters, firewall, packet
//! sockets.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::Instant;

use host_checks::{Fact, Network, Tap, Unread};

use crate::audit;
use crate::files::{self, Roots, fact};

/// Reads the facts of the network namespace.
pub(crate) fn network(roots: &Roots, deadline: Instant) -> Network {
    let sys = roots.proc.join("sys/net");
    let number = |path: &str| files::number(&sys.join(path));
    let netstat = roots.proc.join("net/netstat");
    let softnet = roots.proc.join("net/softnet_stat");
    let range = files::text(&sys.join("ipv4/ip_local_port_range"));
    let chains = audit::chains(deadline);
    Network {
        somaxconn: number("core/somaxconn"),
        syn_backlog: number("ipv4/tcp_max_syn_backlog"),
        listen_overflows: counter(&netstat, "TcpExt:", "ListenOverflows"),
        listen_drops: counter(&netstat, "TcpExt:", "ListenDrops"),
        packet_backlog: number("core/netdev_max_backlog"),
        softnet_dropped: column(&softnet, 1, "dropped"),
        softnet_squeezed: column(&softnet, 2, "squeezed"),
        busy_poll: number("core/busy_poll"),
        busy_read: number("core/busy_read"),
        default_qdisc: files::text(&sys.join("core/default_qdisc")),
        congestion_control: files::text(&sys.join("ipv4/tcp_congestion_control")),
        slow_start_after_idle: number("ipv4/tcp_slow_start_after_idle"),
        write_bytes_max: files::text(&sys.join("ipv4/tcp_wmem"))
            .and_then(|text| text.split_whitespace().nth(2)?.parse().ok()),
        autocorking: number("ipv4/tcp_autocorking"),
        migrate_requests: number("ipv4/tcp_migrate_req"),
        flow_entries: number("core/rps_sock_flow_entries"),
        ports: range.and_then(|text| ports(&text)),
        conntrack: number("netfilter/nf_conntrack_count"),
        conntrack_max: number("netfilter/nf_conntrack_max"),
        chains: fact("netlink NFT_MSG_GETCHAIN", chains, |names| names.join(", ")),
        tables: tables(&roots.proc),
        taps: taps(&roots.proc, deadline),
    }
}

fn ports(range: &str) -> Option<u64> {
    let (first, last) = range.split_once(char::is_whitespace)?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    Some((last + 1).saturating_sub(first))
}

/// Reads one counter of a file with a line of names and a line of numbers for each group.
fn counter(path: &Path, group: &str, name: &str) -> Fact<u64> {
    let found = files::read(path).and_then(|text| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
        let (names, values) = (lines.next(), lines.next());
        let names = names.ok_or(Unread::Malformed)?.split_whitespace();
        let values = values.ok_or(Unread::Malformed)?.split_whitespace();
        let value = names.zip(values).find(|(found, _)| *found == name);
        let (_, value) = value.ok_or(Unread::Unsupported)?;
        value.parse().map_err(|_| Unread::Malformed)
    });
    fact(
        format!("{} {group}{name}", path.display()),
        found,
        u64::to_string,
    )
}

/// Sums a column of hexadecimal numbers over the lines of the processors.
fn column(path: &Path, index: usize, name: &str) -> Fact<u64> {
    let sum = files::read(path).and_then(|text| {
        let values = text.lines().map(|line| {
            let word = line
                .split_whitespace()
                .nth(index)
                .ok_or(Unread::Malformed)?;
            u64::from_str_radix(word, 16).map_err(|_| Unread::Malformed)
        });
        values.sum::<Result<u64, _>>()
    });
    fact(format!("{} {name}", path.display()), sum, u64::to_string)
}

/// Lists the tables of the older iptables modules. Only root can read these files.
fn tables(proc: &Path) -> Fact<Vec<String>> {
    let mut found = Vec::new();
    let mut missing = 0;
    let source = format!("{}/net/ip*_tables_names", proc.display());
    for name in ["ip_tables_names", "ip6_tables_names"] {
        match files::read(&proc.join("net").join(name)) {
            Ok(text) => found.extend(text.split_whitespace().map(str::to_owned)),
            Err(Unread::Absent) => missing += 1,
            Err(why) => return Fact::unknown(source, why),
        }
    }
    match missing {
        2 => Fact::unknown(source, Unread::Absent),
        _ => Fact::known(source, found.join(", "), found),
    }
}

/// Lists the packet sockets with the processes that have them.
fn taps(proc: &Path, deadline: Instant) -> Fact<Vec<Tap>> {
    let path = proc.join("net/packet");
    let inodes = files::read(&path).and_then(|text| {
        let rows = text.lines().skip(1);
        let inodes = rows.map(|row| row.split_whitespace().nth(8)?.parse().ok());
        inodes
            .collect::<Option<Vec<u64>>>()
            .ok_or(Unread::Malformed)
    });
    let taps = inodes.map(|inodes| {
        let mut owners = match inodes.is_empty() {
            true => HashMap::new(),
            false => owners(proc, &inodes.iter().copied().collect(), deadline),
        };
        let taps = inodes.into_iter().map(|inode| Tap {
            inode,
            owner: owners.remove(&inode),
        });
        taps.collect::<Vec<_>>()
    });
    fact(path.display().to_string(), taps, |taps| {
        format!("{} sockets", taps.len())
    })
}

/// Finds the processes that have these sockets. Processes of other users stay unknown to a caller
/// without privileges.
fn owners(proc: &Path, inodes: &HashSet<u64>, deadline: Instant) -> HashMap<u64, String> {
    let mut owners = HashMap::new();
    let Ok(pids) = files::numbers(proc, "") else {
        return owners;
    };
    for pid in pids {
        if owners.len() == inodes.len() || deadline <= Instant::now() {
            break;
        }
        let folder = proc.join(pid.to_string());
        // The sockets of processes of other users are unreadable, and so are their owners unknown.
        let Ok(sockets) = sockets(&folder.join("fd")) else {
            continue;
        };
        for inode in sockets.into_values() {
            if inodes.contains(&inode) {
                let name = files::read(&folder.join("comm")).unwrap_or_else(|why| why.to_string());
                owners.insert(inode, format!("{name} ({pid})"));
            }
        }
    }
    owners
}

/// Lists the sockets of a process: each descriptor with its inode.
pub(crate) fn sockets(folder: &Path) -> Result<HashMap<u32, u64>, Unread> {
    let numbers = files::numbers(folder, "")?;
    let mut found = HashMap::new();
    for number in numbers {
        // Leave out a descriptor that was closed after the listing.
        let target = match fs::read_link(folder.join(number.to_string())) {
            Ok(target) => target,
            Err(err) if files::unread(&err) == Unread::Absent => continue,
            Err(err) => return Err(files::unread(&err)),
        };
        let target = target.to_string_lossy();
        let inode = target
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        found.extend(inode.and_then(|inode| Some((number, inode.parse().ok()?))));
    }
    Ok(found)
}
