//! `conform miri`: the unit tests of the protocol and storage crates under Miri. Miri reports
//! undefined behaviour, leaks and misused pointers, in our crates and in the crates that they
//! import.
//!
//! Miri interprets every instruction, several hundred times slower than a processor executes it. So
//! tests with many repetitions repeat less often under `cfg(miri)`. Property tests that do not
//! state their number of cases read it from an environment variable, which is set here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser as _;
use toolkit::build;
use toolkit::command::{output, succeed, timed};
use toolkit::stop::Stop;
use toolkit::target_dir::TargetDir;

/// Crates whose tests make no system calls except to read files.
const CRATES: &[&str] = &["http1", "http2", "keyspace", "resp"];

/// Number of cases of a property test.
const PROPTEST_CASES: &str = "8";

/// Flags of the interpreter. Tests read tables from files in the checkout, which Miri allows only
/// without isolation.
const MIRIFLAGS: &str = "-Zmiri-disable-isolation";

/// Command that installs the nightly toolchain with Miri.
const INSTALL: &str = "rustup toolchain install nightly --component miri --component rust-src";

/// Arguments after the suite's name.
#[derive(clap::Parser)]
#[command(name = "cargo xtask conform miri")]
struct Typed {
    /// Crates to test (default: all crates of the suite)
    crates: Vec<String>,
}

/// Tests the crates, one after the other. A failure does not keep the tests of the other crates
/// from running.
///
/// # Errors
/// When Miri is not installed, a crate is not part of the suite, or a test fails.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let words = [OsString::from("conform miri")].into_iter();
    let typed = Typed::parse_from(words.chain(arguments.iter().cloned()));
    let wanted = match typed.crates.as_slice() {
        [] => CRATES.iter().copied().map(str::to_owned).collect(),
        some => some.to_vec(),
    };
    if let Some(unknown) = wanted.iter().find(|name| !CRATES.contains(&name.as_str())) {
        return Err(
            Stop::usage(format!("{unknown} is not tested under Miri")).hint(format!(
                "the crates that are tested under Miri: {}",
                CRATES.join(", ")
            )),
        );
    }
    let missing = |_: Stop| Stop::host("the nightly toolchain with Miri is missing").hint(INSTALL);
    output(nightly(&root, "cargo").args(["miri", "--version"])).map_err(missing)?;
    let version = output(nightly(&root, "rustc").arg("-vV")).map_err(missing)?;
    let triple = build::host_triple(&version)?;
    let folder = TargetDir::lock("miri", &root, &version, |folder| {
        let mut clean = nightly(&root, "cargo");
        clean.args(["clean", "--target", triple, "--target-dir"]);
        // Miri builds in the subfolder `miri` of the target directory, so that subfolder is
        // cleaned.
        clean.arg(folder.join("miri"));
        clean
    })?;
    let mut test = nightly(&root, "cargo");
    test.args(["miri", "test", "--lib", "--no-fail-fast"])
        .arg("--target-dir")
        .arg(folder.path())
        .env("MIRIFLAGS", MIRIFLAGS)
        .env("PROPTEST_CASES", PROPTEST_CASES);
    for name in &wanted {
        test.args(["--package", name]);
    }
    timed("conform miri", || succeed(&mut test))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a command of the nightly toolchain.
fn nightly(root: &Path, program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]).current_dir(root);
    // These variables select the toolchain and flags of the build that started this program. The
    // nightly toolchain must not inherit them.
    for name in ["CARGO", "RUSTC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
}
