//! SLOWLOG and its subcommands, which report the latest slow commands.

use super::call::Call;

/// SLOWLOG GET \[count\] | LEN | RESET: runs the subcommand.
pub(super) fn slowlog(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("len", 2) => {
            let len = call.state.stats.slowlog.entries.len();
            call.out().int(len as i64);
        }
        ("reset", 2) => {
            call.state.stats.slowlog.entries.clear();
            call.out().ok();
        }
        ("get", 2 | 3) => get(call),
        _ => call.unknown_subcommand(),
    }
}

fn get(call: &mut Call<'_>) {
    let count = match call.args.get(2).map(|count| resp::parse_int(count)) {
        None => 10,
        Some(Some(-1)) => usize::MAX,
        Some(Some(count)) if 0 <= count => count as usize,
        Some(_) => return call.error("ERR count should be greater than or equal to -1"),
    };
    let out = &mut call.state.clients[call.key].out;
    let entries = &call.state.stats.slowlog.entries;
    out.array(count.min(entries.len()));
    for slow in entries.iter().take(count) {
        out.array(6);
        out.int(slow.id as i64);
        out.int(slow.unix_secs as i64);
        out.int(slow.took_us as i64);
        out.array(slow.args.len());
        for arg in &slow.args {
            out.bulk(arg);
        }
        out.bulk(slow.peer.as_bytes());
        out.bulk(&slow.name);
    }
}
