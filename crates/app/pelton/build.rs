//! Copies the worker, a static program, to the path from which `src/worker.rs` embeds it, and
//! compresses the names of its functions, which profiles need.
//!
//! The worker is another package, built for another target, so Cargo cannot order the two builds.
//! `cargo xtask build` builds the worker first, and passes its path in `PELTON_WORKER`.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-env-changed=PELTON_WORKER");
    if let Err(line) = place_worker() {
        println!("cargo::error={line}");
    }
}

fn place_worker() -> Result<(), String> {
    let worker = env::var_os("PELTON_WORKER").map(PathBuf::from).ok_or(
        "PELTON_WORKER is not set: run `cargo xtask build`, which builds the worker first and then this package",
    )?;
    println!("cargo::rerun-if-changed={}", worker.display());
    // Tests that run the worker without the server read the worker's path from this variable.
    println!("cargo::rustc-env=PELTON_WORKER={}", worker.display());
    let refuse = |what: &str| {
        format!(
            "PELTON_WORKER={}: {what}: run `cargo xtask build`",
            worker.display()
        )
    };
    let elf = fs::read(&worker).map_err(|err| refuse(&err.to_string()))?;
    if !elf.starts_with(b"\x7fELF") {
        return Err(refuse("the file is not an ELF program"));
    }
    let out = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR for every build script");
    let placed = Path::new(&out).join("worker");
    fs::write(&placed, elf).map_err(|err| format!("cannot write {}: {err}", placed.display()))?;
    place_symbols(&worker.with_extension("symbols"), Path::new(&out))
}

/// Compresses the symbols that were stripped from the worker. Without that file, the server is
/// complete, but its profiles have no names for the functions of the worker.
fn place_symbols(symbols: &Path, out: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed={}", symbols.display());
    let placed = out.join("worker.symbols");
    let failed = |err: std::io::Error| format!("cannot write {}: {err}", placed.display());
    let bytes = match fs::read(symbols) {
        Ok(elf) => {
            let compression = flate2::Compression::default();
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), compression);
            encoder.write_all(&elf).map_err(failed)?;
            encoder.finish().map_err(failed)?
        }
        Err(err) => {
            println!(
                "cargo::warning={}: {err}: without this file, profiles do not name the worker's \
                 functions; `cargo xtask build` writes it",
                symbols.display()
            );
            Vec::new()
        }
    };
    fs::write(&placed, bytes).map_err(failed)
}
