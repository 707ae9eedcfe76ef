//! A helper: the jailed process that hosts one microVM and runs jobs in it, one after another.
//!
//! The helper forwards the worker's reply, and adds the job's resource usage. A timer limits the
//! CPU time of a job. The guest's CPU time is part of the helper's, so the timer ends the helper
//! and the guest together. The size of the guest's memory slot in KVM limits the guest's memory.

use super::child::{self, set_idle_priority};
use super::filter::Program;
use super::last_message::{EXIT_ABANDONED, EXIT_FAILED, abandon, exit};
use crate::contract::{JOB_FD, PROBE_FILTER};
use microvm::Kvm;
use microvm::{Guest, Running, Server, WipeResult};
use sandbox_protocol::control::{ChildReady, Report};
use sandbox_protocol::{AllegedReply, MESSAGE_BYTES_MAX, Status};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// State that all helpers (processes that host a microVM) of a zygote share.
pub(super) struct Host {
    pub(super) kvm: Kvm,
    pub(super) guest: Guest,
    pub(super) ephemeral: bool,
}

/// Creates a microVM and serves jobs from `socket` until the socket is closed. `signals` is the
/// zygote's signalfd.
pub(super) fn run(socket: OwnedFd, host: &Host, signals: BorrowedFd<'_>) -> ! {
    let socket = match child::place(socket) {
        Ok(socket) => socket,
        Err(_) => exit(EXIT_ABANDONED),
    };
    // SAFETY: `place` moved the socket to this descriptor, and nothing closes it before this
    // process ends.
    let server = unsafe { BorrowedFd::borrow_raw(JOB_FD) };
    let server = Server {
        socket: server,
        abandon,
    };
    let mut running = match host.guest.start(&host.kvm, server) {
        Ok(running) => running,
        Err(why) => refuse(socket.as_fd(), &why),
    };
    for descriptor in [signals.as_raw_fd(), host.kvm.as_raw_fd()] {
        // SAFETY: `fork` copied these descriptors from the zygote. No code of this process uses
        // them from here on, and nothing drops their owners, since this process ends first. Without
        // `/dev/kvm`, this process cannot create another microVM.
        unsafe { rustix::io::close(descriptor) };
    }
    // A filter denies `fork` here. A limit on the number of processes would not apply to root, and
    // would also count the thread that KVM may add when the guest first runs.
    if let Err(errno) = Program::child().install() {
        refuse(socket.as_fd(), &format!("seccomp: {errno}"));
    }
    let mut child_ready = ChildReady::default();
    let mut cpu_us = 0;
    loop {
        let now = child::cpu_us(&child::usage());
        child_ready.cpu_us = now - cpu_us;
        cpu_us = now;
        child::send_to_pool(socket.as_fd(), &Report::ChildReady(child_ready).to_bytes());
        if !serve(socket.as_fd(), &mut running) {
            exit(0);
        }
        let begin = Instant::now();
        let refused_calls = running.refused_calls();
        let wiped = if host.ephemeral {
            running.wipe()
        } else {
            running.keep().map(|()| WipeResult::default())
        };
        // If the wipe fails, the microVM ends together with this process.
        let Ok(wiped) = wiped else {
            exit(EXIT_FAILED);
        };
        child_ready = ChildReady {
            cpu_us: 0,
            wipe_us: begin.elapsed().as_micros() as u64,
            dirty_bytes: wiped.dirty_bytes,
            refused_calls,
            leaked: wiped.leaked,
        };
    }
}

/// Runs one job. Returns false if the microVM cannot be used again.
fn serve(socket: BorrowedFd<'_>, running: &mut Running<'_>) -> bool {
    let mut bytes = [0; MESSAGE_BYTES_MAX];
    let (job, files) = child::receive(socket, &mut bytes);
    let before_us = child::cpu_us(&child::usage());
    if child::set_timer(job.limits.cpu_ms_max).is_err() || set_idle_priority(job.idle).is_err() {
        exit(EXIT_FAILED);
    }
    if job.plan == PROBE_FILTER {
        // This test job checks the helper's seccomp filter, which confines an attacker who escaped
        // from the microVM.
        child::send_to_pool(socket, &child::probe_filter(&job).to_bytes());
        return false;
    }
    let (reply, is_reusable) = match running.run(&job, files) {
        Ok(ended) => (ended.reply, ended.is_reusable),
        Err(why) => {
            let reply = AllegedReply::new(job.id, Status::Failed, (0, 0), 0);
            (Ok(reply.with_detail(&format!("machine: {why}"))), false)
        }
    };
    let spent_us = child::cpu_us(&child::usage()) - before_us;
    let stopped = child::set_timer(0).is_ok();
    let reply = match reply {
        Ok(reply) => reply
            .with_usage(running.memory_peak_bytes(), spent_us)
            .to_bytes(),
        // These bytes are not a valid reply; the server will report a protocol violation.
        Err(bytes) => bytes,
    };
    child::send_to_pool(socket, &reply);
    is_reusable && stopped
}

/// Reports to the pool that the microVM did not start, and exits.
fn refuse(socket: BorrowedFd<'_>, why: &str) -> ! {
    child::send_to_pool(socket, &Report::Broken(why.to_owned()).to_bytes());
    exit(EXIT_FAILED)
}
