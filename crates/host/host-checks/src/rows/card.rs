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
        title: "adaptive interrupt moderation of the network card",
        class: Class::Tunable,
        gain: "step 6 of “Extreme HTTP Performance Tuning” (Richards 2021): +28 % requests/s, together with busy polling",
        sizes: SMALL,
        risk: "a longer delay of interrupts slows responses down at low load; the effect depends on the driver",
        change: "ethtool -C IF adaptive-rx on",
        undo: "ethtool -C IF adaptive-rx off rx-usecs N, where N is the previous delay",
        judge: |facts| each(facts, coalescing),
    },
    Check {
        id: "nic.rings",
        title: "receive ring of the network card",
        class: Class::Tunable,
        gain: "no published measurement of the effect of the ring size is known; a larger ring prevents drops in bursts",
        sizes: "responses of all sizes, if the network card drops packets",
        risk: "the network card restarts; larger rings use more of the processor's cache",
        change: "ethtool -G IF rx N, where N is the new number of packets in the ring",
        undo: "ethtool -G IF rx N, where N is the previous number of packets in the ring",
        judge: |facts| each(facts, rings),
    },
    Check {
        id: "poll.sysctl",
        title: "busy polling of all sockets",
        class: Class::Tunable,
        gain: "step 6 of “Extreme HTTP Performance Tuning” (Richards 2021): +28 % requests/s, together with moderation of interrupts",
        sizes: "small responses at very high rates; the setting of the row poll.epoll has the same effect without cost for other sockets",
        risk: "a process spins while it waits for a socket, which wastes processor time",
        change: "sysctl -w net.core.busy_poll=0 net.core.busy_read=0",
        undo: "set net.core.busy_poll and net.core.busy_read to their previous values",
        judge: busy_polling,
    },
    Check {
        id: "poll.epoll",
        title: "busy polling per epoll instance",
        class: Class::Process,
        gain: "step 6 of “Extreme HTTP Performance Tuning” (Richards 2021): +28 % requests/s, together with moderation of interrupts",
        sizes: SMALL,
        risk: "a processor stays busy even while all connections are idle",
        change: "none: this version of Pelton does not use busy polling",
        undo: "nothing to undo",
        judge: epoll_polling,
    },
    Check {
        id: "poll.irqsuspend",
        title: "deferral of the network card's interrupts while packets are polled",
        class: Class::Tunable,
        gain: "no published measurement of the effect of deferred interrupts is known; newer kernels use deferred interrupts in place of busy polling",
        sizes: SMALL,
        risk: "without busy polling, a received packet waits until the timer gro_flush_timeout expires",
        change: "echo 0 > /sys/class/net/IF/napi_defer_hard_irqs; echo 0 > /sys/class/net/IF/gro_flush_timeout",
        undo: "write the previous values to napi_defer_hard_irqs and gro_flush_timeout",
        judge: |facts| each(facts, deferral),
    },
    Check {
        id: "q.noqueue",
        title: "contention for the lock of the queueing discipline",
        class: Class::Tunable,
        gain: "step 8 of “Extreme HTTP Performance Tuning” (Richards 2021): +2 % requests/s without a queueing discipline",
        sizes: SMALL,
        risk: "connections no longer share the network card fairly, and BBR loses the pacing of fq",
        change: "sysctl -w net.core.default_qdisc=noqueue; tc qdisc replace dev IF root noqueue",
        undo: "set net.core.default_qdisc to its previous value; tc qdisc replace dev IF root KIND, where KIND is the previous queueing discipline",
        judge: |facts| each(facts, queueing),
    },
    Check {
        id: "q.fq",
        title: "queueing discipline that paces connections",
        class: Class::Tunable,
        gain: "unknown: no published figure, and none of our benchmarks, is about the queueing discipline fq",
        sizes: "bodies of 10 KB and more with BBR; other congestion control algorithms do not need pacing",
        risk: "fq adds a lock and a table of connections to each queue of the network card; the kernel may have been built without fq",
        change: "tc qdisc replace dev IF root fq; on a card with several transmit queues, attach fq to each queue",
        undo: "tc qdisc del dev IF root, which restores the kernel's default queueing discipline",
        judge: pacing,
    },
    Check {
        id: "nic.gro",
        title: "segmentation offload and GRO of the network card",
        class: Class::Tunable,
        gain: "step 9 of “Extreme HTTP Performance Tuning” (Richards 2021): GRO off, reno in place of cubic and fixed moderation of interrupts gained 4 % together",
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
            "the moderation of interrupts is fixed at {delay}; not every driver supports adaptive moderation"
        ))
        .with_change(format!("ethtool -C {} adaptive-rx on", interface.name)),
        None => not_applicable(format!("the driver supports only fixed interrupt moderation; the delay is {delay}")),
    };
    Ok(judgement.seen(found))
}

fn rings(_: &Facts, interface: &Interface) -> Judged {
    let found = &interface.rings;
    let rings = match found.value {
        Err(Unread::Unsupported) => {
            return Ok(not_applicable("the driver has receive rings of fixed size").seen(found));
        }
        _ => found.get()?,
    };
    let state = format!(
        "the receive ring has room for {} packets; the network card allows up to {}",
        rings.receive, rings.receive_max
    );
    let drops = &interface.ring_drops;
    let judgement = match *drops.get()? {
        dropped if 0 < dropped && rings.receive < rings.receive_max => tradeoff(format!(
            "{state}, and the card dropped {dropped} packets because the ring was full"
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
        (0, 0) => {
            fine("busy polling is off, as recommended for a host that runs other programs too")
        }
        (poll, read) => tradeoff(format!(
            "all sockets are polled for {poll} µs in poll(2) and for {read} µs in read(2)"
        )),
    };
    Ok(judgement.seen(poll).seen(read))
}

fn epoll_polling(facts: &Facts) -> Judged {
    let kernel = facts.kernel.release.get()?;
    let connections = &facts.server.connections;
    let can = match (EPOLL_POLLING <= *kernel, connections.ok()) {
        (false, _) => format!(
            "kernel {kernel} does not support busy polling per epoll instance; kernel {EPOLL_POLLING} or newer is needed"
        ),
        (true, Some(open)) if open.iter().any(|one| one.napi_id != 0) => {
            "the kernel and the network card support busy polling".to_owned()
        }
        (true, Some(open)) if !open.is_empty() => {
            "the kernel supports busy polling, but the connections have no SO_INCOMING_NAPI_ID".to_owned()
        }
        (true, _) => {
            "the kernel supports busy polling; whether the network card supports it, too, is known only while a connection is open"
                .to_owned()
        }
    };
    let state = format!("this version of Pelton does not use busy polling; {can}");
    Ok(not_applicable(state)
        .seen(&facts.kernel.release)
        .seen(connections))
}

fn deferral(facts: &Facts, interface: &Interface) -> Judged {
    let (deferred, timeout) = (&interface.deferred_interrupts, &interface.flush_timeout_ns);
    let kernel = facts.kernel.release.get()?;
    let judgement = match (*deferred.get()?, *timeout.get()?) {
        (0, _) | (_, 0) => fine(
            "interrupts are not deferred, which is right for a server that does not use busy polling",
        ),
        (rounds, ns) => {
            let since = match IRQ_SUSPENSION <= *kernel {
                true => "",
                false => {
                    "; this kernel cannot limit the deferral to the time in which a program polls"
                }
            };
            tradeoff(format!(
                "interrupts are deferred up to {rounds} times, for {ns} ns each{since}"
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
        fine("the interface has no queueing discipline")
    } else if kinds.iter().all(|kind| SIMPLE.contains(kind)) {
        let name = &interface.name;
        tradeoff(format!(
            "packets pass the queueing discipline {}, and processors contend for its lock",
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
        name => not_applicable(format!(
            "the congestion control {name} does not pace connections"
        )),
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
        true => "aggregation of received packets (GRO) is on, which uploads need",
        false => "aggregation of received packets (GRO) is off, which makes uploads slower",
    };
    let judgement = match segments {
        false => gain(format!("segmentation offload is off; {gro}"))
            .with_change(format!("ethtool -K {} tso on gso on", interface.name)),
        true => fine(format!("segmentation offload is on; {gro}")),
    };
    Ok(judgement.seen(found))
}
