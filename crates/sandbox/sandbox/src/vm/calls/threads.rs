//! Threads of a program: one CPU, on which one runs at a time and the others stand in line.
//!
//! ```text
//! running ── waits for a time, a futex, an event ─► line ── ready, and first ─► running
//!    └────── its slice is over ───────────────────►
//! ```
//!
//! A thread gives the CPU up by a call that waits, or when its slice is over while another could run. When none can, this
//! process sleeps until one can; when none ever will, the guest has ended.

use super::{Answer, Linux, Next, Stop, fails, process};
use crate::vm::machine::{Machine, Parked};
use crate::vm::slices;
use std::collections::VecDeque;
use std::time::Duration;

/// Most threads of a guest at one time; each costs its helper the state of a CPU, some 5 KB.
pub(crate) const THREADS_MAX: usize = 64;

/// What a thread shares with the one that made it, always.
const SHARED: u64 = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_SYSVSEM
    | libc::CLONE_THREAD) as u64;
/// What else it may be made with. CLONE_DETACHED means nothing since Linux 2.6, and is still set.
const OPTIONAL: u64 = (libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_SETTID
    | libc::CLONE_CHILD_CLEARTID
    | libc::CLONE_DETACHED) as u64;

/// The first thread, which has the process's id.
pub(super) const MAIN: u64 = 1;

/// All threads of a guest.
#[derive(Clone)]
pub(super) struct Threads {
    /// Its state is the machine's.
    running: Thread,
    /// In line, the next first.
    line: VecDeque<(Thread, Box<Parked>)>,
    ids: u64,
}

#[derive(Clone)]
struct Thread {
    id: u64,
    /// Where to write 0, and whom to wake, when it ends; 0 for nowhere.
    clear_at: u64,
    wait: Wait,
}

/// What a thread waits for; what its call returns when that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// For its turn only.
    Turn { result: i64 },
    /// For a time of the monotonic clock.
    Time { until: Duration },
    /// For a wake of this word by one of these bits.
    Futex {
        address: u64,
        bits: u32,
        until: Option<Duration>,
    },
    /// For what this descriptor watches: so many events, to this place.
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
            line: VecDeque::new(),
            ids: MAIN,
        }
    }

    /// Whether there is another than the one that runs.
    pub(super) fn are_several(&self) -> bool {
        !self.line.is_empty()
    }

    pub(super) fn running_id(&self) -> u64 {
        self.running.id
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.running.id == id || self.line.iter().any(|(thread, _)| thread.id == id)
    }

    /// Wakes those that wait for the word at `address`, so many at most; how many there were.
    fn wake(&mut self, address: u64, count: u64, bits: u32) -> u64 {
        let mut woken = 0;
        for (thread, _) in &mut self.line {
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
    /// The present call waits: another thread has its turn, or time passes.
    pub(super) fn wait(&mut self, machine: &mut Machine, wait: Wait) -> Result<Next, String> {
        self.threads.running.wait = wait;
        if !self.threads.are_several() {
            return self.wait_alone(machine);
        }
        self.stand_in_line(machine, true)?;
        self.next_thread(machine)
    }

    /// One thread needs no line, and nothing of its CPU to be kept.
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

    /// The running thread's slice is over. It goes on where no other can.
    pub(crate) fn slice_over(&mut self, machine: &mut Machine) -> Result<Next, String> {
        let line = 0..self.threads.line.len();
        let waits = line.map(|index| self.threads.line[index].0.wait);
        let waits: Vec<Wait> = waits.collect();
        let ready = waits.into_iter().any(|wait| self.is_ready(wait));
        if !ready || !machine.is_in_program()? {
            return Ok(Next::Go);
        }
        self.threads.running.wait = Wait::Turn { result: 0 };
        self.stand_in_line(machine, false)?;
        self.next_thread(machine)
    }

    fn stand_in_line(&mut self, machine: &mut Machine, at_call: bool) -> Result<(), String> {
        let parked = Box::new(machine.park(at_call)?);
        let thread = self.threads.running.clone();
        self.threads.line.push_back((thread, parked));
        Ok(())
    }

    /// The CPU is free: for the first in line that can run.
    fn next_thread(&mut self, machine: &mut Machine) -> Result<Next, String> {
        loop {
            for index in 0..self.threads.line.len() {
                let wait = self.threads.line[index].0.wait;
                if let Some(result) = self.result_of(machine, wait) {
                    let (thread, parked) = self.threads.line.remove(index).expect("in range");
                    machine.unpark(&parked, result)?;
                    self.threads.running = thread;
                    return Ok(Next::Go);
                }
            }
            let untils = self.threads.line.iter();
            let until = untils.filter_map(|(thread, _)| thread.wait.until()).min();
            if let Some(end) = self.pass_time(until) {
                return Ok(end);
            }
        }
    }

    /// Sleeps until then. The guest's end, where there is no such time.
    fn pass_time(&mut self, until: Option<Duration>) -> Option<Next> {
        let Some(until) = until else {
            let why = "waiting for a thread that waits, too";
            return Some(Next::Died(why.to_owned()));
        };
        let left = until.saturating_sub(process::monotonic());
        slices::sleep(left, self.server);
        None
    }

    /// What a call returns that waited so, if it has waited enough.
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
                Err(_) => unreachable!("events are written or not"),
            },
        })
    }

    fn is_ready(&self, wait: Wait) -> bool {
        let over =
            |until: Option<Duration>| until.is_some_and(|until| until <= process::monotonic());
        match wait {
            Wait::Turn { .. } => true,
            Wait::Time { until } => over(Some(until)),
            // Who was woken waits for its turn.
            Wait::Futex { until, .. } => over(until),
            Wait::Events {
                descriptor, until, ..
            } => self.has_events(descriptor) || over(until),
        }
    }
}

/// A thread, and no process: anything else is a call that a guest does not have.
pub(super) fn clone(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> Answer {
    let [flags, stack, parent_id_at, child_id_at, tls, _] = call;
    let has = |flag: i32| flags & flag as u64 != 0;
    if flags & SHARED != SHARED || flags & !(SHARED | OPTIONAL) != 0 {
        linux.refuse(libc::SYS_clone as u64);
        return fails(libc::ENOSYS);
    }
    if THREADS_MAX <= linux.threads.line.len() + 1 {
        return fails(libc::EAGAIN);
    }
    // A stack ends within memory: below its end there is a word at least.
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
    linux.threads.line.push_back((thread, Box::new(parked)));
    slices::begin();
    Ok(id)
}

/// The end of a thread, and with the last one of the guest.
pub(super) fn exit(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> Answer {
    let clear_at = linux.threads.running.clear_at;
    if clear_at != 0
        && let Ok(word) = machine.memory.slice_mut(clear_at, 4)
    {
        word.fill(0);
        linux.threads.wake(clear_at, 1, u32::MAX);
    }
    if !linux.threads.are_several() {
        return process::exit(linux, machine, call);
    }
    let next = linux
        .next_thread(machine)
        .map_err(|_| Stop::Errno(libc::EAGAIN))?;
    if !linux.threads.are_several() {
        slices::end();
    }
    Err(Stop::Next(next))
}

pub(super) fn gettid(linux: &mut Linux, _: &mut Machine, _: [u64; 6]) -> Answer {
    Ok(linux.threads.running_id())
}

pub(super) fn set_tid_address(linux: &mut Linux, _: &mut Machine, call: [u64; 6]) -> Answer {
    linux.threads.running.clear_at = call[0];
    Ok(linux.threads.running_id())
}

pub(super) fn sched_yield(linux: &mut Linux, _: &mut Machine, _: [u64; 6]) -> Answer {
    match linux.threads.are_several() {
        true => Err(Stop::Wait(Wait::Turn { result: 0 })),
        false => Ok(0),
    }
}

/// Who waits without an end where nobody can wake has ended; `Linux::wait` finds that out.
pub(super) fn futex(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> Answer {
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
            let word = u32::from_le_bytes(word.try_into().expect("four bytes were asked for"));
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

pub(super) fn nanosleep(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> Answer {
    let time = process::time_at(machine, call[0])?;
    let until = process::monotonic().saturating_add(time);
    Err(Stop::Wait(Wait::Time { until }))
}

pub(super) fn clock_nanosleep(_: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> Answer {
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
