//! Redis directives whose values are checked and kept as text. Most of them have no effect.

use super::value::{boolean, integer, memory, not_among};

/// A Redis directive that is parsed, kept and shown, so that existing configuration files keep
/// working. Names, defaults and bounds are those of Redis 7.0.
///
/// Most of these directives have no effect: this server lacks the feature that the directive tunes,
/// or the feature always behaves as with the directive's default. Some have an effect, such as
/// `maxmemory-clients`.
pub(crate) struct Accepted {
    pub(crate) name: &'static str,
    /// Older name of the directive, if any.
    pub(crate) alias: Option<&'static str>,
    /// Name that only Valkey has, if any. `CONFIG GET` with a pattern does not list this name,
    /// because clients written for Redis 7.0 may try to set every listed directive.
    pub(crate) hidden: Option<&'static str>,
    pub(crate) default: &'static str,
    kind: Kind,
    /// True if `CONFIG SET` may change the directive.
    pub(crate) live: bool,
    /// The reason why all values but the default are refused: they need a feature that this server
    /// lacks. `None` if other values are accepted.
    pub(crate) only_default: Option<&'static str>,
}

/// The type of a directive's value.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    /// Integer between two bounds, inclusive.
    Int(i64, i64),
    /// Number of bytes between two bounds, inclusive, with an optional unit.
    Bytes(u64, u64),
    /// Number of bytes, or a percentage of `maxmemory`.
    BytesOrPercent,
    /// One word of the given list.
    Choice(&'static [&'static str]),
    /// Any number of the words in [`SHUTDOWN`].
    Shutdown,
    /// Three adjustments of the OOM score: for a primary, a replica and a background child process.
    OomScores,
    Percentiles,
    HostName,
    /// Template of the process title.
    Title,
    /// `no one`, or a host and its port.
    Replication,
}

const INT: i64 = i32::MAX as i64;
const UINT: i64 = u32::MAX as i64;
const LONG: i64 = i64::MAX;
const LONG_BYTES: u64 = i64::MAX as u64;
const SHUTDOWN: &[&str] = &["default", "save", "nosave", "now", "force"];
const FACILITIES: &[&str] = &[
    "user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
];
const NO_CLUSTER: &str = "clusters are not supported";
const NO_REPLICATION: &str = "replication is not supported";

const fn row(name: &'static str, default: &'static str, kind: Kind) -> Accepted {
    Accepted {
        name,
        alias: None,
        hidden: None,
        default,
        kind,
        live: true,
        only_default: None,
    }
}

const fn flag(name: &'static str, default: &'static str) -> Accepted {
    row(name, default, Kind::Flag)
}

const fn text(name: &'static str, default: &'static str) -> Accepted {
    row(name, default, Kind::Text)
}

const fn int(name: &'static str, default: &'static str, min: i64, max: i64) -> Accepted {
    row(name, default, Kind::Int(min, max))
}

const fn bytes(name: &'static str, default: &'static str, min: u64, max: u64) -> Accepted {
    row(name, default, Kind::Bytes(min, max))
}

const fn choice(
    name: &'static str,
    default: &'static str,
    words: &'static [&'static str],
) -> Accepted {
    row(name, default, Kind::Choice(words))
}

impl Accepted {
    const fn alias(self, alias: &'static str) -> Accepted {
        Accepted {
            alias: Some(alias),
            ..self
        }
    }

    /// Adds the name that Valkey gives to a directive of Redis.
    const fn valkey(self, hidden: &'static str) -> Accepted {
        Accepted {
            hidden: Some(hidden),
            ..self
        }
    }

    /// Marks the directive as one that only Valkey has, and that `CONFIG SET` may not change.
    const fn fixed_in_valkey(self) -> Accepted {
        let name = self.name;
        self.fixed().valkey(name)
    }

    /// Marks the directive as one that `CONFIG SET` may not change.
    const fn fixed(self) -> Accepted {
        Accepted {
            live: false,
            ..self
        }
    }

    const fn only_default(self, reason: &'static str) -> Accepted {
        Accepted {
            only_default: Some(reason),
            ..self
        }
    }

    /// Returns all names of the directive.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let hidden = self.hidden.filter(|hidden| *hidden != self.name);
        std::iter::once(self.name).chain(self.alias).chain(hidden)
    }

    /// Returns whether `name` is this directive's hidden name. `CONFIG GET` shows a hidden name
    /// only to a client that asks for exactly this name, not to one that sends a pattern.
    pub(crate) fn is_hidden(&self, name: &str) -> bool {
        self.hidden == Some(name)
    }

    /// Parses the words of a line into the value that `CONFIG GET` shows. Errors have the same text
    /// as in Redis.
    pub(crate) fn read(&self, words: &[String]) -> Result<String, String> {
        let several: Vec<&str> = words.iter().flat_map(|word| word.split(' ')).collect();
        match self.kind {
            Kind::Shutdown => return shutdown(&several),
            Kind::OomScores => return oom_scores(&several),
            Kind::Percentiles => return percentiles(&several),
            Kind::Replication => return replication(&several),
            _ => {}
        }
        let [word] = words else {
            return Err("wrong number of arguments".to_owned());
        };
        match self.kind {
            Kind::Flag => boolean(word).map(|on| if on { "yes" } else { "no" }.to_owned()),
            Kind::Int(min, max) => integer(word, min, max).map(|value| value.to_string()),
            Kind::Bytes(min, max) => memory(word, min, max).map(|value| value.to_string()),
            Kind::BytesOrPercent => bytes_or_percent(word),
            Kind::Choice(choices) => one_of(word, choices),
            Kind::HostName => host_name(word),
            Kind::Title => title(word),
            _ => Ok(word.clone()),
        }
    }
}

fn one_of(word: &str, choices: &[&str]) -> Result<String, String> {
    let found = choices
        .iter()
        .find(|known| known.eq_ignore_ascii_case(word));
    match found {
        // `relative` is a synonym of `yes` (`oom-score-adj`).
        Some(&"relative") => Ok("yes".to_owned()),
        Some(found) => Ok((*found).to_owned()),
        None => Err(not_among(choices)),
    }
}

fn bytes_or_percent(word: &str) -> Result<String, String> {
    if let Some(percent) = word.strip_suffix('%')
        && let Ok(percent) = integer(percent, 0, i64::MAX)
    {
        return match percent {
            0 => Ok("0".to_owned()),
            1..=100 => Ok(word.to_owned()),
            _ => Err("percentage argument must be less or equal to 100".to_owned()),
        };
    }
    memory(word, 0, LONG_BYTES)
        .map(|value| value.to_string())
        .map_err(|_| "argument must be a memory or percent value".to_owned())
}

fn shutdown(words: &[&str]) -> Result<String, String> {
    let mut named = [false; SHUTDOWN.len()];
    for word in words {
        let index = SHUTDOWN
            .iter()
            .position(|known| known.eq_ignore_ascii_case(word));
        named[index.ok_or_else(|| not_among(SHUTDOWN))?] = true;
    }
    // Indices 1 and 2 are `save` and `nosave`. Index 0, `default`, adds no word to the value.
    if named[1] && named[2] {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".to_owned());
    }
    let rows = SHUTDOWN.iter().zip(named).skip(1);
    let words: Vec<&str> = rows
        .filter(|(_, named)| *named)
        .map(|(word, _)| *word)
        .collect();
    match words.is_empty() {
        true => Ok(SHUTDOWN[0].to_owned()),
        false => Ok(words.join(" ")),
    }
}

fn oom_scores(words: &[&str]) -> Result<String, String> {
    if words.len() != 3 {
        return Err("wrong number of arguments".to_owned());
    }
    for word in words {
        integer(word, -2000, 2000).map_err(|_| {
            "Invalid oom-score-adj-values, elements must be between -2000 and 2000.".to_owned()
        })?;
    }
    Ok(words.join(" "))
}

fn percentiles(words: &[&str]) -> Result<String, String> {
    if let [] | [""] = words {
        return Ok(String::new());
    }
    let shown: Result<Vec<String>, String> = words
        .iter()
        .map(|word| match word.parse::<f64>() {
            Ok(value) if (0.0..=100.0).contains(&value) => Ok(value.to_string()),
            Ok(value) if !value.is_nan() => Err(
                "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
                    .to_owned(),
            ),
            _ => Err("Invalid latency-tracking-info-percentiles parameters".to_owned()),
        })
        .collect();
    Ok(shown?.join(" "))
}

fn host_name(word: &str) -> Result<String, String> {
    const BYTES_MAX: usize = 256;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    match () {
        () if BYTES_MAX <= word.len() => Err(format!(
            "Hostnames must be less than {BYTES_MAX} characters"
        )),
        () if word.bytes().all(fits) => Ok(word.to_owned()),
        () => Err("Hostnames may only contain alphanumeric characters, hyphens or dots".to_owned()),
    }
}

fn title(word: &str) -> Result<String, String> {
    const NAMES: &[&str] = &[
        "title",
        "listen-addr",
        "server-mode",
        "port",
        "tls-port",
        "unixsocket",
        "config-file",
    ];
    // `{{` is an escaped brace.
    let text = word.replace("{{", "");
    let sound = text.split('{').skip(1).all(|part| {
        let name = part.split_once('}');
        name.is_some_and(|(name, _)| NAMES.contains(&name))
    });
    match sound && !word.is_empty() {
        true => Ok(word.to_owned()),
        false => Err("template format is invalid or contains unknown variables".to_owned()),
    }
}

fn replication(words: &[&str]) -> Result<String, String> {
    let [host, port] = words else {
        return Err("wrong number of arguments".to_owned());
    };
    if host.eq_ignore_ascii_case("no") && port.eq_ignore_ascii_case("one") {
        return Ok(String::new());
    }
    integer(port, 0, 65_535).map_err(|_| "Invalid master port".to_owned())?;
    Ok(format!("{host} {port}"))
}

pub(crate) const ACCEPTED: &[Accepted] = &[
    choice(
        "acl-pubsub-default",
        "resetchannels",
        &["allchannels", "resetchannels"],
    ),
    text("aclfile", "").fixed().only_default(
        "the store has only one user, named default, whose password is set with requirepass",
    ),
    int("acllog-max-len", "128", 0, LONG),
    int("active-defrag-cycle-max", "25", 1, 99),
    int("active-defrag-cycle-min", "1", 1, 99),
    bytes("active-defrag-ignore-bytes", "104857600", 1, LONG_BYTES),
    int("active-defrag-max-scan-fields", "1000", 1, LONG),
    int("active-defrag-threshold-lower", "10", 0, 1000),
    int("active-defrag-threshold-upper", "100", 0, 1000),
    int("active-expire-effort", "1", 1, 10),
    flag("activedefrag", "no"),
    flag("activerehashing", "yes"),
    flag("always-show-logo", "no").fixed(),
    flag("aof-disable-auto-gc", "no"),
    flag("aof-rewrite-incremental-fsync", "yes"),
    flag("aof-timestamp-enabled", "no"),
    flag("aof-use-rdb-preamble", "yes"),
    text("aof_rewrite_cpulist", "")
        .valkey("aof-rewrite-cpulist")
        .fixed(),
    text("bgsave_cpulist", "").valkey("bgsave-cpulist").fixed(),
    text("bind-source-addr", ""),
    text("bio_cpulist", "").valkey("bio-cpulist").fixed(),
    flag("cluster-allow-pubsubshard-when-down", "yes"),
    flag("cluster-allow-reads-when-down", "no"),
    flag("cluster-allow-replica-migration", "yes"),
    int("cluster-announce-bus-port", "0", 0, 65_535),
    row("cluster-announce-hostname", "", Kind::HostName),
    text("cluster-announce-ip", ""),
    int("cluster-announce-port", "0", 0, 65_535),
    int("cluster-announce-tls-port", "0", 0, 65_535),
    text("cluster-config-file", "nodes.conf").fixed(),
    flag("cluster-enabled", "no")
        .fixed()
        .only_default(NO_CLUSTER),
    bytes("cluster-link-sendbuf-limit", "0", 0, u64::MAX),
    int("cluster-migration-barrier", "1", 0, INT),
    int("cluster-node-timeout", "15000", 0, LONG),
    int("cluster-port", "0", 0, 65_535).fixed(),
    choice(
        "cluster-preferred-endpoint-type",
        "ip",
        &["ip", "hostname", "unknown-endpoint"],
    ),
    flag("cluster-replica-no-failover", "no").alias("cluster-slave-no-failover"),
    int("cluster-replica-validity-factor", "10", 0, INT).alias("cluster-slave-validity-factor"),
    flag("cluster-require-full-coverage", "yes"),
    flag("crash-log-enabled", "yes"),
    flag("crash-memcheck-enabled", "yes"),
    flag("disable-thp", "yes").fixed(),
    flag("dynamic-hz", "yes"),
    choice("enable-module-command", "no", &["no", "yes", "local"]).fixed(),
    choice("enable-protected-configs", "no", &["no", "yes", "local"]).fixed(),
    bytes("hll-sparse-max-bytes", "3000", 0, LONG_BYTES),
    text("ignore-warnings", ""),
    int("io-threads", "1", 1, 128).fixed(),
    flag("io-threads-do-reads", "no").fixed(),
    flag("jemalloc-bg-thread", "yes"),
    row(
        "latency-tracking-info-percentiles",
        "50 99 99.9",
        Kind::Percentiles,
    ),
    flag("lazyfree-lazy-eviction", "no"),
    flag("lazyfree-lazy-expire", "no"),
    flag("lazyfree-lazy-server-del", "no"),
    flag("lazyfree-lazy-user-del", "no"),
    flag("lazyfree-lazy-user-flush", "no"),
    text("locale-collate", ""),
    text("primaryauth", "").alias("masterauth"),
    text("primaryuser", "").alias("masteruser"),
    row("maxmemory-clients", "0", Kind::BytesOrPercent),
    int("min-replicas-max-lag", "10", 0, INT).alias("min-slaves-max-lag"),
    int("min-replicas-to-write", "0", 0, INT).alias("min-slaves-to-write"),
    flag("no-appendfsync-on-rewrite", "no"),
    choice(
        "oom-score-adj",
        "no",
        &["no", "yes", "relative", "absolute"],
    ),
    row("oom-score-adj-values", "0 200 800", Kind::OomScores),
    row(
        "proc-title-template",
        "{title} {listen-addr} {server-mode}",
        Kind::Title,
    ),
    choice(
        "propagation-error-behavior",
        "ignore",
        &["ignore", "panic", "panic-on-replicas"],
    ),
    flag("rdb-del-sync-files", "no"),
    flag("rdb-save-incremental-fsync", "yes"),
    bytes("repl-backlog-size", "1048576", 1, LONG_BYTES),
    int("repl-backlog-ttl", "3600", 0, LONG),
    flag("repl-disable-tcp-nodelay", "no"),
    choice(
        "repl-diskless-load",
        "disabled",
        &["disabled", "on-empty-db", "swapdb", "flush-before-load"],
    ),
    flag("repl-diskless-sync", "yes"),
    int("repl-diskless-sync-delay", "5", 0, INT),
    int("repl-diskless-sync-max-replicas", "0", 0, INT),
    int("repl-ping-replica-period", "10", 1, INT).alias("repl-ping-slave-period"),
    int("repl-timeout", "60", 1, INT),
    text("replica-announce-ip", "").alias("slave-announce-ip"),
    int("replica-announce-port", "0", 0, 65_535).alias("slave-announce-port"),
    flag("replica-announced", "yes"),
    flag("replica-ignore-disk-write-errors", "no"),
    flag("replica-ignore-maxmemory", "yes").alias("slave-ignore-maxmemory"),
    flag("replica-lazy-flush", "no").alias("slave-lazy-flush"),
    int("replica-priority", "100", 0, INT).alias("slave-priority"),
    flag("replica-read-only", "yes").alias("slave-read-only"),
    flag("replica-serve-stale-data", "yes").alias("slave-serve-stale-data"),
    row("replicaof", "", Kind::Replication)
        .alias("slaveof")
        .fixed()
        .only_default(NO_REPLICATION),
    choice("sanitize-dump-payload", "no", &["no", "yes", "clients"]),
    text("server_cpulist", "").valkey("server-cpulist").fixed(),
    flag("set-proc-title", "yes").fixed(),
    row("shutdown-on-sigint", "default", Kind::Shutdown),
    row("shutdown-on-sigterm", "default", Kind::Shutdown),
    int("shutdown-timeout", "10", 0, INT),
    int("socket-mark-id", "0", 0, UINT).fixed(),
    choice("supervised", "no", &["upstart", "systemd", "auto", "no"]).fixed(),
    flag("syslog-enabled", "no")
        .fixed()
        .only_default("the store writes its log to stderr or to logfile, not to syslog"),
    choice("syslog-facility", "local0", FACILITIES).fixed(),
    text("syslog-ident", "redis").fixed(),
    choice("tls-auth-clients", "yes", &["no", "yes", "optional"]),
    text("tls-ca-cert-dir", ""),
    text("tls-ca-cert-file", ""),
    text("tls-cert-file", ""),
    text("tls-ciphers", ""),
    text("tls-ciphersuites", ""),
    text("tls-client-cert-file", ""),
    text("tls-client-key-file", ""),
    text("tls-client-key-file-pass", ""),
    flag("tls-cluster", "no"),
    text("tls-dh-params-file", ""),
    text("tls-key-file", ""),
    text("tls-key-file-pass", ""),
    int("tls-port", "0", 0, 65_535).only_default("the store does not support TLS"),
    flag("tls-prefer-server-ciphers", "no"),
    text("tls-protocols", ""),
    flag("tls-replication", "no"),
    int("tls-session-cache-size", "20480", 0, INT),
    int("tls-session-cache-timeout", "300", 0, INT),
    flag("tls-session-caching", "yes"),
    int("tracking-table-max-keys", "1000000", 0, LONG),
    // Directives that only Valkey has (up to 9.0), with Valkey's defaults.
    int("active-defrag-cycle-us", "500", 0, 100_000),
    text("availability-zone", ""),
    text("cluster-announce-client-ipv4", ""),
    text("cluster-announce-client-ipv6", ""),
    text("cluster-announce-human-nodename", ""),
    int("cluster-blacklist-ttl", "60", 0, LONG),
    flag("cluster-slot-stats-enabled", "no"),
    int("commandlog-large-reply-max-len", "128", 0, LONG),
    int("commandlog-large-request-max-len", "128", 0, LONG),
    int("commandlog-reply-larger-than", "1048576", -1, LONG),
    int("commandlog-request-larger-than", "1048576", -1, LONG),
    flag("dual-channel-replication-enabled", "no"),
    int("events-per-io-thread", "2", 0, INT),
    flag("extended-redis-compatibility", "no"),
    flag("hide-user-data-from-log", "yes"),
    flag("import-mode", "no"),
    choice("log-format", "legacy", &["legacy", "logfmt"]),
    choice(
        "log-timestamp-format",
        "legacy",
        &["legacy", "iso8601", "milliseconds"],
    ),
    int("max-new-connections-per-cycle", "10", 1, 1000),
    int("max-new-tls-connections-per-cycle", "1", 1, 1000),
    int("prefetch-batch-max-size", "16", 0, 128),
    choice("rdb-version-check", "strict", &["strict", "relaxed"]),
    text("rdma-bind", "").fixed_in_valkey(),
    int("rdma-completion-vector", "-1", -1, 1024).fixed_in_valkey(),
    int("rdma-port", "0", 0, 65_535)
        .fixed_in_valkey()
        .only_default("the store does not support RDMA"),
    bytes("rdma-rx-size", "1048576", 64 << 10, 16 << 20).fixed_in_valkey(),
    int("tcp-keepalive-probes", "3", 1, INT),
    text("unixsocketgroup", "").fixed_in_valkey(),
];
