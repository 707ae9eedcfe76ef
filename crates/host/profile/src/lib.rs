//! CPU profiles of a running server and its worker processes.
//!
//! Principal items: [`take`], which samples for some seconds, [`Profile`], its result, and
//! [`Format`], which turns a profile into a file without I/O.
//!
//! ```text
//! host::Sampling ─► registers and stack ─► unwind ─► Stacks ─► names ─► Profile ─┬─► folded
//!             /proc/PID/maps ─► Spaces ────┘            ELF files ─┘             ├─► pprof
//!                                                                                └─► SVG
//! ```
//!
//! Stacks are unwound with the tables that C++ and Rust use for exceptions (`.eh_frame`), so that
//! no program needs frame pointers. Units and limits: a profile lasts 1 to 60 seconds; samples are
//! merged as they arrive, and the merged stacks have at most [`FRAMES_MAX`] frames. Errors:
//! [`Error`] says what the operator can do. Threads: [`take`] blocks its thread; it needs a thread
//! of its own. Sources: perf_event_open(2), proc_pid_maps(5), google/pprof `profile.proto`.

#![forbid(unsafe_code)]

mod elf;
mod folded;
mod format;
mod pprof;
mod profile;
mod spaces;
mod stacks;
mod svg;
mod take;
#[cfg(test)]
mod tests;

use folded::folded;
pub use format::Format;
use pprof::pprof;
pub use profile::{Group, Image, Location, Profile, Stack};
pub use spaces::Known;
pub use stacks::FRAMES_MAX;
use svg::svg;
pub use take::{Error, Of, Request, SECONDS_MAX, take};
