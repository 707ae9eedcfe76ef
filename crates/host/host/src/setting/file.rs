//! Files that are settings: the table of them, and their forms.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use host_checks::Cpus;

use super::{Scope, SettingFault};
use crate::files;

/// Row of the table of files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Path below `/proc` or `/sys`; `*` stands for one segment.
    pattern: &'static str,
    form: Form,
    pub(super) scope: Scope,
}

/// Form of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Words separated by white space.
    Words,
    /// Mask of processors in hexadecimal words.
    Mask,
    /// List of processors, such as `0-3`.
    List,
    /// Words, one of which is in brackets because it is in force.
    Choice,
}

const fn words(pattern: &'static str, scope: Scope) -> Known {
    Known {
        pattern,
        form: Form::Words,
        scope,
    }
}

const fn mask(pattern: &'static str) -> Known {
    Known {
        pattern,
        form: Form::Mask,
        scope: Scope::Namespace,
    }
}

/// Files below `/proc`. Some of those in `sys/net` exist only in the namespace of the host.
pub(super) const PROC: &[Known] = &[
    words("sys/net/core/somaxconn", Scope::Namespace),
    words("sys/net/core/netdev_max_backlog", Scope::Host),
    words("sys/net/core/busy_poll", Scope::Host),
    words("sys/net/core/busy_read", Scope::Host),
    words("sys/net/core/rps_sock_flow_entries", Scope::Host),
    words("sys/net/ipv4/tcp_max_syn_backlog", Scope::Namespace),
    words("sys/net/ipv4/tcp_migrate_req", Scope::Namespace),
    words("sys/net/ipv4/tcp_slow_start_after_idle", Scope::Namespace),
    words("sys/net/ipv4/tcp_wmem", Scope::Namespace),
    words("sys/net/ipv4/tcp_congestion_control", Scope::Namespace),
    words("sys/net/ipv4/ip_local_port_range", Scope::Namespace),
    words("sys/net/netfilter/nf_conntrack_max", Scope::Host),
    Known {
        pattern: "irq/*/smp_affinity_list",
        form: Form::List,
        scope: Scope::Host,
    },
];

/// Files below `/sys`.
pub(super) const SYS: &[Known] = &[
    mask("class/net/*/queues/*/rps_cpus"),
    mask("class/net/*/queues/*/xps_cpus"),
    words("class/net/*/queues/*/rps_flow_cnt", Scope::Namespace),
    words("class/net/*/threaded", Scope::Namespace),
    words("class/net/*/napi_defer_hard_irqs", Scope::Namespace),
    words("class/net/*/gro_flush_timeout", Scope::Namespace),
    words("devices/system/cpu/*/cpufreq/scaling_governor", Scope::Host),
    words(
        "devices/system/clocksource/clocksource0/current_clocksource",
        Scope::Host,
    ),
    Known {
        pattern: "kernel/mm/transparent_hugepage/enabled",
        form: Form::Choice,
        scope: Scope::Host,
    },
];

/// Returns the row of a path.
pub(super) fn known(table: &[Known], path: &str) -> Result<Known, SettingFault> {
    let row = table.iter().find(|row| matches(row.pattern, path));
    row.copied().ok_or(SettingFault::Foreign)
}

/// Returns whether `path` has the segments of `pattern`. A segment that a `*` stands for is the
/// name of an object, and never leads to another directory.
fn matches(pattern: &str, path: &str) -> bool {
    let is_name = |segment: &str| !matches!(segment, "" | "." | "..");
    let mut segments = path.split('/');
    let is_match = pattern.split('/').all(|expected| {
        let found = segments.next();
        found.is_some_and(|found| found == expected || expected == "*" && is_name(found))
    });
    is_match && segments.next().is_none()
}

pub(super) fn read(table: &[Known], root: &Path, path: &str) -> Result<String, SettingFault> {
    let known = known(table, path)?;
    let text = files::read(&root.join(path))?;
    let value = match known.form {
        Form::Words => Some(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Form::Mask => Cpus::parse_mask(&text).map(|cpus| cpus.mask()),
        Form::List => Cpus::parse_list(&text).map(|cpus| cpus.to_string()),
        Form::Choice => chosen(&text),
    };
    value.ok_or(SettingFault::Malformed)
}

/// Returns the word in brackets. A file with one word and no brackets is that word, as it was
/// written.
fn chosen(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let marked = words
        .clone()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match (marked, words.next(), words.next()) {
        (Some(word), _, _) | (None, Some(word), None) => Some(word.to_owned()),
        _ => None,
    }
}

/// Writes the value in one call, because the kernel takes each call for a whole value.
pub(super) fn write(
    table: &[Known],
    root: &Path,
    path: &str,
    value: &str,
) -> Result<(), SettingFault> {
    known(table, path)?;
    let mut options = OpenOptions::new();
    let mut file = options.write(true).truncate(true).open(root.join(path))?;
    let line = format!("{value}\n");
    match file.write(line.as_bytes())? {
        written if written == line.len() => Ok(()),
        _ => Err(SettingFault::Malformed),
    }
}

/// Opens the file for writing, which changes nothing in `/proc` and `/sys`.
pub(super) fn check_access(table: &[Known], root: &Path, path: &str) -> Result<(), SettingFault> {
    known(table, path)?;
    let path = root.join(path);
    let mode = path.metadata()?.permissions().mode();
    if mode & 0o222 == 0 {
        return Err(SettingFault::ReadOnly);
    }
    OpenOptions::new().write(true).open(path)?;
    Ok(())
}
