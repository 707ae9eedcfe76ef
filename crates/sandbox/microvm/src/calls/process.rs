//! System calls on the process, time and randomness.

use super::linux::{CallResult, Linux, Next, Stop, fails};
use super::threads::MAIN;
use crate::machine::Machine;
use rustix::rand::GetRandomFlags;
use std::ops::Range;
use std::time::Duration;

/// Canonical addresses of ring 3: the lower half of the address space.
pub(super) const ADDRESSES: Range<u64> = 0..1 << 47;

pub(super) fn clock_gettime(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [clock, address, ..] = call;
    let time = time(clock)?;
    put(machine, address, &[time.tv_sec, time.tv_nsec])
}

/// Reads the clock once, before the process installs its system call filter. The first read locates
/// the vDSO, with a system call that the filter denies.
pub(crate) fn locate_clock() {
    let _now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
}

fn time(clock: u64) -> Result<rustix::time::Timespec, Stop> {
    use rustix::time::ClockId;
    let clock = match clock as i32 {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => ClockId::Realtime,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => ClockId::ProcessCPUTime,
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => ClockId::Monotonic,
        _ => return fails(libc::EINVAL),
    };
    Ok(rustix::time::clock_gettime(clock))
}

/// Returns the time of the monotonic clock, on which the deadlines of waiting threads are based.
pub(super) fn monotonic() -> Duration {
    now(rustix::time::ClockId::Monotonic)
}

pub(super) fn realtime() -> Duration {
    now(rustix::time::ClockId::Realtime)
}

fn now(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::try_from(time).expect("clocks of this host are not negative")
}

/// Reads a `timespec` from the guest's memory.
pub(super) fn time_at(machine: &Machine, address: u64) -> Result<Duration, Stop> {
    let (words, _) = machine.memory.slice(address, 16)?.as_chunks::<8>();
    let [seconds, nanos] = [words[0], words[1]].map(i64::from_le_bytes);
    match (u64::try_from(seconds), u32::try_from(nanos)) {
        (Ok(seconds), Ok(nanos @ 0..1_000_000_000)) => Ok(Duration::new(seconds, nanos)),
        _ => fails(libc::EINVAL),
    }
}

pub(super) fn clock_getres(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    match call[1] {
        0 => Ok(0),
        address => put(machine, address, &[0, 1]),
    }
}

pub(super) fn gettimeofday(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let time = time(libc::CLOCK_REALTIME as u64)?;
    put(machine, call[0], &[time.tv_sec, time.tv_nsec / 1_000])
}

/// Fills the guest's buffer with random bytes from the host. A random generator in the guest would
/// be part of the snapshot from which all jobs start, and would give all jobs the same numbers.
pub(super) fn getrandom(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [address, bytes, ..] = call;
    let buffer = machine.memory.slice_mut(address, bytes.min(1 << 20))?;
    let mut done = 0;
    while done < buffer.len() {
        done += rustix::rand::getrandom(&mut buffer[done..], GetRandomFlags::empty())?;
    }
    Ok(done as u64)
}

pub(super) fn arch_prctl(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    const SET_GS: u64 = 0x1001;
    const SET_FS: u64 = 0x1002;
    const GET_FS: u64 = 0x1003;
    let [code, address, ..] = call;
    let cannot = |_| Stop::Errno(libc::EPERM);
    if code == GET_FS {
        let base = machine.fs_base().map_err(cannot)?;
        return put(machine, address, &[base as i64]);
    }
    if !ADDRESSES.contains(&address) {
        return fails(libc::EPERM);
    }
    match code {
        SET_FS => machine.set_fs_base(address).map_err(cannot)?,
        SET_GS => machine.set_gs_base(address).map_err(cannot)?,
        _ => return fails(libc::EINVAL),
    }
    Ok(0)
}

/// Ignores the new signal action, because no signal is ever delivered to a guest.
pub(super) fn rt_sigaction(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    forget(machine, call[2], 32)
}

pub(super) fn rt_sigprocmask(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    forget(machine, call[2], call[3].min(128))
}

pub(super) fn sigaltstack(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    const DISABLED: i64 = 2;
    match call[1] {
        0 => Ok(0),
        address => put(machine, address, &[0, DISABLED, 0]),
    }
}

fn forget(machine: &mut Machine, old: u64, bytes: u64) -> CallResult {
    if old != 0 {
        machine.memory.slice_mut(old, bytes)?.fill(0);
    }
    Ok(0)
}

pub(super) fn prlimit(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    const STACK_BYTES: i64 = 8 << 20;
    const NO_LIMIT: i64 = -1;
    let [_, resource, new, old, ..] = call;
    if new != 0 {
        return fails(libc::EPERM);
    }
    let limit = match resource as u32 {
        libc::RLIMIT_STACK => STACK_BYTES,
        libc::RLIMIT_NOFILE => linux.descriptors_max(),
        libc::RLIMIT_CORE | libc::RLIMIT_NPROC => 0,
        _ => NO_LIMIT,
    };
    match old {
        0 => Ok(0),
        old => put(machine, old, &[limit, limit]),
    }
}

/// Reports that the guest has one CPU.
pub(super) fn sched_getaffinity(
    _: &mut Linux,
    machine: &mut Machine,
    call: [u64; 6],
) -> CallResult {
    let [_, bytes, address, ..] = call;
    if bytes < 8 {
        return fails(libc::EINVAL);
    }
    put(machine, address, &[1])?;
    Ok(8)
}

/// Reports the memory limit of the job as the size of the guest's memory.
pub(super) fn sysinfo(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let memory = linux.space.bytes_max() as i64;
    // Fields: uptime, three load averages, total and free memory, seven more numbers, and the unit
    // of the sizes.
    let mut words = [0; 14];
    (words[4], words[5], words[13]) = (memory, memory, 1);
    put(machine, call[0], &words)
}

pub(super) fn uname(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    const FIELD_BYTES: usize = 65;
    let fields = ["Linux", "cell", "6.1.0", "pelton", "x86_64", "(none)"];
    let place = machine.memory.slice_mut(call[0], 6 * FIELD_BYTES as u64)?;
    place.fill(0);
    for (place, field) in place.chunks_mut(FIELD_BYTES).zip(fields) {
        place[..field.len()].copy_from_slice(field.as_bytes());
    }
    Ok(0)
}

pub(super) fn exit(_: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    Err(Stop::Next(Next::Exited(call[0] as i32 & 0xff)))
}

pub(super) fn kill(_: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    signalled(call[0] == MAIN, call[1])
}

pub(super) fn tkill(linux: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    signalled(linux.threads.knows(call[0]), call[1])
}

pub(super) fn tgkill(linux: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    signalled(call[0] == MAIN && linux.threads.knows(call[1]), call[2])
}

/// Implements a signal that a program sends to itself. A signal that Linux ignores by default has
/// no effect. Any other signal ends the program, as `abort` expects. Go's runtime sends an ignored
/// signal to interrupt a thread; the end of the thread's time slice also interrupts the thread.
fn signalled(is_there: bool, signal: u64) -> CallResult {
    const HARMLESS: [i32; 4] = [libc::SIGURG, libc::SIGCHLD, libc::SIGWINCH, libc::SIGCONT];
    match signal {
        _ if !is_there => fails(libc::ESRCH),
        0 => Ok(0),
        signal if HARMLESS.contains(&(signal as i32)) => Ok(0),
        signal => Err(Stop::Next(Next::Died(format!("died by signal {signal}")))),
    }
}

fn put(machine: &mut Machine, address: u64, words: &[i64]) -> CallResult {
    let place = machine.memory.slice_mut(address, 8 * words.len() as u64)?;
    for (place, word) in place.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    Ok(0)
}
