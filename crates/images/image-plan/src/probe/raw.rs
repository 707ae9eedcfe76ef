//! Camera raw files with the structure of a TIFF (CR2, NEF, ARW, DNG, ORF, RW2), and RAF: the
//! places of their previews. In the table, `@` precedes the offset of a field in bytes.
//!
//! ```text
//! TIFF-like  @0 "II" or "MM" · @2 42, "RO", "RS" or "U\0" · @4 first directory u32
//! directory  entries u16, each: tag u16 · type u16 · values u32 · value or offset u32 · next u32
//! RAF        @0 "FUJIFILMCCD-RAW " · @84 offset of the preview u32 · @88 its length u32
//! ```
//! A preview is the only strip of a page, or the JPEG of the tags 513 and 514, in the chain of
//! directories or in a SubIFD; in RW2 it is the value of tag 46, and in ORF it is in the maker
//! note. Sources: TIFF 6.0; TIFF/EP (ISO 12234-2); the DNG specification; ExifTool's tables of
//! tags.

use super::facts::{ProbeError, ProbeErrorKind};
use super::head::HeaderReader;
use super::preview::Candidate;
use crate::Orientation;
use std::ops::Range;

/// Maximum number of directories that are read. Cameras write up to about ten.
const DIRECTORIES_MAX: usize = 32;
/// Maximum number of entries of a directory that are examined.
const ENTRIES_MAX: u16 = 512;
/// Maximum number of SubIFDs of one directory that are read.
const SUBDIRECTORIES_MAX: u32 = 8;

const RAF_MAGIC: &[u8; 16] = b"FUJIFILMCCD-RAW ";

/// Returns the places of the previews, in the order in which they occur in the directories.
pub(super) fn candidates(head: &mut HeaderReader<'_>) -> Result<Vec<Candidate>, ProbeError> {
    if head.len_bytes() >= RAF_MAGIC.len() as u64 && head.array(0)? == *RAF_MAGIC {
        let start = u64::from(u32::from_be_bytes(head.array(84)?));
        let len_bytes = u64::from(u32::from_be_bytes(head.array(88)?));
        return Ok(vec![Candidate {
            range: start..start + len_bytes,
            // The orientation is stated in the EXIF block of the JPEG.
            orientation: None,
        }]);
    }
    let mut walk = Walk::new(head.array(0)?);
    let first = walk.u32(head.array(4)?);
    walk.push(Kind::Main, 0, first);
    while let Some(directory) = walk.waiting.pop() {
        match walk.directory(head, &directory) {
            Err(err) if err.kind == ProbeErrorKind::Io => return Err(err),
            // A directory that is cut off or has a wrong offset does not end the search in the
            // others.
            _ => {}
        }
    }
    let orientation = walk.orientation;
    let candidates = walk.found.into_iter();
    let placed = candidates.map(|range| Candidate { range, orientation });
    Ok(placed.collect())
}

/// Kind of a directory, which determines the meaning of its tags.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Directory of the chain, or a SubIFD.
    Main,
    /// EXIF directory.
    Exif,
    /// Maker note of Olympus.
    MakerNote,
    /// Camera settings in the maker note of Olympus.
    CameraSettings,
}

/// Directory that was not read yet.
struct Directory {
    kind: Kind,
    /// Offset in the file to which the offsets of the directory are relative.
    base: u64,
    at: u64,
}

/// Search through the directories of a file.
struct Walk {
    is_big_endian: bool,
    waiting: Vec<Directory>,
    /// Offsets of all directories that were found, so that no directory is read twice.
    known: Vec<u64>,
    /// Ranges of the file that may contain a preview.
    found: Vec<Range<u64>>,
    /// Orientation that the first directory states.
    orientation: Option<Orientation>,
}

/// Entry of a directory.
#[derive(Clone, Copy)]
struct Entry {
    tag: u16,
    value_bytes: u64,
    count: u32,
    /// Offset of the first value in the file.
    at: u64,
}

/// Tags of one directory that state the place of a preview.
#[derive(Default)]
struct Places {
    strip: Option<u32>,
    strip_bytes: Option<u32>,
    jpeg: Option<u32>,
    jpeg_bytes: Option<u32>,
}

impl Walk {
    fn new([order, ..]: [u8; 4]) -> Walk {
        Walk {
            is_big_endian: order == b'M',
            waiting: Vec::new(),
            known: Vec::new(),
            found: Vec::new(),
            orientation: None,
        }
    }

    fn u16(&self, bytes: [u8; 2]) -> u16 {
        match self.is_big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        }
    }

    fn u32(&self, bytes: [u8; 4]) -> u32 {
        match self.is_big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        }
    }

    /// Adds a directory, unless it is known or there are too many.
    fn push(&mut self, kind: Kind, base: u64, offset: u32) {
        let at = base + u64::from(offset);
        if offset != 0 && self.known.len() < DIRECTORIES_MAX && !self.known.contains(&at) {
            self.known.push(at);
            self.waiting.push(Directory { kind, base, at });
        }
    }

    fn directory(
        &mut self,
        head: &mut HeaderReader<'_>,
        directory: &Directory,
    ) -> Result<(), ProbeError> {
        let count = self.u16(head.array(directory.at)?);
        if ENTRIES_MAX < count {
            return Err(ProbeError::malformed(
                "raw file with a directory that has too many entries",
            ));
        }
        let mut places = Places::default();
        for index in 0..count {
            let at = directory.at + 2 + u64::from(index) * 12;
            if let Some(entry) = self.entry(head, directory, at)? {
                self.take(head, directory, entry, &mut places)?;
            }
        }
        for (start, len_bytes) in [
            (places.strip, places.strip_bytes),
            (places.jpeg, places.jpeg_bytes),
        ] {
            if let (Some(start), Some(len_bytes)) = (start, len_bytes) {
                let start = directory.base + u64::from(start);
                self.found.push(start..start + u64::from(len_bytes));
            }
        }
        if directory.kind == Kind::Main {
            let next = self.u32(head.array(directory.at + 2 + u64::from(count) * 12)?);
            self.push(Kind::Main, 0, next);
        }
        Ok(())
    }

    /// Reads the entry at `at`. Returns `None` if its type is unknown.
    fn entry(
        &self,
        head: &mut HeaderReader<'_>,
        directory: &Directory,
        at: u64,
    ) -> Result<Option<Entry>, ProbeError> {
        let [t0, t1, k0, k1, n0, n1, n2, n3]: [u8; 8] = head.array(at)?;
        let value_bytes = match self.u16([k0, k1]) {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 => 8,
            _ => return Ok(None),
        };
        let count = self.u32([n0, n1, n2, n3]);
        let is_inline = u64::from(count) * value_bytes <= 4;
        let at = match is_inline {
            true => at + 8,
            false => directory.base + u64::from(self.u32(head.array(at + 8)?)),
        };
        Ok(Some(Entry {
            tag: self.u16([t0, t1]),
            value_bytes,
            count,
            at,
        }))
    }

    /// Reads one of the values of `entry`, the one with this index. Values that are neither SHORT
    /// nor LONG count as 0.
    fn value(
        &self,
        head: &mut HeaderReader<'_>,
        entry: Entry,
        index: u32,
    ) -> Result<u32, ProbeError> {
        let at = entry.at + u64::from(index) * entry.value_bytes;
        Ok(match entry.value_bytes {
            2 => self.u16(head.array(at)?).into(),
            4 => self.u32(head.array(at)?),
            _ => 0,
        })
    }

    /// Stores the places of previews and other directories that an entry states.
    fn take(
        &mut self,
        head: &mut HeaderReader<'_>,
        directory: &Directory,
        entry: Entry,
        places: &mut Places,
    ) -> Result<(), ProbeError> {
        let is_single = entry.count == 1;
        match (directory.kind, entry.tag) {
            // 273 StripOffsets, 279 StripByteCounts: a preview consists of one strip. 513 and 514
            // are the offset and the length of a JPEG.
            (Kind::Main, 273) if is_single => places.strip = Some(self.value(head, entry, 0)?),
            (Kind::Main, 279) if is_single => {
                places.strip_bytes = Some(self.value(head, entry, 0)?);
            }
            (Kind::Main, 513) => places.jpeg = Some(self.value(head, entry, 0)?),
            (Kind::Main, 514) => places.jpeg_bytes = Some(self.value(head, entry, 0)?),
            (Kind::Main, 274) if self.known.first() == Some(&directory.at) => {
                let value = self.value(head, entry, 0)?;
                self.orientation = u16::try_from(value).ok().and_then(Orientation::from_exif);
            }
            // SubIFDs.
            (Kind::Main, 330) => {
                for index in 0..entry.count.min(SUBDIRECTORIES_MAX) {
                    let offset = self.value(head, entry, index)?;
                    self.push(Kind::Main, directory.base, offset);
                }
            }
            // JpgFromRaw of Panasonic.
            (Kind::Main, 46) if entry.value_bytes == 1 => {
                self.found.push(entry.at..entry.at + u64::from(entry.count));
            }
            (Kind::Main, 34_665) => {
                let offset = self.value(head, entry, 0)?;
                self.push(Kind::Exif, directory.base, offset);
            }
            (Kind::Exif, 37_500) if 16 < entry.count => {
                // The byte order of the note is that of the file in all cameras that are known.
                let start: [u8; 16] = head.array(entry.at)?;
                if start.starts_with(b"OLYMPUS\0") {
                    self.push(Kind::MakerNote, entry.at, 12);
                } else if start.starts_with(b"OM SYSTEM\0") {
                    self.push(Kind::MakerNote, entry.at, 16);
                }
            }
            (Kind::MakerNote, 0x2020) => {
                let offset = self.value(head, entry, 0)?;
                self.push(Kind::CameraSettings, directory.base, offset);
            }
            (Kind::CameraSettings, 0x101) => places.jpeg = Some(self.value(head, entry, 0)?),
            (Kind::CameraSettings, 0x102) => places.jpeg_bytes = Some(self.value(head, entry, 0)?),
            _ => {}
        }
        Ok(())
    }
}
