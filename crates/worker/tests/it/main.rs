//! The worker in its cell: every codec gets by with the calls that the filter allows, and a cell changes no byte.

use cell::{FailureKind, Limits, Pool, Task};
use codec::encode;
use job::JobLimits;
use picture::{
    Encoding, Format, Layout, Orientation, Packed, Plan, Range, Raster, Rect, Size, Subsampling,
};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

const SIZE: Size = Size::new(301, 203);
const LIMITS: JobLimits = JobLimits {
    answer_bytes_max: 4 << 20,
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
    let elf = std::fs::read(env!("CARGO_BIN_EXE_worker")).expect("cargo built it");
    Pool::start(&elf, Limits::default()).expect("the worker boots")
}

/// Bytes without order in some places and with it in others, so that every tool of a codec finds work.
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
        let matrix = picture::Matrix::Bt601;
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
    }
}

fn memory_file(bytes: &[u8]) -> File {
    let mut file = File::from(memfd_create("original", MemfdFlags::empty()).expect("a memfd"));
    file.write_all(bytes).expect("room in memory");
    file
}

fn run(pool: &Pool, plan: &Plan, original: &[u8]) -> Result<Vec<u8>, cell::Failure> {
    let original = memory_file(original);
    let finished = pool.run(Task {
        original: original.as_fd(),
        plan: &plan.to_bytes(),
        size_px: Some((plan.target.width_px, plan.target.height_px)),
        limits: LIMITS,
        wall_ms_max: 8_000,
        idle: false,
    })?;
    let mut bytes = Vec::new();
    let mut body = finished.body.take(finished.answer_bytes);
    body.read_to_end(&mut bytes).expect("a sealed answer");
    Ok(bytes)
}

#[test]
fn a_cell_gives_the_bytes_that_the_same_job_gives_outside() {
    let pool = pool();
    for (source, stored, original) in originals() {
        for encoding in ENCODINGS {
            for inner in [stored.transposed(), Size::new(33, 47)] {
                let plan = plan(source, stored, inner, encoding);
                let outside = worker::convert(&plan, &original).expect("a sound original");
                let inside = run(&pool, &plan, &original)
                    .unwrap_or_else(|failure| panic!("{source:?} to {encoding:?}: {failure}"));
                assert!(
                    inside == outside.bytes,
                    "{source:?} to {encoding:?} at {inner:?}"
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
