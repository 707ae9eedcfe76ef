//! Jobs that exceed their limits or crash, and honest jobs that use a known amount of memory or CPU
//! time.

use crate::{Attack, SOCKET, Scene};
use sandbox_protocol::AllegedReply;
use std::time::{Duration, Instant};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("loop", |_| {
        loop {
            std::hint::spin_loop();
        }
    }),
    ("loop-deaf", |_| {
        for signal in [libc::SIGPROF, libc::SIGXCPU] {
            // SAFETY: the call installs no handler; it makes the process ignore the signal.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        loop {
            std::hint::spin_loop();
        }
    }),
    ("read-forever", |scene| {
        let mut byte = 0_u8;
        // SAFETY: the call writes to a local byte.
        let read = unsafe { libc::read(SOCKET, (&raw mut byte).cast(), 1) };
        scene.result(read as i64)
    }),
    ("allocate", |scene| {
        let memory = vec![1_u8; scene.numbers[0] as usize];
        scene.done(&memory[..1])
    }),
    ("allocate-in-c", |scene| {
        // SAFETY: any size is allowed; if there is too little memory, the call returns null.
        let memory = unsafe { libc::malloc(scene.numbers[0] as usize) };
        scene.result(if std::hint::black_box(memory).is_null() {
            -1
        } else {
            0
        })
    }),
    ("allocate-slowly", |scene| {
        let mut blocks: Vec<Vec<u8>> = Vec::new();
        loop {
            blocks.push(vec![scene.job.plan[0]; 1 << 20]);
        }
    }),
    ("segv", |scene| {
        // SAFETY: none; the address is not mapped, and the kernel is meant to kill the process.
        unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
        scene.done(b"escaped")
    }),
    ("abort", |_| std::process::abort()),
    ("panic", |_| panic!("on purpose")),
    ("overflow", |scene| {
        let depth = deeper(scene.numbers[0]);
        scene.done(&depth.to_le_bytes())
    }),
    ("touch", touch),
    ("walk", walk),
    ("spin", spin),
    ("core", core),
    ("work", work),
];

fn deeper(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 1_024]);
    if depth == 0 {
        0
    } else {
        deeper(depth - 1) + frame[7]
    }
}

/// Writes to as many bytes of new heap memory as the plan says, in blocks of 1 MiB as codecs do.
/// Answers with the number of page faults that this caused.
fn touch(scene: &Scene<'_>) -> AllegedReply {
    let before = faults();
    let mut blocks = Vec::new();
    for _ in 0..scene.numbers[0] >> 20 {
        let mut block: Vec<u8> = Vec::with_capacity(1 << 20);
        for page in block.spare_capacity_mut().chunks_mut(4_096) {
            page[0].write(1);
        }
        blocks.push(std::hint::black_box(block));
    }
    let taken = faults() - before;
    std::mem::forget(blocks);
    scene.done(taken.to_string().as_bytes())
}

// Filler as large as the code of a worker with codecs, so that the code fills whole huge pages.
std::arch::global_asm!(
    ".pushsection .text",
    "attacker_ballast: .fill 6 << 20, 1, 0x90",
    ".popsection",
);

/// Reads from every page of the filler `attacker_ballast`. Answers with the number of page faults.
fn walk(scene: &Scene<'_>) -> AllegedReply {
    unsafe extern "C" {
        #[link_name = "attacker_ballast"]
        static BALLAST: [u8; 6 << 20];
    }
    let before = faults();
    // SAFETY: the assembler emits `6 << 20` bytes for this symbol, and no code writes to them.
    for page in unsafe { &BALLAST }.chunks(4_096) {
        std::hint::black_box(page[0]);
    }
    scene.done((faults() - before).to_string().as_bytes())
}

fn faults() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes only the local structure `usage`.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: the structure consists of integers, zeroed above.
    unsafe { usage.assume_init() }.ru_minflt
}

/// Makes as many multiplications as the plan says, without access to memory.
fn work(scene: &Scene<'_>) -> AllegedReply {
    let rounds = 0..scene.numbers[0];
    let sum = rounds.fold(1_u64, |sum, round| {
        std::hint::black_box(sum.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(round))
    });
    scene.done(&sum.to_le_bytes())
}

/// Computes for as many microseconds as the plan says. Then answers with the number of the core on
/// which the job started.
fn core(scene: &Scene<'_>) -> AllegedReply {
    // SAFETY: the call takes no arguments, and reads a number that the kernel maintains for this
    // thread.
    let core = unsafe { libc::sched_getcpu() };
    spin(scene);
    scene.done(core.to_string().as_bytes())
}

/// Computes for as many microseconds as the plan says, without access to memory.
fn spin(scene: &Scene<'_>) -> AllegedReply {
    let begin = Instant::now();
    let time = Duration::from_micros(scene.numbers[0]);
    let mut sum = 1_u64;
    while begin.elapsed() < time {
        for _ in 0..1_000 {
            sum = std::hint::black_box(sum.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
        }
    }
    scene.done(&sum.to_le_bytes())
}
