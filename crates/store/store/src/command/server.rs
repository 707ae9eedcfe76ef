//! Commands about the whole server: MONITOR, snapshots, SHUTDOWN, MEMORY.

use super::call::Call;

/// MONITOR: shows later commands of all clients to this client.
pub(super) fn monitor(call: &mut Call<'_>) {
    call.state.clients.start_monitor(call.key);
    call.out().ok();
}

/// MEMORY DOCTOR | STATS | PURGE | MALLOC-STATS: runs the subcommand. MEMORY USAGE is in
/// `keyspace`.
pub(super) fn memory(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("doctor", 2) => {
            let used = crate::text::size(call.state.keyspace.used_bytes() as u64);
            let text = format!(
                "The data and its overhead use {used} of memory; no memory problem is known.\n"
            );
            call.out().verbatim(*b"txt", text.as_bytes());
        }
        ("purge", 2) => {
            reactor::purge_heap();
            call.state.keyspace.start_defrag();
            call.state.tasks.defrag_wanted.notify_one();
            call.out().ok();
        }
        ("malloc-stats", 2) => call
            .out()
            .bulk(b"Stats not supported for the current allocator"),
        ("stats", 2) => stats(call),
        _ => call.unknown_subcommand(),
    }
}

fn stats(call: &mut Call<'_>) {
    let used = call.state.used_bytes() as i64;
    let data = call.state.keyspace.used_bytes() as i64;
    let peak = call.state.stats.counters.peak_bytes as i64;
    let now_ms = call.state.now_ms();
    let databases = 0..call.state.keyspace.limits().databases;
    let keys: usize = databases
        .map(|db| call.state.keyspace.db_figures(db, now_ms).0)
        .sum();
    let heap = reactor::heap_figures();
    let rows = [
        ("peak.allocated", peak.max(used)),
        ("total.allocated", used),
        ("startup.allocated", 0),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("clients.normal", call.state.clients.bytes() as i64),
        ("cluster.links", 0),
        ("aof.buffer", call.state.persist.waiting_bytes() as i64),
        ("lua.caches", 0),
        ("functions.caches", 0),
        ("overhead.total", used - data),
        ("keys.count", keys as i64),
        ("keys.bytes-per-key", used / (keys.max(1) as i64)),
        ("dataset.bytes", data),
        ("allocator.allocated", heap.allocated_bytes as i64),
        ("allocator.active", heap.active_bytes as i64),
        ("allocator.resident", heap.resident_bytes as i64),
        (
            "allocator-fragmentation.bytes",
            heap.active_bytes as i64 - heap.allocated_bytes as i64,
        ),
    ];
    let out = call.out();
    out.map(rows.len());
    for (name, value) in rows {
        out.bulk(name.as_bytes());
        out.int(value);
    }
}

/// SAVE: starts a snapshot. The client waits until the snapshot is written; other clients are
/// served meanwhile.
pub(super) fn save(call: &mut Call<'_>) {
    match call.state.persist.save_for(call.key) {
        Ok(()) => call.state.park_without_keys(call.key),
        Err(text) => call.error(&text),
    }
}

/// BGSAVE \[SCHEDULE\]: starts a snapshot without waiting for its end.
pub(super) fn bgsave(call: &mut Call<'_>) {
    match (call.word(1).as_str(), call.args.len()) {
        ("", 1) | ("schedule", 2) => {}
        _ => return call.error("ERR syntax error"),
    }
    let is_alone = !call.state.clients[call.key].session.in_exec();
    match call.state.persist.start_save() {
        Ok(()) if is_alone => call.out().simple("Background saving started"),
        // In a transaction, Redis replies with this text, because it starts the snapshot after the
        // transaction. This server queues the snapshot both in and outside a transaction.
        Ok(()) => call.out().simple("Background saving scheduled"),
        Err(text) => call.error(&text),
    }
}

/// LASTSAVE: replies with the Unix time of the last snapshot, in seconds.
pub(super) fn lastsave(call: &mut Call<'_>) {
    let secs = call.state.persist.last_save_ms() / 1000;
    call.out().int(secs as i64);
}

/// BGREWRITEAOF: starts a rewrite of the AOF without waiting for its end.
pub(super) fn bgrewriteaof(call: &mut Call<'_>) {
    let is_alone = !call.state.clients[call.key].session.in_exec();
    match call.state.persist.start_rewrite() {
        Ok(text) if is_alone => call.out().simple(text),
        Ok(_) => (call.out()).simple("Background append only file rewriting scheduled"),
        Err(text) => call.error(&text),
    }
}

/// SHUTDOWN \[NOSAVE | SAVE\] \[NOW\] \[FORCE\] \[ABORT\]: stops the server.
pub(super) fn shutdown(call: &mut Call<'_>) {
    let mut save = call.state.config.saves_at_end();
    for index in 1..call.args.len() {
        match call.word(index).as_str() {
            "nosave" => save = false,
            "save" => save = true,
            "now" | "force" => {}
            "abort" if call.args.len() == 2 => {
                return call.error("ERR No shutdown in progress.");
            }
            _ => return call.error("ERR syntax error"),
        }
    }
    tracing::info!(save, "a client requested a shutdown of the store");
    // On success, clients expect no reply: the connection is closed. Only a failure is reported.
    call.state.shut_down(save);
    call.state.persist.wait_for_save(call.key);
    call.state.park_without_keys(call.key);
}
