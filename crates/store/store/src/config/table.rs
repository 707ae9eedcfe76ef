//! Table of all directives that have an effect: the name, the functions that read and show the
//! value, and a flag for directives that may change at run time.

use super::Config;
use super::value::Value;

/// One directive of redis.conf, which is also a parameter of `CONFIG GET` and `CONFIG SET`.
pub(crate) struct Directive {
    pub(crate) name: &'static str,
    /// Second name of the directive, if any.
    pub(crate) alias: Option<&'static str>,
    /// True if `CONFIG SET` may change the directive.
    pub(crate) live: bool,
    pub(crate) show: fn(&Config) -> String,
    pub(crate) read: fn(&mut Config, &[String]) -> Result<(), String>,
}

macro_rules! directive {
    ($name:literal, $field:ident, $live:literal) => {
        directive!($name, None, $field, $live)
    };
    ($name:literal = $alias:literal, $field:ident, $live:literal) => {
        directive!($name, Some($alias), $field, $live)
    };
    ($name:literal, $alias:expr, $field:ident, $live:literal) => {
        Directive {
            name: $name,
            alias: $alias,
            live: $live,
            show: |config| config.$field.show(),
            read: |config, words| {
                config.$field = Value::read(words)?;
                Ok(())
            },
        }
    };
}

pub(crate) const DIRECTIVES: &[Directive] = &[
    directive!("bind", bind, false),
    directive!("port", port, false),
    directive!("unixsocket", unixsocket, false),
    directive!("unixsocketperm", unixsocketperm, false),
    directive!("protected-mode", protected_mode, true),
    directive!("tcp-backlog", tcp_backlog, false),
    directive!("tcp-keepalive", tcp_keepalive, true),
    directive!("timeout", timeout, true),
    directive!("maxclients", maxclients, true),
    directive!("requirepass", requirepass, true),
    directive!("databases", databases, false),
    directive!("loglevel", loglevel, false),
    directive!("logfile", logfile, false),
    directive!("pidfile", pidfile, false),
    directive!("daemonize", daemonize, false),
    directive!("hz", hz, true),
    directive!("dir", dir, true),
    directive!("dbfilename", dbfilename, true),
    directive!("save", save, true),
    directive!("rdbcompression", rdbcompression, true),
    directive!("rdbchecksum", rdbchecksum, false),
    directive!("rdb-version", rdb_version, true),
    directive!(
        "stop-writes-on-bgsave-error",
        stop_writes_on_bgsave_error,
        true
    ),
    directive!("appendonly", appendonly, true),
    directive!("appendfilename", appendfilename, false),
    directive!("appenddirname", appenddirname, false),
    directive!("appendfsync", appendfsync, true),
    directive!("aof-load-truncated", aof_load_truncated, true),
    directive!(
        "auto-aof-rewrite-percentage",
        auto_aof_rewrite_percentage,
        true
    ),
    directive!("auto-aof-rewrite-min-size", auto_aof_rewrite_min_size, true),
    Directive {
        name: "client-output-buffer-limit",
        alias: None,
        live: true,
        show: |config| config.client_output_buffer_limit.show(),
        read: |config, words| config.client_output_buffer_limit.update(words),
    },
    directive!("client-query-buffer-limit", client_query_buffer_limit, true),
    directive!("proto-max-bulk-len", proto_max_bulk_len, true),
    directive!(
        "slowlog-log-slower-than" = "commandlog-execution-slower-than",
        slowlog_log_slower_than,
        true
    ),
    directive!(
        "slowlog-max-len" = "commandlog-slow-execution-max-len",
        slowlog_max_len,
        true
    ),
    directive!(
        "busy-reply-threshold" = "lua-time-limit",
        busy_reply_threshold,
        true
    ),
    directive!("latency-monitor-threshold", latency_monitor_threshold, true),
    directive!("latency-tracking", latency_tracking, true),
    directive!("enable-debug-command", enable_debug_command, false),
    directive!("maxmemory", maxmemory, true),
    directive!("maxmemory-blobs", maxmemory_blobs, true),
    directive!("maxmemory-policy", maxmemory_policy, true),
    directive!("maxmemory-samples", maxmemory_samples, true),
    directive!(
        "maxmemory-eviction-tenacity",
        maxmemory_eviction_tenacity,
        true
    ),
    directive!("lfu-log-factor", lfu_log_factor, true),
    directive!("lfu-decay-time", lfu_decay_time, true),
    directive!("notify-keyspace-events", notify_keyspace_events, true),
    directive!(
        "hash-max-listpack-entries" = "hash-max-ziplist-entries",
        hash_max_listpack_entries,
        true
    ),
    directive!(
        "hash-max-listpack-value" = "hash-max-ziplist-value",
        hash_max_listpack_value,
        true
    ),
    directive!(
        "list-max-listpack-size" = "list-max-ziplist-size",
        list_max_listpack_size,
        true
    ),
    directive!("list-compress-depth", list_compress_depth, true),
    directive!("set-max-intset-entries", set_max_intset_entries, true),
    directive!("set-max-listpack-entries", set_max_listpack_entries, true),
    directive!("set-max-listpack-value", set_max_listpack_value, true),
    directive!(
        "zset-max-listpack-entries" = "zset-max-ziplist-entries",
        zset_max_listpack_entries,
        true
    ),
    directive!(
        "zset-max-listpack-value" = "zset-max-ziplist-value",
        zset_max_listpack_value,
        true
    ),
    directive!("stream-node-max-bytes", stream_node_max_bytes, true),
    directive!("stream-node-max-entries", stream_node_max_entries, true),
];
