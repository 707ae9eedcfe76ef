//! Rows about the network card, its queueing disciplines and busy polling: steps 6, 8 and 9 of the
//! article.

use crate::check::{Check, Class, Judged, Standing};
use crate::verdict::{SMALL, each, fine, gain, not_applicable, tradeoff};
use crate::{Facts, Interface, Qdisc, Release, Unread};

/// First kernel with busy polling per epoll instance; the next constant is the first kernel with
/// suspended interrupts.
const EPOLL_POLLING: Release = Release(6, 9);
const IRQ_SUSPENSION: Release = Release(6, 13);

/// Queueing disciplines without classes and shaping, which a command can create again by name.
const SIMPLE: [&str; 6] = ["mq", "noqueue", "pfifo_fast", "pfifo", "fq_codel", "fq"];

pub(super) const ROWS: &[Check] = &[
    Check {
        id: "irq.coalesce",
        title: "moderation of interrupts that follows the load",
        class: Class::Tunable,
        gain: "step 6 of the article: +28 %, together with busy polling",
        sizes: SMALL,
        risk: "longer moderation adds its delay to responses at low load; drivers differ",
        change: "ethtool -C IF adaptive-rx on",
        undo: "ethtool -C IF adaptive-rx off rx-usecs with the old number",
        judge: |facts| each(facts, coalescing),
    },
    Check {
        id: "nic.rings",
        title: "receive ring of the card",
        class: Class::Tunable,
        gain: "none measured by the article; prevents drops in bursts",
        sizes: "all sizes, if the card drops packets",
        risk: "the card restarts; larger rings use more cache",
        change: "ethtool -G IF rx N",
        undo: "ethtool -G IF rx with the old number",
        judge: |facts| each(facts, rings),
    },
    Check {
        id: "poll.sysctl",
        title: "busy polling of all sockets",
        class: Class::Tunable,
        gain: "step 6 of the article: +28 %, together with moderation of interrupts",
        sizes: "small responses at very high rates; poll.epoll has the same effect without cost for other sockets",
        risk: "every process that waits for a socket spins; discouraged",
        change: "sysctl -w net.core.busy_poll=0 net.core.busy_read=0",
        undo: "write the old values",
        judge: busy_polling,
    },
    Check {
        id: "poll.epoll",
        title: "busy polling per epoll instance",
        class: Class::Process,
        gain: "step 6 of the article: +28 %, together with moderation of interrupts",
        sizes: SMALL,
        risk: "a processor spins while connections are quiet",
        change: "none: this version of Pelton does not poll",
        undo: "no change to take back",
        judge: epoll_polling,
    },
    Check {
        id: "poll.irqsuspend",
        title: "interrupts deferred while packets are polled",
        class: Class::Tunable,
        gain: "not in the article; newer kernels have it in place of the busy polling of step 6",
        sizes: SMALL,
        risk: "without busy polling each response waits for the timer",
        change: "echo 0 > /sys/class/net/IF/napi_defer_hard_irqs; echo 0 > /sys/class/net/IF/gro_flush_timeout",
        undo: "write the old values",
        judge: |facts| each(facts, deferral),
    },
    Check {
        id: "q.noqueue",
        title: "no queueing discipline, hence no contention for its lock",
        class: Class::Tunable,
        gain: "step 8 of the article: +2 %",
        sizes: SMALL,
        risk: "connections no longer share the card fairly, and BBR loses the pacing of fq",
        change: "sysctl -w net.core.default_qdisc=noqueue; tc qdisc replace dev IF root noqueue",
        undo: "write the old default; tc qdisc replace dev IF root with the old kind",
        judge: |facts| each(facts, queueing),
    },
    Check {
        id: "q.fq",
        title: "queueing discipline that paces connections",
        class: Class::Tunable,
        gain: "not in the article, and not measured by us",
        sizes: "BBR with bodies of 10 KB and more; other congestion controls do not need it",
        risk: "each queue of the card has a lock and a table of connections; the kernel may lack fq",
        change: "tc qdisc replace dev IF root fq, on cards with several queues for each queue",
        undo: "tc qdisc del dev IF root, which returns to the kernel's choice",
        judge: pacing,
    },
    Check {
        id: "nic.gro",
        title: "offloads: segmentation on, aggregation as the load needs it",
        class: Class::Tunable,
        gain: "step 9 of the article: GRO off, reno in place of cubic and fixed moderation of interrupts gained 4 % together",
        sizes: "segmentation offload (TSO, GSO) helps bodies of 10 KB and more; GRO off helps small responses only",
        risk: "GRO off makes uploads slower",
        change: "ethtool -K IF tso on gso on",
        undo: "ethtool -K IF tso off gso off",
        judge: |facts| each(facts, offloads),
    },
];

fn coalescing(_: &Facts, interface: &Interface) -> Judged {
    let found = &interface.coalescing;
    let settings = match found.value {
        Err(Unread::Unsupported) => {
            return Ok(not_applicable("the driver does not moderate interrupts").seen(found));
        }
        _ => found.get()?,
    };
    let delay = settings
        .receive_us
        .map_or("an unknown delay".to_owned(), |us| format!("{us} µs"));
    let judgement = match settings.is_adaptive {
        Some(true) => fine("the moderation of interrupts adapts to the load"),
        Some(false) => tradeoff(format!(
            "fixed moderation of {delay}; not every driver supports adaptive moderation"
        ))
        .with_change(format!("ethtool -C {} adaptive-rx on", interface.name)),
        None => not_applicable(format!("the driver offers only fixed moderation, {delay}")),
    };
    Ok(judgement.seen(found))
}

fn rings(_: &Facts, interface: &Interface) -> Judged {
    let found = &interface.rings;
    let rings = match found.value {
        Err(Unread::Unsupported) => {
            return Ok(not_applicable("the driver has rings of fixed size").seen(found));
        }
        _ => found.get()?,
    };
    let state = format!(
        "the ring holds {} of at most {} packets",
        rings.receive, rings.receive_max
    );
    let drops = &interface.ring_drops;
    let judgement = match *drops.get()? {
        dropped if 0 < dropped && rings.receive < rings.receive_max => tradeoff(format!(
            "{state}, and the card dropped {dropped} packets because it was full"
        ))
        .with_change(format!(
            "ethtool -G {} rx {}",
            interface.name, rings.receive_max
        )),
        _ => fine(state),
    };
    Ok(judgement.seen(found).seen(drops))
}

fn busy_polling(facts: &Facts) -> Judged {
    let (poll, read) = (&facts.network.busy_poll, &facts.network.busy_read);
    let judgement = match (*poll.get()?, *read.get()?) {
        (0, 0) => fine("off, as recommended for a host with other programs"),
        (poll, read) => tradeoff(format!(
            "all sockets poll for {poll} µs in poll and {read} µs in read"
        )),
    };
    Ok(judgement.seen(poll).seen(read))
}

fn epoll_polling(facts: &Facts) -> Judged {
    let kernel = facts.kernel.release.get()?;
    let connections = &facts.server.connections;
    let can = match (EPOLL_POLLING <= *kernel, connections.ok()) {
        (false, _) => format!(
            "kernel {kernel} does not support it; kernel {EPOLL_POLLING} or newer is needed"
        ),
        (true, Some(open)) if open.iter().any(|one| one.napi_id != 0) => {
            "the kernel and the card support it".to_owned()
        }
        (true, Some(open)) if !open.is_empty() => {
            "the kernel supports it, but connections have no SO_INCOMING_NAPI_ID".to_owned()
        }
        (true, _) => {
            "the kernel supports it; without an open connection, it is unknown if the card does"
                .to_owned()
        }
    };
    let state = format!("this version of Pelton does not poll; {can}");
    Ok(not_applicable(state)
        .seen(&facts.kernel.release)
        .seen(connections))
}

fn deferral(facts: &Facts, interface: &Interface) -> Judged {
    let (deferred, timeout) = (&interface.deferred_interrupts, &interface.flush_timeout_ns);
    let kernel = facts.kernel.release.get()?;
    let judgement = match (*deferred.get()?, *timeout.get()?) {
        (0, _) | (_, 0) => fine("interrupts are not deferred, as fits a server that does not poll"),
        (rounds, ns) => {
            let since = match IRQ_SUSPENSION <= *kernel {
                true => "",
                false => {
                    "; this kernel cannot limit the deferral to the time in which a program polls"
                }
            };
            tradeoff(format!(
                "interrupts are deferred {rounds} times for {ns} ns{since}"
            ))
        }
    };
    Ok(judgement.seen(deferred).seen(timeout))
}

fn queueing(facts: &Facts, interface: &Interface) -> Judged {
    let found = &interface.qdiscs;
    let all: Vec<&Qdisc> = found.get()?.iter().filter(|one| !one.is_ingress).collect();
    let kinds: Vec<&str> = all.iter().map(|one| one.kind.as_str()).collect();
    let judgement = if kinds.iter().all(|kind| *kind == "noqueue") {
        fine("no queueing discipline")
    } else if kinds.iter().all(|kind| SIMPLE.contains(kind)) {
        let name = &interface.name;
        tradeoff(format!(
            "packets pass the queueing discipline {}, whose lock they contend for",
            kinds.join(", ")
        ))
        .with_change(format!("tc qdisc replace dev {name} root noqueue"))
    } else {
        let kinds = kinds.join(", ");
        not_applicable(format!(
            "packets pass the queueing discipline {kinds}, which shapes or classifies them and should stay"
        ))
    };
    Ok(judgement.seen(found).seen(&facts.network.default_qdisc))
}

fn pacing(facts: &Facts) -> Judged {
    let control = &facts.network.congestion_control;
    let judgement = match control.get()?.as_str() {
        "bbr" => super::tcp::paced_by_card(facts)?,
        name => not_applicable(format!("{name} does not pace connections")),
    };
    let mut judgement = match judgement.standing {
        // The row of the congestion control reports the gain, and names both ways.
        Standing::Gain => tradeoff(judgement.state),
        _ => judgement,
    };
    judgement = judgement.seen(control);
    for interface in facts.interfaces.ok().into_iter().flatten() {
        judgement = judgement.seen(&interface.qdiscs);
    }
    Ok(judgement)
}

fn offloads(_: &Facts, interface: &Interface) -> Judged {
    let found = &interface.features;
    let on = found.get()?;
    let is_on = |name: &str| on.iter().any(|feature| feature == name);
    // A card without TSO still gains from GSO, which segments just before the driver.
    let segments = is_on("tx-tcp-segmentation") || is_on("tx-generic-segmentation");
    let gro = match is_on("rx-gro") {
        true => "on, which uploads need",
        false => "off, which makes uploads slower",
    };
    let judgement = match segments {
        false => gain(format!(
            "segmentation offload is off; aggregation (GRO) is {gro}"
        ))
        .with_change(format!("ethtool -K {} tso on gso on", interface.name)),
        true => fine(format!(
            "segmentation offload is on; aggregation (GRO) is {gro}"
        )),
    };
    Ok(judgement.seen(found))
}
