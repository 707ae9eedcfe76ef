//! Folder of a generated library: its place in the cache, and its files.

use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use toolkit::stop::{Stop, at};
use toolkit::{cache, command, debian};

use crate::art::Art;
use crate::manifest::{Line, MANIFEST};
use crate::payload::Payloads;
use crate::{odd, plan, write};

/// Debian packages of the encoders that make payloads and art.
const PACKAGES: &[&str] = &["ffmpeg", "flac", "lame", "opus-tools", "vorbis-tools"];

/// Parameters of one generated library.
pub struct LibraryParameters<'a> {
    /// Number of tracks.
    pub tracks: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// Folder into which the library is written.
    pub out: &'a Path,
    /// Encoded audio that the tracks are cut from.
    pub payloads: &'a Payloads,
    /// Pictures for covers and folder art.
    pub art: &'a Art,
}

/// Returns the library's folder in the cache, after generating the library if it is missing.
///
/// # Errors
/// When encoders cannot be installed, or the disk refuses a write.
pub fn prepared(tracks: u32, seed: u64) -> Result<PathBuf, Stop> {
    let out = default_folder(&cache::folder()?, tracks, seed);
    generated(tracks, seed, out)
}

/// Generates the library in the folder `out`, unless the library exists, and returns `out`.
///
/// # Errors
/// As for [`prepared`].
pub fn generated(tracks: u32, seed: u64, out: PathBuf) -> Result<PathBuf, Stop> {
    debian::ensure(PACKAGES)?;
    let cache = cache::folder()?;
    let parameters = LibraryParameters {
        tracks,
        seed,
        out: &out,
        payloads: &Payloads::prepare(&cache.join("media-payloads"))?,
        art: &Art::prepare(&cache.join("media-art"))?,
    };
    command::timed("library", || generate(&parameters))?;
    Ok(out)
}

/// Returns the library's folder in the cache. It is used if the user does not name a folder.
fn default_folder(cache: &Path, tracks: u32, seed: u64) -> PathBuf {
    cache.join(format!("media-{tracks}-{seed}"))
}

/// Writes a library, unless its folder is already complete. The folder gets its final name only
/// when it is complete.
///
/// # Errors
/// When the disk refuses a write.
pub fn generate(parameters: &LibraryParameters<'_>) -> Result<(), Stop> {
    let out = parameters.out;
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
    write_all(parameters, &partial)?;
    fs::rename(&partial, out).map_err(at(out))
}

fn write_all(parameters: &LibraryParameters<'_>, folder: &Path) -> Result<(), Stop> {
    let path = folder.join(MANIFEST);
    let mut lines = BufWriter::new(fs::File::create(&path).map_err(at(&path))?);
    let mut record = |line: &Line| writeln!(lines, "{}", line.json()).map_err(at(&path));
    for album in plan::albums(parameters.seed, parameters.tracks) {
        let cover = album.cover(parameters.art);
        if let Some((name, bytes)) = album.folder_art(&cover) {
            save(&folder.join(bytes_path(&name)), bytes)?;
        }
        for song in &album.songs {
            let file = write::song(song, &cover, parameters.payloads);
            save(&folder.join(bytes_path(&song.path)), &file.bytes)?;
            record(&Line::new(&song.path, file.expected))?;
        }
    }
    for (name, bytes, expected) in odd::files(parameters) {
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
