//! INFO: the fields that clients and their tests read, under the same names as in Redis.

use std::fmt::{Display, Write};

use super::call::Call;
use crate::process::{self, REDIS_VERSION, SERVER_NAME};
use crate::pubsub::Kind;
use crate::state::State;
use crate::text::size;

type Section = (&'static str, fn(&State, &mut Fields));

/// Sections shown by default.
const DEFAULT: &[Section] = &[
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Replication", replication),
    ("CPU", cpu),
    ("Modules", |_, _| {}),
    ("Errorstats", errors),
    ("Cluster", cluster),
    ("Keyspace", keyspace),
];

/// Sections shown only on request: for `all`, for `everything`, or by their own names.
const ON_REQUEST: &[Section] = &[("Commandstats", calls), ("Latencystats", latencies)];

/// INFO \[section …\]: reports statistics of the server, by section.
pub(super) fn info(call: &mut Call<'_>) {
    let used_bytes = call.state.used_bytes() as u64;
    call.state.stats.note_peak(used_bytes);
    let requested: Vec<String> = (1..call.args.len()).map(|index| call.word(index)).collect();
    let all = requested
        .iter()
        .any(|word| matches!(word.as_str(), "all" | "everything"));
    let default = requested.is_empty() || requested.iter().any(|word| word == "default");
    let by_name = |name: &str| requested.iter().any(|word| word.eq_ignore_ascii_case(name));
    let mut fields = Fields(String::new());
    for (section, is_default) in DEFAULT
        .iter()
        .map(|row| (row, true))
        .chain(ON_REQUEST.iter().map(|row| (row, false)))
    {
        let (name, write) = *section;
        if all || (default && is_default) || by_name(name) {
            fields.head(name);
            write(call.state, &mut fields);
        }
    }
    call.out().verbatim(*b"txt", fields.0.as_bytes());
}

/// Reply text: `name:value` lines under section headings.
struct Fields(String);

impl Fields {
    fn head(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push_str("\r\n");
        }
        self.line(format_args!("# {name}"));
    }

    fn add(&mut self, name: &str, value: impl Display) {
        self.line(format_args!("{name}:{value}"));
    }

    fn line(&mut self, line: impl Display) {
        write!(self.0, "{line}\r\n").expect("writing to a string cannot fail");
    }

    /// Adds several fields with the same value, for features that this server lacks.
    fn all(&mut self, names: &[&str], value: impl Display) {
        for name in names {
            self.add(name, &value);
        }
    }
}

fn server(state: &State, fields: &mut Fields) {
    let uptime_secs = state
        .now_ms()
        .saturating_sub(state.stats.counters.started_ms)
        / 1000;
    fields.add("redis_version", REDIS_VERSION);
    fields.add("server_name", SERVER_NAME);
    fields.add("pelton_version", env!("CARGO_PKG_VERSION"));
    fields.add("redis_git_sha1", "00000000");
    fields.add("redis_git_dirty", 0);
    fields.add("redis_build_id", "0");
    fields.add("redis_mode", "standalone");
    fields.add("os", process::system());
    fields.add("arch_bits", usize::BITS);
    fields.add("monotonic_clock", "POSIX clock_gettime");
    fields.add("multiplexing_api", "epoll");
    fields.add("process_id", std::process::id());
    fields.add("process_supervised", state.config.supervisor());
    fields.add("run_id", &state.run_id);
    fields.add("tcp_port", state.config.port.0);
    fields.add("server_time_usec", state.clock.unix_us());
    fields.add("uptime_in_seconds", uptime_secs);
    fields.add("uptime_in_days", uptime_secs / 86_400);
    fields.add("hz", state.config.hz.0);
    fields.add("configured_hz", state.config.hz.0);
    fields.add("lru_clock", (state.now_ms() / 1000) & 0xff_ffff);
    let executable = std::env::current_exe();
    fields.add(
        "executable",
        executable.map_or(String::new(), |path| path.display().to_string()),
    );
    let file = state.config.file.as_deref();
    fields.add(
        "config_file",
        file.map_or(String::new(), |file| file.display().to_string()),
    );
    fields.add("io_threads_active", 0);
    listeners(state, fields);
}

fn listeners(state: &State, fields: &mut Fields) {
    let config = &state.config;
    let addresses: String = config
        .bind
        .0
        .iter()
        .map(|at| format!(",bind={at}"))
        .collect();
    let tcp = format!("name=tcp{addresses},port={}", config.port.0);
    let unix = format!("name=unix,bind={}", config.unixsocket);
    let open = [
        (config.port.0 != 0, tcp),
        (!config.unixsocket.is_empty(), unix),
    ];
    let open = open.into_iter().filter(|(is_open, _)| *is_open);
    for (index, (_, listener)) in open.enumerate() {
        fields.add(&format!("listener{index}"), listener);
    }
}

fn clients(state: &State, fields: &mut Fields) {
    let blocked = state.blocked.len();
    let postponed = state
        .clients
        .iter()
        .filter(|(_, client)| client.postponed)
        .count();
    let input = state
        .clients
        .iter()
        .map(|(_, client)| client.input_bytes)
        .max();
    let output = state
        .clients
        .iter()
        .map(|(_, client)| client.out.len())
        .max();
    fields.add("connected_clients", state.clients.len());
    fields.add("cluster_connections", 0);
    fields.add("maxclients", state.config.maxclients.0);
    fields.add("client_recent_max_input_buffer", input.unwrap_or(0));
    fields.add("client_recent_max_output_buffer", output.unwrap_or(0));
    fields.add("blocked_clients", blocked + postponed);
    fields.add("tracking_clients", 0);
    fields.add(
        "pubsub_clients",
        state
            .clients
            .iter()
            .filter(|(_, client)| client.class() == "pubsub")
            .count(),
    );
    fields.add("clients_in_timeout_table", state.blocked.with_deadline());
    fields.add("total_blocking_keys", state.blocked.keys());
    fields.add("total_blocking_keys_on_nokey", 0);
}

// tidy: long because it is a list of fields.
fn memory(state: &State, fields: &mut Fields) {
    let used = state.used_bytes() as u64;
    let data = state.keyspace.used_bytes() as u64;
    let peak = state.stats.counters.peak_bytes.max(used);
    let resident = process::resident_bytes();
    let maxmemory = state.config.maxmemory.0;
    fields.add("used_memory", used);
    fields.add("used_memory_human", size(used));
    fields.add("used_memory_rss", resident);
    fields.add("used_memory_rss_human", size(resident));
    fields.add("used_memory_peak", peak);
    fields.add("used_memory_peak_human", size(peak));
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    fields.add(
        "used_memory_peak_perc",
        format_args!("{:.2}%", percent(used, peak)),
    );
    fields.add("used_memory_overhead", used - data);
    fields.add("used_memory_startup", 0);
    fields.add("used_memory_dataset", data);
    fields.add(
        "used_memory_dataset_perc",
        format_args!("{:.2}%", percent(data, used)),
    );
    let system = process::system_memory_bytes();
    fields.add("total_system_memory", system);
    fields.add("total_system_memory_human", size(system));
    script_memory(state, fields);
    fields.add("maxmemory", maxmemory);
    fields.add("maxmemory_human", size(maxmemory));
    fields.add("used_memory_blobs", state.keyspace.blob_bytes());
    fields.add("maxmemory_blobs", state.config.maxmemory_blobs.0);
    fields.add("maxmemory_policy", state.config.maxmemory_policy.0.name());
    allocator(resident, fields);
    let ratio = resident as f64 / used.max(1) as f64;
    fields.add("mem_fragmentation_ratio", format_args!("{ratio:.2}"));
    let fragmentation_bytes = resident as i64 - used as i64;
    fields.add("mem_fragmentation_bytes", fragmentation_bytes);
    fields.add("mem_not_counted_for_evict", state.persist.waiting_bytes());
    fields.add("mem_clients_normal", state.clients.bytes());
    fields.add("mem_aof_buffer", state.persist.waiting_bytes());
    fields.all(
        &[
            "mem_replication_backlog",
            "mem_total_replication_buffers",
            "mem_clients_slaves",
            "mem_cluster_links",
        ],
        0,
    );
    fields.add("mem_allocator", "jemalloc");
    let defrags = state.keyspace.is_defragmenting();
    fields.add("active_defrag_running", u8::from(defrags));
    fields.add("lazyfree_pending_objects", state.keyspace.discarded());
    fields.add("lazyfreed_objects", 0);
}

/// Adds the counters of the process's allocator.
fn allocator(resident: u64, fields: &mut Fields) {
    let heap = reactor::heap_figures();
    let parts = [
        ("allocator_frag", heap.active_bytes, heap.allocated_bytes),
        ("allocator_rss", heap.resident_bytes, heap.active_bytes),
        ("rss_overhead", resident as usize, heap.resident_bytes),
    ];
    fields.add("allocator_allocated", heap.allocated_bytes);
    fields.add("allocator_active", heap.active_bytes);
    fields.add("allocator_resident", heap.resident_bytes);
    fields.add("allocator_muzzy", 0);
    for (name, with, without) in parts {
        let ratio = with as f64 / without.max(1) as f64;
        fields.add(&format!("{name}_ratio"), format_args!("{ratio:.2}"));
        let bytes = with as i64 - without as i64;
        fields.add(&format!("{name}_bytes"), bytes);
    }
}

fn persistence(state: &State, fields: &mut Fields) {
    state.persist.describe(
        state.keyspace.effects.changes,
        state.now_ms(),
        |name, value| fields.add(name, value),
    );
    let load = state.keyspace.last_load();
    fields.add("rdb_last_load_keys_expired", load.expired);
    fields.add("rdb_last_load_keys_loaded", load.loaded);
}

// tidy: long because it is a list of fields.
fn stats(state: &State, fields: &mut Fields) {
    let stats = &state.stats.counters;
    let keys = state.keyspace.stats();
    fields.add(
        "total_connections_received",
        state.clients.counters.received,
    );
    fields.add("total_commands_processed", stats.commands);
    fields.add("instantaneous_ops_per_sec", stats.ops.mean());
    fields.add("total_net_input_bytes", stats.net_input_bytes);
    fields.add("total_net_output_bytes", stats.net_output_bytes);
    fields.add(
        "instantaneous_input_kbps",
        format_args!("{:.2}", stats.input.mean() as f64 / 1024.0),
    );
    fields.add(
        "instantaneous_output_kbps",
        format_args!("{:.2}", stats.output.mean() as f64 / 1024.0),
    );
    fields.all(
        &["total_net_repl_input_bytes", "total_net_repl_output_bytes"],
        0,
    );
    fields.all(
        &[
            "instantaneous_input_repl_kbps",
            "instantaneous_output_repl_kbps",
        ],
        "0.00",
    );
    fields.add("rejected_connections", state.clients.rejected());
    fields.all(&["sync_full", "sync_partial_ok", "sync_partial_err"], 0);
    fields.add("expired_keys", keys.expired);
    fields.add("evicted_keys", keys.evicted);
    fields.add("evicted_clients", state.clients.counters.evicted);
    fields.add("keyspace_hits", keys.hits);
    fields.add("keyspace_misses", keys.misses);
    fields.add("pubsub_channels", state.hub.of(Kind::Channel).len());
    fields.add("pubsub_patterns", state.hub.of(Kind::Pattern).len());
    fields.add("pubsubshard_channels", state.hub.of(Kind::Shard).len());
    // This server needs no fork for a snapshot. So `latest_fork_usec` shows the longest time for
    // which one step of a snapshot occupied the core.
    fields.add("latest_fork_usec", state.persist.longest_turn_us());
    fields.all(&["total_forks", "migrate_cached_sockets"], 0);
    fields.all(
        &[
            "slave_expires_tracked_keys",
            "active_defrag_hits",
            "active_defrag_misses",
            "active_defrag_key_hits",
            "active_defrag_key_misses",
            "total_active_defrag_time",
            "current_active_defrag_time",
        ],
        0,
    );
    fields.all(
        &[
            "tracking_total_keys",
            "tracking_total_items",
            "tracking_total_prefixes",
        ],
        0,
    );
    // Where Redis counts cycles of its event loop, this server counts turns. A turn is one read
    // from a connection with all commands in the read bytes, or one run of timed work.
    let turns = state.clock.turns();
    fields.add("eventloop_cycles", turns.count);
    fields.add("eventloop_duration_sum", turns.took_us);
    fields.add("eventloop_duration_cmd_sum", stats.commands_us);
    let per_second = stats.turns.mean();
    fields.add("instantaneous_eventloop_cycles_per_sec", per_second);
    let mean_us = stats.turns_us.mean() / per_second.max(1);
    fields.add("instantaneous_eventloop_duration_usec", mean_us);
    fields.add("unexpected_error_replies", 0);
    fields.add("total_error_replies", stats.error_replies);
    fields.add("dump_payload_sanitizations", 0);
    fields.add("total_reads_processed", stats.reads);
    fields.add("total_writes_processed", stats.writes);
    // These fields are 0: there are no I/O threads, reply buffers are never resized, and no access
    // is denied, because the only user may run all commands.
    fields.all(
        &[
            "io_threaded_reads_processed",
            "io_threaded_writes_processed",
            "reply_buffer_shrinks",
            "reply_buffer_expands",
            "acl_access_denied_cmd",
            "acl_access_denied_key",
            "acl_access_denied_channel",
        ],
        0,
    );
    fields.add(
        "client_output_buffer_limit_disconnections",
        state.clients.counters.output_limit_disconnections,
    );
}

fn replication(state: &State, fields: &mut Fields) {
    fields.add("role", "master");
    fields.add("connected_slaves", 0);
    fields.add("master_failover_state", "no-failover");
    fields.add("master_replid", &state.run_id);
    fields.add("master_replid2", "0".repeat(40));
    fields.add("master_repl_offset", 0);
    fields.add("second_repl_offset", -1);
    fields.all(
        &[
            "repl_backlog_active",
            "repl_backlog_size",
            "repl_backlog_first_byte_offset",
            "repl_backlog_histlen",
        ],
        0,
    );
}

fn cpu(_: &State, fields: &mut Fields) {
    let (user, system) = process::cpu_seconds();
    fields.add("used_cpu_sys", format_args!("{system:.6}"));
    fields.add("used_cpu_user", format_args!("{user:.6}"));
    fields.all(
        &["used_cpu_sys_children", "used_cpu_user_children"],
        "0.000000",
    );
    let (user, system) = process::thread_cpu_seconds();
    fields.add("used_cpu_sys_main_thread", format_args!("{system:.6}"));
    fields.add("used_cpu_user_main_thread", format_args!("{user:.6}"));
}

fn calls(state: &State, fields: &mut Fields) {
    for (name, calls) in state.stats.counters.all_calls() {
        let per_call = calls.took_us as f64 / calls.calls.max(1) as f64;
        fields.add(
            &format!("cmdstat_{name}"),
            format_args!(
                "calls={},usec={},usec_per_call={per_call:.2},rejected_calls={},failed_calls={}",
                calls.calls, calls.took_us, calls.rejected, calls.failed
            ),
        );
    }
}

fn latencies(state: &State, fields: &mut Fields) {
    if !state.config.latency_tracking {
        return;
    }
    let percentiles = state.config.info_percentiles();
    let calls = state.stats.counters.all_calls();
    for (name, calls) in calls.filter(|(_, it)| it.tracked() != 0) {
        let shown = percentiles
            .iter()
            .map(|percent| format!("p{percent}={}.000", calls.percentile_us(*percent)));
        let text = shown.collect::<Vec<_>>().join(",");
        fields.add(&format!("latency_percentiles_usec_{name}"), text);
    }
}

fn errors(state: &State, fields: &mut Fields) {
    for (code, count) in &state.stats.counters.errors {
        fields.add(&format!("errorstat_{code}"), format_args!("count={count}"));
    }
}

fn cluster(_: &State, fields: &mut Fields) {
    fields.add("cluster_enabled", 0);
}

fn keyspace(state: &State, fields: &mut Fields) {
    let now_ms = state.now_ms();
    for db in 0..state.keyspace.limits().databases {
        let (keys, expires, avg_ttl) = state.keyspace.db_figures(db, now_ms);
        if 0 < keys {
            fields.add(
                &format!("db{db}"),
                format_args!("keys={keys},expires={expires},avg_ttl={avg_ttl}"),
            );
        }
    }
}

/// Memory of the interpreters, and of the sources of cached scripts and of libraries.
fn script_memory(state: &State, fields: &mut Fields) {
    let engine = state.scripts.started_engine();
    let interpreter = engine.map_or(0, |engine| engine.used_bytes() as u64);
    let sources = engine.map_or(0, |engine| engine.source_bytes() as u64);
    fields.add("used_memory_lua", interpreter);
    fields.add("used_memory_vm_eval", interpreter);
    fields.add("used_memory_lua_human", size(interpreter));
    fields.add("used_memory_scripts_eval", sources);
    fields.add(
        "number_of_cached_scripts",
        engine.map_or(0, script::Engine::scripts),
    );
    let functions = &state.scripts.functions;
    let vm = functions.started_engine();
    let vm = vm.map_or(0, |engine| engine.used_bytes() as u64);
    let library_sources = functions.libraries().map(|(_, it)| it.source.len() as u64);
    let library_sources = library_sources.sum::<u64>();
    fields.add("number_of_functions", functions.count());
    fields.add("number_of_libraries", functions.libraries().count());
    fields.add("used_memory_vm_functions", vm);
    fields.add("used_memory_vm_total", interpreter + vm);
    fields.add("used_memory_vm_total_human", size(interpreter + vm));
    fields.add("used_memory_functions", library_sources);
    fields.add("used_memory_scripts", sources + library_sources);
    fields.add("used_memory_scripts_human", size(sources + library_sources));
}
