//! The server's configuration: redis.conf syntax, from a file, the command line, stdin and
//! `CONFIG`.

mod accepted;
mod rewrite;
mod table;
mod value;

use std::io::Read;
use std::path::{Path, PathBuf};

pub(crate) use accepted::ACCEPTED;
pub(crate) use table::{DIRECTIVES, Directive};
pub use value::LogLevel;
pub(crate) use value::{
    Allowed, Events, EvictionPolicy, Fsync, Hertz, Int, Memory, Mode, Name, OutputLimit,
    OutputLimits, SavePoint, Words,
};

use crate::rename::Renames;
use crate::text::lossy;

const MIB: u64 = 1 << 20;
const LONG_MAX: u64 = i64::MAX as u64;
/// Directives that Redis itself ignores.
const IGNORED: &[&str] = &[
    "list-max-ziplist-entries",
    "list-max-ziplist-value",
    "lua-replicate-commands",
];
/// Directives of Redis that this server refuses, each with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("loadmodule", "modules are not supported"),
    (
        "user",
        "the store has only one user, named default: set its password with requirepass",
    ),
];
/// Number of file descriptors that are reserved for files, listeners and the runtime, and thus not
/// available to clients.
const RESERVED_DESCRIPTORS: u64 = 64;
/// Default path of the pidfile for a process that detaches, as in Redis.
const PID_FILE: &str = "/var/run/redis.pid";
/// Maximum depth to which `include` directives may be nested.
const INCLUDE_DEPTH_MAX: usize = 8;

/// All settings of the server. Most fields hold the value of the directive with the same name.
#[derive(Clone, Debug)]
pub struct Config {
    /// Addresses to listen on. An address that begins with `-` is skipped if this host does not
    /// have it.
    pub(crate) bind: Words,
    /// TCP port; 0 for none.
    pub(crate) port: Int<0, 65_535>,
    /// Path of a Unix socket; empty for none.
    pub(crate) unixsocket: String,
    /// Mode of the Unix socket's file; 0 leaves the mode that the umask gives.
    pub(crate) unixsocketperm: Mode,
    /// True if only clients on this machine are admitted while no password is set.
    pub(crate) protected_mode: bool,
    /// Maximum number of TCP connections that wait to be accepted.
    pub(crate) tcp_backlog: Int<0, { i32::MAX as i64 }>,
    /// Seconds between keepalive probes of an idle connection; 0 for none.
    pub(crate) tcp_keepalive: Int<0, { i32::MAX as i64 }>,
    /// Number of seconds after which an idle client is disconnected; 0 for never.
    pub(crate) timeout: Int<0, { i32::MAX as i64 }>,
    /// Maximum number of open connections.
    pub(crate) maxclients: Int<1, { u32::MAX as i64 }>,
    /// The password; empty for none.
    pub(crate) requirepass: String,
    /// Number of databases.
    pub(crate) databases: Int<1, 1024>,
    /// Minimum level of the messages that are written to the log.
    pub(crate) loglevel: LogLevel,
    /// Path of the log file, relative to `dir`; empty for stderr.
    pub(crate) logfile: String,
    /// Path of the file for the process id; empty for none.
    pub(crate) pidfile: String,
    /// True if the process detaches from the process that started it.
    pub(crate) daemonize: bool,
    /// Number of housekeeping runs per second.
    pub(crate) hz: Hertz,
    /// Directory of the store's files.
    pub(crate) dir: String,
    /// File name of the snapshot.
    pub(crate) dbfilename: Name,
    /// Conditions under which a snapshot is due.
    pub(crate) save: Vec<SavePoint>,
    /// True if a `save` line was read. The first `save` line replaces the default save points;
    /// further lines add save points.
    pub(crate) save_given: bool,
    /// True if long strings in a snapshot are compressed.
    pub(crate) rdbcompression: bool,
    /// True if a snapshot's checksum is verified.
    pub(crate) rdbchecksum: bool,
    /// RDB version of written snapshots: Redis 7.0 and later can read version 10, Redis 7.2 and
    /// later version 11.
    pub(crate) rdb_version: Int<10, 11>,
    /// True if writes are refused after a snapshot failed.
    pub(crate) stop_writes_on_bgsave_error: bool,
    /// True if the AOF is enabled.
    pub(crate) appendonly: bool,
    /// First part of the names of the AOF's files.
    pub(crate) appendfilename: Name,
    /// Directory of the AOF's files, relative to `dir`.
    pub(crate) appenddirname: Name,
    /// Policy for syncing the AOF to disk.
    pub(crate) appendfsync: Fsync,
    /// True if an AOF whose last command is truncated is loaded without that command.
    pub(crate) aof_load_truncated: bool,
    /// Growth of the AOF at which it is rewritten, in percent of its size after the last rewrite. 0
    /// turns automatic rewrites off.
    pub(crate) auto_aof_rewrite_percentage: Int<0, { i32::MAX as i64 }>,
    /// Size in bytes below which the AOF is not rewritten automatically.
    pub(crate) auto_aof_rewrite_min_size: Memory<0, LONG_MAX>,
    /// Limits on the bytes of replies that wait for a client, per class of clients.
    pub(crate) client_output_buffer_limit: OutputLimits,
    /// Maximum number of received bytes of one incomplete command.
    pub(crate) client_query_buffer_limit: Memory<MIB, LONG_MAX>,
    /// Maximum length, in bytes, of one argument of a command.
    pub(crate) proto_max_bulk_len: Memory<MIB, LONG_MAX>,
    /// Minimum duration, in microseconds, of a command that is logged as slow; negative to log
    /// none.
    pub(crate) slowlog_log_slower_than: Int<-1, { i64::MAX }>,
    /// Maximum number of commands that the slow log keeps.
    pub(crate) slowlog_max_len: Int<0, { i64::MAX }>,
    /// Minimum duration, in milliseconds, of an event that the latency monitor records; 0 to record
    /// none.
    pub(crate) busy_reply_threshold: Int<0, { i64::MAX }>,
    pub(crate) latency_monitor_threshold: Int<0, { i64::MAX }>,
    /// True if command durations are counted in a histogram, for `LATENCY HISTOGRAM` and `INFO
    /// latencystats`.
    pub(crate) latency_tracking: bool,
    /// Clients that may use `DEBUG`.
    pub(crate) enable_debug_command: Allowed,
    /// Maximum number of bytes of memory for the data and its overhead; 0 for no limit.
    pub(crate) maxmemory: Memory,
    /// Maximum number of bytes of memory for values of 16 KiB and more. `maxmemory` then applies to
    /// all other data only. If this limit is 0, `maxmemory` applies to all data.
    pub(crate) maxmemory_blobs: Memory,
    /// Policy that picks the keys to evict when memory is used up.
    pub(crate) maxmemory_policy: EvictionPolicy,
    /// Number of keys that are compared to choose one key to evict.
    pub(crate) maxmemory_samples: Int<1, { i32::MAX as i64 }>,
    /// Effort that Redis spends on one run of eviction, from 0 to 100. This server only stores and
    /// shows the value.
    pub(crate) maxmemory_eviction_tenacity: Int<0, 100>,
    /// Factor that slows the growth of a key's frequency counter; higher values slow it more.
    pub(crate) lfu_log_factor: Int<0, { i32::MAX as i64 }>,
    /// Number of minutes without use after which the frequency counter of a key falls by one; 0 for
    /// never.
    pub(crate) lfu_decay_time: Int<0, { i32::MAX as i64 }>,
    /// Classes of keyspace events that are published.
    pub(crate) notify_keyspace_events: Events,
    /// Maximum number of fields of a hash in the compact encoding (listpack).
    pub(crate) hash_max_listpack_entries: Int<0, { i64::MAX }>,
    /// Maximum length, in bytes, of a field or value of a hash in the compact encoding (listpack).
    pub(crate) hash_max_listpack_value: Memory<0, LONG_MAX>,
    /// Maximum number of elements in a node of a list. Negative numbers are codes for sizes in
    /// bytes.
    pub(crate) list_max_listpack_size: Int<{ i32::MIN as i64 }, { i32::MAX as i64 }>,
    /// Number of nodes that Redis leaves uncompressed at each end of a list. This server compresses
    /// no nodes; it only stores and shows the value.
    pub(crate) list_compress_depth: Int<0, { i32::MAX as i64 }>,
    /// Maximum number of members of a set in the compact encoding for integers (intset).
    pub(crate) set_max_intset_entries: Int<0, { i64::MAX }>,
    /// Maximum number of members of a set in the compact encoding (listpack).
    pub(crate) set_max_listpack_entries: Int<0, { i64::MAX }>,
    /// Maximum length, in bytes, of a member of a set in the compact encoding (listpack).
    pub(crate) set_max_listpack_value: Memory<0, LONG_MAX>,
    /// Maximum number of members of a sorted set in the compact encoding (listpack).
    pub(crate) zset_max_listpack_entries: Int<0, { i64::MAX }>,
    /// Maximum length, in bytes, of a member of a sorted set in the compact encoding (listpack).
    pub(crate) zset_max_listpack_value: Memory<0, LONG_MAX>,
    /// Maximum bytes of a node of a stream, as Redis counts them; 0 means 1 GiB.
    pub(crate) stream_node_max_bytes: Memory<0, LONG_MAX>,
    /// Maximum number of entries of a node of a stream; 0 for no limit.
    pub(crate) stream_node_max_entries: Int<0, { i64::MAX }>,
    /// Renamed commands. As in Redis, `CONFIG` does not show them.
    pub(crate) renames: Renames,
    /// Values of the directives in [`ACCEPTED`], in the same order.
    pub(crate) accepted: Vec<String>,
    /// The configuration file named on the command line, if any.
    pub(crate) file: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Config {
        let point = |seconds, changes| SavePoint { seconds, changes };
        Config {
            bind: Words(vec!["127.0.0.1".to_owned(), "-::1".to_owned()]),
            port: Int(6379),
            unixsocket: String::new(),
            unixsocketperm: Mode(0),
            protected_mode: true,
            tcp_backlog: Int(511),
            tcp_keepalive: Int(300),
            timeout: Int(0),
            maxclients: Int(10_000),
            requirepass: String::new(),
            databases: Int(16),
            loglevel: LogLevel::Notice,
            logfile: String::new(),
            pidfile: String::new(),
            daemonize: false,
            hz: Hertz(10),
            dir: "./pelton-data/store".to_owned(),
            dbfilename: Name("dump.rdb".to_owned()),
            save: vec![point(3600, 1), point(300, 100), point(60, 10_000)],
            save_given: false,
            rdbcompression: true,
            rdbchecksum: true,
            rdb_version: Int(10),
            stop_writes_on_bgsave_error: true,
            appendonly: false,
            appendfilename: Name("appendonly.aof".to_owned()),
            appenddirname: Name("appendonlydir".to_owned()),
            appendfsync: Fsync::EverySecond,
            aof_load_truncated: true,
            auto_aof_rewrite_percentage: Int(100),
            auto_aof_rewrite_min_size: Memory(64 << 20),
            client_output_buffer_limit: OutputLimits::default(),
            client_query_buffer_limit: Memory(1 << 30),
            proto_max_bulk_len: Memory(512 << 20),
            slowlog_log_slower_than: Int(10_000),
            slowlog_max_len: Int(128),
            busy_reply_threshold: Int(5000),
            latency_monitor_threshold: Int(0),
            latency_tracking: true,
            enable_debug_command: Allowed::No,
            maxmemory: Memory(0),
            maxmemory_blobs: Memory(0),
            maxmemory_policy: EvictionPolicy(keyspace::Policy::NoEviction),
            maxmemory_samples: Int(5),
            maxmemory_eviction_tenacity: Int(10),
            lfu_log_factor: Int(10),
            lfu_decay_time: Int(1),
            notify_keyspace_events: Events::default(),
            hash_max_listpack_entries: Int(512),
            hash_max_listpack_value: Memory(64),
            list_max_listpack_size: Int(-2),
            list_compress_depth: Int(0),
            set_max_intset_entries: Int(512),
            set_max_listpack_entries: Int(128),
            set_max_listpack_value: Memory(64),
            zset_max_listpack_entries: Int(128),
            zset_max_listpack_value: Memory(64),
            stream_node_max_bytes: Memory(4096),
            stream_node_max_entries: Int(100),
            renames: Renames::default(),
            accepted: ACCEPTED.iter().map(|row| row.default.to_owned()).collect(),
            file: None,
        }
    }
}

impl Config {
    /// Reads the arguments of `pelton store` in redis-server's syntax. The path of a configuration
    /// file may come first. Directives follow, whose names have the prefix `--`. If `-` stands
    /// before or after the directives, more directives are read from stdin. The file is applied
    /// first, then stdin, then the arguments.
    ///
    /// # Errors
    /// A file that cannot be read, the first invalid line, or directives that contradict each
    /// other.
    pub fn from_args(args: &[String]) -> Result<Config, ConfigError> {
        Config::from_args_and(args, &mut std::io::stdin())
    }

    fn from_args_and(args: &[String], stdin: &mut dyn Read) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        let mut args = args;
        if let [file, rest @ ..] = args
            && !file.starts_with('-')
        {
            config.include(Path::new(file), 0)?;
            let file = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
            config.file = Some(file);
            args = rest;
        }
        let with_stdin = match args {
            [first, rest @ ..] if first == "-" => Some(rest),
            [rest @ .., last] if last == "-" => Some(rest),
            _ => None,
        };
        if let Some(rest) = with_stdin {
            let mut text = String::new();
            stdin.read_to_string(&mut text).map_err(|err| ConfigError {
                place: "stdin".to_owned(),
                fault: format!("the configuration cannot be read: {err}"),
            })?;
            config.read(&text, Path::new("stdin"))?;
            args = rest;
        }
        for (place, line) in directive_lines(args) {
            config.set_words(&line).map_err(|fault| ConfigError {
                place: place.to_owned(),
                fault,
            })?;
        }
        match config.contradiction() {
            Some((place, fault)) => Err(ConfigError { place, fault }),
            None => Ok(config),
        }
    }

    /// Returns the first setting that is not supported or contradicts another setting, if any. The
    /// result is the setting's name and value, and the reason.
    fn contradiction(&self) -> Option<(String, String)> {
        if self.port.0 == 0 && self.unixsocket.is_empty() {
            return Some((
                "port 0 without unixsocket".to_owned(),
                "Configured to not listen anywhere".to_owned(),
            ));
        }
        self.only_default()
    }

    /// Returns the first directive for which this server supports only the default, but which has
    /// another value. The result is the directive's name and value, and the reason.
    pub(crate) fn only_default(&self) -> Option<(String, String)> {
        let mut rows = ACCEPTED.iter().zip(&self.accepted);
        rows.find_map(|(row, value)| {
            let reason = row.only_default?;
            (row.default != value).then(|| (format!("{} {value}", row.name), reason.to_owned()))
        })
    }

    /// Reads the text of a configuration file. `place` is the name of the file in error messages.
    pub fn read(&mut self, text: &str, place: &Path) -> Result<(), ConfigError> {
        self.read_lines(text, place, 0)
    }

    fn include(&mut self, file: &Path, depth: usize) -> Result<(), ConfigError> {
        let error = |fault| ConfigError {
            place: file.display().to_string(),
            fault,
        };
        if depth == INCLUDE_DEPTH_MAX {
            return Err(error("include directives are nested too deeply".to_owned()));
        }
        let text = std::fs::read_to_string(file)
            .map_err(|err| error(format!("the configuration cannot be read: {err}")))?;
        self.read_lines(&text, file, depth)
    }

    fn read_lines(&mut self, text: &str, file: &Path, depth: usize) -> Result<(), ConfigError> {
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let error = |fault: String| ConfigError {
                place: format!("{}:{}", file.display(), index + 1),
                fault,
            };
            let words = resp::split_line(line.as_bytes())
                .ok_or_else(|| error("unbalanced quotes".to_owned()))?;
            let words: Result<Vec<String>, _> = words
                .iter()
                .map(|word| String::from_utf8(word.to_vec()))
                .collect();
            let words = words.map_err(|_| error("not UTF-8".to_owned()))?;
            match words.as_slice() {
                [name, path] if name.eq_ignore_ascii_case("include") => {
                    for file in named_files(path) {
                        self.include(&file, depth + 1)?;
                    }
                }
                words => self.set_words(words).map_err(error)?,
            }
        }
        Ok(())
    }

    /// Applies one directive, given as the words of its line.
    fn set_words(&mut self, words: &[String]) -> Result<(), String> {
        let (name, words) = words.split_first().ok_or("no directive".to_owned())?;
        if name.eq_ignore_ascii_case("rename-command") {
            let [from, to] = words else {
                return Err(format!("{name}: wrong number of arguments"));
            };
            let renamed = self.renames.add(from, to);
            return renamed.map_err(|fault| format!("{name} {from}: {fault}"));
        }
        let mut earlier = match name.eq_ignore_ascii_case("save") && self.save_given {
            true => self.save.clone(),
            false => Vec::new(),
        };
        let set = self.set(name, words);
        if set.is_ok() && name.eq_ignore_ascii_case("save") {
            self.save_given = true;
            // A `save` line with values adds save points to those of earlier lines. An empty `save`
            // line removes all save points.
            if !self.save.is_empty() {
                earlier.append(&mut self.save);
                self.save = earlier;
            }
        }
        match set {
            Err(SetFault::Unknown)
                if IGNORED.iter().any(|known| known.eq_ignore_ascii_case(name)) =>
            {
                Ok(())
            }
            Err(SetFault::Unknown) => Err(unknown(name)),
            Err(SetFault::Value(fault)) => Err(format!("{name}: {fault}")),
            Ok(()) => Ok(()),
        }
    }

    /// Sets the directive with this name or alias to the value that `words` give.
    pub(crate) fn set(&mut self, name: &str, words: &[String]) -> Result<(), SetFault> {
        if let Some(row) = directive(name) {
            return (row.read)(self, words).map_err(SetFault::Value);
        }
        let row = accepted(name).ok_or(SetFault::Unknown)?;
        self.accepted[row] = ACCEPTED[row].read(words).map_err(SetFault::Value)?;
        Ok(())
    }

    /// Returns the lowest level of messages that are logged.
    pub fn log_level(&self) -> LogLevel {
        self.loglevel
    }

    /// Returns whether the process detaches from the process that started it: `daemonize` must be
    /// set, and no supervisor may watch the process.
    pub fn detaches(&self) -> bool {
        self.daemonize && self.supervisor() == "no"
    }

    /// Returns the percentiles that `INFO latencystats` shows.
    pub(crate) fn info_percentiles(&self) -> Vec<f64> {
        let at =
            accepted("latency-tracking-info-percentiles").expect("the directive is in the table");
        let words = self.accepted[at].split_ascii_whitespace();
        words
            .map(|word| word.parse().expect("validated when it was set"))
            .collect()
    }

    /// Returns whether a shutdown with neither `SAVE` nor `NOSAVE` writes a snapshot. It writes one
    /// if there are save points.
    pub(crate) fn saves_at_end(&self) -> bool {
        !self.save.is_empty()
    }

    /// Returns the maximum number of bytes of memory for all clients together; 0 for no limit.
    pub(crate) fn client_bytes_max(&self) -> u64 {
        let at = accepted("maxmemory-clients").expect("the directive is in the table");
        let value = self.accepted[at].as_str();
        let number = |text: &str| text.parse::<u64>().expect("validated when it was set");
        match value.strip_suffix('%') {
            Some(percent) => (self.maxmemory.0 / 100).saturating_mul(number(percent)),
            None => number(value),
        }
    }

    /// Returns the supervisor of the process, as `INFO` shows it: `systemd`, or `no` if there is
    /// none. systemd is detected only if the directive `supervised` is `systemd` or `auto`.
    pub(crate) fn supervisor(&self) -> &'static str {
        let wanted = accepted("supervised").expect("the directive is in the table");
        let wanted = self.accepted[wanted].as_str();
        match matches!(wanted, "systemd" | "auto") && std::env::var_os("NOTIFY_SOCKET").is_some() {
            true => "systemd",
            false => "no",
        }
    }

    /// Returns the path of the pidfile, if any. A process that detaches always has a pidfile.
    pub(crate) fn pid_file(&self) -> Option<&Path> {
        match (self.pidfile.as_str(), self.detaches()) {
            ("", false) => None,
            ("", true) => Some(Path::new(PID_FILE)),
            (path, _) => Some(Path::new(path)),
        }
    }

    /// Returns whether the data is kept on disk, in the AOF or in snapshots.
    pub fn keeps_data(&self) -> bool {
        self.appendonly || !self.save.is_empty()
    }

    /// Lowers `maxclients` to the number that `descriptors_max` open files allow, as Redis does.
    pub fn fit_clients(&mut self, descriptors_max: u64) {
        let clients_max = descriptors_max.saturating_sub(RESERVED_DESCRIPTORS).max(1);
        if clients_max < self.maxclients.0 as u64 {
            let asked = self.maxclients.0;
            tracing::warn!(
                asked,
                maxclients = clients_max,
                "the limit on open files is too low for maxclients, so maxclients is lowered: \
                 raise ulimit -n"
            );
            self.maxclients.0 = clients_max as i64;
        }
    }

    /// Returns the path of the log file, or `None` for stderr.
    pub fn log_file(&self) -> Option<PathBuf> {
        (!self.logfile.is_empty()).then(|| self.dir().join(&self.logfile))
    }

    /// Returns the directory of the store's files.
    pub fn dir(&self) -> &Path {
        Path::new(&self.dir)
    }

    /// Returns every directive's name and value; a directive with an alias appears under both
    /// names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, String)> {
        let rows = DIRECTIVES.iter().flat_map(|row| {
            let names = std::iter::once(row.name).chain(row.alias);
            names.map(|name| (name, (row.show)(self)))
        });
        let accepted = ACCEPTED.iter().zip(&self.accepted);
        rows.chain(accepted.flat_map(|(row, value)| row.names().map(|name| (name, value.clone()))))
    }
}

/// Returns the directive with this name or alias, ignoring case.
pub(crate) fn directive(name: &str) -> Option<&'static Directive> {
    DIRECTIVES.iter().find(|row| {
        row.name.eq_ignore_ascii_case(name)
            || row
                .alias
                .is_some_and(|alias| alias.eq_ignore_ascii_case(name))
    })
}

/// Returns the index in [`ACCEPTED`] of the directive with this name. An alias counts as a name,
/// and case is ignored.
pub(crate) fn accepted(name: &str) -> Option<usize> {
    ACCEPTED.iter().position(|row| {
        let mut names = row.names();
        names.any(|known| known.eq_ignore_ascii_case(name))
    })
}

/// Returns the files that an `include` directive names, sorted by name. The list is empty if a glob
/// pattern matches no file.
fn named_files(path: &str) -> Vec<PathBuf> {
    if !path.contains(['*', '?', '[']) {
        return vec![PathBuf::from(path)];
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut found = vec![PathBuf::from(root)];
    for part in path.split('/').filter(|part| !part.is_empty()) {
        found = found
            .iter()
            .flat_map(|folder| matching(folder, part))
            .collect();
    }
    found.retain(|path| path.exists());
    found
}

/// Returns the entries of `folder` that match `pattern`, sorted. If `pattern` has no glob
/// characters, returns its path in `folder` without checking that the path exists.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    if !pattern.contains(['*', '?', '[']) {
        return vec![folder.join(pattern)];
    }
    let here = folder.as_os_str().is_empty();
    let listed = std::fs::read_dir(if here { Path::new(".") } else { folder });
    let entries = listed.into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.retain(|name| {
        let name = name.as_encoded_bytes();
        let is_hidden = name.starts_with(b".") && !pattern.starts_with('.');
        !is_hidden && keyspace::glob(pattern.as_bytes(), name)
    });
    names.sort();
    names.iter().map(|name| folder.join(name)).collect()
}

/// Splits arguments into lines of directives. Each `--name` starts a line, unless the previous line
/// still lacks its value. `--name value` may also be one argument. Each line is returned with its
/// first argument, for error messages.
fn directive_lines(args: &[String]) -> Vec<(&str, Vec<String>)> {
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for arg in args {
        let last = lines.last_mut();
        // The argument after a directive's name is the value, even if it begins with `--`. The
        // exception is `--save` without a value, which means no snapshots, as in Redis.
        let wants_value = last
            .as_ref()
            .is_some_and(|(_, words)| words.len() == 1 && !words[0].eq_ignore_ascii_case("save"));
        match (arg.strip_prefix("--"), last) {
            (Some(line), _) if !wants_value => {
                lines.push((arg, words_of(line)));
            }
            (_, Some((_, words))) => words.push(arg.clone()),
            (_, None) => lines.push((arg, vec![arg.clone()])),
        }
    }
    for (_, words) in &mut lines {
        if words.len() == 1 && words[0].eq_ignore_ascii_case("save") {
            words.push(String::new());
        }
    }
    lines
}

/// Splits a line, which may contain quotes, into words.
fn words_of(line: &str) -> Vec<String> {
    let words = resp::split_line(line.as_bytes());
    let words = words.map(|words| words.iter().map(|word| lossy(word)).collect());
    words.unwrap_or_else(|| vec![line.to_owned()])
}

fn unknown(name: &str) -> String {
    let mut refused = REFUSED.iter();
    if let Some((_, reason)) = refused.find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return format!("{name}: {reason}");
    }
    let known = DIRECTIVES.iter().map(|row| row.name);
    let known = known.chain(ACCEPTED.iter().map(|row| row.name));
    let nearest = known.min_by_key(|known| strsim::damerau_levenshtein(known, name));
    match nearest {
        Some(nearest) if strsim::damerau_levenshtein(nearest, name) <= 3 => {
            format!("unknown directive '{name}', did you mean '{nearest}'?")
        }
        _ => format!("unknown directive '{name}'"),
    }
}

/// The reason why a directive was not set.
pub(crate) enum SetFault {
    /// Unknown name.
    Unknown,
    /// Invalid value, with the reason.
    Value(String),
}

/// Error for a configuration that is invalid or cannot be read. `Display` names the file, line,
/// argument or setting at fault, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct ConfigError {
    place: String,
    fault: String,
}

#[cfg(test)]
mod tests;
