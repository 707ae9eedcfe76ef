//! Which processors this process may use, and pinning a thread to one.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Error, Limits};

/// A processor, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CoreId(pub usize);

/// The processors the calling thread may run on, lowest first, at most `cores_max`.
///
/// Ask before [`crate::run`] and from a thread that is not pinned.
///
/// # Errors
/// The kernel does not tell.
pub fn usable_cores(limits: &Limits) -> Result<Vec<CoreId>, Error> {
    let allowed = allowed().map_err(|source| Error::host("read the CPU affinity", source))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .take(limits.cores_max)
        .map(CoreId)
        .collect())
}

pub(crate) fn allowed() -> io::Result<CpuSet> {
    Ok(sched_getaffinity(None)?)
}

/// Lets the calling thread run on `cores` only.
pub(crate) fn pin(cores: &CpuSet) -> io::Result<()> {
    Ok(sched_setaffinity(None, cores)?)
}

pub(crate) fn only(core: CoreId) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(core.0);
    set
}
