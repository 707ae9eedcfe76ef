//! Rows about TCP: backlogs, congestion control, and settings for large bodies over long distances.

use crate::check::{Check, Class, Judged};
use crate::verdict::{fine, gain, not_applicable, problem, tradeoff};
use crate::{Facts, Release};

/// Backlog with which the server listens.
const BACKLOG: u64 = 4096;
/// Bytes that a connection of 100 Mbit/s sends in a round trip of 300 ms, rounded up.
const WRITE_BYTES: u64 = 4 << 20;
/// First kernel with `tcp_migrate_req`.
const MIGRATION: Release = Release(5, 14);

pub(super) const ROWS: &[Check] = &[
    Check {
        id: "tcp.overflows",
        title: "overflows of the backlogs of listening sockets",
        class: Class::Process,
        gain: "no published measurement of the effect of overflows is known; an overflow delays a client by at least a second, or refuses its connection",
        sizes: "responses of all sizes, if many new connections arrive at once",
        risk: "longer backlogs hold more memory during an attack",
        change: "see the row tcp.backlog for the limits; if the server has too few processors, see the rows app.threads and app.throttled",
        undo: "see the rows tcp.backlog, app.threads and app.throttled",
        judge: overflows,
    },
    Check {
        id: "tcp.backlog",
        title: "backlogs of listening sockets",
        class: Class::Tunable,
        gain: "no published measurement of the effect of the length of backlogs is known",
        sizes: "responses of all sizes, if many new connections arrive at once",
        risk: "longer backlogs hold more memory during an attack",
        change: "sysctl -w net.core.somaxconn=4096 net.ipv4.tcp_max_syn_backlog=4096, then restart the server",
        undo: "set somaxconn and tcp_max_syn_backlog to their previous values with sysctl -w, then restart the server",
        judge: backlog,
    },
    Check {
        id: "tcp.cc",
        title: "congestion control that fits the queueing discipline",
        class: Class::Tunable,
        gain: "step 9 of “Extreme HTTP Performance Tuning” (Richards 2021): reno in place of cubic, GRO off and fixed moderation of interrupts gained 4 % together",
        sizes: "reno helps small responses in a local network only; BBR without the queueing discipline fq costs a timer per burst of packets, for responses of every size",
        risk: "cubic is slower than BBR on paths that lose packets",
        change: "sysctl -w net.ipv4.tcp_congestion_control=cubic; to keep bbr instead, tc qdisc replace dev IF root fq",
        undo: "set net.ipv4.tcp_congestion_control to its previous value",
        judge: congestion_control,
    },
    Check {
        id: "tcp.media",
        title: "TCP settings for sending pictures over long distances",
        class: Class::Tunable,
        gain: "no published measurement of the effect of tcp_slow_start_after_idle and tcp_wmem is known",
        sizes: "responses of 50 KB and more over the internet: after a pause, a connection sends the next picture at full speed",
        risk: "after a pause, a burst may be sent over a path that has become slower",
        change: "sysctl -w net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_wmem='4096 16384 4194304'",
        undo: "set tcp_slow_start_after_idle and tcp_wmem to their previous values with sysctl -w",
        judge: media,
    },
    Check {
        id: "tcp.migrate",
        title: "handshakes that survive the close of a listening socket",
        class: Class::Tunable,
        gain: "no published measurement of the effect of tcp_migrate_req is known; without tcp_migrate_req, an upgrade or restart of the server resets handshakes in progress",
        sizes: "responses of all sizes, during an upgrade or restart of the server",
        risk: "the risk is low; make the change before the server opens its listening sockets",
        change: "sysctl -w net.ipv4.tcp_migrate_req=1, then restart the server",
        undo: "sysctl -w net.ipv4.tcp_migrate_req=0",
        judge: migration,
    },
];

fn overflows(facts: &Facts) -> Judged {
    let (overflows, drops) = (&facts.network.listen_overflows, &facts.network.listen_drops);
    let listeners = &facts.server.listeners;
    let full = listeners.ok().and_then(|all| {
        all.iter()
            .find(|one| 0 < one.backlog && one.backlog <= one.waiting)
    });
    if let Some(full) = full {
        let state = format!(
            "the backlog of {} is full: {} connections wait to be accepted",
            full.address, full.waiting
        );
        return Ok(problem(state).seen(listeners).seen(overflows));
    }
    // The counters belong to the network namespace, and cannot be reset.
    let judgement = match (*overflows.get()?, *drops.get()?) {
        (0, 0) => fine("no backlog has overflowed since boot"),
        (0, drops) => tradeoff(format!(
            "since boot, {drops} handshakes were dropped, none because of a full backlog (counted over the sockets of all programs)"
        )),
        (overflows, _) => problem(format!(
            "since boot, {overflows} handshakes found a full backlog (counted over the sockets of all programs); run pelton doctor again to see if the number still grows"
        )),
    };
    Ok(judgement.seen(overflows).seen(drops).seen(listeners))
}

fn backlog(facts: &Facts) -> Judged {
    let (accept, syn) = (&facts.network.somaxconn, &facts.network.syn_backlog);
    let (accept_max, syn_max) = (*accept.get()?, *syn.get()?);
    // Neither limit is lowered.
    let change = format!(
        "sysctl -w net.core.somaxconn={} net.ipv4.tcp_max_syn_backlog={}, then restart the server",
        accept_max.max(BACKLOG),
        syn_max.max(BACKLOG)
    );
    let judgement = if accept_max < BACKLOG {
        gain(format!(
            "at most {accept_max} connections may wait to be accepted; the server requests {BACKLOG}"
        ))
        .with_change(change)
    } else if syn_max < BACKLOG / 4 {
        gain(format!("at most {syn_max} handshakes may be in progress")).with_change(change)
    } else {
        fine(format!(
            "{accept_max} connections may wait to be accepted, and {syn_max} handshakes may be in progress"
        ))
    };
    Ok(judgement.seen(accept).seen(syn))
}

fn congestion_control(facts: &Facts) -> Judged {
    let host = &facts.network.congestion_control;
    let own = facts
        .server
        .listeners
        .ok()
        .and_then(|all| all.iter().find_map(|one| one.congestion_control.clone()));
    let name = match &own {
        Some(name) => name,
        None => host.get()?,
    };
    let judgement = match name.as_str() {
        "bbr" => paced_by_card(facts)?,
        "reno" => tradeoff("reno suits a local network, but is slow over long distances"),
        name => fine(name),
    };
    let mut judgement = judgement.seen(host).seen(&facts.server.listeners);
    for interface in facts.interfaces.ok().into_iter().flatten() {
        judgement = judgement.seen(&interface.qdiscs);
    }
    Ok(judgement)
}

/// Judges whether the network cards pace the connections, as bbr needs it. Virtual interfaces, such
/// as bridges, only pass packets on to a card.
pub(super) fn paced_by_card(facts: &Facts) -> Judged {
    let mut judgement = not_applicable(
        "the congestion control is bbr; no network card is visible, so it is unknown if a queueing discipline paces connections",
    );
    let all = facts.interfaces.get()?;
    for card in all.iter().filter(|interface| interface.kind.is_empty()) {
        if card.qdiscs.get()?.iter().all(|one| one.kind != "fq") {
            return Ok(gain(
                "bbr without the queueing discipline fq: the kernel paces each connection by its own timer",
            ));
        }
        judgement = fine("bbr");
    }
    Ok(judgement)
}

fn media(facts: &Facts) -> Judged {
    let (idle, bytes) = (
        &facts.network.slow_start_after_idle,
        &facts.network.write_bytes_max,
    );
    let (restarts, bytes_max) = (*idle.get()? != 0, *bytes.get()?);
    let (mut faults, mut changes) = (Vec::new(), Vec::new());
    if restarts {
        faults.push("connections start slowly again after a pause".to_owned());
        changes.push("sysctl -w net.ipv4.tcp_slow_start_after_idle=0".to_owned());
    }
    if bytes_max < WRITE_BYTES {
        faults.push(format!("send buffers grow to at most {bytes_max} bytes"));
        // The first two numbers of the setting stay.
        changes.push(format!(
            "sysctl -w net.ipv4.tcp_wmem=\"$(sysctl -n net.ipv4.tcp_wmem | cut -f 1,2) {WRITE_BYTES}\""
        ));
    }
    let judgement = match faults.is_empty() {
        true => fine(
            "connections keep their speed after a pause; the server sets TCP_NOTSENT_LOWAT itself",
        ),
        false => gain(faults.join("; ")).with_change(changes.join("; ")),
    };
    Ok(judgement
        .seen(idle)
        .seen(bytes)
        .seen(&facts.network.autocorking))
}

fn migration(facts: &Facts) -> Judged {
    let kernel = facts.kernel.release.get()?;
    if *kernel < MIGRATION {
        let state = format!(
            "kernel {kernel} does not support tcp_migrate_req; kernel {MIGRATION} or newer is needed"
        );
        return Ok(not_applicable(state).seen(&facts.kernel.release));
    }
    let found = &facts.network.migrate_requests;
    let judgement = match *found.get()? {
        0 => gain(
            "tcp_migrate_req is off: closing a listening socket resets its handshakes in progress",
        ),
        _ => fine("on"),
    };
    Ok(judgement.seen(found))
}
