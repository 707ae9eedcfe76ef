//! Worker: the static Linux program that runs the jobs in cells. `build.rs` provides its ELF file.

/// ELF image of the worker.
pub(crate) static ELF: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/worker"));
