//! Tests of jobs as a sandbox runs them, and of invalid originals.

use super::pictures::{PNG, WEBP, done, jpeg, png, read, scene, whole};
use crate::{ErrorKind, convert, run_job, warm_up};
use image_plan::{Format, Plan, Size, Subsampling};
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};
use sandbox_protocol::{AllegedReply, Expect, Job, JobLimits, Reply, Status};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

const SIZE: Size = Size::new(96, 64);
const LIMITS: JobLimits = JobLimits {
    output_bytes_max: 64 << 10,
    memory_bytes_max: 64 << 20,
    cpu_ms_max: 1_000,
};

fn memory_file(bytes: &[u8]) -> File {
    let mut file = File::from(memfd_create("test", MemfdFlags::empty()).expect("a memfd"));
    file.write_all(bytes).expect("room in memory");
    file
}

/// Runs a job and verifies its reply.
fn run(plan: &[u8], original: &[u8], limits: JobLimits) -> (Reply, File) {
    let job = Job {
        id: 7,
        limits,
        seed: [0; 16],
        idle: false,
        plan,
    };
    let expect = Expect {
        id: 7,
        size_px: Some((SIZE.width_px, SIZE.height_px)),
        output_bytes_max: limits.output_bytes_max,
        may_be_empty: false,
    };
    let target = memory_file(&vec![0; limits.output_bytes_max as usize]);
    let reply = run_job(&job, &memory_file(original), &target).to_bytes();
    let reply = AllegedReply::from_bytes(&reply).expect("a message");
    (reply.verify(&expect).expect("an honest reply"), target)
}

#[test]
fn a_job_writes_its_output_to_the_memfd() {
    let picture = scene(SIZE);
    let plan = whole(Format::Png, SIZE, WEBP);
    let original = png(&picture, None);
    let (reply, target) = run(&plan.to_bytes(), &original, LIMITS);
    assert_eq!((reply.status, reply.detail.as_str()), (Status::Done, ""));
    let mut bytes = vec![0; reply.output_bytes as usize];
    target
        .read_exact_at(&mut bytes, 0)
        .expect("what was written");
    assert_eq!(bytes, done(&plan, &original).bytes);
}

#[test]
fn a_job_beyond_its_limits_has_no_output() {
    let plan = whole(Format::Png, SIZE, PNG).to_bytes();
    let original = png(&scene(SIZE), None);
    let small_output = JobLimits {
        output_bytes_max: 100,
        ..LIMITS
    };
    let small_memory = JobLimits {
        memory_bytes_max: 100,
        ..LIMITS
    };
    for limits in [small_output, small_memory] {
        let (reply, _) = run(&plan, &original, limits);
        assert_eq!((reply.status, reply.output_bytes), (Status::TooLarge, 0));
        assert_ne!(reply.detail, "");
    }
}

#[test]
fn a_plan_of_another_build_is_our_fault() {
    let (reply, _) = run(b"PLN0", &png(&scene(SIZE), None), LIMITS);
    assert_eq!(reply.status, Status::Failed);
    assert_eq!(reply.detail, "plan has the wrong length");
}

#[test]
fn an_original_that_is_no_picture_is_undecodable() {
    let kind = |plan: &Plan, original: &[u8]| convert(plan, original).map_err(|error| error.kind);
    let sound = jpeg(&scene(SIZE), Subsampling::S420);
    for format in [
        Format::Jpeg,
        Format::Png,
        Format::Gif,
        Format::Webp,
        Format::Avif,
        Format::Bmp,
    ] {
        for original in [&b""[..], b"no picture", &[0; 5_000]] {
            let plan = whole(format, SIZE, WEBP);
            assert_eq!(
                kind(&plan, original),
                Err(ErrorKind::Undecodable),
                "{format:?}"
            );
        }
    }
    let other_size = whole(Format::Jpeg, Size::new(64, 96), WEBP);
    assert_eq!(kind(&other_size, &sound), Err(ErrorKind::Undecodable));
}

#[test]
fn a_cut_photograph_is_converted_as_far_as_it_goes() {
    let sound = jpeg(&scene(SIZE), Subsampling::S420);
    let plan = whole(Format::Jpeg, SIZE, WEBP);
    let output = convert(&plan, &sound[..sound.len() * 3 / 4]).expect("most of a picture");
    assert_eq!(
        output.remarks,
        ["the original is damaged: only its valid part was decoded"]
    );
    assert_eq!(read(&plan, &output.bytes).0.size, SIZE);
}

#[test]
fn the_warm_up_runs() {
    warm_up();
}

proptest! {
    #[test]
    fn no_original_reaches_a_panic(at in 0..4_000_usize, to: u8, cut in 0..400_usize) {
        let picture = scene(SIZE);
        for (format, original) in [
            (Format::Jpeg, jpeg(&picture, Subsampling::S422)),
            (Format::Png, png(&picture, None)),
        ] {
            let mut original = original;
            let at = at % original.len();
            original[at] = to;
            original.truncate(original.len() - cut);
            match convert(&whole(format, SIZE, WEBP), &original) {
                Ok(output) => prop_assert_eq!(output.size, SIZE),
                Err(error) => prop_assert_ne!(error.kind, ErrorKind::Failed),
            }
        }
    }
}
