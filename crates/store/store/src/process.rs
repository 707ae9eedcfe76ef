//! What the kernel knows of this process.

use std::fs;

use crate::command::REDIS_VERSION;

/// What `redis-server --version` would say: the version of Redis that this is like, and ours.
pub fn version() -> String {
    format!(
        "Pelton store v={REDIS_VERSION} pelton={} bits={}",
        env!("CARGO_PKG_VERSION"),
        usize::BITS
    )
}

/// The operating system, as `uname` says.
pub(crate) fn system() -> String {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    format!(
        "{} {} {}",
        text(name.sysname()),
        text(name.release()),
        text(name.machine())
    )
}

/// Memory that the process holds; 0 where `/proc` does not say.
pub(crate) fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|line| line.split(' ').nth(1)?.parse::<u64>().ok());
    pages.map_or(0, |pages| pages * rustix::param::page_size() as u64)
}

/// Memory that the host has.
pub(crate) fn system_memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram as u64 * u64::from(info.mem_unit)
}

/// Seconds of processor time in user and in system mode; 0 where `/proc` does not say.
pub(crate) fn cpu_seconds() -> (f64, f64) {
    cpu_seconds_of("/proc/self/stat")
}

/// The same of the calling thread alone.
pub(crate) fn thread_cpu_seconds() -> (f64, f64) {
    cpu_seconds_of("/proc/thread-self/stat")
}

fn cpu_seconds_of(stat: &str) -> (f64, f64) {
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    let stat = fs::read_to_string(stat).ok();
    let ticks = stat.and_then(|line| {
        // The second field is a name in parentheses, which may hold anything.
        let (_, rest) = line.rsplit_once(") ")?;
        let mut fields = rest.split(' ').skip(11);
        let mut next = || fields.next()?.parse::<f64>().ok();
        Some((next()?, next()?))
    });
    ticks.map_or((0.0, 0.0), |(user, system)| {
        (user / per_second, system / per_second)
    })
}
