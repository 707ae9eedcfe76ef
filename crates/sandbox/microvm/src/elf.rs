//! Parser of a program's ELF file. It determines whether the program can run in a microVM, and the
//! memory layout of the program.
//!
//! The operator chose the file, but its content is not trusted: every offset and size is checked
//! before use. Source: the System V ABI, chapters 4 and 5, and its supplement for x86-64.

use std::fmt;
use std::ops::Range;

/// Memory layout that a program requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Address of the first instruction, before relocation.
    pub(crate) entry: u64,
    /// True if the program can be loaded at any address (static-pie). False if it must be loaded at
    /// the addresses in its file.
    pub(crate) relocatable: bool,
    /// Segments in the order of their addresses, without overlap.
    pub(crate) segments: Vec<Segment>,
    /// Address at which the program finds its own program headers, and their number.
    pub(crate) headers: (u64, u16),
}

/// A loaded part of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Addresses of the segment, before relocation.
    pub(crate) memory: Range<u64>,
    /// Range of the file that is loaded at the start of `memory`; the rest of `memory` is zero.
    pub(crate) file: Range<usize>,
    pub(crate) write: bool,
    pub(crate) execute: bool,
}

/// Reason why a file cannot run in a microVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElfError {
    /// The file does not start with an ELF header.
    NotElf,
    /// The ELF file is not for x86-64: it is for another processor, for 32 bits or big-endian.
    NotX86_64,
    /// The file is not a program but, for example, an object file or a core dump.
    NotExecutable,
    /// The file requires this interpreter, usually the dynamic linker.
    NotStatic(String),
    /// The named part of the file lies beyond the end of the file.
    Truncated(&'static str),
    /// The named part of the file has an impossible value.
    Malformed(&'static str),
    /// A segment is both writable and executable.
    WritableCode,
    /// The file has no executable segment.
    NoCode,
}

const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
/// Maximum number of program headers; more than any linker writes.
const HEADERS_MAX: u16 = 64;
/// Maximum end address of a segment, far above any memory limit.
pub(crate) const ADDRESS_MAX: u64 = 1 << 38;
const INTERPRETER_BYTES_MAX: usize = 64;

const TYPE_EXECUTABLE: u16 = 2;
const TYPE_SHARED: u16 = 3;
const MACHINE_X86_64: u16 = 62;
const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
const EXECUTE: u32 = 1;
const WRITE: u32 = 2;

impl Image {
    /// Reads and checks the headers of `file`.
    ///
    /// # Errors
    /// [`ElfError`] names the reason why the file cannot run in a microVM.
    pub fn parse(file: &[u8]) -> Result<Image, ElfError> {
        let head = file
            .first_chunk::<HEADER_BYTES>()
            .filter(|head| head.starts_with(b"\x7fELF"))
            .ok_or(ElfError::NotElf)?;
        // Bytes 4 and 5 must state 64 bits and little-endian.
        if head[4..6] != [2, 1] || number16(head, 18) != MACHINE_X86_64 {
            return Err(ElfError::NotX86_64);
        }
        let kind = number16(head, 16);
        if kind != TYPE_EXECUTABLE && kind != TYPE_SHARED {
            return Err(ElfError::NotExecutable);
        }
        let count = number16(head, 56);
        if usize::from(number16(head, 54)) != PROGRAM_HEADER_BYTES || HEADERS_MAX < count {
            return Err(ElfError::Malformed("invalid program headers"));
        }
        let offset = number64(head, 32);
        let table = range(offset, u64::from(count) * PROGRAM_HEADER_BYTES as u64, file)
            .ok_or(ElfError::Truncated("the table of program headers"))?;
        let mut image = Image {
            entry: number64(head, 24),
            relocatable: kind == TYPE_SHARED,
            segments: Vec::new(),
            headers: (0, count),
        };
        for header in file[table].chunks_exact(PROGRAM_HEADER_BYTES) {
            image.take(header, file)?;
        }
        image.judge(offset)
    }

    fn take(&mut self, header: &[u8], file: &[u8]) -> Result<(), ElfError> {
        let bytes = || {
            range(number64(header, 8), number64(header, 32), file)
                .ok_or(ElfError::Truncated("a segment"))
        };
        match number32(header, 0) {
            INTERPRETER => {
                let name = file[bytes()?].iter().take(INTERPRETER_BYTES_MAX);
                let name = name.take_while(|byte| byte.is_ascii_graphic());
                Err(ElfError::NotStatic(
                    name.map(|byte| char::from(*byte)).collect(),
                ))
            }
            LOAD => {
                let file = bytes()?;
                let (address, memory_bytes) = (number64(header, 16), number64(header, 40));
                let end = address.checked_add(memory_bytes);
                let end = end.filter(|end| *end <= ADDRESS_MAX);
                let end = end.ok_or(ElfError::Malformed("invalid address of a segment"))?;
                if memory_bytes < file.len() as u64 {
                    return Err(ElfError::Malformed(
                        "a segment is longer in the file than in memory",
                    ));
                }
                let flags = number32(header, 4);
                let segment = Segment {
                    memory: address..end,
                    file,
                    write: flags & WRITE != 0,
                    execute: flags & EXECUTE != 0,
                };
                if segment.write && segment.execute {
                    return Err(ElfError::WritableCode);
                }
                if memory_bytes != 0 {
                    self.segments.push(segment);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn judge(mut self, headers_offset: u64) -> Result<Image, ElfError> {
        let pairs = self.segments.windows(2);
        if pairs
            .into_iter()
            .any(|pair| pair[1].memory.start < pair[0].memory.end)
        {
            return Err(ElfError::Malformed(
                "segments overlap, or are not in the order of their addresses",
            ));
        }
        let runs = |segment: &&Segment| segment.execute && segment.memory.contains(&self.entry);
        if !self.segments.iter().any(|segment| runs(&segment)) {
            return Err(ElfError::NoCode);
        }
        let holds = |segment: &&Segment| {
            let offset = headers_offset as usize;
            segment.file.contains(&offset)
        };
        // If no segment contains the program headers, the program cannot read them, and their
        // address stays 0.
        if let Some(segment) = self.segments.iter().find(holds) {
            let within = headers_offset - segment.file.start as u64;
            self.headers.0 = segment.memory.start + within;
        }
        Ok(self)
    }

    /// Returns the addresses from the start of the first segment to the end of the last.
    #[must_use]
    pub fn memory(&self) -> Range<u64> {
        let first = self
            .segments
            .first()
            .map_or(0, |segment| segment.memory.start);
        let last = self.segments.last().map_or(0, |segment| segment.memory.end);
        first..last
    }
}

/// Returns the range of `bytes` bytes at `offset` in `file`, if it lies within the file.
fn range(offset: u64, bytes: u64, file: &[u8]) -> Option<Range<usize>> {
    let end = offset.checked_add(bytes)?;
    (end <= file.len() as u64).then_some(offset as usize..end as usize)
}

fn number16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(field(bytes, at))
}

fn number32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(field(bytes, at))
}

fn number64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(field(bytes, at))
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let field = bytes[at..].first_chunk();
    *field.expect("headers are as long as their last field")
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::NotElf => f.write_str("not an ELF file"),
            ElfError::NotX86_64 => f.write_str("not for x86-64"),
            ElfError::NotExecutable => f.write_str("an ELF file, but not an executable"),
            ElfError::NotStatic(name) => {
                write!(f, "not static: it requests the interpreter {name}")
            }
            ElfError::Truncated(what) => {
                write!(f, "truncated: {what} lies beyond the end of the file")
            }
            ElfError::Malformed(what) => write!(f, "malformed: {what}"),
            ElfError::WritableCode => {
                f.write_str("the file requests memory that is both writable and executable")
            }
            ElfError::NoCode => {
                f.write_str("malformed: the entry point is not in an executable segment")
            }
        }
    }
}

#[cfg(test)]
mod tests;
