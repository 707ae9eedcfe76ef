//! Rows about network interfaces.

use expect_test::expect;

use super::{check, kernel, known};
use crate::{Channels, Coalescing, Cpus, Fact, Facts, Interface, Interrupt, Qdisc, Rings, Unread};

fn cpus(list: &str) -> Cpus {
    Cpus::parse_list(list).expect("a list")
}

/// Returns facts of a process on four processors with these interfaces.
fn host(interfaces: Vec<Interface>) -> Facts {
    let mut facts = kernel(6, 18);
    facts.process.allowed = known(cpus("0-3"));
    facts.interfaces = known(interfaces);
    facts
}

/// Returns the network card of a virtual machine, with one queue.
fn virtio() -> Interface {
    Interface {
        name: "eth0".to_owned(),
        receive_queues: known(1),
        transmit_queues: known(1),
        interrupts: known(vec![Interrupt {
            number: 38,
            cpus: cpus("1"),
        }]),
        receive_cpus: known(vec![Cpus::default()]),
        receive_flows: known(0),
        transmit_cpus: Fact::unknown("xps_cpus", Unread::Absent),
        is_threaded: known(false),
        deferred_interrupts: known(0),
        flush_timeout_ns: known(0),
        node: known(-1),
        channels: known(Channels {
            receive_max: 1,
            receive: 1,
        }),
        rings: known(Rings {
            receive_max: 256,
            receive: 256,
        }),
        ring_drops: known(0),
        coalescing: Fact::unknown("COALESCE_GET", Unread::Unsupported),
        features: known(vec![
            "rx-gro".to_owned(),
            "tx-generic-segmentation".to_owned(),
        ]),
        qdiscs: known(vec![Qdisc {
            kind: "pfifo_fast".to_owned(),
            is_root: true,
            is_ingress: false,
        }]),
        has_xdp: known(false),
        ..Interface::default()
    }
}

/// Returns a badly configured network card with eight queues.
fn card() -> Interface {
    Interface {
        name: "enp1s0".to_owned(),
        receive_queues: known(2),
        transmit_queues: known(2),
        interrupts: known(vec![
            Interrupt {
                number: 40,
                cpus: cpus("0"),
            },
            Interrupt {
                number: 41,
                cpus: cpus("0"),
            },
        ]),
        receive_cpus: known(vec![cpus("0-1"), cpus("2")]),
        receive_flows: known(4096),
        transmit_cpus: known(vec![Cpus::default(), cpus("1")]),
        deferred_interrupts: known(2),
        flush_timeout_ns: known(200_000),
        node: known(1),
        channels: known(Channels {
            receive_max: 8,
            receive: 2,
        }),
        rings: known(Rings {
            receive_max: 4096,
            receive: 512,
        }),
        ring_drops: known(3),
        coalescing: known(Coalescing {
            is_adaptive: Some(false),
            receive_us: Some(3),
        }),
        features: known(vec!["rx-gro".to_owned()]),
        qdiscs: known(vec![
            Qdisc {
                kind: "htb".to_owned(),
                is_root: true,
                is_ingress: false,
            },
            Qdisc {
                kind: "clsact".to_owned(),
                is_root: false,
                is_ingress: true,
            },
        ]),
        has_xdp: known(true),
        ..virtio()
    }
}

fn veth() -> Interface {
    Interface {
        name: "veth0".to_owned(),
        kind: "veth".to_owned(),
        ..virtio()
    }
}

#[test]
fn without_interfaces_nothing_applies() {
    check(
        "nic.rss",
        &host(Vec::new()),
        expect!["notApplicable: no interface other than loopback is up (1 pieces of evidence)"],
    );
    let mut facts = host(vec![veth()]);
    facts.unread_interfaces = 9;
    check(
        "nic.rss",
        &facts,
        expect![
            "notApplicable: veth0: the interface is virtual, of kind veth; 9 more interfaces were not read (1 pieces of evidence)"
        ],
    );
    let mut facts = host(Vec::new());
    facts.interfaces = Fact::unknown("RTM_GETLINK", Unread::Denied);
    check(
        "nic.rss",
        &facts,
        expect![
            "unknown: RTM_GETLINK: permission denied; run as root to read this value (1 pieces of evidence)"
        ],
    );
}

#[test]
fn the_worst_interface_decides() {
    check(
        "nic.rss",
        &host(vec![virtio(), card(), veth()]),
        expect![
            "gain: enp1s0: 2 of 8 possible receive queues are in use (3 pieces of evidence) > ethtool -L enp1s0 combined 4"
        ],
    );
    check(
        "nic.gro",
        &host(vec![virtio(), card()]),
        expect![
            "gain: enp1s0: segmentation offload is off; aggregation of received packets (GRO) is on, which uploads need (2 pieces of evidence) > ethtool -K enp1s0 tso on gso on"
        ],
    );
}

#[test]
fn one_queue() {
    let facts = host(vec![virtio()]);
    check(
        "irq.affinity",
        &facts,
        expect!["fine: eth0: 1 interrupts are handled by the processors 1 (2 pieces of evidence)"],
    );
    check(
        "nic.rss",
        &facts,
        expect![
            "notApplicable: eth0: 1 of 1 possible receive queues are in use, fewer than the 4 processors: the row nic.rps_rfs has a setting that spreads packets over the other processors (1 pieces of evidence)"
        ],
    );
    check(
        "nic.xps",
        &facts,
        expect![
            "notApplicable: eth0: one transmit queue serves all processors (1 pieces of evidence)"
        ],
    );
    check(
        "nic.rps_rfs",
        &facts,
        expect![
            "gain: eth0: receive queues: 1, processors: 4, and packets are not spread by software (3 pieces of evidence) > echo f > /sys/class/net/eth0/queues/rx-0/rps_cpus"
        ],
    );
    check(
        "nic.threaded",
        &facts,
        expect![
            "notApplicable: eth0: the interrupts of the card already choose the processor of each packet (1 pieces of evidence)"
        ],
    );
    check(
        "irq.coalesce",
        &facts,
        expect![
            "notApplicable: eth0: the driver does not moderate interrupts (1 pieces of evidence)"
        ],
    );
    check(
        "nic.rings",
        &facts,
        expect![
            "fine: eth0: the receive ring has room for 256 packets; the network card allows up to 256 (2 pieces of evidence)"
        ],
    );
    check(
        "poll.irqsuspend",
        &facts,
        expect![
            "fine: eth0: interrupts are not deferred, which is right for a server that does not use busy polling (2 pieces of evidence)"
        ],
    );
    check(
        "q.noqueue",
        &facts,
        expect![
            "tradeoff: eth0: packets pass the queueing discipline pfifo_fast, and processors contend for its lock (2 pieces of evidence) > tc qdisc replace dev eth0 root noqueue"
        ],
    );
    check(
        "nic.gro",
        &facts,
        expect![
            "fine: eth0: segmentation offload is on; aggregation of received packets (GRO) is on, which uploads need (1 pieces of evidence)"
        ],
    );
    check(
        "net.bpf",
        &facts,
        expect![
            "fine: eth0: the interface has no XDP program and no filter of received packets (2 pieces of evidence)"
        ],
    );
}

#[test]
fn several_queues() {
    let mut facts = host(vec![card()]);
    facts.network.softnet_dropped = known(3);
    check(
        "irq.affinity",
        &facts,
        expect![
            "gain: enp1s0: 2 interrupts are handled by the processors 0 (2 pieces of evidence)"
        ],
    );
    check(
        "nic.xps",
        &facts,
        expect![
            "gain: enp1s0: 1 of 2 transmit queues are assigned to processors (1 pieces of evidence)"
        ],
    );
    check(
        "nic.rps_rfs",
        &facts,
        expect!["fine: enp1s0: packets are spread over the processors 0-2 (3 pieces of evidence)"],
    );
    check(
        "irq.coalesce",
        &facts,
        expect![
            "tradeoff: enp1s0: the moderation of interrupts is fixed at 3 µs; not every driver supports adaptive moderation (1 pieces of evidence) > ethtool -C enp1s0 adaptive-rx on"
        ],
    );
    check(
        "nic.rings",
        &facts,
        expect![
            "tradeoff: enp1s0: the receive ring has room for 512 packets; the network card allows up to 4096, and the card dropped 3 packets because the ring was full (2 pieces of evidence) > ethtool -G enp1s0 rx 4096"
        ],
    );
    check(
        "poll.irqsuspend",
        &facts,
        expect![
            "tradeoff: enp1s0: interrupts are deferred up to 2 times, for 200000 ns each (2 pieces of evidence)"
        ],
    );
    check(
        "q.noqueue",
        &facts,
        expect![
            "notApplicable: enp1s0: packets pass the queueing discipline htb, which shapes or classifies them and should stay (2 pieces of evidence)"
        ],
    );
    check(
        "nic.gro",
        &facts,
        expect![
            "gain: enp1s0: segmentation offload is off; aggregation of received packets (GRO) is on, which uploads need (1 pieces of evidence) > ethtool -K enp1s0 tso on gso on"
        ],
    );
    check(
        "net.bpf",
        &facts,
        expect![
            "tradeoff: enp1s0: an XDP program and filters (tc) see every received packet (2 pieces of evidence)"
        ],
    );
}

#[test]
fn balanced_interrupts() {
    let mut spread = card();
    spread.interrupts = known(vec![
        Interrupt {
            number: 40,
            cpus: cpus("0"),
        },
        Interrupt {
            number: 41,
            cpus: cpus("1"),
        },
    ]);
    let mut facts = host(vec![spread]);
    check(
        "irq.affinity",
        &facts,
        expect![
            "fine: enp1s0: 2 interrupts are handled by the processors 0-1 (2 pieces of evidence)"
        ],
    );
    facts.kernel.has_irqbalance = known(true);
    check(
        "irq.affinity",
        &facts,
        expect![
            "tradeoff: enp1s0: 2 interrupts are handled by the processors 0-1; irqbalance is running and may move the interrupts (2 pieces of evidence)"
        ],
    );
}

#[test]
fn virtual_interfaces() {
    let mut facts = host(vec![veth()]);
    check(
        "nic.rps_rfs",
        &facts,
        expect![
            "notApplicable: veth0: the interface is virtual, of kind veth (1 pieces of evidence)"
        ],
    );
    check(
        "irq.affinity",
        &facts,
        expect![
            "notApplicable: veth0: the interface is virtual and has no interrupts (1 pieces of evidence)"
        ],
    );
    check(
        "nic.rss",
        &facts,
        expect![
            "notApplicable: veth0: the interface is virtual, of kind veth (1 pieces of evidence)"
        ],
    );
    check(
        "nic.threaded",
        &facts,
        expect![
            "tradeoff: veth0: packets between programs of this host are processed on the processor that sent them (1 pieces of evidence)"
        ],
    );
    let mut threaded = veth();
    threaded.is_threaded = known(true);
    facts.interfaces = known(vec![threaded]);
    check(
        "nic.threaded",
        &facts,
        expect!["fine: veth0: kernel threads process received packets (1 pieces of evidence)"],
    );
}

#[test]
fn memory_nodes() {
    let mut facts = host(vec![card()]);
    facts.memory.nodes = known(vec![cpus("0-3")]);
    check(
        "mem.numa",
        &facts,
        expect!["notApplicable: the machine has one NUMA node (1 pieces of evidence)"],
    );
    facts.memory.nodes = known(vec![cpus("0-1"), cpus("2-3")]);
    check(
        "mem.numa",
        &facts,
        expect![
            "tradeoff: enp1s0: 2 processors of the server are not on NUMA node 1, to which the network card belongs (2 pieces of evidence)"
        ],
    );
    facts.process.allowed = known(cpus("2-3"));
    check(
        "mem.numa",
        &facts,
        expect![
            "fine: enp1s0: the network card and all processors of the server are on NUMA node 1 (2 pieces of evidence)"
        ],
    );
    facts.memory.nodes = Fact::unknown("node*", Unread::Absent);
    check(
        "mem.numa",
        &facts,
        expect![
            "notApplicable: the kernel does not support several NUMA nodes (1 pieces of evidence)"
        ],
    );
}
