//! A job that writes a secret to all memory that it can write to, and a later job that searches all
//! memory that it can read.
//!
//! The program itself contains no copy of the secret. The secret is computed in the place where it
//! is written. The search multiplies each word of memory by a constant, and compares the result
//! with the product of the secret and this constant.

use crate::{Attack, Scene};
use sandbox_protocol::AllegedReply;
use std::cell::RefCell;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

pub(crate) const ATTACKS: &[(&str, Attack)] =
    &[("poison", poison), ("seek", seek), ("seek-own", seek_own)];

const HIDE_BYTES: usize = 64 << 10;
const BLOCKS_BYTES: [usize; 6] = [24, 100, 1_000, 10_000, 100_000, 1 << 20];
const PAGE_BYTES: usize = 4_096;

static STATIC: Mutex<[u8; HIDE_BYTES]> = Mutex::new([0; HIDE_BYTES]);
thread_local! {
    static LOCAL: RefCell<[u8; PAGE_BYTES]> = const { RefCell::new([0; PAGE_BYTES]) };
}

fn fill(bytes: &mut [u8]) {
    // `black_box` hides the key from the compiler, which would otherwise put the secret among the
    // program's constants.
    let key = std::hint::black_box(0xa5);
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = ((index % 16) as u8).wrapping_mul(0x3b) ^ key;
    }
}

/// Writes the secret and searches for it in the same job, which proves that the search can find it.
fn seek_own(scene: &Scene<'_>) -> AllegedReply {
    poison(scene);
    seek(scene)
}

/// Writes the secret to static, thread-local, heap, stack and mapped memory and to the answer.
/// Answers with the addresses and lengths of these places.
fn poison(scene: &Scene<'_>) -> AllegedReply {
    let mut hidden = Vec::new();
    let mut hide = |bytes: &mut [u8]| {
        fill(bytes);
        hidden.push(format!("{} {}", bytes.as_ptr() as usize, bytes.len()));
    };
    hide(&mut *STATIC.lock().expect("one thread"));
    LOCAL.with_borrow_mut(|local| hide(local));
    let mut blocks = BLOCKS_BYTES.map(|size| vec![0; size]);
    for block in &mut blocks {
        hide(block);
    }
    let mut stack = [0; HIDE_BYTES];
    hide(&mut stack);
    std::hint::black_box(&stack);
    // SAFETY: `map` creates a private mapping of HIDE_BYTES bytes.
    hide(unsafe { std::slice::from_raw_parts_mut(map(), HIDE_BYTES) });
    let secret = String::from_utf8_lossy(&blocks[0]).into_owned();
    // SAFETY: this process has one thread.
    unsafe { std::env::set_var("SECRET", secret) };
    let written = scene.answer.write_all_at(&blocks[3], PAGE_BYTES as u64);
    written.expect("the answer is writable");
    // Every second block is leaked. The other blocks are freed, as a codec would free them.
    std::mem::forget(blocks.into_iter().step_by(2).collect::<Vec<_>>());
    scene.done(hidden.join(" ").as_bytes())
}

fn map() -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
    let map = unsafe { libc::mmap(std::ptr::null_mut(), HIDE_BYTES, protection, flags, -1, 0) };
    assert_ne!(map, libc::MAP_FAILED, "an anonymous mapping is allowed");
    map.cast()
}

/// Answers with the number of places that contain the secret. The plan lists the addresses to which
/// an earlier job wrote the secret. The search covers these addresses, statics, heap, new blocks, a
/// new mapping, the answer and the environment.
fn seek(scene: &Scene<'_>) -> AllegedReply {
    let mut ranges = vec![statics(), heap()];
    let hidden = scene.numbers.chunks_exact(2);
    ranges.extend(hidden.map(|place| (place[0] as usize, (place[0] + place[1]) as usize)));
    // New blocks and mappings may lie in memory that the earlier job freed.
    let blocks = BLOCKS_BYTES.map(Vec::<u8>::with_capacity);
    ranges.extend(blocks.iter().map(|block| {
        let begin = block.as_ptr() as usize;
        (begin, begin + block.capacity())
    }));
    let map = map() as usize;
    ranges.push((map, map + HIDE_BYTES));
    let mut answer = vec![0; 16 * PAGE_BYTES];
    let read = scene.answer.read_at(&mut answer, 0);
    let mut found = hits(&answer[..read.expect("the answer is readable")]);
    found += ranges
        .into_iter()
        .map(|range| hits_in(scene, range))
        .sum::<usize>();
    found += usize::from(std::env::var_os("SECRET").is_some());
    scene.done(found.to_string().as_bytes())
}

/// Returns the address range of the program's writable static data.
fn statics() -> (usize, usize) {
    unsafe extern "C" {
        static __data_start: u8;
        static _end: u8;
    }
    (&raw const __data_start as usize, &raw const _end as usize)
}

/// Returns the range from 2 MiB before to 2 MiB after the start of a newly allocated block of the
/// heap.
fn heap() -> (usize, usize) {
    const HALF_BYTES: usize = 2 << 20;
    let block: Vec<u8> = Vec::with_capacity(1 << 20);
    let middle = block.as_ptr() as usize;
    (middle.saturating_sub(HALF_BYTES), middle + HALF_BYTES)
}

/// Counts the copies of the secret in a range of addresses. Some addresses may be unmapped, and a
/// load from them would fault. `pwrite` finds the mapped pages, because it stops before an unmapped
/// page. Each call of `pwrite` covers many pages: in a guest, a system call costs as much as a
/// thousand instructions.
fn hits_in(scene: &Scene<'_>, (begin, end): (usize, usize)) -> usize {
    const PROBE_BYTES: usize = 64 << 10;
    let descriptor = scene.answer.as_raw_fd();
    let mut found = 0;
    let mut page = begin & !(PAGE_BYTES - 1);
    while page < end {
        let bytes = PROBE_BYTES.min((end - page).next_multiple_of(PAGE_BYTES));
        let address = std::ptr::with_exposed_provenance::<u8>(page);
        // SAFETY: the kernel reads as much as is mapped, or returns an error.
        let written = unsafe { libc::pwrite(descriptor, address.cast(), bytes, 0) };
        let mapped_bytes = usize::try_from(written).unwrap_or(0) & !(PAGE_BYTES - 1);
        // SAFETY: the kernel has just read these bytes for the `pwrite` above, no code unmaps them
        // meanwhile, and this process has one thread.
        found += hits(unsafe { std::slice::from_raw_parts(address, mapped_bytes) });
        page += mapped_bytes.max(PAGE_BYTES);
    }
    found
}

/// Counts the copies of the secret in `bytes`. The comparison uses products, so that the secret
/// itself is not in this process, not even in a register.
fn hits(bytes: &[u8]) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = |window: &[u8]| {
        let word = u64::from_le_bytes(window.try_into().expect("windows of 8"));
        word.wrapping_mul(ODD)
    };
    // The search compares products with the number ODD, since the secret itself would otherwise be
    // in this program's memory. WANTED is the product of the secret's first 8 bytes.
    let wanted = std::hint::black_box(WANTED);
    bytes
        .windows(8)
        .filter(|window| product(window) == wanted)
        .count()
}

const WANTED: u64 = {
    let mut word = 0;
    let mut index = 8;
    while 0 < index {
        index -= 1;
        word = word << 8 | ((index as u8).wrapping_mul(0x3b) ^ 0xa5) as u64;
    }
    word.wrapping_mul(0x9e37_79b9_7f4a_7c15)
};
