//! `lab scan`: measurements of a music library. They include first scans, compared with two other
//! ways to read the files; rescans of an unchanged and of a slightly changed library; searches; and
//! the conversion of covers.

mod again;
mod arm;
mod covers;
mod memory;
mod reads;
mod search;
mod sync;
mod travel;
mod tree;

pub(crate) use arm::{ReadArguments, read};

use std::path::PathBuf;

use serde::Deserialize;
use toolkit::stop::Stop;

use crate::SharedFlags;
use crate::record::Record;

/// Parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// CPU time, bytes read and system calls of a first scan, by kind of file, compared with
    /// Musium's read pattern and with lofty
    Reads,
    /// Scan of an unchanged library
    Unchanged,
    /// Scan after ten files changed
    Changed,
    /// Distance that a disk's head travels on a library that was written in shuffled order
    Travel,
    /// Size of the index per track, on disk and in memory
    Memory,
    /// Time of a search
    Search,
    /// Covers converted per second
    Covers,
    /// Time to fetch all songs, as in a player's first sync
    Sync,
}

/// Flags that only this benchmark has.
#[derive(clap::Args)]
pub(crate) struct Typed {
    /// Run only this part
    #[arg(long)]
    only: Option<Part>,
    /// Library folder, made by `cargo xtask media`
    #[arg(long, value_name = "DIR")]
    library: PathBuf,
}

/// Content of `lab/definitions/scan.toml`.
#[derive(Deserialize)]
struct Definition {
    reads: reads::Definition,
    unchanged: again::Unchanged,
    changed: again::Changed,
    travel: travel::Definition,
    search: search::Definition,
    covers: covers::Definition,
    sync: sync::Definition,
}

pub(crate) fn run(given: &SharedFlags, typed: &Typed) -> Result<(), Stop> {
    let (definition, raw): (Definition, _) = given.definition("scan")?;
    let peers: [&[&str]; 1] = [&["strace", "--version"]];
    let mut record = Record::begin("scan", &raw, &peers, &[]);
    let wanted = |part| typed.only.is_none_or(|only| only == part);
    let library = &typed.library;
    if wanted(Part::Reads) {
        record.add("reads", &reads::run(given, library, &definition.reads)?);
    }
    if wanted(Part::Unchanged) {
        record.add(
            "unchanged",
            &again::unchanged(given, library, &definition.unchanged)?,
        );
    }
    if wanted(Part::Changed) {
        record.add(
            "changed",
            &again::changed(given, library, &definition.changed)?,
        );
    }
    if wanted(Part::Travel) {
        record.add("travel", &travel::run(library, &definition.travel)?);
    }
    if wanted(Part::Memory) {
        record.add("memory", &memory::run(library)?);
    }
    if wanted(Part::Search) {
        record.add("search", &search::run(&definition.search)?);
    }
    if wanted(Part::Covers) {
        record.add("covers", &covers::run(given, &definition.covers)?);
    }
    if wanted(Part::Sync) {
        record.add("sync", &sync::run(given, library, &definition.sync)?);
    }
    record.write(&given.record)
}
