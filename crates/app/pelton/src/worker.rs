//! Worker: the static Linux program that runs the jobs in cells. `build.rs` provides its ELF file.

use profile::Known;

/// ELF image of the worker.
pub(crate) static ELF: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/worker"));

/// Names of the worker's functions: an ELF file without code, compressed by zlib. It is empty if
/// the worker was built without `cargo xtask`.
static SYMBOLS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/worker.symbols"));

/// Returns the worker as profiles find it: it runs from a memory file.
pub(crate) fn known() -> Known {
    Known {
        name: "worker",
        path: "/memfd:worker",
        elf: ELF,
        symbols: SYMBOLS,
    }
}
