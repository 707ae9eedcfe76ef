//! Reader of the content of one file. Only the bytes that are needed are read.

use std::cell::Cell;
use std::io::{self, IoSliceMut};
use std::os::fd::{BorrowedFd, OwnedFd};

use catalog::{Content, Photo};
use image_plan::{Format, ProbeErrorKind};
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use tags::{Container, ErrorKind, ReadAt, Reader};

use crate::file::{FoundFile, Kind, ending};
use crate::root::open;

/// Root folder of the library: its descriptor, and the paths by which playlists may refer to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root<'a> {
    pub(crate) folder: BorrowedFd<'a>,
    /// Absolute paths of the root folder: the configured one, and the one without symbolic links.
    /// They do not end with a slash.
    pub(crate) paths: &'a [Vec<u8>],
}

impl Root<'_> {
    /// Replaces an absolute path of a playlist entry by the path relative to the root of the
    /// library, with a leading slash. Does not change paths outside the library.
    fn shorten(&self, target: &mut Vec<u8>) {
        let below = self.paths.iter().find_map(|path| {
            let rest = target.strip_prefix(&path[..])?;
            rest.starts_with(b"/").then(|| rest.to_vec())
        });
        if let Some(below) = below {
            *target = below;
        }
    }
}

/// Result of reading one file, with the number of read calls and of requested bytes.
pub(crate) struct Read {
    /// Content of the file, or the error message if the system could not read the file. A damaged
    /// file is not such an error.
    pub(crate) content: Result<Content, String>,
    pub(crate) reads: u64,
    pub(crate) bytes: u64,
}

/// Mode in which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// Reads only the requested bytes. The readahead of the kernel is disabled, since it would also
    /// read pictures and audio data, which may be megabytes.
    Exact,
    /// Reads only from the page cache. A read that would need the disk fails and sets
    /// [`Source::missed`].
    Cached,
    /// Reads large ranges sequentially, with the readahead of the kernel.
    Streaming,
}

/// Open file of the library, with counters of its read calls and of the requested bytes.
pub(crate) struct Source {
    file: OwnedFd,
    mode: ReadMode,
    reads: Cell<u64>,
    bytes: Cell<u64>,
    /// True if readahead was disabled for this file.
    advised: Cell<bool>,
    missed: Cell<bool>,
}

impl Source {
    pub(crate) fn new(file: OwnedFd, mode: ReadMode) -> Source {
        Source {
            file,
            mode,
            reads: 0.into(),
            bytes: 0.into(),
            advised: false.into(),
            missed: false.into(),
        }
    }

    /// Returns whether a read failed because the data was not in the page cache.
    pub(crate) fn missed(&self) -> bool {
        self.missed.get()
    }
}

impl ReadAt for Source {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.reads.update(|reads| reads + 1);
        self.bytes.update(|bytes| bytes + buf.len() as u64);
        if self.mode == ReadMode::Streaming {
            return Ok(rustix::io::pread(&self.file, buf, offset)?);
        }
        let parts = &mut [IoSliceMut::new(buf)];
        match preadv2(&self.file, parts, offset, ReadWriteFlags::NOWAIT) {
            Err(Errno::AGAIN) => {}
            // This file system cannot report whether data is in the page cache, so the data counts
            // as not cached.
            Err(Errno::OPNOTSUPP) => {}
            other => return Ok(other?),
        }
        if self.mode == ReadMode::Cached {
            self.missed.set(true);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if !self.advised.replace(true) {
            fadvise(&self.file, 0, None, Advice::Random)?;
        }
        Ok(rustix::io::pread(&self.file, buf, offset)?)
    }
}

/// Reads the content of a file of the library whose root folder is `root`.
pub(crate) fn read(root: Root<'_>, seen: &FoundFile, reader: &mut Reader) -> Read {
    match open(root.folder, &seen.path) {
        Ok(file) => read_opened(root, &Source::new(file, ReadMode::Exact), seen, reader),
        Err(err) => Read {
            content: Err(format!("cannot be opened: {}", io::Error::from(err))),
            reads: 0,
            bytes: 0,
        },
    }
}

/// Reads the content of a file of the library if all needed bytes are in the page cache. If they
/// are not, returns the disk offset of the file's first extent. Returns `None` if the file cannot
/// be opened.
pub(crate) fn read_cached(
    root: Root<'_>,
    seen: &FoundFile,
    reader: &mut Reader,
) -> Option<Result<Read, io::Result<Option<u64>>>> {
    let source = Source::new(open(root.folder, &seen.path).ok()?, ReadMode::Cached);
    let read = read_opened(root, &source, seen, reader);
    Some(match source.missed() {
        false => Ok(read),
        true => Err(host::first_extent(&source.file)),
    })
}

fn read_opened(root: Root<'_>, source: &Source, seen: &FoundFile, reader: &mut Reader) -> Read {
    let content = match seen.kind {
        Kind::Music => music(source, seen, reader),
        Kind::Picture => photo(source, seen),
        Kind::Playlist => playlist(root, source, seen),
    };
    Read {
        content,
        reads: source.reads.get(),
        bytes: source.bytes.get(),
    }
}

fn music(source: &Source, seen: &FoundFile, reader: &mut Reader) -> Result<Content, String> {
    match reader.read(source, seen.stat.size) {
        Ok(media) if is_film(source, seen, media.container)? => Ok(Content::Unreadable(
            "mp4 with a video track, not indexed as music".to_owned(),
        )),
        Ok(media) => Ok(Content::Music(Box::new(media))),
        Err(err) if err.kind == ErrorKind::Io => Err(with_source(&err)),
        Err(err) => Ok(Content::Unreadable(err.to_string())),
    }
}

/// Returns whether a file is a film: its name ends with `.mp4`, and it is an MP4 file with a video
/// track.
fn is_film(source: &Source, seen: &FoundFile, container: Container) -> Result<bool, String> {
    let is_mp4 = ending(&seen.path).is_some_and(|ending| ending.eq_ignore_ascii_case(b"mp4"));
    if !is_mp4 || container != Container::Mp4 {
        return Ok(false);
    }
    match tags::has_video(source, seen.stat.size, &tags::Limits::default()) {
        Err(err) if err.kind == ErrorKind::Io => Err(with_source(&err)),
        found => Ok(found.unwrap_or(false)),
    }
}

fn photo(source: &Source, seen: &FoundFile) -> Result<Content, String> {
    let probed = image_plan::probe(source, seen.stat.size);
    let is_raw = matches!(&probed, Err(err) if err.kind == ProbeErrorKind::NoPreview);
    let size = match probed {
        // The size of a HEIC is read below, because the probe returns the size of its preview. The
        // preview is smaller, and in some files has another aspect ratio.
        Ok(facts) if facts.format != Format::Heif => facts.oriented(),
        Err(err) if err.kind == ProbeErrorKind::Io => return Err(with_source(&err)),
        Err(err)
            if !matches!(
                err.kind,
                ProbeErrorKind::Unknown | ProbeErrorKind::NoPreview
            ) =>
        {
            return Ok(Content::Unreadable(err.to_string()));
        }
        // The file may be HEIC, even if its name has another extension.
        _ => {
            match image_plan::heif_size(source, seen.stat.size) {
                Ok(size) => size,
                Err(err) if err.kind == ProbeErrorKind::Io => return Err(with_source(&err)),
                // An image sequence has tracks and no size. Its size is stored as 0 × 0, which
                // means unknown. It may still have a date and a position.
                Err(err) if err.kind == ProbeErrorKind::Malformed => image_plan::Size::new(0, 0),
                // A camera raw file without a preview: its size is unknown.
                Err(_) if is_raw => image_plan::Size::new(0, 0),
                Err(err) => return Ok(Content::Unreadable(err.to_string())),
            }
        }
    };
    match tags::read_photo_metadata(source, seen.stat.size, &tags::Limits::default()) {
        Ok(metadata) => Ok(Content::Photo(Photo {
            width_px: size.width_px,
            height_px: size.height_px,
            metadata,
        })),
        Err(err) if err.kind == ErrorKind::Io => Err(with_source(&err)),
        Err(err) => Ok(Content::Unreadable(err.to_string())),
    }
}

fn playlist(root: Root<'_>, source: &Source, seen: &FoundFile) -> Result<Content, String> {
    match tags::listing(source, seen.stat.size, &tags::Limits::default()) {
        Ok(mut listing) => {
            for listed in &mut listing.entries {
                root.shorten(&mut listed.target);
            }
            Ok(Content::Listing(Box::new(listing)))
        }
        Err(err) if err.kind == ErrorKind::Io => Err(with_source(&err)),
        Err(err) => Ok(Content::Unreadable(err.to_string())),
    }
}

fn with_source(err: &dyn std::error::Error) -> String {
    match err.source() {
        Some(source) => format!("{err}: {source}"),
        None => err.to_string(),
    }
}
