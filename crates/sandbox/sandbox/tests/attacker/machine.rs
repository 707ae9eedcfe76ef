//! Attacks of a program on its own virtual machine: privileged instructions, reads of ring 0's
//! memory, and system calls with invalid arguments.

use crate::{Attack, Scene};
use sandbox_protocol::AllegedReply;
use std::arch::asm;

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("cli", |scene| {
        // SAFETY: the instruction is an attack; ring 3 may not execute it.
        unsafe { asm!("cli") };
        scene.done(b"escaped")
    }),
    ("hlt", |scene| {
        // SAFETY: the instruction is an attack; ring 3 may not execute it.
        unsafe { asm!("hlt") };
        scene.done(b"escaped")
    }),
    ("port", |scene| {
        // SAFETY: the instruction is an attack on the I/O port that ring 0 uses for system calls.
        unsafe { asm!("out 0x40, al") };
        scene.done(b"escaped")
    }),
    ("page-tables", |scene| {
        // SAFETY: the instruction is an attack; ring 3 may not execute it.
        unsafe { asm!("mov cr3, {}", in(reg) 0_u64) };
        scene.done(b"escaped")
    }),
    ("msr", |scene| {
        // SAFETY: the instruction is an attack; ring 3 may not execute it.
        unsafe { asm!("wrmsr", in("ecx") 0xc000_0082_u32, in("eax") 0, in("edx") 0) };
        scene.done(b"escaped")
    }),
    ("read-ring0", |scene| {
        // SAFETY: the read is an attack on the page of the descriptor tables, at 0x1000. If it
        // succeeds, it changes nothing.
        let word = unsafe { std::ptr::without_provenance::<u64>(0x1010).read_volatile() };
        scene.done(&word.to_le_bytes())
    }),
    ("write-code", |scene| {
        let place = (machine_code as *const ()).cast_mut().cast::<u8>();
        // SAFETY: the write is an attack on the program's own code. If the write succeeds, the job
        // fails.
        unsafe { place.write_volatile(0xc3) };
        scene.done(b"escaped")
    }),
    ("run-data", |scene| {
        let code = [0xc3_u8; 16];
        // SAFETY: the call is an attack. The bytes are `ret` instructions, so the call returns at
        // once if data can be executed.
        let run: extern "C" fn() = unsafe { std::mem::transmute(code.as_ptr()) };
        run();
        scene.done(b"escaped")
    }),
    ("cpuid", cpuid),
    ("layout", layout),
    ("random", random),
    ("calls", calls),
];

extern "C" fn machine_code() {}

/// Answers with the bits of `cpuid` that report VMX and SVM.
fn cpuid(scene: &Scene<'_>) -> AllegedReply {
    let vmx = std::arch::x86_64::__cpuid(1).ecx >> 5 & 1;
    let svm = std::arch::x86_64::__cpuid(0x8000_0001).ecx >> 2 & 1;
    scene.done(format!("vmx {vmx} svm {svm}").as_bytes())
}

/// Answers with addresses of code, heap and stack, and the random bytes for the program's stack
/// canary.
fn layout(scene: &Scene<'_>) -> AllegedReply {
    let heap = Box::new(0_u8);
    let on_stack = 0_u8;
    // SAFETY: the call only returns a number.
    let random = unsafe { libc::getauxval(libc::AT_RANDOM) };
    // SAFETY: for every program, the kernel or the helper puts sixteen bytes at this address.
    let random = unsafe { std::ptr::with_exposed_provenance::<[u8; 16]>(random as usize).read() };
    let addresses = format!(
        "{:p} {:p} {:p} {:x}",
        machine_code as *const (),
        &raw const *heap,
        &raw const on_stack,
        u128::from_le_bytes(random),
    );
    scene.done(addresses.as_bytes())
}

fn random(scene: &Scene<'_>) -> AllegedReply {
    let mut bytes = [0_u8; 16];
    // SAFETY: the call writes at most `bytes.len()` bytes.
    let drawn = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(drawn, 16, "randomness is never short");
    scene.done(format!("{:x}", u128::from_le_bytes(bytes)).as_bytes())
}

/// Makes system calls with arguments at boundary values. Numbers and arguments are pseudorandom,
/// from the seed in the plan.
fn calls(scene: &Scene<'_>) -> AllegedReply {
    const CALLS: u32 = 60;
    let mut state = scene.numbers[0] | 1;
    let mut draw = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    };
    let mut block = vec![0_u8; 8_192];
    let own = block.as_mut_ptr() as u64;
    let edges = [
        0,
        1,
        4_096,
        0x1000,
        0x20_0000 - 8,
        0x20_0000,
        own,
        own + 8_000,
        1 << 30,
        1 << 47,
        u64::MAX,
        u64::MAX - 4_095,
        i64::MAX as u64,
    ];
    for _ in 0..CALLS {
        let number = draw(340);
        // The calls `exit`, `exit_group`, `kill`, `tkill` and `tgkill` are left out, since they may
        // end the job.
        if [60, 231, 62, 200, 234].contains(&number) {
            continue;
        }
        let mut argument = || match draw(3) {
            0 => draw(8),
            1 => edges[draw(edges.len() as u64) as usize],
            _ => edges[draw(edges.len() as u64) as usize].wrapping_add(draw(64)),
        };
        let [a, b, c, d, e, f] = [(); 6].map(|()| argument());
        // SAFETY: the call is an attack; it can damage only the memory of this job.
        unsafe { libc::syscall(number as i64, a, b, c, d, e, f) };
    }
    scene.done(b"survived")
}
