//! Makes the linker place code, constants and data in separate pages of 2 MB, so that a microVM can
//! map each of them with large pages: code pages are shared, data pages are private. This costs
//! address space, not file size.
//!
//! Also makes the linker redirect all allocations of the codecs to `sandbox`. If a job runs out of
//! memory, `sandbox` stops the job and replies that its memory was insufficient.

/// Allocation functions of C. For each, `sandbox` defines a function with the prefix `__wrap_`.
const ALLOCATIONS: [&str; 6] = [
    "malloc",
    "calloc",
    "realloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Wl,-z,max-page-size=0x200000");
    for name in ALLOCATIONS {
        println!("cargo::rustc-link-arg-bins=-Wl,--wrap={name}");
        // Marks the symbol as undefined from the start, so that the linker takes it from `sandbox`,
        // even if that library precedes the code that calls the symbol.
        println!("cargo::rustc-link-arg-bins=-Wl,--undefined=__wrap_{name}");
    }
}
