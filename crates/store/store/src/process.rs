//! Properties of this process and its host, as reported by the kernel.

use std::fs;

/// The version of Redis that this server emulates. Clients infer the available commands from it.
pub(crate) const REDIS_VERSION: &str = "7.2.4";
/// The server's name in HELLO.
pub(crate) const SERVER_NAME: &str = "pelton";

/// Returns the version text, in the form of `redis-server --version`: the version of Redis that is
/// emulated, and the version of Pelton.
pub fn version() -> String {
    format!(
        "Pelton store v={REDIS_VERSION} pelton={} bits={}",
        env!("CARGO_PKG_VERSION"),
        usize::BITS
    )
}

/// Returns the operating system, as `uname` reports it.
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

/// Returns the resident memory of the process in bytes; 0 if `/proc` is unavailable.
pub(crate) fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|line| line.split(' ').nth(1)?.parse::<u64>().ok());
    pages.map_or(0, |pages| pages * rustix::param::page_size() as u64)
}

/// Returns the size of the host's memory in bytes.
pub(crate) fn system_memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    info.totalram as u64 * u64::from(info.mem_unit)
}

/// Returns the CPU time that the process has used in user mode and in system mode, in seconds; 0 if
/// `/proc` is unavailable.
pub(crate) fn cpu_seconds() -> (f64, f64) {
    cpu_seconds_of("/proc/self/stat")
}

/// Returns the CPU time that the calling thread has used in user mode and in system mode, in
/// seconds; 0 if `/proc` is unavailable.
pub(crate) fn thread_cpu_seconds() -> (f64, f64) {
    cpu_seconds_of("/proc/thread-self/stat")
}

fn cpu_seconds_of(stat: &str) -> (f64, f64) {
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    let stat = fs::read_to_string(stat).ok();
    let ticks = stat.and_then(|line| {
        // The second field is a name in parentheses. The name may contain any character, so the
        // other fields are counted from the last closing parenthesis.
        let (_, rest) = line.rsplit_once(") ")?;
        let mut fields = rest.split(' ').skip(11);
        let mut next = || fields.next()?.parse::<f64>().ok();
        Some((next()?, next()?))
    });
    ticks.map_or((0.0, 0.0), |(user, system)| {
        (user / per_second, system / per_second)
    })
}
