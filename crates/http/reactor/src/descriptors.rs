//! The process's limit on open descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Error;

/// Raises the process's soft limit on open descriptors to the hard limit, and returns that limit;
/// `u64::MAX` means no limit.
///
/// Service managers leave the soft limit at 1024, for programs that still use `select`. Each
/// connection uses one descriptor, and a second one while a file is sent. Child processes inherit
/// the raised limit.
///
/// # Errors
/// The kernel refuses to raise the limit.
pub fn raise_descriptors_max() -> Result<u64, Error> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|errno| {
        Error::host(
            "cannot raise the limit on open file descriptors",
            errno.into(),
        )
    })?;
    Ok(maximum.unwrap_or(u64::MAX))
}
