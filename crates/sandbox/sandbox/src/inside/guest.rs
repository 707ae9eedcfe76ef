//! The worker inside a microVM (the guest). The same program also runs as a process, but a guest
//! serves several jobs, one after another. After each reply, the host stops the guest. If the guest
//! is ephemeral, the host then restores the state that the guest had when it requested its first
//! job.

use super::child::probe_answer;
use super::heap;
use super::last_message::{self, EXIT_ABANDONED, EXIT_USAGE, exit};
use crate::contract::{JOB_FD, MARK, MARK_GUEST, PROBE_ANSWER};
use sandbox_protocol::{AllegedReply, Job, MESSAGE_BYTES_MAX};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{BorrowedFd, FromRawFd};

const ORIGINAL_FD: i32 = JOB_FD + 1;
const ANSWER_FD: i32 = JOB_FD + 2;

/// Returns whether this process runs in a microVM.
pub(super) fn is_here() -> bool {
    std::env::var_os(MARK).is_some_and(|mark| mark == MARK_GUEST)
}

pub(super) fn serve(
    warm_up: impl FnOnce(),
    work: &impl Fn(&Job<'_>, &File, &File) -> AllegedReply,
) -> ! {
    last_message::to_pool();
    heap::prepare_for_warm_up();
    warm_up();
    heap::prepare_for_jobs();
    // SAFETY: the host provides this descriptor for as long as the guest lives, and nothing closes
    // it.
    let jobs = unsafe { BorrowedFd::borrow_raw(JOB_FD) };
    // SAFETY: this is the descriptor of the original. It is open from the guest's start, and
    // nothing closes it.
    let original = ManuallyDrop::new(unsafe { File::from_raw_fd(ORIGINAL_FD) });
    // SAFETY: this is the descriptor of the output. It is open from the guest's start, and nothing
    // closes it.
    let answer = ManuallyDrop::new(unsafe { File::from_raw_fd(ANSWER_FD) });
    let mut bytes = [0; MESSAGE_BYTES_MAX];
    loop {
        let len = match rustix::io::read(jobs, &mut bytes) {
            Ok(len @ 1..) => len,
            // No host serves this process: a user has set the environment variable `MARK` manually.
            Ok(_) | Err(_) => exit(EXIT_USAGE),
        };
        let Ok(job) = Job::from_bytes(&bytes[..len]) else {
            exit(EXIT_ABANDONED);
        };
        last_message::to_job(job.id);
        let reply = match job.plan {
            PROBE_ANSWER => probe_answer(&job, &answer),
            _ => work(&job, &original, &answer),
        };
        if rustix::io::write(jobs, &reply.to_bytes()).is_err() {
            exit(EXIT_ABANDONED);
        }
    }
}
