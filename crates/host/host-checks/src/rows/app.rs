//! Rows about the program and its threads.

use std::collections::BTreeMap;

use crate::check::{Check, Class, Judged};
use crate::verdict::{REQUESTS_MIN, SMALL, fine, gain, metrics, not_applicable, problem, tradeoff};
use crate::{Cpus, Facts};

/// Share of throttled periods, in percent, from which throttling is a problem.
const THROTTLED_PCT: u64 = 1;
/// Number of system calls per request above which some of them are unnecessary.
const CALLS_PER_REQUEST_MAX: f64 = 8.0;

pub(super) const ROWS: &[Check] = &[
    Check {
        id: "app.threads",
        title: "one server thread (core) per usable processor",
        class: Class::Process,
        gain: "step 1 of “Extreme HTTP Performance Tuning” (Richards 2021): +55 % requests/s; the use of all processors contributed 25 to 27 % to this gain",
        sizes: "responses of all sizes",
        risk: "picture conversions compete with the server's threads for the processors",
        change: "restart the server without taskset or AllowedCPUs=, or give its control group a whole number of processors in cpu.max",
        undo: "restore the previous list of allowed processors and the previous cpu.max",
        judge: threads,
    },
    Check {
        id: "app.throttled",
        title: "throttling of the server by the CPU quota of its control group",
        class: Class::Process,
        gain: "no published measurement of the effect of throttling is known; each throttled period adds up to 100 ms to the slowest responses",
        sizes: "responses of all sizes; the slowest responses gain most",
        risk: "other services of the host get less processor time",
        change: "raise cpu.max of the control group, CPUQuota= of the service, or the container's --cpus",
        undo: "restore the previous CPU quota",
        judge: throttled,
    },
    Check {
        id: "app.pin",
        title: "server threads (cores) pinned to processors",
        class: Class::Process,
        gain: "each connection stays on one core, which gave a part of the +38 % requests/s in step 5 of “Extreme HTTP Performance Tuning” (Richards 2021)",
        sizes: SMALL,
        risk: "none, because the server itself pins its threads to processors",
        change: "start the server on processors of which no two are hardware threads of the same physical core",
        undo: "nothing to undo",
        judge: pinned,
    },
    Check {
        id: "app.syscalls",
        title: "system calls per request",
        class: Class::Process,
        gain: "step 1 of “Extreme HTTP Performance Tuning” (Richards 2021): recv and send in place of read and write gave 5 to 10 % more requests/s",
        sizes: SMALL,
        risk: "none",
        change: "let clients and proxies keep their connections open, in nginx by keepalive in the upstream block",
        undo: "remove the keepalive setting of the proxy",
        judge: system_calls,
    },
    Check {
        id: "app.codegen",
        title: "processor features that Pelton is compiled for",
        class: Class::Process,
        gain: "step 1 of “Extreme HTTP Performance Tuning” (Richards 2021): -O3 and -march=native each gave 5 to 10 % more requests/s",
        sizes: "small responses; picture conversions do not gain, because they choose their instructions at run time",
        risk: "if Pelton is compiled for x86-64-v3, it does not start on older processors",
        change: "build Pelton with RUSTFLAGS='-C target-cpu=x86-64-v3'",
        undo: "build Pelton again without target-cpu in RUSTFLAGS",
        judge: code_generation,
    },
];

fn threads(facts: &Facts) -> Judged {
    let allowed = facts.process.allowed.get()?;
    let quota = &facts.process.quota;
    if let Some(quota_us) = quota.ok().and_then(|quota| quota.quota_us) {
        let period_us = quota.get()?.period_us.max(1);
        if quota_us < period_us * allowed.len() as u64 {
            let processors = quota_us as f64 / period_us as f64;
            let state = format!(
                "the CPU quota allows {processors:.1} processors, but the server starts {} threads (cores)",
                allowed.len()
            );
            return Ok(problem(state).seen(quota).seen(&facts.process.allowed));
        }
    }
    let Some(metrics) = facts.server.metrics.ok() else {
        let state = format!(
            "a server on this host may use {} processors: {allowed}",
            allowed.len()
        );
        return Ok(fine(state).seen(&facts.process.allowed).seen(quota));
    };
    let cores = metrics.steering.cores();
    let state = format!(
        "the server runs {cores} threads (cores) on {} processors",
        allowed.len()
    );
    let judgement = match cores < allowed.len() as u64 {
        true => gain(state),
        false => fine(state),
    };
    Ok(judgement
        .seen(&facts.process.allowed)
        .seen(&facts.server.metrics)
        .seen(quota))
}

fn throttled(facts: &Facts) -> Judged {
    let (throttling, quota) = (&facts.process.throttling, &facts.process.quota);
    let has_quota = quota.ok().is_none_or(|quota| quota.quota_us.is_some());
    if !has_quota && throttling.ok().is_none_or(|found| found.throttled == 0) {
        return Ok(fine("the control group has no CPU quota").seen(quota));
    }
    let found = throttling.get()?;
    let state = format!(
        "{} of {} scheduling periods have been throttled since the control group was created",
        found.throttled, found.periods
    );
    let judgement = match found.throttled {
        0 => fine(state),
        count if count * 100 < found.periods * THROTTLED_PCT => tradeoff(state),
        _ => problem(state),
    };
    Ok(judgement.seen(throttling).seen(quota))
}

fn pinned(facts: &Facts) -> Judged {
    facts.server.pid.get()?;
    let threads = &facts.process.threads;
    // The store's threads have the same names and are not pinned, so a name counts as pinned if one
    // of its threads is.
    let mut cores: BTreeMap<&str, Option<&Cpus>> = BTreeMap::new();
    for thread in threads.get()?.iter().filter(|one| is_core(&one.name)) {
        let pinned = cores.entry(&thread.name).or_default();
        if thread.allowed.len() == 1 {
            *pinned = Some(&thread.allowed);
        }
    }
    if cores.is_empty() {
        return Ok(not_applicable("the process has no threads named core-N").seen(threads));
    }
    let loose = cores.values().filter(|pinned| pinned.is_none()).count();
    if 0 < loose {
        let state = format!(
            "{loose} of {} server threads (cores) are not pinned to one processor",
            cores.len()
        );
        return Ok(gain(state).seen(threads));
    }
    let pinned: Cpus = cores
        .values()
        .flatten()
        .flat_map(|cpus| cpus.iter())
        .collect();
    let shared = facts.cpu.siblings.ok().is_some_and(|groups| {
        groups
            .iter()
            .any(|group| 1 < group.iter().filter(|cpu| pinned.has(*cpu)).count())
    });
    let judgement = match shared {
        true => tradeoff(format!(
            "the server's threads are pinned to the processors {pinned}, some of which are hardware threads of the same physical core and share its execution units"
        )),
        false => fine(format!(
            "the server's threads are pinned to the processors {pinned}"
        )),
    };
    Ok(judgement.seen(threads).seen(&facts.cpu.siblings))
}

/// Returns whether a thread is a core of the server: `core-3`, but not `core-3-file`.
fn is_core(name: &str) -> bool {
    let number = name.strip_prefix("core-");
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn system_calls(facts: &Facts) -> Judged {
    let found = metrics(facts)?;
    if found.requests < REQUESTS_MIN {
        let state = format!(
            "the server has had only {} requests so far, too few for a ratio",
            found.requests
        );
        return Ok(not_applicable(state).seen(&facts.server.metrics));
    }
    let ratio = found.system_calls as f64 / found.requests as f64;
    let state =
        format!("{ratio:.2} system calls per request; a cache hit on an open connection needs 2");
    let judgement = match ratio <= CALLS_PER_REQUEST_MAX {
        true => fine(state),
        false => gain(state),
    };
    Ok(judgement.seen(&facts.server.metrics))
}

fn code_generation(facts: &Facts) -> Judged {
    let features = facts.built_for.get()?;
    let judgement = match features.iter().any(|feature| feature == "avx2") {
        true => fine("Pelton is compiled for x86-64-v3 or newer"),
        false => tradeoff("Pelton is compiled to run on every processor of this architecture"),
    };
    Ok(judgement.seen(&facts.built_for))
}
