//! Facts of one process and of its control group.

use std::path::{Path, PathBuf};
use std::time::Instant;

use host_checks::{Bounds, Cpus, Fact, Process, Quota, Thread, Throttling, Unread};

use crate::files::{self, Roots, fact};

/// Maximum number of threads that are read, so that time is left for other facts.
const THREADS_MAX: usize = 4_096;
/// Error of a read from a process or thread that has ended.
const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();

/// Reads the facts of the process `pid`, the name of a directory in `/proc`.
pub(crate) fn process(roots: &Roots, pid: &str, deadline: Instant) -> Process {
    let folder = roots.proc.join(pid);
    let status = files::read(&folder.join("status"));
    let status = |field: &str| line(&folder.join("status"), &status, field);
    let limits = files::read(&folder.join("limits"));
    let limit =
        |name: &str| line(&folder.join("limits"), &limits, name).and_then(|text| bounds(&text));
    let descriptors = files::names(&folder.join("fd")).map(|names| names.len() as u64);
    let group = files::read(&folder.join("cgroup"));
    let group = group.as_deref().map_err(|why| *why);
    Process {
        allowed: status("Cpus_allowed_list:").and_then(|text| Cpus::parse_list(&text)),
        cpuset: cpuset(roots, group),
        quota: quota(roots, group),
        throttling: throttling(roots, group),
        threads: threads(&folder.join("task"), deadline),
        seccomp: status("Seccomp:").and_then(|text| text.parse().ok()),
        seccomp_filters: status("Seccomp_filters:").and_then(|text| text.parse().ok()),
        descriptors_max: limit("Max open files"),
        descriptors: fact(
            folder.join("fd").display().to_string(),
            descriptors,
            u64::to_string,
        ),
        locked_bytes_max: limit("Max locked memory"),
    }
}

/// Returns the rest of the line that begins with `name`.
fn line(path: &Path, text: &Result<String, Unread>, name: &str) -> Fact<String> {
    let found = text.as_ref().map_err(|why| *why).and_then(|text| {
        let mut lines = text.lines();
        let rest = lines.find_map(|line| line.strip_prefix(name));
        rest.map(|rest| rest.trim().to_owned())
            .ok_or(Unread::Unsupported)
    });
    let source = format!("{} {}", path.display(), name.trim_end_matches(':'));
    fact(source, found, String::clone)
}

/// Parses the soft and the hard limit of a line of `/proc/PID/limits`.
fn bounds(text: &str) -> Option<Bounds> {
    let mut words = text.split_whitespace().map(|word| match word {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    });
    Some(Bounds {
        soft: words.next()??,
        hard: words.next()??,
    })
}

fn threads(folder: &Path, deadline: Instant) -> Fact<Vec<Thread>> {
    let threads = files::names(folder).and_then(|ids| {
        if THREADS_MAX < ids.len() {
            return Err(Unread::TimedOut);
        }
        let mut threads = Vec::with_capacity(ids.len());
        for id in ids {
            files::check(deadline)?;
            match thread(&folder.join(id)) {
                Ok(thread) => threads.push(thread),
                // The thread has ended meanwhile.
                Err(Unread::Absent | Unread::Errno(ESRCH)) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(threads)
    });
    let source = format!("{}/*/status Cpus_allowed_list", folder.display());
    fact(source, threads, |threads| {
        let cores = threads
            .iter()
            .filter(|thread| thread.name.starts_with("core-"));
        let cores = cores.map(|thread| format!("{} {}", thread.name, thread.allowed));
        format!(
            "{} threads; {}",
            threads.len(),
            cores.collect::<Vec<_>>().join(", ")
        )
    })
}

fn thread(folder: &Path) -> Result<Thread, Unread> {
    let name = files::read(&folder.join("comm"))?;
    let status = files::read(&folder.join("status"))?;
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = list.and_then(Cpus::parse_list).ok_or(Unread::Malformed)?;
    Ok(Thread { name, allowed })
}

/// Returns the directories of a process's control group for one controller, from its own to the
/// root, and whether they follow version 2 of control groups.
fn groups(
    roots: &Roots,
    group: Result<&str, Unread>,
    controller: &str,
) -> Result<(Vec<PathBuf>, bool), Unread> {
    let lines = group?.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        rest.split_once(':')
    });
    let mut found = None;
    for (controllers, path) in lines {
        if controllers.split(',').any(|name| name == controller) {
            found = Some((roots.sys.join("fs/cgroup").join(controller), path, false));
            break;
        }
        if controllers.is_empty() {
            found = Some((roots.sys.join("fs/cgroup"), path, true));
        }
    }
    let (mount, path, is_v2) = found.ok_or(Unread::Unsupported)?;
    // In a container, the path may be that of the host, which does not exist in the container. Some
    // directories are then absent.
    let relative = Path::new(path.trim_start_matches('/'));
    let folders = relative.ancestors().map(|ancestor| mount.join(ancestor));
    Ok((folders.collect(), is_v2))
}

fn cpuset(roots: &Roots, group: Result<&str, Unread>) -> Fact<Cpus> {
    let (folders, is_v2) = match groups(roots, group, "cpuset") {
        Ok(found) => found,
        Err(why) => return Fact::unknown("cpuset of the control group", why),
    };
    let name = match is_v2 {
        true => "cpuset.cpus.effective",
        false => "cpuset.effective_cpus",
    };
    let facts = folders.iter().map(|folder| files::text(&folder.join(name)));
    let known = facts.into_iter().find(|fact| fact.ok().is_some());
    let known = known.map(|fact| fact.and_then(|text| Cpus::parse_list(&text)));
    known.unwrap_or_else(|| Fact::unknown(name, Unread::Absent))
}

/// Returns the lowest quota of the control group and its parents.
fn quota(roots: &Roots, group: Result<&str, Unread>) -> Fact<Quota> {
    let (folders, is_v2) = match groups(roots, group, "cpu") {
        Ok(found) => found,
        Err(why) => return Fact::unknown("cpu.max of the control group", why),
    };
    let facts = folders.iter().map(|folder| match is_v2 {
        true => files::text(&folder.join("cpu.max")).and_then(|text| quota_v2(&text)),
        false => quota_v1(folder),
    });
    // The root group never has a quota file. If all files are absent, there is no quota; any other
    // error makes the quota unknown.
    let mut lowest: Option<Fact<Quota>> = None;
    for fact in facts {
        match &fact.value {
            Ok(_)
                if lowest
                    .as_ref()
                    .is_none_or(|so_far| share(&fact) < share(so_far)) =>
            {
                lowest = Some(fact)
            }
            Err(Unread::Absent) | Ok(_) => {}
            Err(_) => return fact,
        }
    }
    let none = Quota {
        quota_us: None,
        period_us: 100_000,
    };
    lowest.unwrap_or_else(|| {
        let folder = folders.first().expect("a path has itself as an ancestor");
        Fact::known(
            folder.display().to_string(),
            "no quota: the files cpu.max and cpu.cfs_quota_us do not exist",
            none,
        )
    })
}

/// Returns the number of processors that a quota allows; infinity without a limit.
fn share(fact: &Fact<Quota>) -> f64 {
    let quota = fact
        .ok()
        .and_then(|quota| Some(quota.quota_us? as f64 / quota.period_us as f64));
    quota.unwrap_or(f64::INFINITY)
}

/// Parses `cpu.max`, such as `150000 100000` or `max 100000`.
fn quota_v2(text: &str) -> Option<Quota> {
    let (quota, period) = text.split_once(' ')?;
    let quota_us = match quota {
        "max" => None,
        number => Some(number.parse().ok()?),
    };
    let period_us = period.parse().ok().filter(|period| 0 < *period)?;
    Some(Quota {
        quota_us,
        period_us,
    })
}

fn quota_v1(folder: &Path) -> Fact<Quota> {
    let period = files::number(&folder.join("cpu.cfs_period_us"));
    let quota = files::text(&folder.join("cpu.cfs_quota_us"));
    quota.and_then(|text| {
        let quota_us = match text.parse::<i64>().ok()? {
            -1 => None,
            number => Some(u64::try_from(number).ok()?),
        };
        let period_us = *period.ok().filter(|period| 0 < **period)?;
        Some(Quota {
            quota_us,
            period_us,
        })
    })
}

/// Returns the counts of the group or the parent that was throttled most often.
fn throttling(roots: &Roots, group: Result<&str, Unread>) -> Fact<Throttling> {
    let folders = match groups(roots, group, "cpu") {
        Ok((folders, _)) => folders,
        Err(why) => return Fact::unknown("cpu.stat of the control group", why),
    };
    let facts = folders.iter().map(|folder| {
        let stat = files::text(&folder.join("cpu.stat"));
        stat.and_then(|text| {
            let field = |name: &str| {
                text.lines()
                    .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
            };
            Some(Throttling {
                periods: field("nr_periods ")?,
                throttled: field("nr_throttled ")?,
            })
        })
    });
    let worst = facts.max_by_key(|fact| fact.ok().map(|found| found.throttled));
    worst.expect("a path has itself as an ancestor")
}
