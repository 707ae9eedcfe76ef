//! Worker, a static program for Linux that `build.rs` provides.

/// ELF image of the worker.
pub(crate) static ELF: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/worker"));
