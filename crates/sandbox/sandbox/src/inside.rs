//! Worker's side of the sandbox. A program whose `main` calls [`serve`] becomes a zygote: a process
//! that forks a child for each job.
//!
//! Descriptors: 0, 1 and 2 are `/dev/null`. A zygote has its socket to the pool as 3, and a
//! signalfd. A child has its socket to the pool as 4, followed by the two descriptors that arrive
//! with its job.

mod child;
mod command;
mod devices;
mod filter;
mod guest;
mod heap;
mod helper;
mod jail;
mod landlock;
mod last_message;
mod launcher;
mod persistent;
mod text;
mod zygote;

pub use heap::Heap;

use sandbox_protocol::{AllegedReply, Job};
use std::fs::File;

/// Runs this process as a zygote, and never returns.
///
/// `warm_up` runs once, before the isolation is complete: no file can be opened any more, but the
/// seccomp filter, which denies system calls, is not installed yet. `warm_up` fills tables that
/// every job would otherwise fill, and must leave no thread running.
///
/// `work` runs in a child. Its arguments are a job, the job's original (read only) and the file for
/// the output (of fixed size). The child is killed if `work` exceeds the job's limits. The job's
/// resource usage is added to the reply that `work` returns. A panic becomes a reply of
/// [`sandbox_protocol::Status::Failed`]. Plans of fewer than two bytes are reserved for test jobs
/// of the sandbox, and never reach `work`.
///
/// `work` can read, write and seek its descriptors, allocate memory and read the clock.
/// [`std::fs::File::metadata`] fails: seek to the end for a length.
pub fn serve(warm_up: impl FnOnce(), work: impl Fn(&Job<'_>, &File, &File) -> AllegedReply) -> ! {
    let Some(control) = jail::control() else {
        if guest::is_here() {
            guest::serve(warm_up, &work);
        }
        eprintln!(
            "this program must be started by a sandbox pool, with a socket as file descriptor 3"
        );
        std::process::exit(last_message::EXIT_USAGE);
    };
    last_message::to_pool();
    let zygote = match zygote::Zygote::boot(control, warm_up) {
        Ok(zygote) => zygote,
        Err(refusal) => last_message::fail(&refusal),
    };
    zygote.serve(&work)
}
