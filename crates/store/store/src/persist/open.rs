//! Loads the data at the start, and opens or creates the AOF.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use keyspace::Keyspace;

use super::journal::{self, Sum};
use super::manifest::Manifest;
use super::paths::{Paths, Unwritten};
use super::{load, snapshot};
use crate::Error;
use crate::config::Config;

/// Number of bytes that are encoded at a time while a snapshot is written before the server accepts
/// clients.
const BLOCKING_PIECE_BYTES: usize = 1 << 20;

/// An AOF that is continued or newly started.
#[derive(Debug)]
pub(crate) struct Opened {
    /// File to append to, or the error text if the disk is full.
    pub(super) file: Result<File, String>,
    pub(super) manifest: Manifest,
    pub(super) bytes: u64,
    pub(super) base_bytes: u64,
    /// Checksum of the bytes at the end of `file` that no checksum annotation covers.
    pub(super) sum: Sum,
}

/// Loads the data, and opens the AOF if it is enabled. If the disk is full, the data is loaded, but
/// commands that change data are refused.
pub(crate) fn open(
    config: &Config,
    keyspace: &mut Keyspace,
    now_ms: u64,
) -> Result<Option<Opened>, Error> {
    let paths = Paths::new(config);
    fs::create_dir_all(&config.dir)
        .map_err(|error| Error::host(format!("{}: {error}", config.dir)))?;
    snapshot::remove_unfinished(config.dir.as_ref(), &config.dbfilename.0);
    snapshot::remove_unfinished(&paths.journals, &paths.stem);
    let loaded = load::load(config, keyspace, now_ms)?;
    keyspace.effects.flushed_all = false;
    if !config.appendonly {
        return Ok(None);
    }
    let mut opened = Opened {
        file: Err(String::new()),
        manifest: loaded.manifest.unwrap_or_default(),
        bytes: loaded.journal_bytes,
        base_bytes: loaded.base_bytes,
        sum: loaded.sum,
    };
    let started = match loaded.move_error {
        Some(fault) => Err(fault),
        None => open_last_increment(config, &paths, keyspace, now_ms, &mut opened),
    };
    opened.file = match started {
        Ok(file) => Ok(file),
        Err((path, error)) if journal::is_full(&error) => {
            let fault = format!("{}: {error}", path.display());
            tracing::error!(
                fault,
                "the disk is full, so the AOF cannot be started: only reads are served until space is free"
            );
            Err(fault)
        }
        Err((path, error)) => return Err(Error::host(format!("{}: {error}", path.display()))),
    };
    Ok(Some(opened))
}

/// Opens the AOF's last increment, and creates the base and the increment if they are missing.
/// Existing files are not rewritten, because the disk may be full.
fn open_last_increment(
    config: &Config,
    paths: &Paths,
    keyspace: &mut Keyspace,
    now_ms: u64,
    opened: &mut Opened,
) -> Result<File, Unwritten> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| (path, error)
    };
    fs::create_dir_all(&paths.journals).map_err(at(&paths.journals))?;
    let mut manifest = opened.manifest.clone();
    if manifest.base.is_none() && manifest.increments.is_empty() {
        let base = manifest.next_base(&paths.stem);
        let path = paths.journal(&base);
        set_aside(&path).map_err(at(&path))?;
        assert!(
            keyspace.start_snapshot(snapshot::options(config, true, now_ms)),
            "no other snapshot is in progress"
        );
        opened.base_bytes =
            snapshot::write_blocking(keyspace, &path, BLOCKING_PIECE_BYTES).map_err(at(&path))?;
        opened.bytes = opened.base_bytes;
        manifest.base = Some(base);
    }
    if manifest.increments.is_empty() {
        let increment = manifest.next_increment(&paths.stem);
        let path = paths.journal(&increment);
        set_aside(&path).map_err(at(&path))?;
        manifest.increments.push(increment);
    }
    let last = manifest.increments.last().expect("an increment was pushed");
    let path = paths.journal(last);
    let file = journal::open_for_append(&path).map_err(at(&path))?;
    if manifest != opened.manifest {
        journal::replace(&paths.manifest, manifest.print().as_bytes())
            .map_err(at(&paths.manifest))?;
        opened.manifest = manifest;
    }
    Ok(file)
}

/// Renames a non-empty file that is not in the manifest, so that it is not overwritten. The
/// manifest may have been lost, or may never have been written.
fn set_aside(path: &Path) -> io::Result<()> {
    if !fs::metadata(path).is_ok_and(|file| 0 < file.len()) {
        return Ok(());
    }
    let named = |number: u32| {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".unlisted.{number}"));
        PathBuf::from(aside)
    };
    let free = (1..).map(named).find(|aside| !aside.exists());
    let aside = free.expect("there are more numbers than files");
    tracing::warn!(
        file = %path.display(),
        aside = %aside.display(),
        "an AOF file that is not in the manifest was renamed, and is not loaded"
    );
    fs::rename(path, aside)
}
