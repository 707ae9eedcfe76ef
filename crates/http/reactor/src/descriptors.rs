//! The process's limit of open descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Error;

/// Raises the process's soft limit of open descriptors to its hard limit and returns it; `u64::MAX`
/// means no limit.
///
/// Service managers keep the soft limit at 1024 for programs that still use `select`; child
/// processes inherit the raised limit. Each connection takes one descriptor, and two while a file
/// is sent.
///
/// # Errors
/// The kernel refuses to raise the limit.
pub fn raise_descriptors_max() -> Result<u64, Error> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised)
        .map_err(|errno| Error::host("raise the limit of open descriptors", errno.into()))?;
    Ok(maximum.unwrap_or(u64::MAX))
}
