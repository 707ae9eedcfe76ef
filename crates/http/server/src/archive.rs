//! ZIP archive of several files of the library. The files are not compressed, and are read while
//! the archive is sent. At most one piece of the archive is in memory, and nothing is written to
//! disk.
//!
//! ```text
//! each member: local header · bytes of the file      at the end: a directory entry for each member
//! ```
//!
//! Each member is read twice: its local header, which precedes its bytes, contains their checksum.
//! ZIP also allows checksum and size behind the bytes. But then programs that ignore the directory
//! could not find the end of an uncompressed member. The total length is known from the start.
//!
//! Limits: 4 GiB and 4,096 files, see the constants. Source: PKWARE's APPNOTE.TXT 6.3.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use conversion::chunks::Chunks;
use reactor::Ended;
use tokio::task::JoinHandle;
use variants::library::{Identity, Library, LibraryPath, Wait};

use crate::problem::Problem;

/// Maximum size of an archive, in bytes: the largest size that needs no 64-bit extension of the ZIP
/// format.
const ARCHIVE_BYTES_MAX: u64 = u32::MAX as u64;
/// Maximum number of files in one archive. Each file takes about 300 bytes of memory while the
/// archive is sent.
const MEMBERS_MAX: usize = 4_096;
/// Maximum length of a member's name, in bytes.
const NAME_BYTES_MAX: usize = 4_096;

const LOCAL_BYTES: u64 = 30;
const ENTRY_BYTES: u64 = 46;
const END_BYTES: u64 = 22;
/// Flag of ZIP: member names are in UTF-8.
const FLAGS: u16 = 1 << 11;
const VERSION: u16 = 20;
const STORED: u16 = 0;
/// Date of every member: 1980-01-01, the first day of MS-DOS's calendar. A fixed date makes the
/// same files always give the same archive.
const DATE: u16 = 1 << 5 | 1;
/// Number of bytes per read when a checksum is computed.
const READ_BYTES: usize = 256 << 10;

/// File to be included in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveFile {
    /// Path in the library, percent-encoded as in a request target.
    pub path: String,
    /// Name in the archive; `/` separates folders.
    pub name: String,
}

/// Archive that is being sent to one client.
#[derive(Debug)]
pub(crate) struct Archive {
    library: Arc<Library>,
    members: Vec<Member>,
    /// Index of the current member; equal to the number of members while the directory at the end
    /// is sent.
    at: usize,
    step: Step,
    /// Headers that are sent next.
    out: Vec<u8>,
    /// Number of archive bytes produced so far, including a header that is still in `out`, but not
    /// the directory at the end.
    sent_offset: u64,
    left: u64,
}

#[derive(Debug)]
struct Member {
    path: LibraryPath,
    identity: Identity,
    name: String,
    crc: u32,
    offset: u32,
}

#[derive(Debug)]
enum Step {
    /// Step that begins the next member, or the directory at the end.
    Next,
    Opening(JoinHandle<io::Result<(File, u32)>>),
    Sending(File, Chunks),
    Done,
}

impl Archive {
    /// Checks the files and plans the archive. May block on the disk.
    ///
    /// # Errors
    /// A file is missing, or a limit is exceeded: the size of the archive, the number of files, or
    /// the length of a name.
    pub(crate) fn plan(
        library: &Arc<Library>,
        wanted: Vec<ArchiveFile>,
    ) -> Result<Archive, Problem> {
        if MEMBERS_MAX < wanted.len() {
            return Err(Problem::ArchiveTooLarge);
        }
        let mut members = Vec::with_capacity(wanted.len());
        let mut left = END_BYTES;
        for ArchiveFile { path, name } in wanted {
            let path = LibraryPath::from_target(&path).ok_or(Problem::NotFound)?;
            let identity = library.identify(&path, Wait::Allowed);
            let identity = identity.map_err(|_| Problem::NotFound)?;
            if NAME_BYTES_MAX < name.len() {
                return Err(Problem::ArchiveTooLarge);
            }
            left += LOCAL_BYTES + ENTRY_BYTES + 2 * name.len() as u64 + identity.size_bytes;
            members.push(Member {
                path,
                identity,
                name,
                crc: 0,
                offset: 0,
            });
        }
        if ARCHIVE_BYTES_MAX < left {
            return Err(Problem::ArchiveTooLarge);
        }
        Ok(Archive {
            library: Arc::clone(library),
            members,
            at: 0,
            step: Step::Next,
            out: Vec::new(),
            sent_offset: 0,
            left,
        })
    }

    /// Returns the number of bytes that are still to be sent.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Returns the next piece, of at most `bytes_max` bytes and at most one chunk of a file. At the
    /// end of the archive, the piece is empty.
    ///
    /// # Errors
    /// [`Ended::File`] and [`Ended::ShortFile`] if a file has changed.
    pub(crate) fn poll_next(
        &mut self,
        bytes_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<Vec<u8>, Ended>> {
        loop {
            if !self.out.is_empty() {
                let remaining = self.out.split_off(self.out.len().min(bytes_max));
                let piece = std::mem::replace(&mut self.out, remaining);
                self.left -= piece.len() as u64;
                return Poll::Ready(Ok(piece));
            }
            match &mut self.step {
                Step::Next => self.begin_next(),
                Step::Opening(opening) => {
                    let opened = ready!(Pin::new(opening).poll(context));
                    let opened = opened.map_err(io::Error::other).flatten();
                    let (file, crc) = opened.map_err(Ended::File)?;
                    self.begin_member(file, crc);
                }
                Step::Sending(file, chunks) => {
                    match ready!(chunks.poll_next(file, bytes_max, context))? {
                        Some(piece) => {
                            self.sent_offset += piece.len() as u64;
                            self.left -= piece.len() as u64;
                            return Poll::Ready(Ok(piece));
                        }
                        None => {
                            self.at += 1;
                            self.step = Step::Next;
                        }
                    }
                }
                Step::Done => return Poll::Ready(Ok(Vec::new())),
            }
        }
    }

    fn begin_next(&mut self) {
        let Some(member) = self.members.get(self.at) else {
            self.out = self.directory();
            self.step = Step::Done;
            return;
        };
        let (library, path) = (Arc::clone(&self.library), member.path.clone());
        let wanted = member.identity;
        self.step = Step::Opening(tokio::task::spawn_blocking(move || {
            open(&library, &path, &wanted)
        }));
    }

    fn begin_member(&mut self, file: File, crc: u32) {
        let offset = self.sent_offset;
        let member = &mut self.members[self.at];
        member.crc = crc;
        member.offset = u32::try_from(offset).expect("the whole archive is below 4 GiB");
        let size_bytes = member.identity.size_bytes;
        self.out.extend(0x0403_4b50_u32.to_le_bytes());
        self.out.extend(VERSION.to_le_bytes());
        self.out.extend(member.common_header());
        self.out.extend(0_u16.to_le_bytes());
        self.out.extend(member.name.as_bytes());
        self.sent_offset += self.out.len() as u64;
        self.step = Step::Sending(file, Chunks::new(0..size_bytes));
    }

    fn directory(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for member in &self.members {
            out.extend(0x0201_4b50_u32.to_le_bytes());
            // The high byte of "version made by" is UNIX, so that programs apply the file modes
            // below.
            out.extend((3 << 8 | VERSION).to_le_bytes());
            out.extend(VERSION.to_le_bytes());
            out.extend(member.common_header());
            // Zeros for the extra field, comment, disk number and internal attributes.
            out.extend([0; 8]);
            out.extend((0o100_644_u32 << 16).to_le_bytes());
            out.extend(member.offset.to_le_bytes());
            out.extend(member.name.as_bytes());
        }
        let (count, bytes) = (self.members.len() as u16, out.len() as u32);
        out.extend(0x0605_4b50_u32.to_le_bytes());
        out.extend([0; 4]);
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend(bytes.to_le_bytes());
        out.extend((self.sent_offset as u32).to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        out
    }
}

impl Member {
    /// Returns the bytes that a member's local header and its directory entry share: flags, method,
    /// time, checksum, sizes and length of the name.
    fn common_header(&self) -> Vec<u8> {
        let size_bytes = self.identity.size_bytes as u32;
        let mut out = Vec::with_capacity(22);
        for word in [FLAGS, STORED, 0, DATE] {
            out.extend(word.to_le_bytes());
        }
        for number in [self.crc, size_bytes, size_bytes] {
            out.extend(number.to_le_bytes());
        }
        out.extend((self.name.len() as u16).to_le_bytes());
        out
    }
}

/// Opens a file, fails if it has changed, and computes its checksum.
fn open(library: &Library, path: &LibraryPath, wanted: &Identity) -> io::Result<(File, u32)> {
    let changed = || io::Error::other("a file changed while it was sent in an archive");
    let (file, identity) = library.open_original(path).map_err(|_| changed())?;
    if identity != *wanted {
        return Err(changed());
    }
    let mut crc = Crc::new();
    let mut piece = vec![0; READ_BYTES];
    let mut at = 0;
    while at < identity.size_bytes {
        let length = piece.len().min((identity.size_bytes - at) as usize);
        file.read_exact_at(&mut piece[..length], at)?;
        crc.add(&piece[..length]);
        at += length as u64;
    }
    Ok((file, crc.end()))
}

/// State of a CRC-32 computation with the polynomial that ZIP, PNG and Ethernet use.
struct Crc(u32);

impl Crc {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut value = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    0xedb8_8320 ^ value >> 1
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[byte] = value;
            byte += 1;
        }
        table
    };

    fn new() -> Crc {
        Crc(u32::MAX)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = Crc::TABLE[usize::from(self.0 as u8 ^ byte)] ^ self.0 >> 8;
        }
    }

    fn end(self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests;
