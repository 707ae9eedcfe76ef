//! Number of threads of a scan, and distribution of work to these threads.

use std::thread;

/// Returns the number of cores that this process may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work` for all items. Each thread handles a contiguous part of the list. Returns the
/// results in the order of the items.
pub(crate) fn in_threads<T: Send, U: Send>(
    threads: usize,
    mut items: Vec<T>,
    work: impl Fn(T) -> U + Sync,
) -> Vec<U> {
    let share = items.len().div_ceil(threads.max(1)).max(1);
    let work = &work;
    thread::scope(|scope| {
        let mut others = Vec::new();
        while share < items.len() {
            let last = items.split_off((items.len() - 1) / share * share);
            others.push(scope.spawn(move || last.into_iter().map(work).collect::<Vec<U>>()));
        }
        let mut done: Vec<U> = items.into_iter().map(work).collect();
        for other in others.into_iter().rev() {
            done.extend(other.join().expect("work on a file's tags does not panic"));
        }
        done
    })
}
