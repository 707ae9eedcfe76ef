//! Rescans of an unchanged library, and of a library in which a few files have changed.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toolkit::stop::{Stop, at};

use super::arm::{self, Arm, ResourceUse};
use super::tree;
use crate::stats::Spread;
use crate::{SharedFlags, table};

#[derive(Deserialize)]
pub(super) struct Unchanged {
    rounds: usize,
}

#[derive(Deserialize)]
pub(super) struct Changed {
    rounds: usize,
    files: usize,
}

/// Resources used by one scan.
#[derive(Serialize)]
pub(super) struct Sample {
    round: usize,
    #[serde(flatten)]
    used: ResourceUse,
}

pub(super) fn unchanged(
    given: &SharedFlags,
    library: &Path,
    definition: &Unchanged,
) -> Result<Vec<Sample>, Stop> {
    let scratch = tree::beside(library, "unchanged")?;
    let index = scratch.join("index");
    arm::measure(Arm::Again, library, &index)?;
    let mut samples = Vec::new();
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        let used = arm::measure(Arm::Again, library, &index)?;
        verify(&used, 0)?;
        samples.push(Sample { round, used });
    }
    print("Scan of an unchanged library", &samples);
    Ok(samples)
}

pub(super) fn changed(
    given: &SharedFlags,
    library: &Path,
    definition: &Changed,
) -> Result<Vec<Sample>, Stop> {
    let scratch = tree::beside(library, "changed")?;
    let (index, root) = (scratch.join("index"), scratch.join("library"));
    tree::link(library, None, &root)?;
    arm::measure(Arm::Again, &root, &index)?;
    let files = music(&root)?;
    let mut samples = Vec::new();
    for round in 0..given.rounds.unwrap_or(definition.rounds) {
        // Change different files in each round, spread over the library.
        let step = files.len() / definition.files;
        for path in files
            .iter()
            .skip(round)
            .step_by(step)
            .take(definition.files)
        {
            let copy = scratch.join("copy");
            fs::copy(path, &copy).map_err(at(path))?;
            fs::rename(&copy, path).map_err(at(path))?;
        }
        let used = arm::measure(Arm::Again, &root, &index)?;
        verify(&used, definition.files as u64)?;
        samples.push(Sample { round, used });
    }
    print(
        &format!("Scan after {} files changed", definition.files),
        &samples,
    );
    Ok(samples)
}

fn verify(used: &ResourceUse, opened: u64) -> Result<(), Stop> {
    if used.opened != opened {
        let line = format!(
            "the scan opened {} files, although {opened} files had changed",
            used.opened
        );
        return Err(Stop::findings(line));
    }
    Ok(())
}

fn music(root: &Path) -> Result<Vec<std::path::PathBuf>, Stop> {
    let (mut folders, mut found) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "flac") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn print(title: &str, samples: &[Sample]) {
    let row = |name: &str, value: fn(&ResourceUse) -> u64| {
        let values: Vec<f64> = samples
            .iter()
            .map(|sample| value(&sample.used) as f64 / 1e3)
            .collect();
        Spread::of(&values).row(name)
    };
    let rows = [
        row("wall", |used| used.wall_us),
        row("CPU", |used| used.cpu_us),
    ];
    table::print(title, &["time", "ms", "range"], &rows);
}
