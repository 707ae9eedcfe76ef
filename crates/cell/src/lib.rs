//! Sandboxes for one job: a process that is jailed before it sees a byte from outside, and dies after its answer.

mod channel;
mod control;
mod error;
pub mod inside;
mod keeper;
mod limits;
mod memfd;
mod pool;
mod posture;
mod slot;
mod spawn;
mod stats;
mod syscall;
mod verdict;
mod zygote;

pub use error::{Error, ErrorKind, Failure, FailureKind};
pub use limits::Limits;
pub use pool::{Finished, Pool, Task};
pub use posture::{HugePages, Posture};
pub use stats::Stats;
