//! Small files of `/proc` and `/sys`, read as facts.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use host_checks::{Fact, Unread};

/// Maximum length of a file that is read. The longest is `/proc/interrupts`: a column per
/// processor.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Maximum length of the text that a fact shows as evidence.
const TEXT_BYTES_MAX: usize = 160;

/// Directories from which facts are read, so that tests can read recorded files.
#[derive(Clone, Debug)]
pub struct Roots {
    /// Normally `/proc`.
    pub proc: PathBuf,
    /// Normally `/sys`.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots {
            proc: PathBuf::from("/proc"),
            sys: PathBuf::from("/sys"),
        }
    }
}

/// Reads a file. The text has no white space at its end.
pub(crate) fn text(path: &Path) -> Fact<String> {
    let source = path.display().to_string();
    match read(path) {
        Ok(text) => Fact::known(source, shown(&text), text),
        Err(why) => Fact::unknown(source, why),
    }
}

/// Reads the admin token from the file at `path`. The evidence of the fact does not contain the
/// token.
#[must_use]
pub fn token(path: &Path) -> Fact<String> {
    let source = format!("admin_token_file {}", path.display());
    fact(source, read(path), |_| String::new()).and_then(|token| Some(token.trim().to_owned()))
}

/// Reads a file that contains one number.
pub(crate) fn number(path: &Path) -> Fact<u64> {
    text(path).and_then(|text| text.parse().ok())
}

/// Fails if the deadline has passed. Loops over long lists call it before each item.
pub(crate) fn check(deadline: Instant) -> Result<(), Unread> {
    match deadline <= Instant::now() {
        true => Err(Unread::TimedOut),
        false => Ok(()),
    }
}

/// Reads a file, and returns its text without white space at the end.
pub(crate) fn read(path: &Path) -> Result<String, Unread> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|err| unread(&err))?;
    if FILE_BYTES_MAX < bytes.len() as u64 {
        return Err(Unread::TooLong);
    }
    let text = String::from_utf8(bytes).map_err(|_| Unread::Malformed)?;
    Ok(text.trim_end().to_owned())
}

/// Creates a fact from the result of reading `source`.
pub(crate) fn fact<T>(
    source: impl Into<String>,
    read: Result<T, Unread>,
    text: impl FnOnce(&T) -> String,
) -> Fact<T> {
    match read {
        Ok(value) => Fact::known(source, shown(&text(&value)), value),
        Err(why) => Fact::unknown(source, why),
    }
}

/// Lists the names in a directory, in ascending order.
pub(crate) fn names(path: &Path) -> Result<Vec<String>, Unread> {
    let entries = fs::read_dir(path).map_err(|err| unread(&err))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|err| unread(&err))?.file_name();
        // Names that are not UTF-8 do not come from the kernel.
        names.extend(name.into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

/// Lists the numbers that follow `prefix` in the names of a directory, in ascending order.
pub(crate) fn numbers(path: &Path, prefix: &str) -> Result<Vec<u32>, Unread> {
    let names = names(path)?;
    let numbers = names
        .iter()
        .filter_map(|name| name.strip_prefix(prefix)?.parse().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Converts an error of reading a file into the reason why a fact is unknown.
pub(crate) fn unread(err: &io::Error) -> Unread {
    match err.kind() {
        io::ErrorKind::PermissionDenied => Unread::Denied,
        io::ErrorKind::NotFound => Unread::Absent,
        io::ErrorKind::Unsupported => Unread::Unsupported,
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Unread::TimedOut,
        _ => match err.raw_os_error() {
            Some(number) => Unread::Errno(number),
            None => Unread::Malformed,
        },
    }
}

/// Returns the text on one line, cut after [`TEXT_BYTES_MAX`] bytes.
pub(crate) fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() <= TEXT_BYTES_MAX {
        return line;
    }
    let end = line.floor_char_boundary(TEXT_BYTES_MAX);
    format!("{}…", &line[..end])
}
