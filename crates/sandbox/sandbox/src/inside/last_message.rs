//! Last message of a process that cannot continue: a report to the pool, or a reply to its job.

use crate::contract::{CONTROL_FD, JOB_FD};
use crate::sync::UNPOISONED;
use sandbox_protocol::control::Report;
use sandbox_protocol::{AllegedReply, Status};
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

/// Exit code of a program that was not started by a pool.
pub(super) const EXIT_USAGE: i32 = 2;
/// Exit code of a process whose peer in the server closed the socket or sent an invalid message.
pub(super) const EXIT_ABANDONED: i32 = 3;
/// Exit code of a process that failed and reported why.
pub(super) const EXIT_FAILED: i32 = 4;

/// Id of the current job, and the reply to send if the job runs out of memory. The reply is encoded
/// in advance, since encoding needs memory.
struct LastMessage {
    job_id: u64,
    too_large: Vec<u8>,
}

/// Set in a child once it has a job. A worker has one thread, which never panics while it holds
/// this lock, so the lock is never poisoned.
static LAST_MESSAGE: Mutex<Option<LastMessage>> = Mutex::new(None);

/// Installs a hook for panics. The hook sends the last message and ends the process. The message is
/// a report to the pool or, once a job has arrived, a reply to this job.
pub(super) fn to_pool() {
    std::panic::set_hook(Box::new(|info| fail(&info.to_string())));
}

/// Makes a reply to the job `job_id` the last message from now on.
pub(super) fn to_job(job_id: u64) {
    let detail = "out of memory";
    let reply = AllegedReply::new(job_id, Status::TooLarge, (0, 0), 0).with_detail(detail);
    let last_message = LastMessage {
        job_id,
        too_large: reply.to_bytes(),
    };
    *LAST_MESSAGE.lock().expect(UNPOISONED) = Some(last_message);
}

/// Sends `why` as the last message, and ends the process.
pub(super) fn fail(why: &str) -> ! {
    match &*LAST_MESSAGE.lock().expect(UNPOISONED) {
        Some(last_message) => {
            let reply = AllegedReply::new(last_message.job_id, Status::Failed, (0, 0), 0);
            write(JOB_FD, &reply.with_detail(why).to_bytes());
        }
        None => write(CONTROL_FD, &Report::Broken(why.to_owned()).to_bytes()),
    }
    exit(EXIT_FAILED)
}

/// Ends a job that has run out of memory, without allocating memory. Returns if no job is running.
pub(super) fn out_of_memory() {
    // If the lock is held, `fail` holds it and has itself run out of memory. The message of `fail`
    // is then lost.
    let Ok(last_message) = LAST_MESSAGE.try_lock() else {
        return;
    };
    if let Some(last_message) = &*last_message {
        write(JOB_FD, &last_message.too_large);
        exit(EXIT_FAILED);
    }
}

/// Writes a message. An error is ignored, since the process ends anyway.
fn write(descriptor: i32, bytes: &[u8]) {
    // SAFETY: CONTROL_FD is open in a zygote until the zygote ends. JOB_FD is open in a child from
    // the call of `child::place` until the child ends. A child without a job writes to CONTROL_FD,
    // which `place` closed. This write fails, because the number is unused or belongs to a newer
    // descriptor that cannot be written to.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let _sent = rustix::io::write(descriptor, bytes);
}

/// Ends this process because its peer in the server is gone.
pub(super) fn abandon() -> ! {
    exit(EXIT_ABANDONED)
}

/// Ends the process at once: no destructor runs, and no buffered output is written.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: the call ends the process, and accesses no memory.
    unsafe { libc::_exit(code) }
}
