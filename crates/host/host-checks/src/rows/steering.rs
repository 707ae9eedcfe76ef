//! Rows about the processors that handle packets of an interface: step 5 of the article.

use crate::check::{Check, Class, Judged};
use crate::verdict::{SMALL, each, fine, gain, not_applicable, processors, tradeoff};
use crate::{Cpus, Facts, Interface, Unread};

const STEP: &str = "each connection stays on one core, which gave a part of the +38 % requests/s in step 5 of “Extreme HTTP Performance Tuning” (Richards 2021)";

pub(super) const ROWS: &[Check] = &[
    Check {
        id: "irq.affinity",
        title: "interrupts of the network card spread over the processors",
        class: Class::Tunable,
        gain: STEP,
        sizes: SMALL,
        risk: "a wrong list of processors makes one processor the bottleneck; irqbalance may overwrite the lists",
        change: "echo CPU > /proc/irq/N/smp_affinity_list for each interrupt N, with a different processor for each",
        undo: "write the previous list of processors to /proc/irq/N/smp_affinity_list",
        judge: |facts| each(facts, interrupts),
    },
    Check {
        id: "nic.rss",
        title: "one receive queue of the network card per processor",
        class: Class::Tunable,
        gain: STEP,
        sizes: SMALL,
        risk: "the network card restarts: connections pause, and a remote login may hang for seconds",
        change: "ethtool -L IF combined N, where N is the number of processors",
        undo: "ethtool -L IF combined N, where N is the previous number of queues",
        judge: |facts| each(facts, channels),
    },
    Check {
        id: "nic.xps",
        title: "transmit queues assigned to processors",
        class: Class::Tunable,
        gain: STEP,
        sizes: SMALL,
        risk: "the risk is low: a processor without an assigned queue sends through any queue",
        change: "echo MASK > /sys/class/net/IF/queues/tx-N/xps_cpus",
        undo: "write the previous mask to xps_cpus",
        judge: |facts| each(facts, transmit),
    },
    Check {
        id: "nic.rps_rfs",
        title: "received packets spread over the processors by software",
        class: Class::Tunable,
        gain: "no published measurement of the effect of receive packet steering (RPS) is known; only RPS can spread the packets of a single queue",
        sizes: "responses of all sizes, if one processor is busy with packets while others are idle",
        risk: "each batch of packets costs an interrupt between processors (IPI), which lowers the throughput unless the processor that receives packets is busy",
        change: "echo MASK > /sys/class/net/IF/queues/rx-0/rps_cpus; sysctl -w net.core.rps_sock_flow_entries=32768; echo 32768 > /sys/class/net/IF/queues/rx-0/rps_flow_cnt",
        undo: "write 0 to rps_cpus and rps_flow_cnt, and set net.core.rps_sock_flow_entries to 0",
        judge: |facts| each(facts, software),
    },
    Check {
        id: "nic.threaded",
        title: "kernel threads that process received packets",
        class: Class::Tunable,
        gain: "no published measurement of the effect of these kernel threads is known; with them, an interface without interrupts, such as veth, can process received packets on a processor other than the sender's",
        sizes: SMALL,
        risk: "context switches add latency when the load is low",
        change: "echo 1 > /sys/class/net/IF/threaded",
        undo: "echo 0 > /sys/class/net/IF/threaded",
        judge: |facts| each(facts, threaded),
    },
    Check {
        id: "mem.numa",
        title: "NUMA node of the network card and of the server",
        class: Class::Process,
        gain: "no published measurement of the effect of NUMA nodes is known",
        sizes: "large responses on machines with several NUMA nodes",
        risk: "the processors of the other NUMA nodes stay unused",
        change: "start the server with numactl --cpunodebind=NODE --membind=NODE, where NODE is the NUMA node of the network card",
        undo: "start the server without numactl",
        judge: node,
    },
];

fn interrupts(facts: &Facts, interface: &Interface) -> Judged {
    if !interface.kind.is_empty() {
        return Ok(
            not_applicable("the interface is virtual and has no interrupts")
                .seen(&interface.interrupts),
        );
    }
    let found = &interface.interrupts;
    let all = found.get()?;
    let usable = processors(facts)?;
    if all.is_empty() {
        return Ok(not_applicable("the driver does not list its interrupts").seen(found));
    }
    let used: Cpus = all.iter().flat_map(|one| one.cpus.iter()).collect();
    let wanted = usable.min(all.len() as u64);
    let state = format!(
        "{} interrupts are handled by the processors {used}",
        all.len()
    );
    let balancer = &facts.kernel.has_irqbalance;
    let judgement = if (used.len() as u64) < wanted {
        gain(state)
    } else if balancer.ok() == Some(&true) {
        tradeoff(format!(
            "{state}; irqbalance is running and may move the interrupts"
        ))
    } else {
        fine(state)
    };
    Ok(judgement.seen(found).seen(balancer))
}

fn channels(facts: &Facts, interface: &Interface) -> Judged {
    if !interface.kind.is_empty() {
        let state = format!("the interface is virtual, of kind {}", interface.kind);
        return Ok(not_applicable(state).seen(&interface.channels));
    }
    let usable = processors(facts)?;
    let found = &interface.channels;
    let channels = match found.value {
        Err(Unread::Unsupported) => {
            return Ok(not_applicable("the driver has a fixed number of queues").seen(found));
        }
        _ => found.get()?,
    };
    let wanted = u64::from(channels.receive_max).min(usable);
    let state = format!(
        "{} of {} possible receive queues are in use",
        channels.receive, channels.receive_max
    );
    let judgement = match u64::from(channels.receive) < wanted {
        true => gain(state).with_change(format!("ethtool -L {} combined {wanted}", interface.name)),
        false if u64::from(channels.receive_max) < usable => not_applicable(format!(
            "{state}, fewer than the {usable} processors: the row nic.rps_rfs has a setting that spreads packets over the other processors"
        )),
        false => fine(state),
    };
    Ok(judgement.seen(found))
}

fn transmit(facts: &Facts, interface: &Interface) -> Judged {
    let queues = *interface.transmit_queues.get()?;
    if queues < 2 {
        return Ok(not_applicable("one transmit queue serves all processors")
            .seen(&interface.transmit_queues));
    }
    let found = &interface.transmit_cpus;
    let assigned = found.get()?.iter().filter(|cpus| !cpus.is_empty()).count() as u64;
    let wanted = queues.min(processors(facts)?);
    let state = format!("{assigned} of {queues} transmit queues are assigned to processors");
    let judgement = match assigned < wanted {
        true => gain(state),
        false => fine(state),
    };
    Ok(judgement.seen(found))
}

fn software(facts: &Facts, interface: &Interface) -> Judged {
    if !interface.kind.is_empty() {
        let state = format!("the interface is virtual, of kind {}", interface.kind);
        return Ok(not_applicable(state).seen(&interface.receive_queues));
    }
    let usable = processors(facts)?;
    let queues = *interface.receive_queues.get()?;
    let (spread, flows) = (&interface.receive_cpus, &interface.receive_flows);
    if usable <= queues {
        return Ok(not_applicable(format!(
            "{queues} receive queues are enough for {usable} processors"
        ))
        .seen(&interface.receive_queues));
    }
    let used: Cpus = spread.get()?.iter().flat_map(Cpus::iter).collect();
    let judgement = match used.len() {
        0 => {
            let name = &interface.name;
            gain(format!("receive queues: {queues}, processors: {usable}, and packets are not spread by software"))
                .with_change(format!("echo {} > /sys/class/net/{name}/queues/rx-0/rps_cpus", mask(facts)))
        }
        _ if flows.ok() == Some(&0) => tradeoff(format!(
            "packets are spread over the processors {used}, but may not reach the processor that serves their connection"
        )),
        _ => fine(format!("packets are spread over the processors {used}")),
    };
    Ok(judgement
        .seen(spread)
        .seen(flows)
        .seen(&facts.network.flow_entries))
}

/// Returns the kernel's mask of the processors that the process may use, for a command; `MASK` if
/// they are unknown.
fn mask(facts: &Facts) -> String {
    match facts.process.allowed.ok() {
        Some(cpus) => cpus.mask(),
        None => "MASK".to_owned(),
    }
}

fn threaded(facts: &Facts, interface: &Interface) -> Judged {
    let found = &interface.is_threaded;
    if interface.kind != "veth" {
        return Ok(not_applicable(
            "the interrupts of the card already choose the processor of each packet",
        )
        .seen(found));
    }
    let judgement = match (*found.get()?, processors(facts)?) {
        (true, _) => fine("kernel threads process received packets"),
        (false, 1) => not_applicable("the server can use only one processor"),
        (false, _) => tradeoff(
            "packets between programs of this host are processed on the processor that sent them",
        ),
    };
    Ok(judgement.seen(found))
}

fn node(facts: &Facts) -> Judged {
    if facts.memory.nodes.value == Err(Unread::Absent) {
        let state = "the kernel does not support several NUMA nodes";
        return Ok(not_applicable(state).seen(&facts.memory.nodes));
    }
    let nodes = facts.memory.nodes.get()?;
    if nodes.len() < 2 {
        return Ok(not_applicable("the machine has one NUMA node").seen(&facts.memory.nodes));
    }
    each(facts, |facts, interface| {
        let found = &interface.node;
        let Ok(number) = usize::try_from(*found.get()?) else {
            return Ok(not_applicable("the interface belongs to no NUMA node").seen(found));
        };
        let nodes = facts.memory.nodes.get()?;
        let allowed = facts.process.allowed.get()?;
        let beyond = nodes
            .get(number)
            .map(|near| allowed.iter().filter(|cpu| !near.has(*cpu)).count());
        let judgement = match beyond {
            Some(0) => fine(format!(
                "the network card and all processors of the server are on NUMA node {number}"
            )),
            Some(far) => tradeoff(format!(
                "{far} processors of the server are not on NUMA node {number}, to which the network card belongs"
            )),
            None => not_applicable(format!("NUMA node {number} has no processors")),
        };
        Ok(judgement.seen(found).seen(&facts.process.allowed))
    })
}
