use super::{ADDRESS_MAX, ElfError, Image, Segment};
use proptest::prelude::*;

const FILE_BYTES: usize = 0x1100;

type Change = fn(&mut Vec<u8>);

/// Builds an ELF file of two segments, code and data, and applies `change` to the file.
fn file(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut file = vec![0; FILE_BYTES];
    put(&mut file, 0, b"\x7fELF\x02\x01\x01");
    put(&mut file, 16, &2_u16.to_le_bytes());
    put(&mut file, 18, &62_u16.to_le_bytes());
    put(&mut file, 24, &0x40_0100_u64.to_le_bytes());
    put(&mut file, 32, &64_u64.to_le_bytes());
    put(&mut file, 54, &56_u16.to_le_bytes());
    put(&mut file, 56, &2_u16.to_le_bytes());
    header(&mut file, 0, 1, 5, [0, 0x40_0000, 0x1000, 0x1000]);
    header(&mut file, 1, 1, 6, [0x1000, 0x40_1000, 0x100, 0x2000]);
    change(&mut file);
    file
}

/// Writes a program header. `numbers` are offset, address, bytes in the file and bytes in memory.
fn header(file: &mut [u8], index: usize, kind: u32, flags: u32, numbers: [u64; 4]) {
    let at = 64 + 56 * index;
    put(file, at, &kind.to_le_bytes());
    put(file, at + 4, &flags.to_le_bytes());
    for (place, number) in [8, 16, 32, 40].into_iter().zip(numbers) {
        put(file, at + place, &number.to_le_bytes());
    }
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn a_static_program_is_read() {
    let image = Image::parse(&file(|_| ())).expect("it is sound");
    let code = Segment {
        memory: 0x40_0000..0x40_1000,
        file: 0..0x1000,
        write: false,
        execute: true,
    };
    let data = Segment {
        memory: 0x40_1000..0x40_3000,
        file: 0x1000..0x1100,
        write: true,
        execute: false,
    };
    assert_eq!((image.entry, image.relocatable), (0x40_0100, false));
    assert_eq!(image.headers, (0x40_0040, 2));
    assert_eq!(image.memory(), 0x40_0000..0x40_3000);
    assert_eq!(image.segments, [code, data]);
}

#[test]
fn files_that_cannot_run_and_files_that_are_wrong_have_different_errors() {
    let unfit = |change: Change| Image::parse(&file(change)).expect_err("it is unfit");
    let cases: [(Change, ElfError); 10] = [
        (|file| file.clear(), ElfError::NotElf),
        (|file| file[4] = 1, ElfError::NotX86_64),
        (|file| file[16] = 1, ElfError::NotExecutable),
        (
            |file| {
                header(file, 1, 3, 4, [0x1000, 0, 0x18, 0x18]);
                put(file, 0x1000, b"/lib/ld.so\0");
            },
            ElfError::NotStatic("/lib/ld.so".to_owned()),
        ),
        (
            |file| file.truncate(0x1080),
            ElfError::Truncated("a segment"),
        ),
        (
            |file| put(file, 32, &u64::MAX.to_le_bytes()),
            ElfError::Truncated("the table of program headers"),
        ),
        (
            |file| header(file, 1, 1, 6, [0x1000, 0x40_1000, 0x100, 0x80]),
            ElfError::Malformed("a segment is longer in the file than in memory"),
        ),
        (
            |file| header(file, 1, 1, 6, [0x1000, ADDRESS_MAX, 0x100, 0x100]),
            ElfError::Malformed("invalid address of a segment"),
        ),
        (
            |file| header(file, 1, 1, 6, [0x1000, 0x40_0800, 0x100, 0x100]),
            ElfError::Malformed("segments overlap, or are not in the order of their addresses"),
        ),
        (
            |file| header(file, 1, 1, 7, [0x1000, 0x40_1000, 0x100, 0x100]),
            ElfError::WritableCode,
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(unfit(change), expected);
    }
    let nowhere = |file: &mut Vec<u8>| put(file, 24, &0x40_1000_u64.to_le_bytes());
    assert_eq!(Image::parse(&file(nowhere)), Err(ElfError::NoCode));
}

proptest! {
    #[test]
    fn no_bytes_reach_a_panic(changes in prop::collection::vec((0_usize..FILE_BYTES, any::<u8>()), 0..40), head in 0_usize..FILE_BYTES) {
        let changed = file(|file| {
            for (at, byte) in changes {
                file[if at % 2 == 0 { at } else { at % 176 }] = byte;
            }
            file.truncate(head.max(64));
        });
        if let Ok(image) = Image::parse(&changed) {
            for segment in &image.segments {
                prop_assert!(segment.file.end <= changed.len());
                prop_assert!(segment.memory.end <= ADDRESS_MAX);
                prop_assert!(segment.file.len() as u64 <= segment.memory.end - segment.memory.start);
            }
        }
    }
}
