//! Facts of network interfaces. Netlink lists the interfaces; `/sys` and ethtool have their
//! properties.

use std::path::{Path, PathBuf};
use std::time::Instant;

use host_checks::{Cpus, Fact, Interface, Interrupt, Qdisc, Unread};

use crate::ethtool::Ethtool;
use crate::files::{self, Roots, fact};
use crate::kernel::joined;
use crate::route::{self, Link};

/// Maximum number of interfaces that are read. Only hosts with many containers have more, and those
/// interfaces are all alike.
const INTERFACES_MAX: usize = 32;

/// Reads the facts of the interfaces that are up, other than loopback. Returns them, and the number
/// of interfaces that were not read: those after [`INTERFACES_MAX`], or after the deadline.
pub(crate) fn interfaces(roots: &Roots, deadline: Instant) -> (Fact<Vec<Interface>>, usize) {
    const SOURCE: &str = "netlink RTM_GETLINK";
    let links = match route::links(deadline) {
        Ok(links) => links,
        Err(why) => return (Fact::unknown(SOURCE, why), 0),
    };
    let qdiscs = route::qdiscs(deadline);
    let mut ethtool = Ethtool::open(deadline);
    let links: Vec<Link> = links
        .into_iter()
        .filter(|link| link.is_up && !link.is_loopback)
        .collect();
    let interfaces: Vec<Interface> = links
        .iter()
        .take(INTERFACES_MAX)
        .take_while(|_| files::check(deadline).is_ok())
        .map(|link| {
            let mut interface = of_files(roots, link);
            of_ethtool(&mut ethtool, link.index, &mut interface);
            interface.qdiscs = of_queue(link, qdiscs.as_ref());
            let xdp = match link.has_xdp {
                true => "attached",
                false => "not attached",
            };
            interface.has_xdp = Fact::known(
                format!("{} IFLA_XDP_ATTACHED", link.name),
                xdp,
                link.has_xdp,
            );
            interface
        })
        .collect();
    let unread = links.len() - interfaces.len();
    let names = interfaces.iter().map(|interface| interface.name.as_str());
    let names = names.collect::<Vec<_>>().join(" ");
    (Fact::known(SOURCE, names, interfaces), unread)
}

fn of_queue(link: &Link, all: Result<&Vec<(u32, Qdisc)>, &Unread>) -> Fact<Vec<Qdisc>> {
    let own = all.map_err(|why| *why).map(|all| {
        let own = all.iter().filter(|(index, _)| *index == link.index);
        own.map(|(_, qdisc)| qdisc.clone()).collect::<Vec<_>>()
    });
    fact(format!("{} RTM_GETQDISC", link.name), own, |own| {
        let kinds = own.iter().map(|qdisc| qdisc.kind.as_str());
        kinds.collect::<Vec<_>>().join(" ")
    })
}

fn of_ethtool(ethtool: &mut Result<Ethtool, Unread>, index: u32, interface: &mut Interface) {
    let name = interface.name.clone();
    let source = |request: &str| format!("{name} ethtool {request}");
    let ethtool = ethtool.as_mut().map_err(|why| *why);
    let Ok(ethtool) = ethtool else {
        let why = ethtool.map_or_else(|why| why, |_| Unread::NotRead);
        interface.channels = Fact::unknown(source("CHANNELS_GET"), why);
        interface.rings = Fact::unknown(source("RINGS_GET"), why);
        interface.coalescing = Fact::unknown(source("COALESCE_GET"), why);
        interface.features = Fact::unknown(source("FEATURES_GET"), why);
        return;
    };
    interface.channels = fact(source("CHANNELS_GET"), ethtool.channels(index), |found| {
        format!("{} of {}", found.receive, found.receive_max)
    });
    interface.rings = fact(source("RINGS_GET"), ethtool.rings(index), |found| {
        format!("{} of {}", found.receive, found.receive_max)
    });
    interface.coalescing = fact(source("COALESCE_GET"), ethtool.coalescing(index), |found| {
        format!(
            "adaptive-rx {:?}, rx-usecs {:?}",
            found.is_adaptive, found.receive_us
        )
    });
    interface.features = fact(source("FEATURES_GET"), ethtool.features(index), |found| {
        found.join(" ")
    });
}

/// Reads the files of one interface.
pub(crate) fn of_files(roots: &Roots, link: &Link) -> Interface {
    let folder = roots.sys.join("class/net").join(&link.name);
    let queues = folder.join("queues");
    let count = |prefix: &str| {
        let numbers = files::numbers(&queues, prefix).map(|numbers| numbers.len() as u64);
        fact(
            format!("{}/{prefix}*", queues.display()),
            numbers,
            u64::to_string,
        )
    };
    let flows = of_queues(&queues, "rx-", "rps_flow_cnt", |text| {
        text.parse::<u64>().ok()
    });
    Interface {
        receive_queues: count("rx-"),
        transmit_queues: count("tx-"),
        interrupts: interrupts(roots, &folder, &link.name),
        receive_cpus: with_text(
            of_queues(&queues, "rx-", "rps_cpus", Cpus::parse_mask),
            |sets| joined(sets),
        ),
        receive_flows: with_text(
            flows.and_then(|flows| Some(flows.iter().sum())),
            u64::to_string,
        ),
        transmit_cpus: with_text(
            of_queues(&queues, "tx-", "xps_cpus", Cpus::parse_mask),
            |sets| joined(sets),
        ),
        ring_drops: ring_drops(&folder.join("statistics")),
        is_threaded: files::number(&folder.join("threaded")).and_then(|number| Some(number != 0)),
        deferred_interrupts: files::number(&folder.join("napi_defer_hard_irqs")),
        flush_timeout_ns: files::number(&folder.join("gro_flush_timeout")),
        node: files::text(&folder.join("device/numa_node")).and_then(|text| text.parse().ok()),
        name: link.name.clone(),
        kind: link.kind.clone(),
        ..Interface::default()
    }
}

/// Reads the number of packets that found the receive ring full. Drivers count them as missed or as
/// errors of the FIFO.
fn ring_drops(statistics: &Path) -> Fact<u64> {
    let files = ["rx_missed_errors", "rx_fifo_errors"];
    let counts = files.map(|name| files::number(&statistics.join(name)).value);
    let sum = counts.into_iter().sum::<Result<u64, _>>();
    let source = format!("{}/{}", statistics.display(), files.join(" + "));
    fact(source, sum, u64::to_string)
}

/// Reads the file `name` of each queue.
fn of_queues<T>(
    queues: &Path,
    prefix: &str,
    name: &str,
    parse: fn(&str) -> Option<T>,
) -> Fact<Vec<T>> {
    let values = files::numbers(queues, prefix).and_then(|numbers| {
        let values = numbers.iter().map(|number| {
            let text = files::read(&queues.join(format!("{prefix}{number}")).join(name))?;
            parse(&text).ok_or(Unread::Malformed)
        });
        values.collect::<Result<Vec<T>, _>>()
    });
    fact(
        format!("{}/{prefix}*/{name}", queues.display()),
        values,
        |_| String::new(),
    )
}

fn with_text<T>(mut fact: Fact<T>, text: impl FnOnce(&T) -> String) -> Fact<T> {
    if let Ok(value) = &fact.value {
        fact.text = files::shown(&text(value));
    }
    fact
}

/// Lists the interrupts of a card. `/proc/interrupts` names them after the interface or, in virtual
/// machines, after its device. If it has no such names, the device or its parent lists the numbers.
fn interrupts(roots: &Roots, folder: &Path, name: &str) -> Fact<Vec<Interrupt>> {
    let list = roots.proc.join("interrupts");
    let device = std::fs::read_link(folder.join("device"));
    let device = device
        .as_deref()
        .map_or(None, Path::file_name)
        .map(|name| name.to_string_lossy());
    let names = [name, device.as_deref().unwrap_or(name)];
    let named = files::read(&list).map(|text| named_interrupts(&text, names));
    let (source, numbers) = match named {
        Ok(numbers) if !numbers.is_empty() => (list, Ok(numbers)),
        named => {
            let own = ["device/msi_irqs", "device/../msi_irqs"].map(|path| folder.join(path));
            let numbered = own
                .iter()
                .find_map(|path| Some((path, files::numbers(path, "").ok()?)));
            match numbered {
                Some((path, numbers)) => (path.clone(), Ok(numbers)),
                None => (list, named),
            }
        }
    };
    let found = numbers.and_then(|numbers| {
        let found = numbers.iter().map(|number| {
            let files = ["effective_affinity_list", "smp_affinity_list"];
            let text =
                read_first(&files.map(|file| roots.proc.join(format!("irq/{number}/{file}"))))?;
            let cpus = Cpus::parse_list(&text).ok_or(Unread::Malformed)?;
            Ok(Interrupt {
                number: *number,
                cpus,
            })
        });
        // An interrupt without a handler has no directory.
        found
            .filter(|one| *one != Err(Unread::Absent))
            .collect::<Result<Vec<_>, _>>()
    });
    fact(source.display().to_string(), found, |found| {
        let found = found
            .iter()
            .map(|one| format!("{} on {}", one.number, one.cpus));
        found.collect::<Vec<_>>().join(", ")
    })
}

fn read_first(paths: &[PathBuf; 2]) -> Result<String, Unread> {
    match files::read(&paths[0]) {
        Ok(text) if !text.is_empty() => Ok(text),
        _ => files::read(&paths[1]),
    }
}

/// Returns the numbers of the interrupts whose last word is one of `names`, perhaps followed by a
/// dash and the name of a queue. Leaves out interrupts for the configuration, which are not for
/// packets.
fn named_interrupts(list: &str, names: [&str; 2]) -> Vec<u32> {
    let numbers = list.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let word = rest.split_whitespace().next_back()?;
        let is_own = names.iter().any(|name| {
            let queue = word
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('-'));
            word == *name || queue.is_some_and(|queue| queue != "config")
        });
        is_own.then(|| number.trim().parse().ok()).flatten()
    });
    numbers.collect()
}
