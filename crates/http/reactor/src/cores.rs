//! The processors that this process may use, and pinning threads to them.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Error, Limits};

/// Number of a processor in the kernel's numbering: 3 for `cpu3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CoreId(pub usize);

/// Returns the processors that the calling thread may run on, in ascending order, at most
/// `cores_max` of them.
///
/// Call before [`crate::run`], from a thread that is not pinned.
///
/// # Errors
/// The kernel does not report the CPU affinity.
pub fn usable_cores(limits: &Limits) -> Result<Vec<CoreId>, Error> {
    let allowed =
        allowed().map_err(|source| Error::host("cannot read the CPU affinity", source))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .take(limits.cores_max)
        .map(CoreId)
        .collect())
}

pub(crate) fn allowed() -> io::Result<CpuSet> {
    Ok(sched_getaffinity(None)?)
}

/// Restricts the calling thread to `cores`.
pub(crate) fn pin(cores: &CpuSet) -> io::Result<()> {
    Ok(sched_setaffinity(None, cores)?)
}

pub(crate) fn only(core: CoreId) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(core.0);
    set
}
