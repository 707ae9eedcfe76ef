//! Constants that the pool and its workers share, in addition to the message formats.

/// Descriptor of a zygote's socket to the pool.
pub(crate) const CONTROL_FD: i32 = 3;
/// Descriptor of a child's socket to the pool.
pub(crate) const JOB_FD: i32 = CONTROL_FD + 1;

/// Descriptor number of a program's stream to its service, if the job has one. The stream is open
/// from the program's start to its end.
pub const SERVICE_FD: i32 = 3;

/// Plan of a test job (probe) whose output is the job's seed.
pub(crate) const PROBE_ANSWER: &[u8] = &[];
/// Plan of a test job (probe) that makes a denied system call.
pub(crate) const PROBE_FILTER: &[u8] = &[0];

/// Environment variable that is set to [`MARK_GUEST`] in a worker that runs in a microVM.
pub(crate) const MARK: &str = "PELTON_CELL";
pub(crate) const MARK_GUEST: &str = "guest";
