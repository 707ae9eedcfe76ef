//! A worker that attacks its cell from within, in the way its plan names.

use job::{AllegedReply, Job, Status};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

#[global_allocator]
static HEAP: cell::inside::Heap = cell::inside::Heap;

fn main() {
    cell::inside::serve(|| (), attack)
}

fn attack(job: &Job<'_>, original: &File, answer: &File) -> AllegedReply {
    let plan = std::str::from_utf8(job.plan).expect("plans of the tests are text");
    let (name, number) = plan.split_once(' ').unwrap_or((plan, "0"));
    let number: u64 = number.parse().expect("plans of the tests end in a number");
    match name {
        "echo" => echo(job, original, answer),
        "touch" => touch(job, answer, number),
        "spin" => spin(job, answer, number),
        _ => AllegedReply::new(job.id, Status::Failed, (0, 0), 0).with_detail("no such attack"),
    }
}

fn done(job: &Job<'_>, answer: &File, bytes: &[u8]) -> AllegedReply {
    answer
        .write_all_at(bytes, 0)
        .expect("the answer is writable");
    AllegedReply::new(job.id, Status::Done, (0, 0), bytes.len() as u64)
}

fn echo(job: &Job<'_>, mut original: &File, answer: &File) -> AllegedReply {
    let mut bytes = Vec::new();
    original
        .read_to_end(&mut bytes)
        .expect("the original is readable");
    done(job, answer, &bytes)
}

/// Touches so many bytes of fresh heap, in blocks of 1 MiB as codecs do.
fn touch(job: &Job<'_>, answer: &File, bytes: u64) -> AllegedReply {
    let begin = std::time::Instant::now();
    let mut blocks = Vec::new();
    for _ in 0..bytes >> 20 {
        let mut block: Vec<u8> = Vec::with_capacity(1 << 20);
        for page in block.spare_capacity_mut().chunks_mut(4_096) {
            page[0].write(1);
        }
        blocks.push(std::hint::black_box(block));
    }
    let micros = begin.elapsed().as_micros();
    let addr = blocks.first().map(|b| b.as_ptr() as usize).unwrap_or(0);
    std::mem::forget(blocks);
    let mut u: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(0, &mut u) };
    done(
        job,
        answer,
        format!(
            "{micros} us, {} faults, first {addr:x}, brk {:x}",
            u.ru_minflt,
            unsafe { libc::sbrk(0) } as usize
        )
        .as_bytes(),
    )
}

/// Works for so many microseconds, in registers.
fn spin(job: &Job<'_>, answer: &File, micros: u64) -> AllegedReply {
    let begin = std::time::Instant::now();
    let mut sum = 1_u64;
    while begin.elapsed().as_micros() < u128::from(micros) {
        for _ in 0..1_000 {
            sum = std::hint::black_box(sum.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
        }
    }
    done(job, answer, &sum.to_le_bytes())
}
