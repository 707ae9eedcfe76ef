//! Service for a running program: a byte stream between the program and the caller of its job.
//!
//! The thread that waits for the reply also serves the stream, so a service needs no thread of its
//! own. While a program does not read the answers of the service, the server reads no further
//! requests from the program. The stream is closed when the program's requests have used as much
//! CPU time in the server as the program itself may use.

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

/// Maximum number of bytes per read from the program.
const READ_BYTES: usize = 16 << 10;

/// Maximum number of buffers per write to the program.
const PARTS_MAX: usize = 16;

/// Protocol that the server speaks on its end of a program's stream, during one run.
pub trait Service {
    /// Receives bytes that the program wrote, for [`Service::process`] to process.
    fn receive(&mut self, bytes: &[u8]);

    /// Processes one part of the received bytes. Returns false if nothing can be done until more
    /// bytes arrive.
    fn process(&mut self) -> bool;

    /// Sets the first elements of `parts` to the next output for the program. Returns the number of
    /// elements set: 0 if there is no more output.
    fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>]) -> usize;

    /// Marks the first `bytes` bytes of the output as written.
    fn advance(&mut self, bytes: usize);

    /// Returns true if the service needs no more input. The stream is then closed as soon as all
    /// output is written.
    fn is_over(&self) -> bool;
}

/// Server's end of a program's stream.
pub(crate) struct ServiceStream<'a> {
    /// Socket of the stream; `None` after the stream was closed.
    socket: Option<OwnedFd>,
    service: &'a mut dyn Service,
    /// True if the program may still read answers.
    peer_reads: bool,
    /// CPU time that the service may still use.
    left: Duration,
}

impl<'a> ServiceStream<'a> {
    /// Returns the server's end and the program's end of a new stream. The service may use at most
    /// `cpu_max` of CPU time.
    pub(crate) fn new(
        service: &'a mut dyn Service,
        cpu_max: Duration,
    ) -> Result<(ServiceStream<'a>, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, program_end) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let line = ServiceStream {
            socket: Some(socket),
            service,
            peer_reads: true,
            left: cpu_max,
        };
        Ok((line, program_end))
    }

    /// Waits like [`Slot::wait_readable`], and processes the program's requests meanwhile. Requests
    /// that the program wrote before its reply are still processed.
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
                // A program that has replied reads and writes no more, so the bytes in the socket
                // are its last requests.
                self.peer_reads = false;
                self.serve(Instant::now() + self.left);
                return Ok(true);
            }
        }
    }

    /// Processes requests until nothing more can be done before the program reads or writes.
    /// Returns false if `deadline` passed first.
    fn serve(&mut self, deadline: Instant) -> bool {
        let begin = thread_time();
        let outcome = loop {
            match self.step() {
                Ok(true) if deadline <= Instant::now() => break Ok(false),
                Ok(true) => {}
                Ok(false) => break Ok(true),
                Err(errno) => break Err(errno),
            }
        };
        self.left = self.left.saturating_sub(thread_time() - begin);
        if outcome.is_err() || self.left.is_zero() {
            self.socket = None;
        }
        outcome.unwrap_or(true)
    }

    /// Does one step: writes pending output or, if there is none, processes or reads one piece of
    /// input. Returns false if nothing can be done until the program reads or writes. Returns an
    /// error at the end of the stream.
    fn step(&mut self) -> Result<bool, Errno> {
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
            let sent = match self.peer_reads {
                true => sendmsg(socket, parts, &mut none, flags),
                false => Err(Errno::PIPE),
            };
            let written = match sent {
                // Requests that the program wrote before it ended are still processed, but their
                // output is dropped.
                Err(Errno::PIPE | Errno::CONNRESET) => parts.iter().map(|part| part.len()).sum(),
                Ok(written) => written,
                Err(errno) => return tried(errno),
            };
            self.service.advance(written);
            return Ok(true);
        }
        if self.service.process() {
            return Ok(true);
        }
        if self.service.is_over() {
            return Err(Errno::PIPE);
        }
        let mut bytes = [0; READ_BYTES];
        match recv(socket, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Err(Errno::PIPE),
            Ok((_, len)) => {
                self.service.receive(&bytes[..len]);
                Ok(true)
            }
            Err(errno) => tried(errno),
        }
    }
}

pub(crate) fn thread_time() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(tv_sec as u64, tv_nsec as u32)
}
