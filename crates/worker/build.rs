//! Has the linker keep code, constants and data in large pages of their own: in a microVM each is mapped by entries of
//! 2 MB, and code is shared while data is private. Costs addresses, not bytes of the file.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Wl,-z,max-page-size=0x200000");
}
