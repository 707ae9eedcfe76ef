//! Second half of `conform scan`: runs scans of a generated library under strace. Counts the files
//! that each scan opens, and the system calls that request the metadata of a file.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use toolkit::build::Build;
use toolkit::command::{timed, unstartable};
use toolkit::debian;
use toolkit::stop::{Stop, at};

/// Number of tracks in the library. A library of this size has files of every kind.
const TRACKS: u32 = 2000;
/// Number of files that are changed, to check that the count detects changes.
const CHANGED: usize = 10;
const ENDINGS: [&str; 15] = [
    "aiff", "ape", "avif", "flac", "jpg", "m3u", "m3u8", "m4a", "mp3", "mpc", "ogg", "opus", "png",
    "wav", "wv",
];

/// Traces a scan of an unchanged library, and a scan after a few files changed.
///
/// # Errors
/// When a scan cannot be traced, when a scan opened an unchanged file, or when the number of opened
/// files or of metadata requests is not the expected one.
pub(crate) fn run(build: &mut Build) -> Result<(), Stop> {
    debian::ensure(&["strace"])?;
    let program = build.server()?;
    let library = mediagen::prepared(TRACKS, 1)?;
    let folder = build.cache().join("conform-scan");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let traced = |name: &str| {
        timed(name, || trace(&program, &library, &folder)).inspect(|Calls { opened, stats }| {
            println!(
                "{name}: {} files opened, {stats} metadata requests",
                opened.len()
            );
        })
    };
    let first = traced("first scan")?.opened;
    if first.len() < TRACKS as usize {
        let line = format!(
            "the first scan must open all files, but opened only {} of {TRACKS}",
            first.len()
        );
        return Err(Stop::findings(line));
    }
    let unchanged = traced("unchanged scan")?;
    if let Some(opened) = unchanged.opened.first() {
        return Err(Stop::findings(format!(
            "the second scan must not open unchanged files, but it opened {opened} of them"
        )));
    }
    let files = count(&library)?;
    if unchanged.stats != files {
        let line = format!(
            "the second scan must make one metadata request per file, but made {} requests for \
             {files} files",
            unchanged.stats
        );
        return Err(Stop::findings(line));
    }
    let mut music = Vec::new();
    flacs(&library, &mut music)?;
    for path in music.iter().take(CHANGED) {
        let file = File::options().append(true).open(path);
        let touched = file.and_then(|file| file.set_modified(SystemTime::now()));
        touched.map_err(at(path))?;
    }
    let changed = traced("scan after changes")?.opened;
    if changed.len() != CHANGED {
        let line = format!(
            "the third scan opened {} files instead of the {CHANGED} files that had changed",
            changed.len()
        );
        return Err(Stop::findings(line));
    }
    Ok(())
}

/// System calls that a scan makes on music, pictures and playlists.
struct Calls {
    /// Paths of opened files. A file counts once, although the scan opens it twice if its bytes are
    /// not in the page cache.
    opened: BTreeSet<String>,
    /// Number of system calls that request the metadata of a file by its name.
    stats: usize,
}

fn trace(program: &Path, library: &Path, folder: &Path) -> Result<Calls, Stop> {
    let out = folder.join("trace");
    let mut strace = Command::new("strace");
    strace.args([
        "-f",
        "-qq",
        "-s",
        "4096",
        "-e",
        "trace=open,openat,openat2,creat,statx,stat,lstat,newfstatat",
        "-o",
    ]);
    strace.arg(&out).arg(program).arg("scan").arg(library);
    strace.arg("--data").arg(folder.join("data"));
    strace.stdout(Stdio::null()).stderr(Stdio::null());
    let ended = strace.status().map_err(|err| unstartable(&strace, &err))?;
    // Exit code 1 means that the library has broken files, as every generated library does.
    if !matches!(ended.code(), Some(0 | 1)) {
        return Err(Stop::host(format!(
            "strace failed to trace a scan: {ended}"
        )));
    }
    let text = fs::read(&out).map_err(at(&out))?;
    let text = String::from_utf8_lossy(&text);
    let asks = |line: &&str| {
        line.split('(')
            .next()
            .is_some_and(|call| call.contains("stat"))
    };
    let (stats, opens): (Vec<&str>, Vec<&str>) = text.lines().partition(asks);
    let opened = opens.into_iter().filter_map(named);
    Ok(Calls {
        opened: opened.map(str::to_owned).collect(),
        stats: stats.into_iter().filter_map(named).count(),
    })
}

/// Returns the path in an output line of strace, if a scan reads files with the path's extension.
fn named(line: &str) -> Option<&str> {
    if line.contains("O_DIRECTORY") {
        return None;
    }
    let (_, rest) = line.split_once('"')?;
    let (path, _) = rest.rsplit_once('"')?;
    matters(path).then_some(path)
}

/// Returns whether a scan reads files with the extension of `path`.
fn matters(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it)))
}

/// Counts the files below `folder` that a scan reads, judged by their extensions. Symbolic links
/// are not counted.
fn count(folder: &Path) -> Result<usize, Stop> {
    let mut files = 0;
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let entry = entry.map_err(at(folder))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(at(folder))?);
        if kind.is_dir() {
            files += count(&path)?;
        } else if kind.is_file() && matters(&entry.file_name().to_string_lossy()) {
            files += 1;
        }
    }
    Ok(files)
}

fn flacs(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Stop> {
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let entry = entry.map_err(at(folder))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(at(folder))?);
        if kind.is_dir() {
            flacs(&path, found)?;
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "flac") {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn lines_of_strace_are_read() {
        let line = r#"812 statx(5, "1.flac", AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, {}) = 0"#;
        assert_eq!(named(line), Some("1.flac"));
        let line = r#"812 openat(5, "A \"B\"/1.FLAC", O_RDONLY|O_NOFOLLOW|O_CLOEXEC) = 7"#;
        assert_eq!(named(line), Some(r#"A \"B\"/1.FLAC"#));
        assert_eq!(
            named(r#"812 openat(5, "A.flac", O_RDONLY|O_DIRECTORY) = 7"#),
            None
        );
        assert_eq!(
            named(r#"812 openat(AT_FDCWD, "/etc/localtime", O_RDONLY) = 7"#),
            None
        );
        assert_eq!(named("812 <... openat resumed>) = 7"), None);
    }
}
