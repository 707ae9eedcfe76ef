//! What the server was told: redis.conf syntax, from a file, from the command line and over `CONFIG`.

mod accepted;
mod rewrite;
mod table;
mod value;

use std::fmt;
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
/// Directives that Redis itself only passes over.
const PASSED_OVER: &[&str] = &[
    "list-max-ziplist-entries",
    "list-max-ziplist-value",
    "lua-replicate-commands",
];
/// Directives that do something in Redis and cannot here.
const REFUSED: &[(&str, &str)] = &[
    ("loadmodule", "there are no modules here"),
    (
        "user",
        "there is one user, default: give its password with requirepass",
    ),
];
/// Descriptors beside those of clients: files, listeners, the runtime's.
const DESCRIPTORS_BESIDE: u64 = 64;
/// Where a process that detaches writes its number unless it is told, as Redis does.
const PID_FILE: &str = "/var/run/redis.pid";
/// Files that include files, one in the other.
const INCLUDE_DEPTH_MAX: usize = 8;

/// Every setting, as the directive of the same name says it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Addresses to listen on; one that begins with `-` may be missing on this host.
    pub(crate) bind: Words,
    /// TCP port.
    pub(crate) port: Int<0, 65_535>,
    /// Path of a Unix socket; empty for none.
    pub(crate) unixsocket: String,
    /// Its mode; 0 leaves what the umask makes.
    pub(crate) unixsocketperm: Mode,
    /// Without a password, only clients of this machine are let in.
    pub(crate) protected_mode: bool,
    /// Connections between handshake and accept.
    pub(crate) tcp_backlog: Int<0, { i32::MAX as i64 }>,
    /// Seconds between probes of an idle connection; 0 for none.
    pub(crate) tcp_keepalive: Int<0, { i32::MAX as i64 }>,
    /// Seconds after which an idle client is ended; 0 for never.
    pub(crate) timeout: Int<0, { i32::MAX as i64 }>,
    /// Open connections.
    pub(crate) maxclients: Int<1, { u32::MAX as i64 }>,
    /// The password; empty for none.
    pub(crate) requirepass: String,
    /// Databases.
    pub(crate) databases: Int<1, 1024>,
    /// What is logged.
    pub(crate) loglevel: LogLevel,
    /// The file that the log goes to, below `dir`; empty for stderr.
    pub(crate) logfile: String,
    /// Where the process id is written; empty for nowhere.
    pub(crate) pidfile: String,
    /// Whether the process goes on without whoever started it.
    pub(crate) daemonize: bool,
    /// Housekeeping per second.
    pub(crate) hz: Hertz,
    /// Where the files are.
    pub(crate) dir: String,
    /// Name of the snapshot.
    pub(crate) dbfilename: Name,
    /// When a snapshot is due.
    pub(crate) save: Vec<SavePoint>,
    /// Whether a line has said so; the first takes the defaults' place, and further ones add to it.
    pub(crate) save_given: bool,
    /// Whether long strings in a snapshot are compressed.
    pub(crate) rdbcompression: bool,
    /// Whether a snapshot's checksum is looked at.
    pub(crate) rdbchecksum: bool,
    /// Version of the snapshots written: 10 is read by Redis 7.0, 11 needs 7.2.
    pub(crate) rdb_version: Int<10, 11>,
    /// Whether writes are refused after a snapshot failed.
    pub(crate) stop_writes_on_bgsave_error: bool,
    /// Whether there is a journal.
    pub(crate) appendonly: bool,
    /// First part of the names of its files.
    pub(crate) appendfilename: Name,
    /// Directory of its files, below `dir`.
    pub(crate) appenddirname: Name,
    /// When it reaches the disk.
    pub(crate) appendfsync: Fsync,
    /// Whether a journal whose last command is cut is loaded without it.
    pub(crate) aof_load_truncated: bool,
    /// Growth, in percent, after which the journal is rewritten; 0 for never.
    pub(crate) auto_aof_rewrite_percentage: Int<0, { i32::MAX as i64 }>,
    /// Size below which it is not.
    pub(crate) auto_aof_rewrite_min_size: Memory<0, LONG_MAX>,
    /// Bytes of replies that may wait, for each class of clients.
    pub(crate) client_output_buffer_limit: OutputLimits,
    /// Bytes of one unfinished command.
    pub(crate) client_query_buffer_limit: Memory<MIB, LONG_MAX>,
    /// Bytes of one argument.
    pub(crate) proto_max_bulk_len: Memory<MIB, LONG_MAX>,
    /// Microseconds from which on a command is slow; negative for never.
    pub(crate) slowlog_log_slower_than: Int<-1, { i64::MAX }>,
    /// Slow commands kept.
    pub(crate) slowlog_max_len: Int<0, { i64::MAX }>,
    /// Milliseconds from which on an event counts as a delay; 0 for never.
    pub(crate) latency_monitor_threshold: Int<0, { i64::MAX }>,
    /// Whether commands' times are counted by range, for `LATENCY HISTOGRAM` and `INFO latencystats`.
    pub(crate) latency_tracking: bool,
    /// Who may use `DEBUG`.
    pub(crate) enable_debug_command: Allowed,
    /// Bytes of data and its overhead; 0 for no bound.
    pub(crate) maxmemory: Memory,
    /// Bytes that values of 16 KiB and more may take; then `maxmemory` bounds the others. 0 has both share that.
    pub(crate) maxmemory_blobs: Memory,
    /// What leaves when they are used up.
    pub(crate) maxmemory_policy: EvictionPolicy,
    /// Keys looked at for each one that leaves.
    pub(crate) maxmemory_samples: Int<1, { i32::MAX as i64 }>,
    /// How long to go on looking, from 0 to 100.
    pub(crate) maxmemory_eviction_tenacity: Int<0, 100>,
    /// How slowly the frequency of a key grows.
    pub(crate) lfu_log_factor: Int<0, { i32::MAX as i64 }>,
    /// Minutes after which it halves.
    pub(crate) lfu_decay_time: Int<0, { i32::MAX as i64 }>,
    /// Which events of keys are published.
    pub(crate) notify_keyspace_events: Events,
    /// Fields of a hash kept packed.
    pub(crate) hash_max_listpack_entries: Int<0, { i64::MAX }>,
    /// Bytes of each of them.
    pub(crate) hash_max_listpack_value: Memory<0, LONG_MAX>,
    /// Elements of a list's node, or as a negative number its size.
    pub(crate) list_max_listpack_size: Int<{ i32::MIN as i64 }, { i32::MAX as i64 }>,
    /// Nodes at each end of a list that are not compressed; kept for its encoding's name.
    pub(crate) list_compress_depth: Int<0, { i32::MAX as i64 }>,
    /// Members of a set of integers kept packed.
    pub(crate) set_max_intset_entries: Int<0, { i64::MAX }>,
    /// Members of a set kept packed.
    pub(crate) set_max_listpack_entries: Int<0, { i64::MAX }>,
    /// Bytes of each of them.
    pub(crate) set_max_listpack_value: Memory<0, LONG_MAX>,
    /// Members of a sorted set kept packed.
    pub(crate) zset_max_listpack_entries: Int<0, { i64::MAX }>,
    /// Bytes of each of them.
    pub(crate) zset_max_listpack_value: Memory<0, LONG_MAX>,
    /// The names that commands go by; no setting of `CONFIG`'s, as in Redis.
    pub(crate) renames: Renames,
    /// Values of [`ACCEPTED`], in its order.
    pub(crate) accepted: Vec<String>,
    /// The file all this came from.
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
            renames: Renames::default(),
            accepted: ACCEPTED.iter().map(|row| row.default.to_owned()).collect(),
            file: None,
        }
    }
}

impl Config {
    /// Reads `pelton store`'s arguments: a file's path first, if there is one, then directives, each with `--` before
    /// its name, as redis-server takes them. A `-` at either end has more directives read from stdin, between the two.
    ///
    /// # Errors
    /// A file that cannot be read, the first line that does not fit, or directives that contradict each other.
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
                fault: format!("read it: {err}"),
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

    /// What directives say in the end that cannot be: their names and values, and why.
    fn contradiction(&self) -> Option<(String, String)> {
        if self.port.0 == 0 && self.unixsocket.is_empty() {
            return Some((
                "port 0 without unixsocket".to_owned(),
                "Configured to not listen anywhere".to_owned(),
            ));
        }
        self.only_default()
    }

    /// A directive that says what cannot be here, its value, and why.
    pub(crate) fn only_default(&self) -> Option<(String, String)> {
        let mut rows = ACCEPTED.iter().zip(&self.accepted);
        rows.find_map(|(row, value)| {
            let reason = row.only_default?;
            (row.default != value).then(|| (format!("{} {value}", row.name), reason.to_owned()))
        })
    }

    /// Reads the text of a configuration file, of which `place` is the name in errors.
    ///
    /// # Errors
    /// The first line that does not fit.
    pub fn read(&mut self, text: &str, place: &Path) -> Result<(), ConfigError> {
        self.read_lines(text, place, 0)
    }

    fn include(&mut self, file: &Path, depth: usize) -> Result<(), ConfigError> {
        let error = |fault| ConfigError {
            place: file.display().to_string(),
            fault,
        };
        if depth == INCLUDE_DEPTH_MAX {
            return Err(error("includes are nested too deep".to_owned()));
        }
        let text = std::fs::read_to_string(file).map_err(|err| error(format!("read it: {err}")))?;
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

    /// One directive, as a line's words.
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
            // An empty one takes back those before it.
            if !self.save.is_empty() {
                earlier.append(&mut self.save);
                self.save = earlier;
            }
        }
        match set {
            Err(SetFault::Unknown)
                if PASSED_OVER
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(name)) =>
            {
                Ok(())
            }
            Err(SetFault::Unknown) => Err(unknown(name)),
            Err(SetFault::Value(fault)) => Err(format!("{name}: {fault}")),
            Ok(()) => Ok(()),
        }
    }

    /// Sets the directive called `name`.
    pub(crate) fn set(&mut self, name: &str, words: &[String]) -> Result<(), SetFault> {
        if let Some(row) = directive(name) {
            return (row.read)(self, words).map_err(SetFault::Value);
        }
        let row = accepted(name).ok_or(SetFault::Unknown)?;
        self.accepted[row] = ACCEPTED[row].read(words).map_err(SetFault::Value)?;
        Ok(())
    }

    /// The least important lines that are logged.
    pub fn log_level(&self) -> LogLevel {
        self.loglevel
    }

    /// Whether the process is to go on without whoever started it: where it was told so, and none that watches over it.
    pub fn detaches(&self) -> bool {
        self.daemonize && self.supervisor() == "no"
    }

    /// The percentiles that `INFO latencystats` shows.
    pub(crate) fn info_percentiles(&self) -> Vec<f64> {
        let at = accepted("latency-tracking-info-percentiles").expect("it is in the table");
        let words = self.accepted[at].split_ascii_whitespace();
        words
            .map(|word| word.parse().expect("looked at when it was set"))
            .collect()
    }

    /// Bytes that all clients may hold together; 0 is no bound.
    pub(crate) fn client_bytes_max(&self) -> u64 {
        let at = accepted("maxmemory-clients").expect("it is in the table");
        let value = self.accepted[at].as_str();
        let number = |text: &str| text.parse::<u64>().expect("looked at when it was set");
        match value.strip_suffix('%') {
            Some(percent) => (self.maxmemory.0 / 100).saturating_mul(number(percent)),
            None => number(value),
        }
    }

    /// Who watches over the process, as `INFO` names it: a service manager counts where `supervised` has it looked for.
    pub(crate) fn supervisor(&self) -> &'static str {
        let wanted = accepted("supervised").expect("it is in the table");
        let wanted = self.accepted[wanted].as_str();
        match matches!(wanted, "systemd" | "auto") && std::env::var_os("NOTIFY_SOCKET").is_some() {
            true => "systemd",
            false => "no",
        }
    }

    /// Where the process id is written. A process that detaches always tells it.
    pub(crate) fn pid_file(&self) -> Option<&Path> {
        match (self.pidfile.as_str(), self.detaches()) {
            ("", false) => None,
            ("", true) => Some(Path::new(PID_FILE)),
            (path, _) => Some(Path::new(path)),
        }
    }

    /// Returns whether the data is to outlive the process.
    pub fn keeps_data(&self) -> bool {
        self.appendonly || !self.save.is_empty()
    }

    /// Lowers `maxclients` to what so many descriptors of this process allow, as Redis does.
    pub fn fit_clients(&mut self, descriptors_max: u64) {
        let fits = descriptors_max.saturating_sub(DESCRIPTORS_BESIDE).max(1);
        if fits < self.maxclients.0 as u64 {
            let asked = self.maxclients.0;
            tracing::warn!(
                asked,
                maxclients = fits,
                "maxclients is lowered to what the limit of open files allows: raise ulimit -n"
            );
            self.maxclients.0 = fits as i64;
        }
    }

    /// The file that the log is to be appended to, where it is not stderr.
    pub fn log_file(&self) -> Option<PathBuf> {
        (!self.logfile.is_empty()).then(|| self.dir().join(&self.logfile))
    }

    /// Where the store's files are.
    pub fn dir(&self) -> &Path {
        Path::new(&self.dir)
    }

    /// Every directive's name and value, an older name beside the newer.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, String)> {
        let rows = DIRECTIVES.iter().flat_map(|row| {
            let names = std::iter::once(row.name).chain(row.alias);
            names.map(|name| (name, (row.show)(self)))
        });
        let accepted = ACCEPTED.iter().zip(&self.accepted);
        rows.chain(accepted.flat_map(|(row, value)| row.names().map(|name| (name, value.clone()))))
    }
}

/// The row called `name`, by its newer or its older name.
pub(crate) fn directive(name: &str) -> Option<&'static Directive> {
    DIRECTIVES.iter().find(|row| {
        row.name.eq_ignore_ascii_case(name)
            || row
                .alias
                .is_some_and(|alias| alias.eq_ignore_ascii_case(name))
    })
}

/// The row of [`ACCEPTED`] called `name`, by its newer or its older name.
pub(crate) fn accepted(name: &str) -> Option<usize> {
    ACCEPTED.iter().position(|row| {
        let mut names = row.names();
        names.any(|known| known.eq_ignore_ascii_case(name))
    })
}

/// The files that an `include` names, in the order of their names: a pattern may fit none.
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

/// What is in `folder` that `pattern` fits; a name that is no pattern is taken as it is.
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

/// Arguments as lines: each `--name` begins one, where the line before has its value; `--name value` may be one argument.
/// A word is where the line began, for errors.
fn directive_lines(args: &[String]) -> Vec<(&str, Vec<String>)> {
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for arg in args {
        let last = lines.last_mut();
        // What follows a name is its value, whatever it looks like; but `--save` alone has always meant no snapshots.
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

/// The words of a line that may have quotes.
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

/// Why a directive was not set.
pub(crate) enum SetFault {
    /// There is none of this name.
    Unknown,
    /// Its value does not fit.
    Value(String),
}

/// A configuration that cannot be used: whoever wrote it is at fault.
#[derive(Debug)]
pub struct ConfigError {
    place: String,
    fault: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.fault)
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests;
