//! Rows about listening sockets and the choice of the core for a connection.

use crate::check::{Check, Class, Judged};
use crate::verdict::{
    CONNECTIONS_MIN, LOCATED_MIN, SMALL, fine, gain, metrics, not_applicable, tradeoff,
};
use crate::{Facts, Release};

/// First kernel in which `SO_INCOMING_CPU` works with `SO_REUSEPORT`.
const INCOMING_CPU: Release = Release(6, 2);
/// Imbalance above which the busiest core limits the server.
const IMBALANCE_MAX: f64 = 1.5;

pub(super) const ROWS: &[Check] = &[
    Check {
        id: "sock.reuseport",
        title: "a listening socket per core",
        class: Class::Process,
        gain: "step 5 of the article: part of its +38 % for perfect locality",
        sizes: "all sizes with many connections",
        risk: "none: the server opens them itself",
        change: "restart the server: sockets passed by a service manager need one per core",
        undo: "no change to take back",
        judge: reuseport,
    },
    Check {
        id: "sock.incoming_cpu",
        title: "connections stay on the processor that receives them",
        class: Class::Process,
        gain: "step 5 of the article: part of its +38 % for perfect locality",
        sizes: SMALL,
        risk: "if one processor receives all packets, one core gets all connections; steering = \"auto\" detects this",
        change: "steering = \"auto\"",
        undo: "steering = \"hash\"",
        judge: incoming_cpu,
    },
    Check {
        id: "sock.cbpf",
        title: "choice of the core by a BPF program",
        class: Class::Process,
        gain: "step 5 of the article: part of its +38 % for perfect locality; on kernels before 6.2, it chooses cores as sock.incoming_cpu does on newer ones",
        sizes: SMALL,
        risk: "a proxy that opens all its connections on one processor loads one core only",
        change: "steering = \"cbpf\", on kernels before 6.2 whose network card spreads packets over all processors",
        undo: "steering = \"auto\"",
        judge: cbpf,
    },
    Check {
        id: "sock.balance",
        title: "connections spread evenly over the cores",
        class: Class::Process,
        gain: "none measured by the article; on a server with four cores, a core that has half of all connections halves the throughput",
        sizes: "all sizes",
        risk: "fewer connections stay on the processor that receives them",
        change: "steering = \"auto\"; if clients are few, let the proxy open more connections",
        undo: "set the previous mode again",
        judge: balance,
    },
];

fn reuseport(facts: &Facts) -> Judged {
    let listeners = facts.server.listeners.get()?;
    let cores = metrics(facts)?.steering.cores();
    // The store and the admin have few sockets per address. The server has the most.
    let most = listeners
        .iter()
        .map(|one| {
            let own = listeners
                .iter()
                .filter(|other| other.address == one.address);
            (own.count(), &one.address)
        })
        .max();
    let Some((most, address)) = most else {
        return Ok(
            not_applicable("the server has no listening TCP socket").seen(&facts.server.listeners)
        );
    };
    let state = format!("listening sockets of {address}: {most}; cores of the server: {cores}");
    let judgement = match (most as u64) < cores {
        true => gain(state),
        false => fine(state),
    };
    Ok(judgement.seen(&facts.server.listeners))
}

fn incoming_cpu(facts: &Facts) -> Judged {
    let kernel = facts.kernel.release.get()?;
    if *kernel < INCOMING_CPU {
        let state = format!(
            "kernel {kernel} ignores SO_INCOMING_CPU among the sockets of a port; kernel {INCOMING_CPU} or newer is needed"
        );
        return Ok(not_applicable(state).seen(&facts.kernel.release));
    }
    let found = metrics(facts)?;
    let (local, located) = (found.local, found.located);
    let cores = found.steering.cores();
    let mode = if 0 < found.steering.incoming_cpu {
        "by SO_INCOMING_CPU"
    } else if 0 < found.steering.cbpf {
        "by a BPF program"
    } else {
        "by a hash"
    };
    if cores < 2 {
        return Ok(not_applicable("the server has one core").seen(&facts.server.metrics));
    }
    if located < LOCATED_MIN {
        let state = format!(
            "connections are spread {mode}; only {located} of them were sampled, too few for a judgement"
        );
        return Ok(not_applicable(state)
            .seen(&facts.server.metrics)
            .seen(&facts.server.listeners));
    }
    let state = format!(
        "connections are spread {mode}; {} % of {located} sampled connections are served on the processor that receives their packets",
        local * 100 / located
    );
    let judgement = match found.steering.hash == 0 || located * 9 <= local * 10 {
        true => fine(state),
        false => tradeoff(state),
    };
    Ok(judgement
        .seen(&facts.server.metrics)
        .seen(&facts.server.listeners))
}

fn cbpf(facts: &Facts) -> Judged {
    let kernel = facts.kernel.release.get()?;
    let judgement = match facts.server.metrics.ok().map(|found| found.steering.cbpf) {
        Some(cores) if 0 < cores => fine(format!("{cores} cores are steered by a BPF program")),
        _ if INCOMING_CPU <= *kernel => not_applicable(format!(
            "kernel {kernel} makes the same choice by SO_INCOMING_CPU"
        )),
        Some(_) => tradeoff(format!(
            "kernel {kernel} needs the BPF program for locality, but the program is not attached"
        )),
        None => return Err(metrics(facts).expect_err("the metrics are unknown in this arm")),
    };
    Ok(judgement
        .seen(&facts.kernel.release)
        .seen(&facts.server.metrics))
}

fn balance(facts: &Facts) -> Judged {
    let found = metrics(facts)?;
    if found.steering.cores() < 2 {
        return Ok(not_applicable("the server has one core").seen(&facts.server.metrics));
    }
    if found.accepted < CONNECTIONS_MIN {
        let state = format!(
            "only {} connections so far, too few for a judgement",
            found.accepted
        );
        return Ok(not_applicable(state).seen(&facts.server.metrics));
    }
    let state = format!(
        "the busiest core accepted {:.2} times as many of the {} connections as the average core",
        found.imbalance, found.accepted
    );
    let judgement = match found.imbalance <= IMBALANCE_MAX {
        true => fine(state),
        false => gain(state),
    };
    Ok(judgement.seen(&facts.server.metrics))
}
