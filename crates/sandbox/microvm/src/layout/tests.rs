use super::{LARGE_BYTES, Layout, LayoutSeed, PAGE_BYTES, SYSTEM};
use crate::elf::{Image, Segment};
use expect_test::expect;
use proptest::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

const NO_CHANCE: LayoutSeed = LayoutSeed {
    bias: 0,
    heap: 0,
    stack: 0,
};

fn image(relocatable: bool, segments: &[(Range<u64>, bool, bool)]) -> Image {
    let segment = |(memory, write, execute): &(Range<u64>, bool, bool)| Segment {
        memory: memory.clone(),
        file: 0..0,
        write: *write,
        execute: *execute,
    };
    Image {
        entry: segments[0].0.start,
        relocatable,
        segments: segments.iter().map(segment).collect(),
        headers: (0, 0),
    }
}

#[test]
fn a_program_linked_for_large_pages_gets_them() {
    let program = image(
        false,
        &[
            (0x40_0000..0x60_0000, false, true),
            (0x60_0000..0x70_1234, false, false),
            (0x80_0000..0x80_4321, true, false),
        ],
    );
    let layout = Layout::new(&program, 4 << 20, NO_CHANCE).expect("it fits");
    expect![[r#"
        0x000000001000      3 x    4 KB  rw- ring 0
        0x000000004000      1 x    4 KB  r-x ring 0
        0x000000005000      1 x    4 KB  rw- ring 0
        0x000000010000    496 x    4 KB  r-- ring 0
        0x000000400000      1 x 2048 KB  r-x user
        0x000000600000      1 x 2048 KB  r-- user
        0x000000800000      3 x 2048 KB  rw- user
        0x000001000000      5 x 2048 KB  rw- user
    "#]]
    .assert_eq(&layout.list());
}

#[test]
fn what_has_no_place_is_refused() {
    let refused = |image: &Image, bytes| {
        let layout = Layout::new(image, bytes, NO_CHANCE);
        let tables = layout.and_then(|layout| layout.tables());
        tables.expect_err("it has no place")
    };
    let low = image(false, &[(0x1000..0x2000, false, true)]);
    assert_eq!(
        refused(&low, 1 << 20),
        "the lowest address of the program, 0x1000, is below 4 MB"
    );
    let mixed = image(
        false,
        &[
            (0x40_0000..0x40_0800, false, true),
            (0x40_0800..0x40_1000, true, false),
        ],
    );
    assert_eq!(
        refused(&mixed, 1 << 20),
        "a page contains both code and writable data"
    );
    let fits = image(false, &[(0x40_0000..0x40_1000, false, true)]);
    let expected = "the memory needs more page tables than the microVM has room for";
    assert_eq!(refused(&fits, 1 << 39), expected);
}

/// Walks the tables as a processor does, and returns every mapped page with its entry.
fn walk(tables: &[(u64, Vec<u8>)]) -> HashMap<u64, u64> {
    let tables: HashMap<_, _> = tables
        .iter()
        .map(|(place, bytes)| (*place, bytes))
        .collect();
    let root = tables.keys().min().copied().expect("there is a root");
    let entries = |place: u64| {
        let (words, _) = tables[&place].as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        words
            .enumerate()
            .filter(|(_, entry)| entry & 1 != 0)
            .collect::<Vec<_>>()
    };
    let target = |entry: u64| entry & 0x000f_ffff_ffff_f000;
    let mut pages = HashMap::new();
    for (_, third) in entries(root) {
        for (gigabyte, second) in entries(target(third)) {
            for (large, first) in entries(target(second)) {
                let begin = ((gigabyte as u64) << 30) + large as u64 * LARGE_BYTES;
                if first & 1 << 7 != 0 {
                    assert_eq!(target(first), begin);
                    let all = (begin..begin + LARGE_BYTES).step_by(PAGE_BYTES as usize);
                    pages.extend(all.map(|page| (page, first)));
                    continue;
                }
                for (page, leaf) in entries(target(first)) {
                    let page = begin + page as u64 * PAGE_BYTES;
                    assert_eq!(target(leaf), page, "guest addresses are the slot's");
                    pages.insert(page, leaf);
                }
            }
        }
    }
    pages
}

proptest! {
    #[test]
    fn tables_say_what_segments_ask_for(
        relocatable in any::<bool>(),
        sizes in prop::collection::vec((1_u64..0x30_0000, 0_u64..0x1_0000, 0_u8..3), 1..6),
        memory_bytes in 1_u64..64 << 20,
        seed in any::<(u16, u16, u16)>(),
    ) {
        let mut at = 0x40_0000;
        let segments: Vec<_> = sizes
            .into_iter()
            .map(|(bytes, gap, kind)| {
                let begin = at + gap;
                at = (begin + bytes).next_multiple_of(PAGE_BYTES);
                (begin..begin + bytes, kind == 1, kind == 2)
            })
            .collect();
        let (bias, heap, stack) = seed;
        let image = image(relocatable, &segments);
        let layout = Layout::new(&image, memory_bytes, LayoutSeed { bias, heap, stack }).expect("it fits");
        let pages = walk(&layout.tables().expect("few tables"));
        for (memory, write, execute) in &segments {
            let begin = (memory.start + layout.bias) / PAGE_BYTES * PAGE_BYTES;
            for page in (begin..memory.end + layout.bias).step_by(PAGE_BYTES as usize) {
                let leaf = pages[&page];
                let bits = (leaf & 4 != 0, leaf & 2 != 0, leaf >> 63 == 0);
                prop_assert_eq!(bits, (true, *write, *execute), "page {:#x}", page);
            }
        }
        for (page, leaf) in &pages {
            let user = leaf & 4 != 0;
            prop_assert_eq!(user, SYSTEM.end <= *page, "ring 0 and the program share no page");
            prop_assert!(leaf & 2 == 0 || leaf >> 63 == 1, "nothing is writable and executable");
            prop_assert!(*page < layout.bytes);
        }
        prop_assert!(layout.heap_begin + memory_bytes <= layout.mappings_top);
        prop_assert!(!pages.contains_key(&layout.mappings_top), "a guard lies below the stack");
        prop_assert!(pages.contains_key(&(layout.stack_top / PAGE_BYTES * PAGE_BYTES)));
    }
}
