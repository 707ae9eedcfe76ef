//! How many descriptors the process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Error;

/// Raises the process's soft limit of open descriptors to its hard limit and returns it; `u64::MAX` for no limit.
///
/// Service managers keep the soft limit at 1024 for programs that still use `select`; children inherit what is set.
/// Each connection takes one descriptor, and two while a file is sent.
///
/// # Errors
/// The kernel refuses.
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
