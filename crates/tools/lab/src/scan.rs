//! `lab scan`: what it takes to know a library of music, beside two other ways to read it; to see that nothing changed, or
//! little; to search it; and to make its covers.

mod again;
mod arm;
mod covers;
mod memory;
mod reads;
mod search;
mod sync;
mod travel;
mod tree;

pub(crate) use arm::{Arms, read};

use std::path::PathBuf;

use serde::Deserialize;

use crate::Given;
use crate::record::Record;
use crate::stop::Stop;

/// Parts of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// CPU time, bytes and calls of a first scan, by kind of file, beside Musium's pattern and lofty
    Reads,
    /// A scan where nothing changed
    Unchanged,
    /// A scan where ten files changed
    Changed,
    /// How far a head goes on a library that was written in shuffled order
    Travel,
    /// Bytes a track, on disk and in memory
    Memory,
    /// Time of a search
    Search,
    /// Covers a second
    Covers,
    /// All songs, as players fetch them at first
    Sync,
}

/// What is typed for this benchmark alone.
#[derive(clap::Args)]
pub(crate) struct Typed {
    /// This part alone
    #[arg(long)]
    only: Option<Part>,
    /// Library that cargo xtask media made
    #[arg(long, value_name = "DIR")]
    library: PathBuf,
}

/// `lab/definitions/scan.toml`.
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

pub(crate) fn run(given: &Given, typed: &Typed) -> Result<(), Stop> {
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
