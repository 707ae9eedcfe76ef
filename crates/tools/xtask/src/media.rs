//! `cargo xtask media`: a music library that nobody owns, as large as asked for, the same for the same seed.
//!
//! ```text
//! flac, lame, … ─► payloads, a few dozen, kept in the cache ─┐
//! seed ─► albums, songs, layouts (plan) ──────────────────────┼─ write ─► files and folder art ─► manifest.jsonl
//!                                       odd files (odd) ──────┘
//! ```
//! No encoder runs per track: each gets a stretch of a payload, in a container, tags and cover of our own writing. The
//! manifest has a line for each file with what a reader must find in it, or the verdict it must come to.

mod art;
mod manifest;
mod names;
mod odd;
mod payload;
mod plan;
mod random;
#[cfg(test)]
mod tests;
mod write;

use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::stop::{Stop, at};
use crate::{cache, command, debian};

pub(crate) use art::Art;
pub(crate) use manifest::{Expected, Line, MANIFEST};
pub(crate) use payload::Payloads;

/// What the encoders are called that make payloads and art.
pub(crate) const PACKAGES: &[&str] = &["ffmpeg", "flac", "lame", "opus-tools", "vorbis-tools"];

/// What a library is made from.
pub(crate) struct Order<'a> {
    pub(crate) tracks: u32,
    pub(crate) seed: u64,
    pub(crate) out: &'a Path,
    pub(crate) payloads: &'a Payloads,
    pub(crate) art: &'a Art,
}

/// Generates a library, and says where it is.
///
/// # Errors
/// When encoders cannot be installed, or the disk refuses.
pub(crate) fn run(tracks: u32, seed: u64, out: Option<PathBuf>) -> Result<ExitCode, Stop> {
    let out = match out {
        Some(out) => generated(tracks, seed, out)?,
        None => prepared(tracks, seed)?,
    };
    println!("{}", out.display());
    Ok(ExitCode::SUCCESS)
}

/// The library in the cache, generated if it is not there.
///
/// # Errors
/// As [`run`].
pub(crate) fn prepared(tracks: u32, seed: u64) -> Result<PathBuf, Stop> {
    let out = default_folder(&cache::folder()?, tracks, seed);
    generated(tracks, seed, out)
}

/// The library in this folder, generated if it is not there.
///
/// # Errors
/// As [`run`].
pub(crate) fn generated(tracks: u32, seed: u64, out: PathBuf) -> Result<PathBuf, Stop> {
    debian::ensure(PACKAGES)?;
    let cache = cache::folder()?;
    let order = Order {
        tracks,
        seed,
        out: &out,
        payloads: &Payloads::prepare(&cache.join("media-payloads"))?,
        art: &Art::prepare(&cache.join("media-art"))?,
    };
    command::timed("library", || generate(&order))?;
    Ok(out)
}

/// Where a library goes when nobody says.
pub(crate) fn default_folder(cache: &Path, tracks: u32, seed: u64) -> PathBuf {
    cache.join(format!("media-{tracks}-{seed}"))
}

/// Writes a library. Its folder appears whole, by one rename; one that is there already is kept.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn generate(order: &Order<'_>) -> Result<(), Stop> {
    let out = order.out;
    if out.join(MANIFEST).is_file() {
        return Ok(());
    }
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial = out.with_file_name(name);
    if partial.is_dir() {
        fs::remove_dir_all(&partial).map_err(at(&partial))?;
    }
    fs::create_dir_all(&partial).map_err(at(&partial))?;
    write_all(order, &partial)?;
    fs::rename(&partial, out).map_err(at(out))
}

fn write_all(order: &Order<'_>, folder: &Path) -> Result<(), Stop> {
    let path = folder.join(MANIFEST);
    let mut lines = BufWriter::new(fs::File::create(&path).map_err(at(&path))?);
    let mut record = |line: &Line| writeln!(lines, "{}", line.json()).map_err(at(&path));
    for album in plan::albums(order.seed, order.tracks) {
        let cover = album.cover(order.art);
        if let Some((name, bytes)) = album.folder_art(&cover) {
            save(&folder.join(bytes_path(&name)), bytes)?;
        }
        for song in &album.songs {
            let file = write::song(song, &cover, order.payloads);
            save(&folder.join(bytes_path(&song.path)), &file.bytes)?;
            record(&Line::new(&song.path, file.expected))?;
        }
    }
    for (name, bytes, expected) in odd::files(order) {
        save(&folder.join(bytes_path(&name)), &bytes)?;
        record(&Line::new(&name, expected))?;
    }
    let link = folder.join("Odd/loop");
    std::os::unix::fs::symlink("..", &link).map_err(at(&link))?;
    lines.flush().map_err(at(&path))
}

fn bytes_path(name: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(name))
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    match fs::write(path, bytes) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            fs::create_dir_all(folder).map_err(at(folder))?;
            fs::write(path, bytes).map_err(at(path))
        }
        other => other.map_err(at(path)),
    }
}
