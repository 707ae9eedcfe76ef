//! Facts of the kernel, the processors and the memory.

use std::path::Path;
use std::time::Instant;

use host_checks::{Cpus, Fact, Kernel, Memory, Processors, Release, Unread};

use crate::files::{self, Roots, fact};

/// Maximum number of processes whose names are read, so that time is left for other facts.
const PROCESSES_MAX: usize = 8_192;

/// Reads the facts of the kernel, except the audit, which needs netlink.
pub(crate) fn kernel(roots: &Roots, deadline: Instant) -> Kernel {
    let clock = "devices/system/clocksource/clocksource0/current_clocksource";
    let release = files::text(&roots.proc.join("sys/kernel/osrelease"));
    Kernel {
        release: release.and_then(|text| Release::parse(&text)),
        arguments: files::text(&roots.proc.join("cmdline")),
        vulnerabilities: vulnerabilities(&roots.sys.join("devices/system/cpu/vulnerabilities")),
        clock_source: files::text(&roots.sys.join(clock)),
        audit: Fact::default(),
        has_irqbalance: runs(&roots.proc, "irqbalance", deadline),
    }
}

fn vulnerabilities(folder: &Path) -> Fact<Vec<(String, String)>> {
    let states = files::names(folder).and_then(|names| {
        let rows = names.into_iter().map(|name| {
            let state = files::read(&folder.join(&name))?;
            Ok((name, state))
        });
        rows.collect::<Result<Vec<_>, _>>()
    });
    let source = format!("{}/*", folder.display());
    fact(source, states, |rows| {
        let rows = rows.iter().filter(|(_, state)| state != "Not affected");
        let rows = rows.map(|(name, state)| format!("{name}: {state}"));
        rows.collect::<Vec<_>>().join("; ")
    })
}

/// Returns whether a process with this name runs. On a host with too many processes to read them
/// all in time, only a process that was found is known.
fn runs(proc: &Path, name: &str, deadline: Instant) -> Fact<bool> {
    let found = files::numbers(proc, "").and_then(|pids| {
        let is_cut = PROCESSES_MAX < pids.len();
        for pid in pids.into_iter().take(PROCESSES_MAX) {
            files::check(deadline)?;
            if files::read(&proc.join(format!("{pid}/comm"))).as_deref() == Ok(name) {
                return Ok(true);
            }
        }
        match is_cut {
            true => Err(Unread::TimedOut),
            false => Ok(false),
        }
    });
    let source = format!("{}/*/comm", proc.display());
    fact(source, found, |runs| match runs {
        true => format!("{name} is running"),
        false => format!("{name} is not running"),
    })
}

/// Reads the facts of the processors.
pub(crate) fn processors(roots: &Roots) -> Processors {
    let folder = roots.sys.join("devices/system/cpu");
    let online = files::text(&folder.join("online")).and_then(|text| Cpus::parse_list(&text));
    let of_each = |name: &str| -> Result<Vec<String>, Unread> {
        let cpus = online.value.as_ref().map_err(|why| *why)?;
        let texts = cpus
            .iter()
            .map(|cpu| files::read(&folder.join(format!("cpu{cpu}/{name}"))));
        let mut texts = texts.collect::<Result<Vec<_>, _>>()?;
        texts.sort_unstable();
        texts.dedup();
        Ok(texts)
    };
    let siblings = of_each("topology/thread_siblings_list").and_then(|lists| {
        let groups = lists
            .iter()
            .map(|list| Cpus::parse_list(list).ok_or(Unread::Malformed));
        groups.collect::<Result<Vec<_>, _>>()
    });
    let source = |name: &str| format!("{}/cpu*/{name}", folder.display());
    Processors {
        siblings: fact(
            source("topology/thread_siblings_list"),
            siblings,
            |groups| joined(groups),
        ),
        governors: fact(
            source("cpufreq/scaling_governor"),
            of_each("cpufreq/scaling_governor"),
            |names| names.join(" "),
        ),
        frequency_driver: files::text(&folder.join("cpu0/cpufreq/scaling_driver")),
        online,
    }
}

/// Reads the facts of the memory.
pub(crate) fn memory(roots: &Roots) -> Memory {
    let mode = files::text(&roots.sys.join("kernel/mm/transparent_hugepage/enabled"));
    let folder = roots.sys.join("devices/system/node");
    let nodes = files::numbers(&folder, "node").and_then(|numbers| {
        let lists = numbers.iter().map(|number| {
            let list = files::read(&folder.join(format!("node{number}/cpulist")))?;
            Cpus::parse_list(&list).ok_or(Unread::Malformed)
        });
        lists.collect::<Result<Vec<_>, _>>()
    });
    let source = format!("{}/node*/cpulist", folder.display());
    Memory {
        huge_pages: mode.and_then(|text| selected(&text)),
        nodes: fact(source, nodes, |nodes| joined(nodes)),
    }
}

/// Returns the word in brackets: `madvise` of `always [madvise] never`.
fn selected(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

pub(crate) fn joined(sets: &[Cpus]) -> String {
    let sets = sets.iter().map(Cpus::to_string);
    sets.collect::<Vec<_>>().join(" ")
}
