//! Parts of ELF files that a profile needs: tables for unwinding, and names of functions.

use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use object::read::{File, ReadRef, Result};
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _};

/// Maximum length of a section that is read.
const SECTION_BYTES_MAX: u64 = 256 << 20;

/// Layout of an ELF file, and its tables for unwinding.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) build_id: Vec<u8>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: ExplicitModuleSectionInfo<Arc<[u8]>>,
    pub(crate) has_symbols: bool,
}

/// Part of the file that is mapped into memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Address in the file's own numbering.
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Outline {
    /// Reads the layout of a file.
    pub(crate) fn read<'data>(data: impl ReadRef<'data>) -> Result<Outline> {
        let file = File::parse(data)?;
        let segments = file.segments().map(|segment| {
            let (offset, bytes) = segment.file_range();
            Segment {
                address: segment.address(),
                offset,
                bytes,
            }
        });
        let range = |name| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let content = |name| -> Result<Option<Arc<[u8]>>> {
            match file.section_by_name(name) {
                Some(section) if section.size() <= SECTION_BYTES_MAX => {
                    Ok(Some(section.data()?.into()))
                }
                _ => Ok(None),
            }
        };
        Ok(Outline {
            build_id: file.build_id()?.unwrap_or_default().to_vec(),
            segments: segments.collect(),
            sections: ExplicitModuleSectionInfo {
                base_svma: 0,
                text_svma: range(".text"),
                got_svma: range(".got"),
                eh_frame_svma: range(".eh_frame"),
                eh_frame: content(".eh_frame")?,
                eh_frame_hdr_svma: range(".eh_frame_hdr"),
                eh_frame_hdr: content(".eh_frame_hdr")?,
                ..ExplicitModuleSectionInfo::default()
            },
            has_symbols: file.symbols().next().is_some(),
        })
    }

    /// Returns the difference between the addresses of a mapping and those in the file. The mapping
    /// begins at `start`, with the byte of the file at `offset`.
    pub(crate) fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        // A mapping begins at a page, which may be before its segment and have the end of another.
        let page = rustix::param::page_size() as u64;
        let fits = self.segments.iter().filter(|it| {
            it.offset / page * page <= offset && offset < it.offset.saturating_add(it.bytes)
        });
        let segment = fits.max_by_key(|it| it.offset)?;
        let address = segment
            .address
            .wrapping_add(offset)
            .wrapping_sub(segment.offset);
        Some(start.wrapping_sub(address))
    }
}

/// Returns the name of the function at each address, or `None` where no function is known.
pub(crate) fn names<'data>(
    data: impl ReadRef<'data>,
    addresses: &[u64],
) -> Result<Vec<Option<String>>> {
    let file = File::parse(data)?;
    let mut symbols: Vec<_> = file
        .symbols()
        .filter(|symbol| symbol.is_definition() && is_code(&file, symbol))
        .map(|symbol| (symbol.address(), symbol.size(), symbol.index()))
        .collect();
    // Of several symbols at an address, the one with the largest size is last, and is found.
    symbols.sort_unstable_by_key(|(address, size, index)| (*address, *size, index.0));
    let name = |address: &u64| {
        let after = symbols.partition_point(|(begin, _, _)| begin <= address);
        let (begin, size, index) = symbols.get(after.checked_sub(1)?)?;
        // Functions in assembly language often have no size, and last until the next symbol. The
        // end of a function is not computed, because a broken file may state any size.
        if *size != 0 && *size <= address - begin {
            return None;
        }
        let symbol = file.symbol_by_index(*index).ok()?;
        Some(demangle(symbol.name().ok()?))
    };
    Ok(addresses.iter().map(name).collect())
}

fn is_code<'data, R: ReadRef<'data>>(
    file: &File<'data, R>,
    symbol: &object::read::Symbol<'data, '_, R>,
) -> bool {
    match symbol.kind() {
        object::SymbolKind::Text => true,
        // A symbol of assembly language has no type.
        object::SymbolKind::Unknown | object::SymbolKind::Label => {
            let section = symbol.section_index();
            let section = section.and_then(|index| file.section_by_index(index).ok());
            section.is_some_and(|it| it.kind() == object::SectionKind::Text)
        }
        _ => false,
    }
}

/// Returns the name of a function as its programmer wrote it. Names of C stay as they are.
fn demangle(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        // Without the hash at the end.
        Ok(rust) => format!("{rust:#}"),
        Err(_) => name.to_owned(),
    }
}
