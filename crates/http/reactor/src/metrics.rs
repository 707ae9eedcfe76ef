//! OpenMetrics text of the cores' counters.

use openmetrics::Text;

use crate::{Counters, Steering, Wait};

/// Writes the metrics of connections and cores.
pub fn render_metrics(text: &mut Text, cores: &[Counters]) {
    let sum = |pick: fn(&Counters) -> u64| cores.iter().map(pick).sum();
    text.gauge(
        "pelton_connections",
        "open connections",
        sum(Counters::open),
    );
    text.counter(
        "pelton_connections_accepted",
        "accepted connections",
        sum(Counters::accepted),
    );
    text.counter(
        "pelton_connections_shed",
        "connections refused because a limit was reached",
        sum(Counters::shed),
    );
    text.counter(
        "pelton_connections_shed_by_address",
        "connections refused because their client address had too many connections",
        sum(Counters::shed_by_address),
    );
    text.counter(
        "pelton_connections_evicted",
        "connections without a request in progress that were closed to make room for new ones",
        sum(Counters::evicted),
    );
    text.family(
        "pelton_timeouts",
        "counter",
        "connections closed by a timeout, labelled by the event that they waited for",
    );
    for wait in Wait::ALL {
        let count: u64 = cores.iter().map(|core| core.timed_out(wait)).sum();
        text.sample(
            "pelton_timeouts_total",
            &format!("wait=\"{}\"", wait.name()),
            count,
        );
    }
    render_cores(text, cores);
}

/// Writes the metrics of the cores' waits and system calls.
fn render_cores(text: &mut Text, cores: &[Counters]) {
    let sum = |pick: &dyn Fn(&Counters) -> u64| -> u64 { cores.iter().map(pick).sum() };
    text.family(
        "pelton_connections_waiting",
        "gauge",
        "open connections, labelled by the event that they wait for (none: the server is working on a response); updated every half second",
    );
    for wait in Wait::ALL {
        let count = sum(&|core| core.waiting(wait));
        let label = format!("wait=\"{}\"", wait.name());
        text.sample("pelton_connections_waiting", &label, count);
    }
    let working = sum(&Counters::working);
    text.sample("pelton_connections_waiting", "wait=\"none\"", working);
    text.gauge(
        "pelton_queued_bytes",
        "bytes of responses that clients have not read yet (bytes of files count only over \
         HTTP/2); updated every half second",
        sum(&Counters::queued_bytes),
    );
    text.family(
        "pelton_syscalls",
        "counter",
        "system calls of the cores for connections and files, labelled by the call",
    );
    let calls = [
        ("accept", sum(&Counters::accepts)),
        ("read", sum(&Counters::reads)),
        ("write", sum(&Counters::writes)),
        ("wait", sum(&Counters::waits)),
    ];
    for (call, count) in calls {
        text.sample("pelton_syscalls_total", &format!("call=\"{call}\""), count);
    }
    render_balance(text, cores);
    text.counter(
        "pelton_core_allocations",
        "memory allocations of the threads that run the cores",
        sum(&Counters::allocations),
    );
}

/// Writes the distribution of connections over the cores.
fn render_balance(text: &mut Text, cores: &[Counters]) {
    text.family(
        "pelton_core_connections",
        "gauge",
        "open connections of each core",
    );
    for (index, core) in cores.iter().enumerate() {
        let label = format!("core=\"{index}\"");
        text.sample("pelton_core_connections", &label, core.open());
    }
    let accepted = cores.iter().map(Counters::accepted);
    let (all, largest) = (accepted.clone().sum::<u64>(), accepted.max().unwrap_or(0));
    let imbalance = match all {
        0 => 1.0,
        all => largest as f64 * cores.len() as f64 / all as f64,
    };
    text.family(
        "pelton_core_imbalance_ratio",
        "gauge",
        "connections accepted by the busiest core, divided by the mean over all cores",
    );
    text.sample("pelton_core_imbalance_ratio", "", imbalance);
    text.counter(
        "pelton_connections_located",
        "sampled connections (1 in 8): the server asks the kernel which CPU received their packets",
        cores.iter().map(Counters::located).sum(),
    );
    text.counter(
        "pelton_connections_local",
        "sampled connections (see pelton_connections_located) whose packets arrived on the CPU of \
         their core",
        cores.iter().map(Counters::local).sum(),
    );
    text.family(
        "pelton_core_steering",
        "gauge",
        "number of cores that use each steering mode",
    );
    for steering in &Steering::ALL[1..] {
        let steered = cores.iter().filter(|core| core.steering() == *steering);
        let label = format!("mode=\"{}\"", steering.name());
        text.sample("pelton_core_steering", &label, steered.count());
    }
}
