//! The worker, a static program for Linux, as `build.rs` placed it.

/// Its ELF image.
pub(crate) static ELF: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/worker"));
