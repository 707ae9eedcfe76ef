//! Threads of a program. A guest has one CPU, so one thread runs at a time, and the others wait in
//! a queue.
//!
//! ```text
//! running ── waits for a time, a futex, an event ─► queue ── ready, and first ─► running
//!    └────── its slice is over ───────────────────►
//! ```
//!
//! A thread gives up the CPU by a system call that waits, or at the end of its time slice if
//! another thread can run. If no thread can run, the host process waits until one can. If all
//! threads wait for each other without timeouts, the guest ends.

use super::linux::{CallResult, Linux, Next, Stop, fails};
use super::process;
use crate::machine::{Machine, Parked};
use crate::slices;
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum number of concurrent threads of a guest. For each thread, the host process keeps the
/// state of a CPU, about 5 KB.
pub const THREADS_MAX: usize = 64;

/// Flags of `clone` that are required for a new thread: the thread shares memory, open files and
/// signal handlers with the thread that creates it.
const SHARED: u64 = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_SYSVSEM
    | libc::CLONE_THREAD) as u64;
/// Flags of `clone` that are optional for a new thread. CLONE_DETACHED has had no effect since
/// Linux 2.6, but libraries still set it.
const OPTIONAL: u64 = (libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_SETTID
    | libc::CLONE_CHILD_CLEARTID
    | libc::CLONE_DETACHED) as u64;

/// Id of the first thread, which is also the process's id.
pub(super) const MAIN: u64 = 1;

#[derive(Clone)]
pub(super) struct Threads {
    /// Running thread; the machine holds its CPU state.
    running: Thread,
    /// Queued threads, the next one first.
    queue: VecDeque<(Thread, Box<Parked>)>,
    ids: u64,
}

#[derive(Clone)]
struct Thread {
    id: u64,
    /// Address of a word in the guest's memory, or 0. When the thread ends, this word is set to 0,
    /// and one thread that waits for the word in `futex` is woken.
    clear_at: u64,
    wait: Wait,
}

/// Event for which a thread waits in a system call, and the values that determine the result of
/// this call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Waits only for the CPU. The thread's system call then returns `result`.
    Turn { result: i64 },
    /// Waits for a time of the monotonic clock.
    Time { until: Duration },
    /// Waits for a wake-up of the futex word at `address` with at least one bit of `bits`.
    Futex {
        address: u64,
        bits: u32,
        until: Option<Duration>,
    },
    /// Waits for events of the epoll instance `descriptor`. `place` consists of the address of a
    /// buffer for the events and the maximum number of events.
    Events {
        descriptor: u64,
        place: (u64, u64),
        until: Option<Duration>,
    },
}

impl Wait {
    fn until(&self) -> Option<Duration> {
        match self {
            Wait::Turn { .. } => None,
            Wait::Time { until } => Some(*until),
            Wait::Futex { until, .. } | Wait::Events { until, .. } => *until,
        }
    }
}

impl Threads {
    pub(super) fn new() -> Threads {
        Threads {
            running: Thread {
                id: MAIN,
                clear_at: 0,
                wait: Wait::Turn { result: 0 },
            },
            queue: VecDeque::new(),
            ids: MAIN,
        }
    }

    /// Returns whether there are threads besides the running one.
    pub(super) fn has_several(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(super) fn running_id(&self) -> u64 {
        self.running.id
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.running.id == id || self.queue.iter().any(|(thread, _)| thread.id == id)
    }

    /// Wakes at most `count` threads that wait for the futex word at `address`, and returns the
    /// number of threads woken.
    fn wake(&mut self, address: u64, count: u64, bits: u32) -> u64 {
        let mut woken = 0;
        for (thread, _) in &mut self.queue {
            if woken == count {
                break;
            }
            match thread.wait {
                Wait::Futex {
                    address: of,
                    bits: mask,
                    ..
                } if of == address && mask & bits != 0 => {
                    thread.wait = Wait::Turn { result: 0 };
                    woken += 1;
                }
                _ => {}
            }
        }
        woken
    }
}

impl Linux {
    /// Makes the current system call wait: another thread runs, or the host process waits.
    pub(super) fn wait(&mut self, machine: &mut Machine, wait: Wait) -> Result<Next, String> {
        self.threads.running.wait = wait;
        if !self.threads.has_several() {
            return self.wait_alone(machine);
        }
        self.enqueue(machine, true)?;
        self.next_thread(machine)
    }

    /// Waits in a guest with a single thread, without queueing the thread or saving its CPU state.
    fn wait_alone(&mut self, machine: &mut Machine) -> Result<Next, String> {
        loop {
            let wait = self.threads.running.wait;
            if let Some(result) = self.result_of(machine, wait) {
                machine.answer(result)?;
                return Ok(Next::Go);
            }
            if let Some(end) = self.pass_time(wait.until()) {
                return Ok(end);
            }
        }
    }

    /// Ends the running thread's slice. The thread continues if no other can run.
    pub(crate) fn slice_over(&mut self, machine: &mut Machine) -> Result<Next, String> {
        let queue = 0..self.threads.queue.len();
        let waits = queue.map(|index| self.threads.queue[index].0.wait);
        let waits: Vec<Wait> = waits.collect();
        let ready = waits.into_iter().any(|wait| self.is_ready(wait));
        if !ready || !machine.is_in_program()? {
            return Ok(Next::Go);
        }
        self.threads.running.wait = Wait::Turn { result: 0 };
        self.enqueue(machine, false)?;
        self.next_thread(machine)
    }

    fn enqueue(&mut self, machine: &mut Machine, at_call: bool) -> Result<(), String> {
        let parked = Box::new(machine.park(at_call)?);
        let thread = self.threads.running.clone();
        self.threads.queue.push_back((thread, parked));
        Ok(())
    }

    /// Gives the CPU to the first queued thread that can run, waiting until there is one.
    fn next_thread(&mut self, machine: &mut Machine) -> Result<Next, String> {
        loop {
            for index in 0..self.threads.queue.len() {
                let wait = self.threads.queue[index].0.wait;
                if let Some(result) = self.result_of(machine, wait) {
                    let (thread, parked) = self.threads.queue.remove(index).expect("in range");
                    machine.unpark(&parked, result)?;
                    self.threads.running = thread;
                    return Ok(Next::Go);
                }
            }
            let untils = self.threads.queue.iter();
            let until = untils.filter_map(|(thread, _)| thread.wait.until()).min();
            if let Some(end) = self.pass_time(until) {
                return Ok(end);
            }
        }
    }

    /// Waits until the time `until`. If `until` is `None`, no thread can ever run again, so the
    /// function returns [`Next::Died`], which ends the guest.
    fn pass_time(&mut self, until: Option<Duration>) -> Option<Next> {
        let Some(until) = until else {
            let why = "died of a deadlock: every thread waits for another thread";
            return Some(Next::Died(why.to_owned()));
        };
        let left = until.saturating_sub(process::monotonic());
        slices::sleep(left, self.server);
        None
    }

    /// Returns the result of the system call that waits for `wait`, or `None` if that wait is not
    /// over.
    fn result_of(&mut self, machine: &mut Machine, wait: Wait) -> Option<i64> {
        if !self.is_ready(wait) {
            return None;
        }
        Some(match wait {
            Wait::Turn { result } => result,
            Wait::Time { .. } => 0,
            Wait::Futex { .. } => -i64::from(libc::ETIMEDOUT),
            Wait::Events {
                descriptor, place, ..
            } => match self.put_events(machine, descriptor, place) {
                Ok(count) => count as i64,
                Err(Stop::Errno(errno)) => -i64::from(errno),
                Err(_) => unreachable!("`put_events` fails only with an errno"),
            },
        })
    }

    fn is_ready(&self, wait: Wait) -> bool {
        let over =
            |until: Option<Duration>| until.is_some_and(|until| until <= process::monotonic());
        match wait {
            Wait::Turn { .. } => true,
            Wait::Time { until } => over(Some(until)),
            // `Threads::wake` replaces the wait of a woken thread by a `Wait::Turn`. So a thread
            // that still has this wait can only time out.
            Wait::Futex { until, .. } => over(until),
            Wait::Events {
                descriptor, until, ..
            } => self.has_events(descriptor) || over(until),
        }
    }
}

/// Creates a thread. Fails as an unimplemented call would if the flags request a new process, or if
/// a flag is unknown.
pub(super) fn clone(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [flags, stack, parent_id_at, child_id_at, tls, _] = call;
    let has = |flag: i32| flags & flag as u64 != 0;
    if flags & SHARED != SHARED || flags & !(SHARED | OPTIONAL) != 0 {
        linux.refuse(libc::SYS_clone as u64);
        return fails(libc::ENOSYS);
    }
    if THREADS_MAX <= linux.threads.queue.len() + 1 {
        return fails(libc::EAGAIN);
    }
    // `stack` is the end of the thread's stack, so at least the word below it must be writable.
    machine.memory.slice_mut(stack.wrapping_sub(8), 8)?;
    let tls = has(libc::CLONE_SETTLS).then_some(tls);
    if tls.is_some_and(|tls| !process::ADDRESSES.contains(&tls)) {
        return fails(libc::EPERM);
    }
    let id = linux.threads.ids + 1;
    for (asked, place) in [
        (libc::CLONE_PARENT_SETTID, parent_id_at),
        (libc::CLONE_CHILD_SETTID, child_id_at),
    ] {
        if has(asked) {
            let place = machine.memory.slice_mut(place, 4)?;
            place.copy_from_slice(&(id as u32).to_le_bytes());
        }
    }
    let parked = machine
        .fork(stack, tls)
        .map_err(|_| Stop::Errno(libc::EAGAIN))?;
    linux.threads.ids = id;
    let thread = Thread {
        id,
        clear_at: if has(libc::CLONE_CHILD_CLEARTID) {
            child_id_at
        } else {
            0
        },
        wait: Wait::Turn { result: 0 },
    };
    linux.threads.queue.push_back((thread, Box::new(parked)));
    slices::begin();
    Ok(id)
}

/// Ends a thread. The end of the last thread ends the guest.
pub(super) fn exit(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let clear_at = linux.threads.running.clear_at;
    if clear_at != 0
        && let Ok(word) = machine.memory.slice_mut(clear_at, 4)
    {
        word.fill(0);
        linux.threads.wake(clear_at, 1, u32::MAX);
    }
    if !linux.threads.has_several() {
        return process::exit(linux, machine, call);
    }
    let next = linux
        .next_thread(machine)
        .map_err(|_| Stop::Errno(libc::EAGAIN))?;
    if !linux.threads.has_several() {
        slices::end();
    }
    Err(Stop::Next(next))
}

pub(super) fn gettid(linux: &mut Linux, _: &mut Machine, _: [u64; 6]) -> CallResult {
    Ok(linux.threads.running_id())
}

pub(super) fn set_tid_address(linux: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    linux.threads.running.clear_at = call[0];
    Ok(linux.threads.running_id())
}

pub(super) fn sched_yield(linux: &mut Linux, _: &mut Machine, _: [u64; 6]) -> CallResult {
    match linux.threads.has_several() {
        true => Err(Stop::Wait(Wait::Turn { result: 0 })),
        false => Ok(0),
    }
}

/// Implements `futex`. `Linux::wait` detects a deadlock, in which all threads wait without a
/// timeout, and ends the guest.
pub(super) fn futex(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [address, operation, value, timeout, _, bits] = call;
    let operation = operation as i32;
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let bits = match command {
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET => bits as u32,
        _ => u32::MAX,
    };
    if bits == 0 {
        return fails(libc::EINVAL);
    }
    match command {
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            Ok(linux.threads.wake(address, u64::from(value as u32), bits))
        }
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            let word = machine.memory.slice(address, 4)?;
            let word = u32::from_le_bytes(word.try_into().expect("the slice has four bytes"));
            if word != value as u32 {
                return fails(libc::EAGAIN);
            }
            let until = match timeout {
                0 => None,
                place => {
                    let time = process::time_at(machine, place)?;
                    Some(match command {
                        libc::FUTEX_WAIT => process::monotonic().saturating_add(time),
                        _ if operation & libc::FUTEX_CLOCK_REALTIME != 0 => process::monotonic()
                            .saturating_add(time.saturating_sub(process::realtime())),
                        _ => time,
                    })
                }
            };
            Err(Stop::Wait(Wait::Futex {
                address,
                bits,
                until,
            }))
        }
        _ => fails(libc::ENOSYS),
    }
}

pub(super) fn nanosleep(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let time = process::time_at(machine, call[0])?;
    let until = process::monotonic().saturating_add(time);
    Err(Stop::Wait(Wait::Time { until }))
}

pub(super) fn clock_nanosleep(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [clock, flags, place, ..] = call;
    let time = process::time_at(machine, place)?;
    let now = match clock as i32 {
        libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME => process::monotonic(),
        libc::CLOCK_REALTIME => process::realtime(),
        _ => return fails(libc::EINVAL),
    };
    let left = match flags as i32 {
        libc::TIMER_ABSTIME => time.saturating_sub(now),
        _ => time,
    };
    let until = process::monotonic().saturating_add(left);
    Err(Stop::Wait(Wait::Time { until }))
}
