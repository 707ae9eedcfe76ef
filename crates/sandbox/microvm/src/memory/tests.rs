//! Tests of a guest's memory without a guest: which pages a wipe keeps and drops, and which
//! addresses are refused.

use super::{BadAddress, Memory, Template};
use crate::elf::{Image, Segment};
use crate::layout::{LARGE_BYTES, Layout, LayoutSeed, PAGE_BYTES};

const CODE: u64 = 2 * LARGE_BYTES;
const DATA: u64 = 3 * LARGE_BYTES;

fn layout() -> Layout {
    code_and_data_layout(LARGE_BYTES)
}

/// Returns a layout with a code segment and a data segment directly after it, each `bytes` long.
fn code_and_data_layout(bytes: u64) -> Layout {
    let segment = |begin: u64, execute: bool| Segment {
        memory: begin..begin + bytes,
        file: 0..0,
        write: !execute,
        execute,
    };
    let image = Image {
        entry: CODE,
        relocatable: false,
        segments: vec![segment(CODE, true), segment(CODE + bytes, false)],
        headers: (0, 0),
    };
    let seed = LayoutSeed {
        bias: 0,
        heap: 0,
        stack: 0,
    };
    Layout::new(&image, 8 << 20, seed).expect("it fits")
}

/// Returns the snapshot of a guest whose boot wrote code, data, one word above the stack pointer
/// and one word below it.
fn template(layout: &Layout) -> Template {
    let mut boot = Memory::blank(layout, true).expect("address space");
    let stack = layout.stack_top - 2 * PAGE_BYTES;
    for address in [CODE, DATA, stack + PAGE_BYTES, stack - 64 * PAGE_BYTES] {
        let place = boot.image_mut(address, 4).expect("the program's");
        place.copy_from_slice(b"boot");
    }
    boot.freeze(layout, stack).expect("a memory file")
}

fn read(memory: &Memory, address: u64) -> [u8; 4] {
    let bytes = memory.slice(address, 4).expect("the program's");
    bytes.try_into().expect("four bytes")
}

#[test]
fn a_wipe_brings_back_what_the_template_holds() {
    let layout = layout();
    let template = template(&layout);
    let mut memory = Memory::of(&template, true, true).expect("address space");
    let heap = layout.heap_begin + LARGE_BYTES;
    let dead = layout.stack_top - 66 * PAGE_BYTES;
    assert_eq!(read(&memory, CODE), *b"boot");
    assert_eq!(
        read(&memory, dead),
        [0; 4],
        "what lay below the stack pointer was left out"
    );
    for _ in 0..3 {
        for address in [DATA, DATA + 100, heap, dead] {
            let place = memory.slice_mut(address, 4).expect("writable");
            place.copy_from_slice(b"job!");
        }
        let used = |spare| memory.used_bytes(&spare).expect("countable");
        let all = used(heap + LARGE_BYTES..layout.mappings_top);
        assert!(LARGE_BYTES <= all, "{all}");
        assert_eq!(used(heap..layout.mappings_top), all - LARGE_BYTES);
        memory.wipe().expect("pages can be dropped");
        assert_eq!(read(&memory, DATA), *b"boot");
        for address in [DATA + 100, heap, dead] {
            assert_eq!(read(&memory, address), [0; 4], "{address:#x}");
        }
    }
}

#[test]
fn machines_of_one_template_share_nothing_that_they_write() {
    let template = template(&layout());
    let of = || Memory::of(&template, false, false).expect("address space");
    let (mut one, other) = (of(), of());
    one.slice_mut(DATA, 4)
        .expect("writable")
        .copy_from_slice(b"job!");
    assert_eq!(read(&other, DATA), *b"boot");
}

#[test]
fn addresses_that_are_not_the_programs_are_refused() {
    let layout = layout();
    let mut memory = Memory::of(&template(&layout), true, true).expect("address space");
    for (address, bytes) in [
        (0, 1),
        (LARGE_BYTES - 1, 1),
        // Addresses that the program's page tables do not map: below the program, and in the guard
        // below the program's stack.
        (LARGE_BYTES, 1),
        (CODE - 1, 1),
        (layout.mappings_top - 1, 2),
        (layout.mappings_top, 1),
        (layout.mappings_top + LARGE_BYTES - 1, 1),
        (layout.bytes, 1),
        (layout.bytes - 1, 2),
        (u64::MAX, 1),
        (u64::MAX, u64::MAX),
        (DATA, u64::MAX),
    ] {
        assert_eq!(
            memory.slice(address, bytes),
            Err(BadAddress),
            "{address:#x} {bytes}"
        );
        assert_eq!(
            memory.slice_mut(address, bytes),
            Err(BadAddress),
            "{address:#x} {bytes}"
        );
    }
    assert_eq!(memory.slice_mut(CODE, 1), Err(BadAddress), "code");
    assert_eq!(
        memory.slice_mut(CODE - 1, 2),
        Err(BadAddress),
        "what reaches into code"
    );
}

/// On behalf of a guest, the host must not write to pages that the guest's page tables make
/// read-only.
#[test]
fn code_beside_data_in_one_large_page_is_not_writable() {
    let layout = code_and_data_layout(PAGE_BYTES);
    let mut boot = Memory::blank(&layout, true).expect("address space");
    let image = boot.image_mut(CODE, 2 * PAGE_BYTES).expect("the program's");
    image.fill(b'x');
    let template = boot
        .freeze(&layout, layout.stack_top)
        .expect("a memory file");
    let data = CODE + PAGE_BYTES;
    let of_template = Memory::of(&template, true, true).expect("address space");
    for mut memory in [boot, of_template] {
        for (address, bytes) in [
            (CODE, 1),
            (data - 1, 1),
            (data - 1, 2),
            (CODE, 2 * PAGE_BYTES),
        ] {
            let refused = memory.slice_mut(address, bytes);
            assert_eq!(refused, Err(BadAddress), "{address:#x} {bytes}");
            assert!(memory.slice(address, bytes).is_ok(), "{address:#x}");
        }
        assert!(memory.slice_mut(data, PAGE_BYTES).is_ok());
        assert!(memory.zero_pages(CODE..data).is_err() || memory.boots);
    }
}

/// Promise N2 of `docs/SPEC.md`, that canaries reveal an incomplete wipe: a canary survives in a
/// page that the wipe does not drop.
#[test]
fn n2_a_canary_tells_of_a_wipe_that_forgets() {
    let template = template(&layout());
    for seed in (0..4_000).step_by(7) {
        let mut memory = Memory::of(&template, false, false).expect("address space");
        let canary = memory.plant(seed);
        assert!(memory.holds(&canary));
        let all = std::mem::take(&mut memory.wiped);
        memory.wipe().expect("nothing to drop");
        assert!(memory.holds(&canary), "{canary:?}");
        memory.wiped = all;
        memory.wipe().expect("pages can be dropped");
        assert!(!memory.holds(&canary), "{canary:?}");
    }
}
