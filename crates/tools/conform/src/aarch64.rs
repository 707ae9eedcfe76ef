//! `conform aarch64`: tests of those crates that run without an x86 processor, compiled for 64-bit
//! Arm and run by the emulator qemu-user.
//!
//! ```text
//! crate ─ rustc, linker of gcc for Arm ─► static test program ─ qemu-aarch64-static ─► verdict
//! ```

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use toolkit::command::{output, succeed, timed};
use toolkit::stop::Stop;
use toolkit::target_dir::TargetDir;
use toolkit::{build, debian};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Flags for the compiler, and for rustdoc when it compiles the examples in doc comments.
const STATIC: &str = "-C target-feature=+crt-static";

/// Debian's packages with the linker, the C library and the emulator.
const PACKAGES: &[&str] = &[
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "qemu-user-static",
];

/// Crates of the suite. Crates that need seccomp filters or KVM are left out, because the emulator
/// supports neither. Crates that link C codecs are left out, because the codecs are not built for
/// Arm.
const CRATES: &[&str] = &[
    "audio-plan",
    "catalog",
    "cgi",
    "http1",
    "http2",
    "image-plan",
    "keyspace",
    "openmetrics",
    "pixel",
    "read-at",
    "resp",
    "sandbox-protocol",
    "tags",
    "wall-clock",
];

/// Installs missing packages, then builds and runs the tests. A failure does not keep the tests of
/// the other crates from running.
///
/// # Errors
/// When the compiler, the linker or the emulator for the target is missing, or a test fails.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    debian::ensure(PACKAGES)?;
    let version = output(Command::new("rustc").arg("-vV").current_dir(&root))?;
    let library = output(
        Command::new("rustc")
            .args(["--print", "target-libdir", "--target", TARGET])
            .current_dir(&root),
    )?;
    if !Path::new(library.trim()).exists() {
        return Err(Stop::host(format!(
            "the Rust standard library for {TARGET} is not installed"
        ))
        .hint(format!("run rustup target add {TARGET}")));
    }
    let folder = TargetDir::lock("aarch64", &root, &version, |folder| {
        cargo(&root, folder, "clean")
    })?;
    let mut test = cargo(&root, folder.path(), "test");
    test.arg("--no-fail-fast");
    for name in CRATES {
        test.args(["--package", name]);
    }
    test.arg("--").args(arguments);
    timed("conform aarch64", || succeed(&mut test))?;
    Ok(ExitCode::SUCCESS)
}

fn cargo(root: &Path, target_dir: &Path, subcommand: &str) -> Command {
    let mut cargo = Command::new(build::cargo());
    cargo
        .args([subcommand, "--release", "--target", TARGET, "--target-dir"])
        .arg(target_dir)
        .current_dir(root)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
            "aarch64-linux-gnu-gcc",
        )
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            "qemu-aarch64-static",
        )
        // A static program needs no library of the target at run time.
        .env("RUSTFLAGS", STATIC)
        .env("RUSTDOCFLAGS", STATIC)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo
}
