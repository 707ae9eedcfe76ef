//! Names and numbers on which the pool and its workers agree, besides their messages.

/// Descriptor of a zygote's socket to the pool.
pub(crate) const CONTROL_FD: i32 = 3;
/// Descriptor of a child's socket to the pool.
pub(crate) const JOB_FD: i32 = CONTROL_FD + 1;

/// Descriptor under which a program finds its service: a stream, open from its start to its end.
pub const SERVICE_FD: i32 = 3;

/// Plan of the probe's job that answers with its seed.
pub(crate) const PROBE_ANSWER: &[u8] = &[];
/// Plan of the probe's job that makes a denied system call.
pub(crate) const PROBE_FILTER: &[u8] = &[0];

/// Variable that tells a worker that it runs in a microVM, and its value.
pub(crate) const MARK: &str = "PELTON_CELL";
pub(crate) const MARK_GUEST: &str = "guest";
