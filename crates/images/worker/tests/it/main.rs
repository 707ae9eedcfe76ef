//! Tests of the worker in its sandbox: the seccomp filter allows all calls that the codecs need,
//! and the output has the same bytes as without a sandbox.

mod floor;

use codec::encode;
use image_plan::{
    Effects, Encoding, Format, Layout, Orientation, Packed, Plan, Range, Raster, Rect, Size,
    Subsampling,
};
use rustix::fs::{MemfdFlags, memfd_create};
use sandbox::{Backend, FailureKind, Finished, Limits, Pool, Task};
use sandbox_protocol::JobLimits;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

const SIZE: Size = Size::new(301, 203);
const LIMITS: JobLimits = JobLimits {
    output_bytes_max: 4 << 20,
    memory_bytes_max: 256 << 20,
    cpu_ms_max: 8_000,
};

const JPEG: Encoding = Encoding::Jpeg { quality: 80 };
const WEBP: Encoding = Encoding::Webp {
    quality: 80,
    method: 2,
    lossless: false,
};
const AVIF: Encoding = Encoding::Avif {
    quality: 60,
    speed: 9,
    lossless: false,
};
const ENCODINGS: [Encoding; 8] = [
    JPEG,
    Encoding::Png,
    WEBP,
    Encoding::Webp {
        quality: 80,
        method: 4,
        lossless: false,
    },
    Encoding::Webp {
        quality: 0,
        method: 0,
        lossless: true,
    },
    AVIF,
    Encoding::Avif {
        quality: 60,
        speed: 6,
        lossless: false,
    },
    Encoding::Avif {
        quality: 100,
        speed: 9,
        lossless: true,
    },
];

fn pool() -> Pool {
    start(Backend::Process)
}

fn start(backend: Backend) -> Pool {
    let elf = std::fs::read(env!("CARGO_BIN_EXE_worker")).expect("cargo built it");
    let limits = Limits {
        backend,
        ..Limits::default()
    };
    Pool::start(&elf, limits).expect("the worker boots")
}

/// Returns the backends that this host supports.
fn backends() -> &'static [Backend] {
    match File::options().read(true).write(true).open("/dev/kvm") {
        Ok(_) => &[Backend::Process, Backend::Kvm],
        Err(err) => {
            eprintln!("worker: not proved: kvm: open /dev/kvm: {err}");
            &[Backend::Process]
        }
    }
}

/// Returns a picture of noisy and smooth areas, so that all coding tools of a codec are used.
fn picture(layout: Layout) -> Raster {
    let channels = layout.channels();
    let count = channels * SIZE.pixels() as usize;
    let data = (0..count).map(|at| {
        let (pixel, channel) = (at / channels, at % channels);
        let (x, y) = (
            pixel % SIZE.width_px as usize,
            pixel / SIZE.width_px as usize,
        );
        match (x / 50 + y / 50) % 3 {
            0 => ((x * y) >> channel) as u8,
            1 => (x + 40 * channel) as u8,
            _ => 200 - 60 * channel as u8,
        }
    });
    Raster::Packed(Packed {
        size: SIZE,
        layout,
        data: data.collect(),
    })
}

fn originals() -> Vec<(Format, Size, Vec<u8>)> {
    let file = |raster: &Raster, encoding| encode(raster, None, encoding).expect("its form");
    let (rgb, rgba) = (picture(Layout::Rgb), picture(Layout::Rgba));
    let planes = |raster: &Raster, range| {
        let matrix = image_plan::Matrix::Bt601;
        Raster::Yuv(pixel::to_planes(
            raster.clone(),
            Subsampling::S420,
            range,
            matrix,
        ))
    };
    let ink = include_bytes!("../../testdata/cmyk.jpg").to_vec();
    vec![
        (Format::Jpeg, SIZE, file(&rgb, JPEG)),
        (Format::Jpeg, Size::new(48, 32), ink),
        (Format::Png, SIZE, file(&rgba, Encoding::Png)),
        (
            Format::Webp,
            SIZE,
            file(&planes(&rgba, Range::Limited), WEBP),
        ),
        (Format::Avif, SIZE, file(&planes(&rgb, Range::Full), AVIF)),
    ]
}

fn plan(source: Format, stored: Size, inner: Size, encoding: Encoding) -> Plan {
    Plan {
        source,
        stored,
        orientation: Orientation::Turn90,
        crop: Rect {
            x: 0,
            y: 0,
            size: stored.transposed(),
        },
        inner,
        target: inner,
        encoding,
        page: 1,
        effects: Effects::NONE,
        trim: None,
        frames_max: None,
        bytes_max: None,
        score_min: None,
    }
}

fn memory_file(bytes: &[u8]) -> File {
    let mut file = File::from(memfd_create("original", MemfdFlags::empty()).expect("a memfd"));
    file.write_all(bytes).expect("room in memory");
    file
}

fn finish(pool: &Pool, plan: &Plan, original: &[u8]) -> Result<Finished, sandbox::Failure> {
    finish_within(pool, plan, original, LIMITS)
}

fn finish_within(
    pool: &Pool,
    plan: &Plan,
    original: &[u8],
    limits: JobLimits,
) -> Result<Finished, sandbox::Failure> {
    let original = memory_file(original);
    pool.run(Task {
        original: original.as_fd(),
        plan: &plan.to_bytes(),
        size_px: Some((plan.target.width_px, plan.target.height_px)),
        limits,
        wall_ms_max: 8_000,
        idle: false,
    })
}

fn run(pool: &Pool, plan: &Plan, original: &[u8]) -> Result<Vec<u8>, sandbox::Failure> {
    let finished = finish(pool, plan, original)?;
    let mut bytes = Vec::new();
    let mut body = finished.body.take(finished.output_bytes);
    body.read_to_end(&mut bytes).expect("a sealed output");
    Ok(bytes)
}

#[test]
fn a_cell_gives_the_bytes_that_the_same_job_gives_outside() {
    backends()
        .iter()
        .for_each(|backend| assert_same_bytes(*backend));
}

/// Checks that a conversion in a sandbox of `backend` gives the same bytes as one outside a sandbox
/// (promise N10 of docs/SPEC.md): on small pictures, for every codec and every encoding, unscaled
/// and scaled.
fn assert_same_bytes(backend: Backend) {
    let pool = start(backend);
    for (source, stored, original) in originals() {
        for encoding in ENCODINGS {
            for inner in [stored.transposed(), Size::new(33, 47)] {
                let plan = plan(source, stored, inner, encoding);
                let outside = worker::convert(&plan, &original).expect("a sound original");
                let inside = run(&pool, &plan, &original)
                    .unwrap_or_else(|failure| panic!("{source:?} to {encoding:?}: {failure}"));
                assert!(
                    inside == outside.bytes,
                    "{backend}: {source:?} to {encoding:?} at {inner:?}"
                );
            }
        }
    }
    assert_eq!(pool.stats().kills_filter, 0);
}

#[test]
fn an_original_that_is_no_picture_fails_its_job_and_no_other() {
    let pool = pool();
    let (source, stored, original) = originals().swap_remove(0);
    let plan = plan(source, stored, stored.transposed(), WEBP);
    let failure = run(&pool, &plan, b"no picture").expect_err("not a picture");
    assert_eq!(failure.kind, FailureKind::Undecodable);
    let outside = worker::convert(&plan, &original).expect("a sound original");
    assert_eq!(
        run(&pool, &plan, &original).expect("a sound original"),
        outside.bytes
    );
}

/// If an allocation fails, libavif aborts, whereas libaom and dav1d return errors of their own. In
/// both cases, the reply must be that the picture is too large.
#[test]
fn failed_allocations_in_c_code_are_reported_as_too_large() {
    const LARGE: Size = Size::new(1_500, 1_000);
    let better = Encoding::Avif {
        quality: 60,
        speed: 6,
        lossless: false,
    };
    for backend in backends() {
        let pool = start(*backend);
        let mut refused = 0;
        for (source, stored, original) in originals() {
            for encoding in [JPEG, WEBP, AVIF, better] {
                for mebibytes in [1, 8, 18, 24, 30] {
                    let plan = plan(source, stored, LARGE, encoding);
                    let limits = JobLimits {
                        memory_bytes_max: mebibytes << 20,
                        ..LIMITS
                    };
                    if let Err(failure) = finish_within(&pool, &plan, &original, limits) {
                        let what = format!("{backend}: {source:?} to {encoding:?}, {mebibytes}");
                        assert_eq!(failure.kind, FailureKind::TooLarge, "{what}: {failure}");
                        refused += 1;
                    }
                }
            }
        }
        assert_ne!(refused, 0, "{backend}: no limit was too low");
        assert_eq!(pool.stats().crashes, 0, "{backend}");
    }
}

/// Checks promise P11 of docs/SPEC.md: after warm-up, the first job of a pool takes at most 1.2
/// times the median CPU time of later jobs. Uses the minimum of the first jobs of several pools,
/// because the machine may do other work.
#[test]
fn p11_the_first_job_of_a_pool_takes_no_more_cpu_time() {
    const POOLS: usize = 5;
    const JOBS: usize = 12;
    let (source, stored, original) = originals().swap_remove(0);
    let plan = plan(source, stored, stored.transposed(), AVIF);
    for backend in backends() {
        let mut firsts: Vec<u64> = Vec::new();
        let mut later_jobs: Vec<u64> = Vec::new();
        for _ in 0..POOLS {
            let pool = start(*backend);
            let cpu_us = |_| {
                finish(&pool, &plan, &original)
                    .expect("a sound original")
                    .cpu_us
            };
            let jobs: Vec<u64> = (0..JOBS).map(cpu_us).collect();
            firsts.push(jobs[0]);
            later_jobs.extend(&jobs[1..]);
        }
        later_jobs.sort_unstable();
        let (first, p50) = (firsts.iter().min(), later_jobs[later_jobs.len() / 2]);
        let first = *first.expect("there are pools");
        eprintln!("worker: {backend}: first job {first} µs of CPU, p50 {p50}");
        assert!(first * 10 <= p50 * 12, "{backend}: {first} µs, then {p50}");
    }
}
