//! The table of rows of a plan, in the order of the article's steps, then those that are not in the
//! article.

use host::{Property, Setting};
use host_checks::{Cpus, Facts, Interface};

use super::Wanted;

/// Entries of the table of receive flow steering.
const FLOWS: u64 = 32_768;

/// Condition under which a row is planned without `--include`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// The doctor's row is a finding.
    Finding,
    /// The doctor's row is a finding, and the goal is throughput.
    ThroughputFinding,
    /// The doctor's row is a finding; or the goal is latency, and the row is a trade-off.
    LatencyTradeoff,
    /// Only if the operator includes it.
    Request,
    /// Never: class X or B.
    Never,
}

/// Settings with the values that a row wants; the error says why the row cannot be applied.
type Proposed = Result<Vec<(Setting, Wanted)>, String>;

/// Row of a plan.
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) when: When,
    pub(super) propose: fn(&Facts) -> Proposed,
}

const fn row(id: &'static str, when: When, propose: fn(&Facts) -> Proposed) -> Row {
    Row { id, when, propose }
}

/// Row of class X or B.
const fn explained(id: &'static str) -> Row {
    row(id, When::Never, |_| Ok(Vec::new()))
}

pub(super) const ROWS: &[Row] = &[
    explained("sec.mitig"),
    explained("sec.audit"),
    explained("sec.seccomp"),
    explained("nf.hooks"),
    // A card that restarts may reset its interrupts and queues, which the next rows set.
    row("nic.rss", When::Request, |facts| {
        let cpus = processors(facts)?.len() as u64;
        each(facts, |interface| {
            let most = interface
                .channels
                .ok()
                .map(|found| u64::from(found.receive_max));
            let least = most.map(|most| Wanted::AtLeast(most.min(cpus)));
            card(interface, Property::ReceiveQueues, least)
        })
    }),
    row("nic.rings", When::Request, |facts| {
        each(facts, |interface| {
            let most = interface
                .rings
                .ok()
                .map(|found| u64::from(found.receive_max));
            card(interface, Property::ReceiveRing, most.map(Wanted::AtLeast))
        })
    }),
    row("irq.affinity", When::Finding, interrupts),
    row("nic.xps", When::Finding, transmit),
    row("nic.rps_rfs", When::ThroughputFinding, software),
    row("nic.threaded", When::Request, |facts| {
        each(facts, |interface| {
            vec![sys(interface, "threaded", exactly("1"))]
        })
    }),
    row("irq.coalesce", When::Request, |facts| {
        each(facts, |interface| {
            let can = interface
                .coalescing
                .ok()
                .and_then(|found| found.is_adaptive);
            card(
                interface,
                Property::AdaptiveReceive,
                can.map(|_| exactly("on")),
            )
        })
    }),
    row("poll.sysctl", When::Request, |_| {
        let poll = Wanted::AtLeast(50);
        Ok(vec![
            net("core/busy_poll", poll.clone()),
            net("core/busy_read", poll),
        ])
    }),
    row("poll.irqsuspend", When::Request, |facts| {
        each(facts, |interface| {
            let defer = sys(interface, "napi_defer_hard_irqs", Wanted::AtLeast(2));
            vec![
                defer,
                sys(interface, "gro_flush_timeout", Wanted::AtLeast(200_000)),
            ]
        })
    }),
    explained("net.taps"),
    explained("net.bpf"),
    row("q.noqueue", When::Request, |facts| qdiscs(facts, "noqueue")),
    row("q.fq", When::Request, |facts| qdiscs(facts, "fq")),
    // The kernel can always cut packets late by itself; segmentation by the card depends on the
    // card.
    row("nic.gro", When::Finding, |facts| {
        each(facts, |interface| {
            let name = "tx-generic-segmentation".to_owned();
            card(interface, Property::Feature { name }, Some(exactly("on")))
        })
    }),
    row("tcp.cc", When::Finding, |_| {
        Ok(vec![net("ipv4/tcp_congestion_control", exactly("cubic"))])
    }),
    row("tcp.backlog", When::Finding, |_| {
        let backlog = Wanted::AtLeast(4096);
        Ok(vec![
            net("core/somaxconn", backlog.clone()),
            net("ipv4/tcp_max_syn_backlog", backlog),
        ])
    }),
    row("tcp.migrate", When::Finding, |_| {
        Ok(vec![net("ipv4/tcp_migrate_req", exactly("1"))])
    }),
    row("tcp.media", When::Finding, |_| {
        Ok(vec![
            net("ipv4/tcp_slow_start_after_idle", exactly("0")),
            net("ipv4/tcp_wmem", Wanted::LastAtLeast(4 << 20)),
        ])
    }),
    row("lim.conntrack", When::Finding, |_| {
        Ok(vec![net(
            "netfilter/nf_conntrack_max",
            Wanted::AtLeast(262_144),
        )])
    }),
    row("lim.ports", When::Finding, |_| {
        Ok(vec![net(
            "ipv4/ip_local_port_range",
            Wanted::Range(10_000, 65_000),
        )])
    }),
    row("lim.packets", When::Finding, |_| {
        Ok(vec![net("core/netdev_max_backlog", Wanted::AtLeast(4096))])
    }),
    row("cpu.freq", When::LatencyTradeoff, governors),
    row("cpu.clocksource", When::Request, |_| {
        let path = "devices/system/clocksource/clocksource0/current_clocksource".to_owned();
        Ok(vec![(Setting::Sys { path }, exactly("tsc"))])
    }),
    row("mem.thp", When::Finding, |_| {
        let path = "kernel/mm/transparent_hugepage/enabled".to_owned();
        Ok(vec![(Setting::Sys { path }, exactly("madvise"))])
    }),
    explained("kernel.version"),
];

fn exactly(value: &str) -> Wanted {
    Wanted::Exactly(value.to_owned())
}

/// Returns a setting below `/proc/sys/net`.
fn net(path: &str, wanted: Wanted) -> (Setting, Wanted) {
    let path = format!("sys/net/{path}");
    (Setting::Proc { path }, wanted)
}

/// Returns a setting of an interface.
fn sys(interface: &Interface, file: &str, wanted: Wanted) -> (Setting, Wanted) {
    let path = format!("class/net/{}/{file}", interface.name);
    (Setting::Sys { path }, wanted)
}

/// Returns a property of an interface, if the card has it.
fn card(
    interface: &Interface,
    property: Property,
    wanted: Option<Wanted>,
) -> Vec<(Setting, Wanted)> {
    let interface = interface.name.clone();
    let setting = Setting::Card {
        interface,
        property,
    };
    wanted.map(|wanted| (setting, wanted)).into_iter().collect()
}

/// Proposes settings of every interface.
fn each(facts: &Facts, propose: impl Fn(&Interface) -> Vec<(Setting, Wanted)>) -> Proposed {
    let interfaces = facts.interfaces.value.as_ref();
    let interfaces = interfaces.map_err(|why| format!("interfaces: {why}"))?;
    Ok(interfaces.iter().flat_map(propose).collect())
}

/// Proposes queueing disciplines of one kind for the network cards. In a container, where no card
/// is visible, all interfaces take the place of a card.
fn qdiscs(facts: &Facts, kind: &'static str) -> Proposed {
    let interfaces = facts.interfaces.value.as_ref();
    let interfaces = interfaces.map_err(|why| format!("interfaces: {why}"))?;
    let has_cards = interfaces.iter().any(|interface| interface.kind.is_empty());
    each(facts, |interface| {
        let wanted = interface.kind.is_empty() || !has_cards;
        card(
            interface,
            Property::Qdisc,
            wanted.then_some(Wanted::Qdisc(kind)),
        )
    })
}

/// Returns the processors that the server, or this process, may use.
fn processors(facts: &Facts) -> Result<Vec<u32>, String> {
    let allowed = facts.process.allowed.value.as_ref();
    let allowed = allowed.map_err(|why| format!("processors: {why}"))?;
    match allowed.is_empty() {
        true => Err("the list of processors that this process may use is empty".to_owned()),
        false => Ok(allowed.iter().collect()),
    }
}

/// Gives each interrupt of a card one processor, in turn.
fn interrupts(facts: &Facts) -> Proposed {
    if facts.kernel.has_irqbalance.ok() == Some(&true) {
        return Err(
            "irqbalance is running, and would assign the interrupts to other processors again"
                .to_owned(),
        );
    }
    let cpus = processors(facts)?;
    each(facts, |interface| {
        let interrupts = interface.interrupts.ok().into_iter().flatten();
        let turns = interrupts.zip(cpus.iter().cycle());
        turns
            .map(|(interrupt, cpu)| {
                let path = format!("irq/{}/smp_affinity_list", interrupt.number);
                (Setting::Proc { path }, exactly(&cpu.to_string()))
            })
            .collect()
    })
}

/// Assigns the processors to the transmit queues in turn.
fn transmit(facts: &Facts) -> Proposed {
    let cpus = processors(facts)?;
    each(facts, |interface| {
        let queues = interface.transmit_queues.ok().copied().unwrap_or(1);
        if queues < 2 {
            return Vec::new();
        }
        let own = |queue| {
            let turns = (0..queues).cycle().zip(&cpus);
            let own = turns.filter(|(turn, _)| *turn == queue);
            own.map(|(_, cpu)| *cpu).collect::<Cpus>()
        };
        (0..queues)
            .filter(|queue| !own(*queue).is_empty())
            .map(|queue| {
                let file = format!("queues/tx-{queue}/xps_cpus");
                sys(interface, &file, Wanted::UnlessSet(own(queue)))
            })
            .collect()
    })
}

/// Spreads the packets of interfaces with fewer queues than processors.
fn software(facts: &Facts) -> Proposed {
    let cpus = processors(facts)?;
    let mask: Cpus = cpus.iter().copied().collect();
    let has_table = facts.network.flow_entries.ok().is_some();
    let mut proposed = each(facts, |interface| {
        let queues = interface.receive_queues.ok().copied().unwrap_or(0);
        if queues == 0 || cpus.len() as u64 <= queues {
            return Vec::new();
        }
        let flows = (FLOWS / queues.next_power_of_two()).max(1);
        (0..queues)
            .flat_map(|queue| {
                let file = |name: &str| format!("queues/rx-{queue}/{name}");
                let spread = sys(
                    interface,
                    &file("rps_cpus"),
                    Wanted::UnlessSet(mask.clone()),
                );
                let flow = sys(interface, &file("rps_flow_cnt"), Wanted::AtLeast(flows));
                // Without the table, the entries of the queues have no effect.
                [Some(spread), has_table.then_some(flow)]
            })
            .flatten()
            .collect()
    })?;
    if has_table && !proposed.is_empty() {
        proposed.push(net("core/rps_sock_flow_entries", Wanted::AtLeast(FLOWS)));
    }
    Ok(proposed)
}

fn governors(facts: &Facts) -> Proposed {
    let online = facts.cpu.online.value.as_ref();
    let online = online.map_err(|why| format!("processors: {why}"))?;
    let files = online.iter().map(|cpu| {
        let path = format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        (Setting::Sys { path }, exactly("performance"))
    });
    Ok(files.collect())
}
