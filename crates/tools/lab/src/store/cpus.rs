//! Processor cores that the benchmark uses.

/// Cores to which the server and its clients are pinned.
#[derive(Clone, Copy)]
pub(super) struct Cpus {
    pub(super) server: u32,
    pub(super) client: u32,
}
