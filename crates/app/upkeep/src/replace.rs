//! Files that a command writes: complete or not at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind::InvalidInput};
use std::path::{Path, PathBuf};

/// Writes a file with `write`, and puts it into the place of `output` when it is complete. If
/// `write` fails, the file at `output` stays as it was. The data is synced before the rename, so
/// that a power cut cannot replace a complete file by a partial one.
///
/// # Errors
/// When `output` names no file, the file cannot be created or renamed, or `write` fails.
pub(crate) fn replace<T>(
    output: &Path,
    write: impl FnOnce(&mut File) -> io::Result<T>,
) -> io::Result<T> {
    let mut name = match output.file_name() {
        Some(name) => name.to_owned(),
        None => return Err(io::Error::new(InvalidInput, "the path has no file name")),
    };
    name.push(format!(".{}.part", std::process::id()));
    let temporary: PathBuf = output.with_file_name(name);
    let mut file = File::create_new(&temporary)?;
    let written = write(&mut file).and_then(|result| {
        file.sync_data()?;
        fs::rename(&temporary, output)?;
        Ok(result)
    });
    written.inspect_err(|_| {
        // The earlier error is returned; an error of this removal is ignored.
        drop(fs::remove_file(&temporary));
    })
}

#[cfg(test)]
mod tests;
