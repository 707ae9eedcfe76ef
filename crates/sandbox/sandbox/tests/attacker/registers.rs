//! A job that writes a secret to every vector, mask and x87 register, and a later job whose first
//! action is a search of these registers.

use crate::{Attack, Scene};
use sandbox_protocol::AllegedReply;

pub(crate) const ATTACKS: &[(&str, Attack)] =
    &[("poison-registers", poison), ("seek-registers", seek)];

/// Value of MXCSR that the first job sets (rounding towards zero, denormals as zero), and the
/// default value.
const MXCSR_CHANGED: u32 = 0x7fc0;
const MXCSR_DEFAULT: u32 = 0x1f80;
const ALL_BYTES: usize = 32 * 64 + 8 * 8;

/// Output of `fxsave`: the x87, MXCSR and XMM registers.
#[repr(C, align(64))]
struct Legacy([u8; 512]);

#[repr(C, align(64))]
struct Vectors([u8; ALL_BYTES]);

std::arch::global_asm!(
    ".pushsection .text",
    // attacker_fill_512(secret): fills every ZMM and mask register.
    "attacker_fill_512:",
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vpbroadcastq %rdi, %zmm\\n",
    ".endr",
    ".irp n,0,1,2,3,4,5,6,7",
    "kmovq %rdi, %k\\n",
    ".endr",
    "ret",
    // attacker_dump_512(place): stores every ZMM and mask register in memory.
    "attacker_dump_512:",
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vmovdqu64 %zmm\\n, 64*\\n(%rdi)",
    ".endr",
    ".irp n,0,1,2,3,4,5,6,7",
    "kmovq %k\\n, 2048+8*\\n(%rdi)",
    ".endr",
    "ret",
    // attacker_fill_256(secret) and attacker_dump_256(place): fill and store every YMM register.
    "attacker_fill_256:",
    "vmovq %rdi, %xmm0",
    "vpbroadcastq %xmm0, %ymm0",
    ".irp n,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovdqa %ymm0, %ymm\\n",
    ".endr",
    "ret",
    "attacker_dump_256:",
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovdqu %ymm\\n, 64*\\n(%rdi)",
    ".endr",
    "ret",
    // attacker_fill_87(secret): fills the x87 stack.
    "attacker_fill_87:",
    "pushq %rdi",
    ".rept 8",
    "fildq (%rsp)",
    ".endr",
    "popq %rdi",
    "ret",
    ".popsection",
    options(att_syntax)
);

unsafe extern "C" {
    fn attacker_fill_512(secret: u64);
    fn attacker_dump_512(place: *mut Vectors);
    fn attacker_fill_256(secret: u64);
    fn attacker_dump_256(place: *mut Vectors);
    fn attacker_fill_87(secret: u64);
}

/// Computes the secret, so that the program contains no copy of it.
fn secret() -> u64 {
    std::hint::black_box(0x0123_4567_89ab_u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn has_512() -> bool {
    std::is_x86_feature_detected!("avx512bw")
}

/// Writes the secret to the registers, and answers with the width of the vector registers in bits.
fn poison(scene: &Scene<'_>) -> AllegedReply {
    let reply = scene.done(if has_512() { b"512" } else { b"256" });
    let mxcsr = MXCSR_CHANGED;
    let secret = secret();
    // SAFETY: the call pushes eight numbers on the x87 stack, which is empty and which no other
    // code of this program uses.
    unsafe { attacker_fill_87(secret) };
    // SAFETY: the instruction changes only how floating-point results are rounded, which does not
    // matter in this job's last instructions.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr) };
    if has_512() {
        // SAFETY: the call changes only registers that a callee may change, and this processor has
        // these registers.
        unsafe { attacker_fill_512(secret) };
    } else {
        // SAFETY: the call changes only registers that a callee may change. This processor has
        // these registers, since every host of these tests has AVX2.
        unsafe { attacker_fill_256(secret) };
    }
    reply
}

/// Answers with the number of register words that contain the secret, for each kind of register:
/// vector, mask and x87 registers. The last number is 1 if MXCSR does not have its default value.
fn seek(scene: &Scene<'_>) -> AllegedReply {
    let mut vectors = Vectors([0; ALL_BYTES]);
    let mut legacy = Legacy([0; 512]);
    if has_512() {
        // SAFETY: the call writes ALL_BYTES bytes, the size of `vectors`.
        unsafe { attacker_dump_512(&raw mut vectors) };
    } else {
        // SAFETY: the call writes 16 times 32 bytes within `vectors`.
        unsafe { attacker_dump_256(&raw mut vectors) };
    }
    // SAFETY: the instruction writes 512 aligned bytes, the size of `legacy`.
    unsafe { std::arch::asm!("fxsave64 [{}]", in(reg) &raw mut legacy) };
    let mxcsr = u32::from_le_bytes(*legacy.0[24..].first_chunk().expect("512 bytes"));
    let secret = secret();
    let words = |bytes: &[u8]| {
        let words = bytes.as_chunks::<8>().0.iter();
        words
            .filter(|word| u64::from_le_bytes(**word) == secret)
            .count()
    };
    // An x87 register stores a mantissa of 64 bits, without leading zeros.
    let mantissa = secret << secret.leading_zeros();
    let x87 = legacy.0[32..160].chunks(16);
    let x87 = x87
        .filter(|place| place[..8] == mantissa.to_le_bytes())
        .count();
    let control = usize::from(mxcsr & 0xffc0 != MXCSR_DEFAULT);
    let found = [
        words(&vectors.0[..2048]),
        words(&vectors.0[2048..]),
        x87,
        control,
    ];
    scene.done(found.map(|found| found.to_string()).join(" ").as_bytes())
}
