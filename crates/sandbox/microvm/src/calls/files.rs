//! System calls on descriptors. A guest never gets the host's descriptors. The guest's descriptor
//! numbers are indices of a table, whose entries refer to the files of the guest's job.

use super::linux::{CallResult, DESCRIPTORS_MAX, Linux, Next, Open, Serve, Stop, fails};
use super::records;
use crate::machine::Machine;
use rustix::fs::fstat as host_fstat;
use rustix::io::retry_on_intr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const PATH_BYTES_MAX: u64 = 4_096;
const PARTS_MAX: u64 = 1_024;
const PART_BYTES: u64 = 16;

pub(super) fn read(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [descriptor, address, bytes, ..] = call;
    let open = linux.open(descriptor)?;
    let (Open::Original { at, .. } | Open::File { at, .. }) = open else {
        return match open {
            Open::Job => Err(Stop::Next(Next::Wait { address, bytes })),
            Open::Requests => linux.read_request(machine, (address, bytes)),
            Open::Null | Open::Control => Ok(0),
            Open::Event { .. } => linux.read_event(machine, descriptor, (address, bytes)),
            Open::Service => linux.read_service(machine, (address, bytes)),
            _ => fails(libc::EBADF),
        };
    };
    let read = linux.read_at(machine, open, at, (address, bytes))?;
    linux.seek_to(descriptor, at + read);
    Ok(read)
}

pub(super) fn pread(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [descriptor, address, bytes, at, ..] = call;
    let open = linux.open(descriptor)?;
    linux.read_at(machine, open, at, (address, bytes))
}

pub(super) fn readv(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    each_part(linux, machine, call, read)
}

pub(super) fn write(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [descriptor, address, bytes, ..] = call;
    match linux.open(descriptor)? {
        Open::Null => Ok(bytes),
        Open::Control => {
            let words = machine.memory.slice(address, bytes.min(PATH_BYTES_MAX))?;
            Err(Stop::Next(Next::Broken(words.to_vec())))
        }
        Open::Job => {
            let reply = machine.memory.slice(address, bytes.min(PATH_BYTES_MAX))?;
            Err(Stop::Next(Next::Reply(reply.to_vec())))
        }
        Open::Errors => {
            let stderr_bytes = machine.memory.slice(address, bytes)?;
            linux.log_stderr(stderr_bytes);
            Ok(bytes)
        }
        Open::CallResult { at } => {
            let written = linux.write_at(machine, at, (address, bytes))?;
            linux.seek_to(descriptor, at + written);
            Ok(written)
        }
        Open::Answers => linux.write_answer(machine, (address, bytes)),
        Open::Event { .. } => linux.write_event(machine, descriptor, (address, bytes)),
        Open::Service => linux.ask_service(machine, (address, bytes)),
        Open::Poll => fails(libc::EINVAL),
        Open::Original { .. } | Open::File { .. } | Open::Requests => fails(libc::EBADF),
    }
}

pub(super) fn pwrite(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [descriptor, address, bytes, at, ..] = call;
    match linux.open(descriptor)? {
        Open::CallResult { .. } => linux.write_at(machine, at, (address, bytes)),
        _ => fails(libc::EBADF),
    }
}

pub(super) fn writev(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    each_part(linux, machine, call, write)
}

/// Executes a vectored call (`readv` or `writev`) by the call `one` for each buffer. Stops after a
/// buffer that was transferred only in part.
fn each_part(
    linux: &mut Linux,
    machine: &mut Machine,
    [descriptor, parts, count, ..]: [u64; 6],
    one: Serve,
) -> CallResult {
    if PARTS_MAX < count {
        return fails(libc::EINVAL);
    }
    let list = machine.memory.slice(parts, count * PART_BYTES)?.to_vec();
    let mut done = 0;
    for part in list.chunks_exact(PART_BYTES as usize) {
        let word = |at: usize| {
            let bytes = part[at..].first_chunk();
            u64::from_le_bytes(*bytes.expect("a part is two words"))
        };
        let (address, bytes) = (word(0), word(8));
        if bytes == 0 {
            continue;
        }
        let part = match one(linux, machine, [descriptor, address, bytes, 0, 0, 0]) {
            Ok(part) => part,
            Err(stop) => return records::combine_parts(done, stop),
        };
        done += part;
        if part < bytes {
            break;
        }
    }
    Ok(done)
}

pub(super) fn lseek(linux: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    let [descriptor, offset, whence, ..] = call;
    let open = linux.open(descriptor)?;
    let (Open::Original { at, .. } | Open::CallResult { at } | Open::File { at, .. }) = open else {
        return fails(libc::ESPIPE);
    };
    let base = match whence as i32 {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => at,
        libc::SEEK_END => linux.len(open)?,
        _ => return fails(libc::EINVAL),
    };
    match base.checked_add_signed(offset as i64) {
        Some(at) if at <= i64::MAX as u64 => {
            linux.seek_to(descriptor, at);
            Ok(at)
        }
        _ => fails(libc::EINVAL),
    }
}

pub(super) fn close(linux: &mut Linux, _: &mut Machine, [descriptor, ..]: [u64; 6]) -> CallResult {
    linux.open(descriptor)?;
    linux.open[descriptor as usize] = None;
    linux.forget_watched(descriptor);
    Ok(0)
}

pub(super) fn fstat(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let open = linux.open(call[0])?;
    put_stat(linux, machine, open, call[1])
}

pub(super) fn newfstatat(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [descriptor, path, address, flags, ..] = call;
    let path = path_at(machine, path)?;
    let open = if path.is_empty() && flags as i32 & libc::AT_EMPTY_PATH != 0 {
        linux.open(descriptor)?
    } else {
        linux.named(&path)?
    };
    put_stat(linux, machine, open, address)
}

fn put_stat(linux: &Linux, machine: &mut Machine, open: Open, address: u64) -> CallResult {
    const STAT_BYTES: u64 = 144;
    const MODE_AT: usize = 24;
    const SIZE_AT: usize = 48;
    const BLOCK_SIZE_AT: usize = 56;
    let (mode, bytes) = match open {
        Open::Null => (libc::S_IFCHR | 0o666, 0),
        Open::Event { .. } | Open::Poll => (0o600, 0),
        Open::Control | Open::Job | Open::Service => (libc::S_IFSOCK | 0o600, 0),
        Open::Requests => (libc::S_IFIFO | 0o400, 0),
        Open::Answers | Open::Errors => (libc::S_IFIFO | 0o200, 0),
        Open::Original { .. } | Open::File { .. } => (libc::S_IFREG | 0o444, linux.len(open)?),
        Open::CallResult { .. } => (libc::S_IFREG | 0o600, linux.len(open)?),
    };
    let stat = machine.memory.slice_mut(address, STAT_BYTES)?;
    stat.fill(0);
    stat[MODE_AT..MODE_AT + 4].copy_from_slice(&mode.to_le_bytes());
    stat[SIZE_AT..SIZE_AT + 8].copy_from_slice(&bytes.to_le_bytes());
    stat[BLOCK_SIZE_AT..BLOCK_SIZE_AT + 8].copy_from_slice(&4_096_u64.to_le_bytes());
    Ok(0)
}

pub(super) fn open(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [path, flags, ..] = call;
    openat(linux, machine, [0, path, flags, 0, 0, 0])
}

pub(super) fn openat(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    let [_, path, flags, ..] = call;
    let path = path_at(machine, path)?;
    let file = linux.named(&path)?;
    if flags as i32 & libc::O_ACCMODE != libc::O_RDONLY {
        return fails(libc::EACCES);
    }
    linux.put(file)
}

fn path_at(machine: &Machine, address: u64) -> Result<Vec<u8>, Stop> {
    let mut path = Vec::new();
    // The string is read byte by byte, because it may end where the mapped memory ends.
    for place in address..address.saturating_add(PATH_BYTES_MAX) {
        match machine.memory.slice(place, 1)? {
            [0] => return Ok(path),
            byte => path.extend(byte),
        }
    }
    fails(libc::ENAMETOOLONG)
}

pub(super) fn fcntl(linux: &mut Linux, _: &mut Machine, call: [u64; 6]) -> CallResult {
    let open = linux.open(call[0])?;
    match call[1] as i32 {
        libc::F_GETFD => Ok(0),
        libc::F_SETFD | libc::F_SETFL => Ok(0),
        libc::F_GETFL => Ok(match open {
            Open::Original { .. } | Open::File { .. } | Open::Requests => libc::O_RDONLY as u64,
            Open::Answers | Open::Errors => libc::O_WRONLY as u64,
            _ => libc::O_RDWR as u64,
        }),
        _ => fails(libc::EINVAL),
    }
}

/// Reports every open descriptor as ready, as Linux does for files. To wait for an eventfd, a
/// program must use `epoll_wait`.
pub(super) fn poll(linux: &mut Linux, machine: &mut Machine, call: [u64; 6]) -> CallResult {
    const ENTRY_BYTES: u64 = 8;
    let [address, count, ..] = call;
    if DESCRIPTORS_MAX as u64 * 2 < count {
        return fails(libc::EINVAL);
    }
    let mut ready = 0;
    for entry in machine
        .memory
        .slice_mut(address, count * ENTRY_BYTES)?
        .chunks_exact_mut(8)
    {
        let number = i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
        let requested_events = i16::from_le_bytes([entry[4], entry[5]]);
        let found = match linux.open(number as u64) {
            _ if number < 0 => 0,
            Ok(_) => requested_events & (libc::POLLIN | libc::POLLOUT),
            Err(_) => libc::POLLNVAL,
        };
        ready += u64::from(found != 0);
        entry[6..].copy_from_slice(&found.to_le_bytes());
    }
    Ok(ready)
}

impl Linux {
    pub(super) fn open(&self, descriptor: u64) -> Result<Open, Stop> {
        let descriptor = usize::try_from(descriptor).map_err(|_| Stop::Errno(libc::EBADF))?;
        let open = self.open.get(descriptor).copied().flatten();
        open.ok_or(Stop::Errno(libc::EBADF))
    }

    /// Adds an entry to the guest's table of descriptors, and returns its number, the lowest free
    /// one.
    pub(super) fn put(&mut self, open: Open) -> CallResult {
        if let Some(number) = self.open.iter().position(Option::is_none) {
            self.open[number] = Some(open);
            return Ok(number as u64);
        }
        if self.open.len() == DESCRIPTORS_MAX {
            return fails(libc::EMFILE);
        }
        self.open.push(Some(open));
        Ok(self.open.len() as u64 - 1)
    }

    pub(super) fn descriptors_max(&self) -> i64 {
        DESCRIPTORS_MAX as i64
    }

    fn named(&self, path: &[u8]) -> Result<Open, Stop> {
        let index = self.allowed.iter().position(|allowed| allowed.name == path);
        let index = index.ok_or(Stop::Errno(libc::ENOENT))?;
        Ok(Open::File { index, at: 0 })
    }

    fn seek_to(&mut self, descriptor: u64, to: u64) {
        match &mut self.open[descriptor as usize] {
            Some(Open::Original { at, .. } | Open::CallResult { at } | Open::File { at, .. }) => {
                *at = to
            }
            _ => unreachable!("callers found a file there"),
        }
    }

    /// Returns the host's descriptor of a file that the guest has open, and the offset in the
    /// host's file at which the guest's file starts.
    fn host(&self, open: Open) -> Result<(BorrowedFd<'_>, u64), Stop> {
        let files = || self.files.as_ref().ok_or(Stop::Errno(libc::EBADF));
        match open {
            Open::Original { begin, .. } => Ok((files()?.original.as_fd(), begin)),
            Open::CallResult { .. } => Ok((files()?.answer.as_fd(), 0)),
            Open::File { index, .. } => Ok((self.allowed[index].file.as_fd(), 0)),
            Open::Null
            | Open::Control
            | Open::Job
            | Open::Requests
            | Open::Answers
            | Open::Errors
            | Open::Event { .. }
            | Open::Poll
            | Open::Service => fails(libc::ESPIPE),
        }
    }

    fn service(&self) -> Result<&OwnedFd, Stop> {
        let files = self.files.as_ref();
        let service = files.and_then(|files| files.service.as_ref());
        service.ok_or(Stop::Errno(libc::EBADF))
    }

    /// Reads from the job's stream to a service of the server, and waits for data if necessary. No
    /// thread of the guest runs meanwhile.
    fn read_service(&self, machine: &mut Machine, (address, bytes): (u64, u64)) -> CallResult {
        let place = machine.memory.slice_mut(address, bytes)?;
        let service = self.service()?;
        Ok(retry_on_intr(|| rustix::io::read(service, &mut *place))? as u64)
    }

    fn ask_service(&self, machine: &Machine, (address, bytes): (u64, u64)) -> CallResult {
        let words = machine.memory.slice(address, bytes)?;
        let service = self.service()?;
        Ok(retry_on_intr(|| rustix::io::write(service, words))? as u64)
    }

    pub(super) fn len(&self, open: Open) -> Result<u64, Stop> {
        let (file, begin) = self.host(open)?;
        let bytes = host_fstat(file)?.st_size as u64;
        Ok(bytes.saturating_sub(begin))
    }

    /// Reads from a file directly into the guest's memory.
    pub(super) fn read_at(
        &self,
        machine: &mut Machine,
        open: Open,
        at: u64,
        (address, bytes): (u64, u64),
    ) -> CallResult {
        let (file, begin) = self.host(open)?;
        let place = machine.memory.slice_mut(address, bytes)?;
        let offset = begin.checked_add(at).filter(|at| *at <= i64::MAX as u64);
        let offset = offset.ok_or(Stop::Errno(libc::EINVAL))?;
        Ok(rustix::io::pread(file, place, offset)? as u64)
    }

    /// Writes from the guest's memory directly to the file of the job's answer.
    pub(super) fn write_at(
        &mut self,
        machine: &Machine,
        at: u64,
        (address, bytes): (u64, u64),
    ) -> CallResult {
        let (file, _) = self.host(Open::CallResult { at })?;
        let place = machine.memory.slice(address, bytes)?;
        let end = at.checked_add(bytes);
        let Some(end) = end.filter(|end| *end <= self.output_bytes_max) else {
            return Err(Stop::Next(Next::TooLarge));
        };
        let mut done = 0;
        while done < place.len() {
            done += rustix::io::pwrite(file, &place[done..], at + done as u64)?;
        }
        self.output_bytes = self.output_bytes.max(end);
        Ok(bytes)
    }
}
