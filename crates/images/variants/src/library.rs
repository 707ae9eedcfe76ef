//! The originals: which file a request's path means, and whether it is still the one we knew.
//!
//! Every path is resolved by the kernel below an open directory (`openat2` with `RESOLVE_BENEATH`), so neither `..` nor
//! a symbolic link leaves the library. Nothing here reads a file's content.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2, stat};

/// Longest path of an original, in bytes after decoding; Linux's `PATH_MAX`.
const PATH_BYTES_MAX: usize = 4096;

/// What tells one version of an original from another, taken from a stat alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device the file is on.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
    /// Its size.
    pub size_bytes: u64,
    /// Seconds of its last change.
    pub modified_s: i64,
    /// Nanoseconds of its last change.
    pub modified_ns: u32,
    /// Seconds of the last change of its inode, which no program can set: a file that is overwritten in place may keep its
    /// size and get its old time of change back.
    pub inode_changed_s: i64,
    /// Nanoseconds of that.
    pub inode_changed_ns: u32,
}

impl Identity {
    /// Fixed-width bytes, for keys.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 48] {
        let mut out = [0; 48];
        out[..8].copy_from_slice(&self.device.to_le_bytes());
        out[8..16].copy_from_slice(&self.inode.to_le_bytes());
        out[16..24].copy_from_slice(&self.size_bytes.to_le_bytes());
        out[24..32].copy_from_slice(&self.modified_s.to_le_bytes());
        out[32..36].copy_from_slice(&self.modified_ns.to_le_bytes());
        out[36..44].copy_from_slice(&self.inode_changed_s.to_le_bytes());
        out[44..].copy_from_slice(&self.inode_changed_ns.to_le_bytes());
        out
    }

    /// The entity tag of the original itself.
    #[must_use]
    pub fn etag(&self) -> String {
        // Hashed, since inode numbers are nobody's business.
        let hash = blake3::hash(&self.to_bytes());
        format!("\"{}\"", &hash.to_hex()[..32])
    }
}

/// Why a path leads to no original.
#[derive(Debug)]
pub enum Missing {
    /// Nothing there, nothing that may be served, or a way out of the library.
    NotFound,
    /// The answer is not in the kernel's caches: ask again where sleeping is allowed.
    WouldSleep,
    /// The host failed us: out of descriptors, an I/O error.
    Host(io::Error),
}

/// What lies in a folder.
#[derive(Debug, Default)]
pub struct Listed {
    /// Names of folders.
    pub folders: Vec<OsString>,
    /// Names of everything else that may be a file.
    pub files: Vec<OsString>,
    /// There is more than was asked for.
    pub cut: bool,
}

/// Whether a lookup may wait for a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Only what the kernel has cached; for code on a core.
    Never,
    /// As long as it takes; for the blocking pool.
    Allowed,
}

/// A request's path after decoding: relative, without empty, hidden or dot segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryPath(Vec<u8>);

impl LibraryPath {
    /// Decodes the path of a request target, once. `None` where no original can be meant: a segment that is empty or hidden
    /// (which covers `.` and `..`), a NUL or slash that was escaped, a broken escape, or more than 4,096 bytes. So slashes
    /// have one spelling.
    #[must_use]
    pub fn from_target(path: &str) -> Option<LibraryPath> {
        let segments = path.strip_prefix('/').unwrap_or(path).split('/');
        LibraryPath::of_segments(segments)
    }

    /// As [`LibraryPath::from_target`], but slashes at the end and slashes next to each other do not count.
    #[must_use]
    pub fn from_misspelt(path: &str) -> Option<LibraryPath> {
        LibraryPath::of_segments(path.split('/').filter(|segment| !segment.is_empty()))
    }

    fn of_segments<'s>(segments: impl Iterator<Item = &'s str>) -> Option<LibraryPath> {
        let mut out = Vec::new();
        for segment in segments {
            let decoded = percent_decoded(segment.as_bytes())?;
            if matches!(decoded[..], [] | [b'.', ..])
                || decoded.iter().any(|byte| b"/\0".contains(byte))
            {
                return None;
            }
            if !out.is_empty() {
                out.push(b'/');
            }
            out.extend_from_slice(&decoded);
        }
        (!out.is_empty() && out.len() < PATH_BYTES_MAX).then_some(LibraryPath(out))
    }

    /// The path of a file that a walk of the library found, by its path below the root.
    #[must_use]
    pub fn from_relative(path: &Path) -> Option<LibraryPath> {
        let bytes = path.as_os_str().as_bytes();
        let hidden = bytes
            .split(|&byte| byte == b'/')
            .any(|segment| matches!(segment, [] | [b'.', ..]));
        (!hidden && bytes.len() < PATH_BYTES_MAX).then(|| LibraryPath(bytes.to_vec()))
    }

    /// The path relative to the library's root.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The target that means this path.
    #[must_use]
    pub fn target(&self) -> String {
        format!("/{}", encode(self.as_path()))
    }

    /// The file name's extension in lower case, without the dot.
    #[must_use]
    pub fn extension(&self) -> Option<String> {
        let extension = self.as_path().extension()?.to_str()?;
        Some(extension.to_ascii_lowercase())
    }
}

/// A directory of originals under a prefix of the URL space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Leading segments of the request's path, without slashes at its ends; empty for the whole space.
    pub prefix: String,
    /// The directory that stands for it.
    pub directory: PathBuf,
    /// Whether only targets that the server itself puts together lead there, in whatever spelling clients ask.
    pub is_internal: bool,
}

/// The directories that hold the originals.
#[derive(Debug)]
pub struct Library {
    /// Longest prefix first, so that the first match is the right one.
    roots: Vec<Root>,
    /// Our own data, which is served under no path: links and mounts give it others.
    data: PathBuf,
    /// Its device and inode, once it is there.
    data_identity: OnceLock<(u64, u64)>,
}

#[derive(Debug)]
struct Root {
    prefix: Vec<u8>,
    directory: OwnedFd,
    is_internal: bool,
    /// The directory's device and inode.
    identity: (u64, u64),
    /// Where our own data lies below it, if it does: never served.
    hidden: Option<PathBuf>,
}

impl Library {
    /// Opens each mount's directory; `data` is kept out of the library where it lies inside.
    ///
    /// # Errors
    /// The first directory that cannot be opened, with its path.
    pub fn open(mounts: &[Mount], data: &Path) -> Result<Library, (PathBuf, io::Error)> {
        let mut roots = Vec::with_capacity(mounts.len());
        for mount in mounts {
            let root = Root::open(mount, data).map_err(|err| (mount.directory.clone(), err))?;
            roots.push(root);
        }
        roots.sort_by_key(|root| std::cmp::Reverse(root.prefix.len()));
        Ok(Library {
            roots,
            data: data.to_owned(),
            data_identity: OnceLock::new(),
        })
    }

    /// The version of the original at `path` that is there now.
    ///
    /// # Errors
    /// [`Missing`]; [`Missing::WouldSleep`] only when `wait` is [`Wait::Never`].
    pub fn identify(&self, path: &LibraryPath, wait: Wait) -> Result<Identity, Missing> {
        let handle = self.descend(path, OFlags::PATH, wait)?;
        identity(&handle)
    }

    /// Whether there is a folder at `path`. May wait for a disk.
    #[must_use]
    pub fn is_folder(&self, path: &LibraryPath) -> bool {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        self.descend(path, flags, Wait::Allowed).is_ok()
    }

    /// Opens the original at `path` for reading; may wait for a disk.
    ///
    /// # Errors
    /// [`Missing::NotFound`] or [`Missing::Host`].
    pub fn open_original(&self, path: &LibraryPath) -> Result<(File, Identity), Missing> {
        // A FIFO or device would hold us at `open`; O_NONBLOCK returns, and the type is judged after.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let handle = self.descend(path, flags, Wait::Allowed)?;
        let identity = identity(&handle)?;
        Ok((File::from(handle), identity))
    }

    /// What lies in a folder, `None` being the top: hidden names left out, in order, at most `entries_max`. May wait for
    /// a disk.
    ///
    /// # Errors
    /// [`Missing::NotFound`] or [`Missing::Host`].
    pub fn list_folder(
        &self,
        folder: Option<&LibraryPath>,
        entries_max: usize,
    ) -> Result<Listed, Missing> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let (root, below) = match folder {
            Some(folder) => self.root_of(folder).ok_or(Missing::NotFound)?,
            None => (self.roots.last().ok_or(Missing::NotFound)?, &b""[..]),
        };
        let handle = match folder {
            Some(folder) => self.descend(folder, flags, Wait::Allowed)?,
            None => {
                let resolve = ResolveFlags::BENEATH;
                openat2(
                    &root.directory,
                    ".",
                    flags | OFlags::CLOEXEC,
                    Mode::empty(),
                    resolve,
                )
                .map_err(missing)?
            }
        };
        let below = Path::new(OsStr::from_bytes(below));
        let mut listed = Listed::default();
        for entry in Dir::new(handle).map_err(missing)? {
            let entry = entry.map_err(missing)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name.as_bytes().starts_with(b".") || root.hides(&below.join(&name)) {
                continue;
            }
            if entries_max <= listed.folders.len() + listed.files.len() {
                listed.cut = true;
                break;
            }
            match entry.file_type() {
                FileType::Directory => listed.folders.push(name),
                // A link is followed, or refused, when somebody asks for it.
                FileType::RegularFile | FileType::Symlink | FileType::Unknown => {
                    listed.files.push(name)
                }
                _ => {}
            }
        }
        listed.folders.sort();
        listed.files.sort();
        Ok(listed)
    }

    /// Returns the path that a client's target means; `None` where no original can be meant, or only by the server itself.
    #[must_use]
    pub fn path_for_clients(&self, target: &str) -> Option<LibraryPath> {
        LibraryPath::from_target(target).filter(|path| !self.is_internal(path))
    }

    /// Returns whether `path` lies in a directory that clients cannot name.
    #[must_use]
    pub fn is_internal(&self, path: &LibraryPath) -> bool {
        self.root_of(path).is_some_and(|(root, _)| root.is_internal)
    }

    /// Whether `path` leads to our own data, which is no part of the library.
    #[must_use]
    pub fn hides(&self, path: &LibraryPath) -> bool {
        self.root_of(path)
            .is_some_and(|(root, rest)| root.hides(Path::new(OsStr::from_bytes(rest))))
    }

    fn descend(&self, path: &LibraryPath, flags: OFlags, wait: Wait) -> Result<OwnedFd, Missing> {
        let (root, rest) = self.root_of(path).ok_or(Missing::NotFound)?;
        let rest = Path::new(OsStr::from_bytes(rest));
        if root.hides(rest) {
            return Err(Missing::NotFound);
        }
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        if wait == Wait::Never {
            resolve |= ResolveFlags::CACHED;
        }
        loop {
            match openat2(
                &root.directory,
                rest,
                flags | OFlags::CLOEXEC,
                Mode::empty(),
                resolve,
            ) {
                Ok(handle) if self.is_in_data(root, &handle)? => return Err(Missing::NotFound),
                Ok(handle) => return Ok(handle),
                // Something was renamed while the kernel looked; only RESOLVE_CACHED means "not cached".
                Err(rustix::io::Errno::AGAIN) if wait == Wait::Allowed => {}
                Err(err) => return Err(missing(err)),
            }
        }
    }

    /// Returns whether an open file or folder lies in our own data, by the identity of each folder from there to the root.
    fn is_in_data(&self, root: &Root, handle: &OwnedFd) -> Result<bool, Missing> {
        let Some(data) = self.data_identity() else {
            // Nothing is kept yet.
            return Ok(false);
        };
        let found = fstat(handle).map_err(missing)?;
        // Another file system may be mounted inside the data directory, if that lies in this root.
        if found.st_dev != data.0 && root.hidden.is_none() {
            return Ok(false);
        }
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory
            && (found.st_dev, found.st_ino) == data
        {
            return Ok(true);
        }
        // What the kernel found, without the links that led there.
        let name = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let Ok(path) = std::fs::read_link(name) else {
            // A host without /proc, where the path alone tells.
            return Ok(false);
        };
        for folder in path.ancestors().skip(1) {
            let Ok(found) = stat(folder) else {
                // It was moved meanwhile.
                return Err(Missing::NotFound);
            };
            match (found.st_dev, found.st_ino) {
                found if found == root.identity => return Ok(false),
                found if found == data => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }

    fn data_identity(&self) -> Option<(u64, u64)> {
        if let Some(known) = self.data_identity.get() {
            return Some(*known);
        }
        let found = stat(&self.data).ok()?;
        Some(
            *self
                .data_identity
                .get_or_init(|| (found.st_dev, found.st_ino)),
        )
    }

    fn root_of<'p>(&self, path: &'p LibraryPath) -> Option<(&Root, &'p [u8])> {
        self.roots.iter().find_map(|root| {
            let rest = path.0.strip_prefix(&root.prefix[..])?;
            match rest {
                _ if root.prefix.is_empty() => Some((root, rest)),
                [b'/', rest @ ..] => Some((root, rest)),
                _ => None,
            }
        })
    }
}

impl Root {
    fn open(mount: &Mount, data: &Path) -> io::Result<Root> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(&mount.directory, flags, Mode::empty())?;
        let found = fstat(&directory)?;
        let real = mount.directory.canonicalize()?;
        // Data that is not there yet will be made by us, at this very path.
        let data = data.canonicalize().or_else(|_| std::path::absolute(data))?;
        let hidden = data.strip_prefix(&real).ok().map(Path::to_path_buf);
        let prefix = mount.prefix.trim_matches('/').as_bytes().to_vec();
        Ok(Root {
            prefix,
            identity: (found.st_dev, found.st_ino),
            directory,
            is_internal: mount.is_internal,
            hidden,
        })
    }

    /// Whether a path below this root leads to our own data.
    fn hides(&self, path: &Path) -> bool {
        let hidden = self.hidden.as_ref();
        hidden.is_some_and(|hidden| path.starts_with(hidden))
    }
}

/// The version of the original that is open.
pub fn identity(handle: impl AsFd) -> Result<Identity, Missing> {
    let stat = fstat(handle).map_err(missing)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Missing::NotFound);
    }
    Ok(Identity {
        device: stat.st_dev,
        inode: stat.st_ino,
        size_bytes: stat.st_size as u64,
        modified_s: stat.st_mtime,
        modified_ns: stat.st_mtime_nsec as u32,
        inode_changed_s: stat.st_ctime,
        inode_changed_ns: stat.st_ctime_nsec as u32,
    })
}

/// A client learns no more than "not found", whatever the file system said.
fn missing(err: rustix::io::Errno) -> Missing {
    use rustix::io::Errno;
    match err {
        Errno::AGAIN => Missing::WouldSleep,
        Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::XDEV => {
            Missing::NotFound
        }
        Errno::NAMETOOLONG | Errno::INVAL | Errno::NXIO | Errno::ISDIR => Missing::NotFound,
        err => Missing::Host(err.into()),
    }
}

/// A path as it stands in a URL, and so in an attribute: all but the unreserved characters of RFC 3986 §2.3 escaped.
pub fn encode(path: &Path) -> String {
    let mut out = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            _ => write!(out, "%{byte:02X}").expect("strings take everything"),
        }
    }
    out
}

fn percent_decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let (digits, tail) = rest.split_first_chunk::<2>()?;
            out.push(hex(digits[0])? << 4 | hex(digits[1])?);
            rest = tail;
        } else {
            out.push(byte);
        }
    }
    Some(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests;
