//! Library of originals: opens the file that a request path names, and identifies the version of
//! each file.
//!
//! The kernel resolves every path below an open directory (`openat2` with `RESOLVE_BENEATH`), so
//! neither `..` nor a symbolic link can lead out of the library. This module never reads the
//! content of a file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2, stat};

/// Maximum length of a decoded path, in bytes; the value of `PATH_MAX` on Linux.
const PATH_BYTES_MAX: usize = 4096;

/// Version of an original, identified by its `fstat` metadata only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number of the file.
    pub inode: u64,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Modification time: seconds since 1970.
    pub modified_s: i64,
    /// Modification time: nanoseconds within the second.
    pub modified_ns: u32,
    /// Change time of the inode: seconds since 1970. After a program has overwritten a file in
    /// place, it can restore the modification time, but it cannot set the change time. So the
    /// change time reveals the new content.
    pub inode_changed_s: i64,
    /// Change time of the inode: nanoseconds within the second.
    pub inode_changed_ns: u32,
}

impl Identity {
    /// Returns the fields as bytes of fixed length, from which keys are computed.
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

    /// Returns the entity tag of a response that sends the original itself.
    #[must_use]
    pub fn etag(&self) -> String {
        // The fields are hashed, since clients must not learn inode numbers.
        let hash = blake3::hash(&self.to_bytes());
        format!("\"{}\"", &hash.to_hex()[..32])
    }
}

/// Reason why an original cannot be opened.
#[derive(Debug)]
pub enum Missing {
    /// There is no file at the path, the file may not be served, or the path leads out of the
    /// library.
    NotFound,
    /// The call would have to read the disk. The caller may repeat it with [`Wait::Allowed`] on a
    /// thread that may block.
    WouldSleep,
    /// The host failed, for example with an I/O error or for lack of file descriptors.
    Host(io::Error),
}

/// List of the entries of a folder.
#[derive(Debug, Default)]
pub struct Listed {
    /// Names of the subfolders.
    pub folders: Vec<OsString>,
    /// Names of other entries, which may be files.
    pub files: Vec<OsString>,
    /// True if the folder has more entries than the caller requested.
    pub is_truncated: bool,
}

/// Permission to read the disk, which may block the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Only cached metadata is used. For threads that must not block.
    Never,
    /// The call may read the disk. For threads that may block.
    Allowed,
}

/// Decoded path of an original, relative to the library, without empty segments and without
/// segments that begin with a dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryPath(Vec<u8>);

impl LibraryPath {
    /// Decodes percent-encoding in the path of a request target, once. Returns `None` if the path
    /// cannot name an original: a segment is empty or begins with a dot, a NUL or a slash is
    /// encoded, an escape sequence is invalid, or the path has 4,096 bytes or more. Targets that
    /// differ in their slashes never name the same original, since repeated and encoded slashes are
    /// refused.
    #[must_use]
    pub fn from_target(path: &str) -> Option<LibraryPath> {
        let segments = path.strip_prefix('/').unwrap_or(path).split('/');
        LibraryPath::of_segments(segments)
    }

    /// Decodes like [`LibraryPath::from_target`], but ignores trailing and repeated slashes.
    #[must_use]
    pub fn from_loose_target(path: &str) -> Option<LibraryPath> {
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

    /// Decodes a path of which every byte may be percent-encoded, slashes too, as in one segment of
    /// a request target. Returns `None` if an escape sequence is invalid, or if the decoded path
    /// has a NUL or cannot name an original.
    #[must_use]
    pub fn from_segment(segment: &str) -> Option<LibraryPath> {
        let decoded = percent_decoded(segment.as_bytes())?;
        match decoded.contains(&0) {
            true => None,
            false => LibraryPath::from_relative(Path::new(OsStr::from_bytes(&decoded))),
        }
    }

    /// Converts a path that is relative to the root of the library. Returns `None` if a segment is
    /// empty or begins with a dot, or if the path is too long.
    #[must_use]
    pub fn from_relative(path: &Path) -> Option<LibraryPath> {
        let bytes = path.as_os_str().as_bytes();
        let hidden = bytes
            .split(|&byte| byte == b'/')
            .any(|segment| matches!(segment, [] | [b'.', ..]));
        (!hidden && bytes.len() < PATH_BYTES_MAX).then(|| LibraryPath(bytes.to_vec()))
    }

    /// Returns the path relative to the root of the library.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Returns the request target that names this path.
    #[must_use]
    pub fn target(&self) -> String {
        format!("/{}", encode(self.as_path()))
    }

    /// Returns the file name extension in lower case, without the dot.
    #[must_use]
    pub fn extension(&self) -> Option<String> {
        let extension = self.as_path().extension()?.to_str()?;
        Some(extension.to_ascii_lowercase())
    }
}

/// Directory of originals that the server offers below a prefix of URL paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// First segments of the URL paths, without leading or trailing slash. Empty if the mount
    /// matches all paths.
    pub prefix: String,
    /// Directory on the disk.
    pub directory: PathBuf,
    /// True if only the server itself may refer to files of this directory. No request target of a
    /// client can name them.
    pub is_internal: bool,
}

/// All directories of originals.
#[derive(Debug)]
pub struct Library {
    /// Open directories, ordered by decreasing length of their prefixes, so that the first match
    /// has the longest prefix.
    roots: Vec<Root>,
    /// Path of the data directory. Its files are never served, not even through a link or another
    /// mount point.
    data: PathBuf,
    /// Device and inode number of the data directory. Not set until the directory exists.
    data_identity: OnceLock<(u64, u64)>,
}

#[derive(Debug)]
struct Root {
    prefix: Vec<u8>,
    directory: OwnedFd,
    is_internal: bool,
    /// Device and inode number of the directory.
    identity: (u64, u64),
    /// Path of the data directory relative to this directory, if the data directory is inside. Its
    /// files are never served.
    hidden: Option<PathBuf>,
}

impl Library {
    /// Opens the directory of each mount. Files in the data directory `data` are never served, even
    /// if the data directory is inside the directory of a mount.
    ///
    /// # Errors
    /// The path of the first directory that cannot be opened, with the error.
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

    /// Returns the current version of the original at `path`.
    ///
    /// # Errors
    /// [`Missing`]. The variant [`Missing::WouldSleep`] occurs only if `wait` is [`Wait::Never`].
    pub fn identify(&self, path: &LibraryPath, wait: Wait) -> Result<Identity, Missing> {
        let handle = self.descend(path, OFlags::PATH, wait)?;
        identity(&handle)
    }

    /// Returns whether there is a folder at `path`. May block to read the disk.
    #[must_use]
    pub fn is_folder(&self, path: &LibraryPath) -> bool {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        self.descend(path, flags, Wait::Allowed).is_ok()
    }

    /// Opens the original at `path` for reading. May block to read the disk.
    ///
    /// # Errors
    /// [`Missing::NotFound`] or [`Missing::Host`].
    pub fn open_original(&self, path: &LibraryPath) -> Result<(File, Identity), Missing> {
        // Without O_NONBLOCK, opening a FIFO or a device could block. The file type is checked
        // afterwards.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let handle = self.descend(path, flags, Wait::Allowed)?;
        let identity = identity(&handle)?;
        Ok((File::from(handle), identity))
    }

    /// Lists `folder`, or the root of the library if `folder` is `None`. Returns at most
    /// `entries_max` entries, sorted, without names that begin with a dot. May block to read the
    /// disk.
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
                listed.is_truncated = true;
                break;
            }
            match entry.file_type() {
                FileType::Directory => listed.folders.push(name),
                // Symbolic links are listed without a check of their targets. A target is checked
                // when a request names the link.
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

    /// Returns the path that the request target of a client names. Returns `None` if the target
    /// cannot name an original, or if clients may not use the path.
    #[must_use]
    pub fn path_for_clients(&self, target: &str) -> Option<LibraryPath> {
        LibraryPath::from_target(target).filter(|path| !self.is_internal(path))
    }

    /// Returns whether `path` is in a directory that only the server itself may refer to.
    #[must_use]
    pub fn is_internal(&self, path: &LibraryPath) -> bool {
        self.root_of(path).is_some_and(|(root, _)| root.is_internal)
    }

    /// Returns whether `path` leads into the data directory, whose files are not served.
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
                // A concurrent rename has interrupted the lookup, which is therefore repeated. With
                // RESOLVE_CACHED, the same error means that metadata is not cached.
                Err(rustix::io::Errno::AGAIN) if wait == Wait::Allowed => {}
                Err(err) => return Err(missing(err)),
            }
        }
    }

    /// Returns whether an open file or folder is inside the data directory. Compares the device and
    /// inode number of each parent folder, up to the root of the mount, with those of the data
    /// directory.
    fn is_in_data(&self, root: &Root, handle: &OwnedFd) -> Result<bool, Missing> {
        let Some(data) = self.data_identity() else {
            // The data directory does not exist yet.
            return Ok(false);
        };
        let found = fstat(handle).map_err(missing)?;
        // This file is on another device than the data directory. So it can be inside the data
        // directory only if another file system is mounted there. Paths of this root reach that
        // file system only if the data directory is inside this root.
        if found.st_dev != data.0 && root.hidden.is_none() {
            return Ok(false);
        }
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory
            && (found.st_dev, found.st_ino) == data
        {
            return Ok(true);
        }
        // The kernel provides the real path of the open file, without symbolic links.
        let name = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let Ok(path) = std::fs::read_link(name) else {
            // Without /proc, the data directory is protected only by the earlier check of the
            // requested path.
            return Ok(false);
        };
        for folder in path.ancestors().skip(1) {
            let Ok(found) = stat(folder) else {
                // A parent folder has been renamed or removed meanwhile.
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
        // If the data directory does not exist yet, it will be created at exactly this path.
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

    /// Returns whether a path below this root leads into the data directory.
    fn hides(&self, path: &Path) -> bool {
        let hidden = self.hidden.as_ref();
        hidden.is_some_and(|hidden| path.starts_with(hidden))
    }
}

/// Returns the version of an open original.
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

/// Converts an error of the file system. Errors that depend on the path become
/// [`Missing::NotFound`], so that clients do not learn the reason.
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

/// Characters that [`encode`] escapes. Only the unreserved characters of RFC 3986 §2.3 and the
/// slash are not escaped.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// Returns a percent-encoded path for use in a URL or an HTML attribute.
pub fn encode(path: &Path) -> String {
    percent_encode(path.as_os_str().as_encoded_bytes(), RESERVED).to_string()
}

/// Decodes percent-encoding. Returns `None` if an escape sequence is invalid.
fn percent_decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut triplets = bytes.split(|byte| *byte == b'%').skip(1);
    let is_valid = triplets.all(|part| {
        let digits = part.get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    is_valid.then(|| percent_decode(bytes).collect())
}

#[cfg(test)]
mod tests;
