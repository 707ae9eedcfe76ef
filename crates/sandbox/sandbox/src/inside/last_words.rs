//! What a process that cannot go on still tells the server, whichever of its parts finds out.

use super::{EXIT_FAILED, child::JOB_FD};
use crate::slot::UNPOISONED;
use crate::spawn::CONTROL_FD;
use sandbox_protocol::control::Report;
use sandbox_protocol::{AllegedReply, Status};
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

/// Made while there is memory, for when there is none.
struct Words {
    job_id: u64,
    too_large: Vec<u8>,
}

/// Set in a child when it has a job. A worker has one thread, which never panics while it holds this.
static WORDS: Mutex<Option<Words>> = Mutex::new(None);

/// Panics end the process, after a report to the pool or, in a child, a reply to its job.
pub(super) fn to_pool() {
    std::panic::set_hook(Box::new(|info| fail(&info.to_string())));
}

/// From here on the last words are a reply to this job.
pub(super) fn to_job(job_id: u64) {
    let detail = "out of memory";
    let reply = AllegedReply::new(job_id, Status::TooLarge, (0, 0), 0).with_detail(detail);
    let words = Words {
        job_id,
        too_large: reply.to_bytes(),
    };
    *WORDS.lock().expect(UNPOISONED) = Some(words);
}

/// Says why, and ends the process.
pub(super) fn fail(why: &str) -> ! {
    match &*WORDS.lock().expect(UNPOISONED) {
        Some(words) => {
            let reply = AllegedReply::new(words.job_id, Status::Failed, (0, 0), 0);
            write(JOB_FD, &reply.with_detail(why).to_bytes());
        }
        None => write(CONTROL_FD, &Report::Broken(why.to_owned()).to_bytes()),
    }
    exit(EXIT_FAILED)
}

/// Ends a job whose memory is used up, without asking for more. Returns when there is no job.
pub(super) fn out_of_memory() {
    // Held already, it is `fail` that finds no memory, and its words are lost.
    let Ok(words) = WORDS.try_lock() else {
        return;
    };
    if let Some(words) = &*words {
        write(JOB_FD, &words.too_large);
        exit(EXIT_FAILED);
    }
}

/// A server that is gone needs no words.
fn write(descriptor: i32, bytes: &[u8]) {
    // SAFETY: `jail` and `child` put these two numbers in place for the process's life, and nothing closes them. In a
    // child without a job the number of the pool's socket is closed, and the write fails.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let _sent = rustix::io::write(descriptor, bytes);
}

/// At once: no destructor, no buffered output.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used again.
    unsafe { libc::_exit(code) }
}
