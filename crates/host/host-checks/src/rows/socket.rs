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
        title: "one listening socket per server thread (core)",
        class: Class::Process,
        gain: "each connection stays on one core, which gave a part of the +38 % requests/s in step 5 of “Extreme HTTP Performance Tuning” (Richards 2021)",
        sizes: "responses of all sizes, if the server has many connections",
        risk: "no risk, because the server opens the sockets itself",
        change: "restart the server; if a service manager passes the sockets, let it pass one socket per core",
        undo: "nothing to undo",
        judge: reuseport,
    },
    Check {
        id: "sock.incoming_cpu",
        title: "connections served on the processor that receives their packets",
        class: Class::Process,
        gain: "each connection stays on one core, which gave a part of the +38 % requests/s in step 5 of “Extreme HTTP Performance Tuning” (Richards 2021)",
        sizes: SMALL,
        risk: "if one processor receives all packets, one core gets all connections; steering = \"auto\" detects this",
        change: "steering = \"auto\"",
        undo: "steering = \"hash\"",
        judge: incoming_cpu,
    },
    Check {
        id: "sock.cbpf",
        title: "BPF program that chooses the core of a connection",
        class: Class::Process,
        gain: "each connection stays on one core, which gave a part of the +38 % requests/s in step 5 of “Extreme HTTP Performance Tuning” (Richards 2021); kernels before 6.2 need the BPF program to choose the core that SO_INCOMING_CPU chooses on newer kernels",
        sizes: SMALL,
        risk: "if a proxy opens all its connections on one processor, one core gets all the load",
        change: "steering = \"cbpf\", if the kernel is older than 6.2 and the network card spreads packets over all processors",
        undo: "steering = \"auto\"",
        judge: cbpf,
    },
    Check {
        id: "sock.balance",
        title: "connections spread evenly over the cores",
        class: Class::Process,
        gain: "no published measurement of the effect of the balance of connections is known; on a server with four cores, a core that has half of all connections halves the throughput",
        sizes: "responses of all sizes",
        risk: "fewer connections are served on the processor that receives their packets",
        change: "steering = \"auto\"; if clients are few, let the proxy open more connections",
        undo: "set steering to its previous mode",
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
            "kernel {kernel} ignores SO_INCOMING_CPU for sockets with SO_REUSEPORT; kernel {INCOMING_CPU} or newer is needed"
        );
        return Ok(not_applicable(state).seen(&facts.kernel.release));
    }
    let found = metrics(facts)?;
    let (local, located) = (found.local, found.located);
    let cores = found.steering.cores();
    let mode = if 0 < found.steering.incoming_cpu {
        "connections are spread by SO_INCOMING_CPU"
    } else if 0 < found.steering.cbpf {
        "connections are spread by a BPF program"
    } else {
        "connections are spread by a hash"
    };
    if cores < 2 {
        return Ok(not_applicable("the server has one core").seen(&facts.server.metrics));
    }
    if located < LOCATED_MIN {
        let state =
            format!("{mode}; only {located} connections were sampled, too few for a judgement");
        return Ok(not_applicable(state)
            .seen(&facts.server.metrics)
            .seen(&facts.server.listeners));
    }
    let state = format!(
        "{mode}; {} % of {located} sampled connections are served on the processor that receives their packets",
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
        Some(cores) if 0 < cores => fine(format!(
            "{cores} cores get their connections from a BPF program"
        )),
        _ if INCOMING_CPU <= *kernel => not_applicable(format!(
            "kernel {kernel} needs no BPF program, because SO_INCOMING_CPU makes the same choice"
        )),
        Some(_) => tradeoff(format!(
            "on kernel {kernel}, a connection stays on the processor that receives its packets only if Pelton's BPF program is attached; it is not attached"
        )),
        None => {
            return Err(metrics(facts)
                .expect_err("`metrics` returns an error if the facts contain no metrics"));
        }
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
            "the server has accepted only {} connections so far, too few for a judgement",
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
