//! Has the linker keep code, constants and data in large pages of their own: in a microVM each is mapped by entries of
//! 2 MB, and code is shared while data is private. Costs addresses, not bytes of the file.
//!
//! And has it send every allocation of the codecs through `cell`, which ends a job that has no memory left with a reply.

/// What C code asks for memory by; `cell` has a function of each name behind `__wrap_`.
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
        // Wanted from the start, so that it is taken from `cell`, which may stand before the code that calls it.
        println!("cargo::rustc-link-arg-bins=-Wl,--undefined=__wrap_{name}");
    }
}
