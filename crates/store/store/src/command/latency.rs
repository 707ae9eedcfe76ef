//! LATENCY and its subcommands, which report delays of the server and durations of commands.

use super::call::Call;

/// LATENCY LATEST | HISTORY event | GRAPH event | RESET \[event …\] | DOCTOR | HISTOGRAM: runs the
/// subcommand.
pub(super) fn latency(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("latest", 2) => latest(call),
        ("history", 3) => history(call),
        ("graph", 3) => graph(call),
        ("reset", _) => reset(call),
        ("doctor", 2) => doctor(call),
        ("histogram", _) => histogram(call),
        _ => call.unknown_subcommand(),
    }
}

fn latest(call: &mut Call<'_>) {
    let out = &mut call.state.clients[call.key].out;
    let events = &call.state.stats.latency.events;
    out.array(events.len());
    for (name, event) in events {
        let last = event.samples.back();
        out.array(4);
        out.bulk(name.as_bytes());
        out.int(last.map_or(0, |sample| sample.unix_secs as i64));
        out.int(last.map_or(0, |sample| sample.took_ms as i64));
        out.int(event.max_ms as i64);
    }
}

fn history(call: &mut Call<'_>) {
    let name = call.word(2);
    let out = &mut call.state.clients[call.key].out;
    let Some(event) = call.state.stats.latency.events.get(name.as_str()) else {
        return out.array(0);
    };
    out.array(event.samples.len());
    for sample in &event.samples {
        out.array(2);
        out.int(sample.unix_secs as i64);
        out.int(sample.took_ms as i64);
    }
}

/// LATENCY GRAPH: draws the samples of an event.
fn graph(call: &mut Call<'_>) {
    let now_secs = call.state.now_ms() / 1000;
    let name = call.word(2);
    let event = call.state.stats.latency.events.get_key_value(name.as_str());
    let Some((name, event)) = event.filter(|(_, event)| !event.samples.is_empty()) else {
        let name = crate::text::lossy(&call.args[2]);
        let line = format!("ERR No samples available for event '{name}'");
        return call.out().error(&line);
    };
    let took = event.samples.iter().map(|sample| sample.took_ms);
    let (high, low) = (took.clone().max(), took.min());
    let text = format!(
        "{name} - high {} ms, low {} ms (all time high {} ms)\n{}\n{}",
        high.unwrap_or(0),
        low.unwrap_or(0),
        event.max_ms,
        "-".repeat(80),
        event.graph(now_secs)
    );
    call.out().verbatim(*b"txt", text.as_bytes());
}

/// LATENCY HISTOGRAM: replies with the latency histograms of the named commands, or of all commands
/// if no name is given. Only commands that ran have a histogram. The name of a command with
/// subcommands, such as `config`, stands for all its subcommands.
fn histogram(call: &mut Call<'_>) {
    let names: Vec<String> = (2..call.args.len()).map(|index| call.word(index)).collect();
    let is_wanted = |name: &str| {
        let whole = name.split('|').next().unwrap_or(name);
        names.is_empty() || names.iter().any(|wanted| wanted == name || wanted == whole)
    };
    let stats = &call.state.stats.counters;
    let rows = stats
        .all_calls()
        .filter(|(name, calls)| calls.tracked() != 0 && is_wanted(name));
    let rows: Vec<_> = rows
        .map(|(name, calls)| (name, calls.tracked(), calls.histogram()))
        .collect();
    let out = call.out();
    out.map(rows.len());
    for (name, calls, histogram) in rows {
        out.bulk(name.as_bytes());
        out.map(2);
        out.bulk(b"calls");
        out.int(calls as i64);
        out.bulk(b"histogram_usec");
        out.map(histogram.len());
        for (us, sum) in histogram {
            out.int(us as i64);
            out.int(sum as i64);
        }
    }
}

fn reset(call: &mut Call<'_>) {
    let names: Vec<String> = (2..call.args.len()).map(|index| call.word(index)).collect();
    let events = &mut call.state.stats.latency.events;
    let before = events.len();
    events.retain(|name, _| !names.is_empty() && !names.iter().any(|reset| reset == name));
    let removed = before - events.len();
    call.out().int(removed as i64);
}

fn doctor(call: &mut Call<'_>) {
    let events = &call.state.stats.latency.events;
    let mut text = match (events.len(), call.state.config.latency_monitor_threshold.0) {
        (_, 0) => {
            "Delays are not monitored: set latency-monitor-threshold to a number of milliseconds.\n"
                .to_owned()
        }
        (0, _) => "No delay has reached latency-monitor-threshold.\n".to_owned(),
        (_, _) => String::new(),
    };
    for (name, event) in events {
        let count = event.samples.len();
        let total: u64 = event.samples.iter().map(|sample| sample.took_ms).sum();
        let mean = total / count.max(1) as u64;
        text += &format!(
            "{name}: {count} delays, {mean} ms on average, {} ms at most\n",
            event.max_ms
        );
    }
    call.out().verbatim(*b"txt", text.as_bytes());
}
