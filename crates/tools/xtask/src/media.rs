//! `xtask media`: music libraries for tests and demonstrations.

use std::path::PathBuf;
use std::process::ExitCode;

use toolkit::stop::Stop;

/// Generates a library, and prints its folder.
pub(crate) fn run(tracks: u32, seed: u64, out: Option<PathBuf>) -> Result<ExitCode, Stop> {
    let out = match out {
        Some(out) => mediagen::generated(tracks, seed, out)?,
        None => mediagen::prepared(tracks, seed)?,
    };
    println!("{}", out.display());
    Ok(ExitCode::SUCCESS)
}
