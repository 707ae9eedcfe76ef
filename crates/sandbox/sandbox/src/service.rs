//! What a program may ask for while it runs: a stream of bytes to whoever ordered the run, and back.
//!
//! The thread that waits for the reply serves the stream meanwhile, so a service costs no thread of its own. A program that
//! does not read its answers is not heard; one whose questions take as much CPU time as the run itself may have hears no
//! more.

use crate::slot::{Slot, wait};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, recv,
    sendmsg, socketpair,
};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The descriptor of a program that leads to its service: a stream, open from its start to its end.
pub const SERVICE_FD: i32 = 3;

/// Bytes that are heard at once.
const HEARD_BYTES: usize = 16 << 10;

/// Buffers that one write takes.
const PARTS_MAX: usize = 16;

/// The other end of a program's stream, for one run.
pub trait Service {
    /// Takes bytes that the program wrote.
    fn hear(&mut self, bytes: &[u8]);

    /// Does a piece of what was heard. False when there is nothing left to do before more is heard.
    fn answer(&mut self) -> bool;

    /// The first of what the program is to read. Fills `parts` from the front and tells how many it filled; none when all
    /// was written.
    fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>]) -> usize;

    /// So many bytes of these parts were written.
    fn advance(&mut self, bytes: usize);

    /// Nothing is heard any more, and the stream ends when all was written.
    fn is_over(&self) -> bool;
}

/// The server's end of a program's stream.
pub(crate) struct Line<'a> {
    /// None once it is closed.
    socket: Option<OwnedFd>,
    service: &'a mut dyn Service,
    /// The program may still read its answers.
    hears: bool,
    /// CPU time that its answers may still take.
    left: Duration,
}

impl<'a> Line<'a> {
    /// A line, and the program's end of it.
    pub(crate) fn new(
        service: &'a mut dyn Service,
        cpu_max: Duration,
    ) -> Result<(Line<'a>, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let line = Line {
            socket: Some(socket),
            service,
            hears: true,
            left: cpu_max,
        };
        Ok((line, theirs))
    }

    /// As [`Slot::wait_readable`], and serves the program meanwhile. What it asked for before it replied is done.
    pub(crate) fn wait_readable(&mut self, slot: &Slot, deadline: Instant) -> Result<bool, Errno> {
        loop {
            if !self.serve(deadline) {
                return Ok(false);
            }
            let Some(socket) = &self.socket else {
                return slot.wait_readable(deadline);
            };
            let awaited = match self.service.parts(&mut [IoSlice::new(&[])]) {
                0 => PollFlags::IN,
                _ => PollFlags::OUT,
            };
            let [reply, end] = slot.readable();
            let mut watched = [reply, end, PollFd::new(socket, awaited)];
            if !wait(&mut watched, deadline)? {
                return Ok(false);
            }
            if watched[..2].iter().any(|of| !of.revents().is_empty()) {
                // Who has replied hears and says no more, so this ends with what stands in the socket.
                self.hears = false;
                self.serve(Instant::now() + self.left);
                return Ok(true);
            }
        }
    }

    /// Goes on until only the program can. False when `deadline` came first.
    fn serve(&mut self, deadline: Instant) -> bool {
        let begin = thread_time();
        let went_on = loop {
            match self.turn() {
                Ok(true) if deadline <= Instant::now() => break Ok(false),
                Ok(true) => {}
                Ok(false) => break Ok(true),
                Err(errno) => break Err(errno),
            }
        };
        self.left = self.left.saturating_sub(thread_time() - begin);
        if went_on.is_err() || self.left.is_zero() {
            self.socket = None;
        }
        went_on.unwrap_or(true)
    }

    /// Writes what there is to write, and then does or hears a piece. False when only the program can go on; an error when
    /// its line is at its end.
    fn turn(&mut self) -> Result<bool, Errno> {
        let Some(socket) = &self.socket else {
            return Err(Errno::PIPE);
        };
        let tried = |errno| match errno {
            Errno::AGAIN | Errno::INTR => Ok(false),
            errno => Err(errno),
        };
        let mut parts = [IoSlice::new(&[]); PARTS_MAX];
        let filled = self.service.parts(&mut parts);
        if 0 < filled {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let mut none = SendAncillaryBuffer::default();
            let parts = &parts[..filled];
            let sent = match self.hears {
                true => sendmsg(socket, parts, &mut none, flags),
                false => Err(Errno::PIPE),
            };
            let written = match sent {
                // What it asked before it ended is done all the same.
                Err(Errno::PIPE | Errno::CONNRESET) => parts.iter().map(|part| part.len()).sum(),
                Ok(written) => written,
                Err(errno) => return tried(errno),
            };
            self.service.advance(written);
            return Ok(true);
        }
        if self.service.answer() {
            return Ok(true);
        }
        if self.service.is_over() {
            return Err(Errno::PIPE);
        }
        let mut bytes = [0; HEARD_BYTES];
        match recv(socket, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Err(Errno::PIPE),
            Ok((_, heard)) => {
                self.service.hear(&bytes[..heard]);
                Ok(true)
            }
            Err(errno) => tried(errno),
        }
    }
}

/// CPU time of this thread.
pub(crate) fn thread_time() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(tv_sec as u64, tv_nsec as u32)
}
