//! CPU time and memory of a server over time, while it works.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use toolkit::stop::Stop;

use crate::server::Server;
use crate::usage::Tree;

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(100);

/// State of a server and all its children at one moment.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Moment {
    /// Time since the start of the work.
    at_us: u64,
    /// CPU time since the start of the work.
    cpu_us: u64,
    pub(crate) memory_bytes: u64,
    processes: u32,
}

/// Does `work` and samples `server` meanwhile, once before the work and once after it at least.
///
/// # Errors
/// Returns the error of `work`, or an error if the server has exited.
pub(crate) fn watch<T>(
    server: &Server,
    work: impl FnOnce() -> Result<T, Stop>,
) -> Result<(T, Vec<Moment>), Stop> {
    let is_done = AtomicBool::new(false);
    let started = Instant::now();
    let first = Tree::read(server.pid())?;
    let moment = |tree: Tree| Moment {
        at_us: started.elapsed().as_micros() as u64,
        // A child that ends is counted by its parent a moment later, so the sum may shrink.
        cpu_us: tree.cpu_us.saturating_sub(first.cpu_us),
        memory_bytes: tree.memory_bytes,
        processes: tree.processes,
    };
    thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut moments = vec![moment(first)];
            while !is_done.load(Ordering::Acquire) {
                let due = INTERVAL * moments.len() as u32;
                thread::sleep(due.saturating_sub(started.elapsed()));
                moments.push(moment(Tree::read(server.pid())?));
            }
            Ok(moments)
        });
        let done = work();
        is_done.store(true, Ordering::Release);
        let moments: Result<Vec<Moment>, Stop> = sampler.join().expect("samplers do not panic");
        Ok((done?, moments?))
    })
}
