//! Fuzz target for the probe, which reads the headers of pictures.

use std::cell::Cell;
use std::io;

use image_plan::{
    Accepts, Facts, Format, Limits, PROBE_BYTES_MAX, PROBE_READ_BYTES_MAX, PROBE_READS_MAX, Plan,
    ProbeErrorKind, ReadAt, Recipe, Stage, candidates, parse_query, plan,
};

/// Checks `bytes` as a picture file: regardless of the header's claims, the probe stays within its
/// limits on reads, and the planner accepts the facts that the probe returns.
pub fn probe(bytes: &[u8]) {
    let len_bytes = bytes.len() as u64;
    if let Some(facts) = contained(bytes, len_bytes) {
        for query in ["", "w=64", "w=9&h=7&fit=cover", "w=300&h=8&fit=contain&q=1"] {
            let ask = parse_query(query).expect("the query is valid");
            planned(&facts, &ask.recipe);
        }
    }
    // Checks the file also with zeros after it, so that more offsets in its header point to
    // existing bytes.
    contained(bytes, len_bytes + 100_000);
}

/// Bytes followed by zeros, with counters of the reads.
struct Counted<'a> {
    bytes: &'a [u8],
    len_bytes: u64,
    reads: Cell<u32>,
    read_bytes: Cell<u64>,
}

impl ReadAt for Counted<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        assert!(buf.len() <= PROBE_READ_BYTES_MAX);
        self.reads.set(self.reads.get() + 1);
        self.read_bytes
            .set(self.read_bytes.get() + buf.len() as u64);
        let left = self.len_bytes.saturating_sub(offset);
        let count = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        buf[..count].fill(0);
        self.bytes.read_at(offset, &mut buf[..count])?;
        Ok(count)
    }
}

fn contained(bytes: &[u8], len_bytes: u64) -> Option<Facts> {
    let source = Counted {
        bytes,
        len_bytes,
        reads: Cell::new(0),
        read_bytes: Cell::new(0),
    };
    let probed = image_plan::probe(&source, len_bytes);
    if let Ok(facts) = image_plan::probe_page(&bytes, bytes.len() as u64, 2) {
        assert!(2 <= facts.pages);
    }
    assert!(source.reads.get() <= PROBE_READS_MAX);
    assert!(source.read_bytes.get() <= PROBE_BYTES_MAX);
    match probed {
        Ok(facts) => {
            assert_ne!(facts.stored.pixels(), 0);
            assert_eq!(facts.oriented().pixels(), facts.stored.pixels());
            assert_ne!(facts.jpeg_quality, Some(0));
            // TGA has no magic bytes, those of SVGZ are those of gzip, and most raw files have
            // those of TIFF.
            let sniffed = Format::sniff(bytes).unwrap_or(Format::Tga);
            let is_raw = sniffed == Format::Tiff && facts.format == Format::Raw;
            let is_packed = sniffed == Format::Tga && facts.format == Format::Svgz;
            assert!(
                is_raw || is_packed || facts.format == sniffed,
                "{:?}",
                facts.format
            );
            assert_ne!(facts.pages, 0);
            if facts.format.is_decoded_as_jpeg() && facts.format != Format::Jpeg {
                let preview = image_plan::preview(bytes, facts.format);
                // The source may add zeros to `bytes`; a preview inside the zeros is not found
                // here.
                assert!(preview.is_ok() || bytes.len() as u64 != len_bytes);
            }
            Some(facts)
        }
        Err(err) => {
            assert_ne!(err.kind, ProbeErrorKind::Io, "{err}");
            None
        }
    }
}

fn planned(facts: &Facts, recipe: &Recipe) {
    let accepts = Accepts {
        avif: true,
        webp: true,
        jxl: true,
        heic: true,
        named: true,
    };
    for target in candidates(facts, recipe, accepts).targets() {
        for stage in [Stage::Quick, Stage::Better] {
            if let Ok(plan) = plan(facts, recipe, target, stage, &Limits::default()) {
                assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(plan));
                assert!(plan.target.pixels() < plan.cost().memory_bytes);
            }
        }
    }
}
