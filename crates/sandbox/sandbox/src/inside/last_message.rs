//! Last message of a process that cannot continue: a report to the pool, or a reply to its job.

use crate::contract::{CONTROL_FD, JOB_FD};
use crate::sync::UNPOISONED;
use sandbox_protocol::control::Report;
use sandbox_protocol::{AllegedReply, Status};
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

/// Exit code of a program that was not started by a pool.
pub(super) const EXIT_USAGE: i32 = 2;
/// Exit code of a process whose counterpart in the server is gone, or sent an invalid message.
pub(super) const EXIT_ABANDONED: i32 = 3;
/// Exit code of a process that failed and reported why.
pub(super) const EXIT_FAILED: i32 = 4;

/// Current job, and the reply to send if the job's memory runs out. The reply is built early, while
/// there is memory.
struct LastMessage {
    job_id: u64,
    too_large: Vec<u8>,
}

/// Set in a child once it has a job. A worker has one thread, which never panics while it holds
/// this lock.
static LAST_MESSAGE: Mutex<Option<LastMessage>> = Mutex::new(None);

/// Installs a hook by which a panic ends the process, after a report to the pool or, in a child, a
/// reply to its job.
pub(super) fn to_pool() {
    std::panic::set_hook(Box::new(|info| fail(&info.to_string())));
}

/// Makes the last message a reply to this job from here on.
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

/// Ends a job whose memory is used up, without allocating. Returns if there is no job.
pub(super) fn out_of_memory() {
    // If the lock is held, `fail` holds it and ran out of memory itself; its message is lost.
    let Ok(last_message) = LAST_MESSAGE.try_lock() else {
        return;
    };
    if let Some(last_message) = &*last_message {
        write(JOB_FD, &last_message.too_large);
        exit(EXIT_FAILED);
    }
}

/// Writes a message. If the server is gone, the error does not matter.
fn write(descriptor: i32, bytes: &[u8]) {
    // SAFETY: CONTROL_FD is open for a zygote's whole life (`spawn`), and JOB_FD for a child's from
    // `child::place` on; nothing closes them. A child without a job writes to CONTROL_FD, which
    // `place` closed: the write fails, since the number is closed or belongs to a descriptor that
    // refuses writes.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let _sent = rustix::io::write(descriptor, bytes);
}

/// Ends this process because its counterpart in the server is gone.
pub(super) fn abandon() -> ! {
    exit(EXIT_ABANDONED)
}

/// Ends the process at once: no destructor runs, and no buffered output is written.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: the call ends the process; nothing of it is used again.
    unsafe { libc::_exit(code) }
}
