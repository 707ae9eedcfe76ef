//! Events between threads, for runtimes that wait for descriptors: an eventfd, and an epoll
//! instance that watches it. All other objects are always ready and cannot be watched, like files
//! on Linux.

use super::linux::{CallResult, DESCRIPTORS_MAX, Linux, Open, Stop, fails};
use super::process;
use super::threads::Wait;
use crate::machine::Machine;
use std::time::Duration;

/// Size of one event of epoll_wait(2) in the guest's memory: a mask of 4 bytes and a word of 8
/// bytes, without padding.
const EVENT_BYTES: u64 = 12;

/// A descriptor that an epoll instance watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watched {
    by: u64,
    descriptor: u64,
    mask: u32,
    data: u64,
}

pub(super) fn eventfd(linux: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    let count = u64::from(call[0] as u32);
    linux.put(Open::Event { count })
}

pub(super) fn epoll_create(linux: &mut Linux, _: &mut Machine, _: [u64; 6]) -> CallResult {
    linux.put(Open::Poll)
}

pub(super) fn epoll_ctl(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [by, operation, descriptor, event, ..] = call;
    let (Open::Poll, open) = (linux.open(by)?, linux.open(descriptor)?) else {
        return fails(libc::EINVAL);
    };
    let Open::Event { .. } = open else {
        return fails(libc::EPERM);
    };
    let known = linux
        .watched
        .iter()
        .position(|watched| (watched.by, watched.descriptor) == (by, descriptor));
    match (operation as i32, known) {
        (libc::EPOLL_CTL_DEL, Some(index)) => {
            linux.watched.remove(index);
            return Ok(0);
        }
        (libc::EPOLL_CTL_MOD, Some(index)) => {
            linux.watched.remove(index);
        }
        (libc::EPOLL_CTL_ADD, None) => {}
        (libc::EPOLL_CTL_ADD, Some(_)) => return fails(libc::EEXIST),
        (libc::EPOLL_CTL_DEL | libc::EPOLL_CTL_MOD, None) => return fails(libc::ENOENT),
        _ => return fails(libc::EINVAL),
    }
    if DESCRIPTORS_MAX <= linux.watched.len() {
        return fails(libc::ENOSPC);
    }
    let event = machine.memory.slice(event, EVENT_BYTES)?;
    let (mask, data) = event
        .split_first_chunk()
        .expect("the slice has twelve bytes");
    linux.watched.push(Watched {
        by,
        descriptor,
        mask: u32::from_le_bytes(*mask),
        data: u64::from_le_bytes(data.try_into().expect("eight of the twelve bytes are left")),
    });
    Ok(0)
}

pub(super) fn epoll_wait(linux: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    let [descriptor, address, count, timeout_ms, ..] = call;
    let (Open::Poll, 1..) = (linux.open(descriptor)?, count as i32) else {
        return fails(libc::EINVAL);
    };
    let until = match timeout_ms as i32 {
        0.. => {
            let time = Duration::from_millis(u64::from(timeout_ms as u32));
            Some(process::monotonic().saturating_add(time))
        }
        _ => None,
    };
    Err(Stop::Wait(Wait::Events {
        descriptor,
        place: (address, count),
        until,
    }))
}

impl Linux {
    /// Returns the ready descriptors that the epoll instance `by` watches.
    fn events(&self, by: u64) -> impl Iterator<Item = &Watched> {
        self.watched.iter().filter(move |watched| {
            let open = self.open(watched.descriptor);
            let happened = matches!(open, Ok(Open::Event { count: 1.. }));
            watched.by == by && happened && watched.mask & libc::EPOLLIN as u32 != 0
        })
    }

    pub(super) fn has_events(&self, by: u64) -> bool {
        self.events(by).next().is_some()
    }

    /// Writes at most `count` pending events of the epoll instance `by` to the guest's memory at
    /// `address`, and returns the number written.
    pub(super) fn put_events(
        &self,
        machine: &mut Machine,
        by: u64,
        (address, count): (u64, u64),
    ) -> CallResult {
        let mut done = 0;
        for watched in self
            .events(by)
            .take(count.min(DESCRIPTORS_MAX as u64) as usize)
        {
            let at = address
                .checked_add(done * EVENT_BYTES)
                .ok_or(Stop::Errno(libc::EFAULT))?;
            let place = machine.memory.slice_mut(at, EVENT_BYTES)?;
            place[..4].copy_from_slice(&(libc::EPOLLIN as u32).to_le_bytes());
            place[4..].copy_from_slice(&watched.data.to_le_bytes());
            done += 1;
        }
        Ok(done)
    }

    /// Reads an eventfd, which resets its count to 0. If the count is 0, the read fails and does
    /// not block.
    pub(super) fn read_event(
        &mut self,
        machine: &mut Machine,
        descriptor: u64,
        (address, bytes): (u64, u64),
    ) -> CallResult {
        let Open::Event { count } = self.open(descriptor)? else {
            unreachable!("callers found an event there");
        };
        match (bytes, count) {
            (..8, _) => fails(libc::EINVAL),
            (_, 0) => fails(libc::EAGAIN),
            _ => {
                let place = machine.memory.slice_mut(address, 8)?;
                place.copy_from_slice(&count.to_le_bytes());
                self.open[descriptor as usize] = Some(Open::Event { count: 0 });
                Ok(8)
            }
        }
    }

    pub(super) fn write_event(
        &mut self,
        machine: &Machine,
        descriptor: u64,
        (address, bytes): (u64, u64),
    ) -> CallResult {
        let Open::Event { count } = self.open(descriptor)? else {
            unreachable!("callers found an event there");
        };
        if bytes < 8 {
            return fails(libc::EINVAL);
        }
        let word = machine.memory.slice(address, 8)?;
        let more = u64::from_le_bytes(word.try_into().expect("the slice has eight bytes"));
        let count = count.checked_add(more).filter(|count| *count < u64::MAX);
        let count = count.ok_or(Stop::Errno(libc::EAGAIN))?;
        self.open[descriptor as usize] = Some(Open::Event { count });
        Ok(8)
    }

    /// Removes a closed descriptor from all epoll instances, and all descriptors from a closed
    /// epoll instance.
    pub(super) fn forget_watched(&mut self, descriptor: u64) {
        self.watched
            .retain(|watched| watched.by != descriptor && watched.descriptor != descriptor);
    }
}
