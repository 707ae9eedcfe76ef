//! `pelton scan`: brings the catalog of the library up to date.

use std::io::{IsTerminal, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::scan::{
    Fault, LoadedIndex, Phase, Progress, ReadOrder, Report, ScanError, ScanRequest, Setup, scan,
};
use config::{Resolved, components, folders};
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use library_mounts::scan_error;
use report::{EXIT_FINDINGS, EXIT_OK, Error, print};

/// Interval between updates of the progress bar.
const TICK: Duration = Duration::from_millis(100);

/// Maximum number of files with broken tags that the report lists. A faulty program may have
/// written the tags of all files in a library; without this limit, the report would list every
/// file. Files with broken tags are still indexed as tracks.
const BROKEN_TAGS_LISTED_MAX: usize = 100;

/// Scans the folders `only`, or the whole library if `only` is empty, and prints a report. With
/// `full`, reads every file again. If a signal ends the scan, the last complete catalog stays.
pub fn run(resolved: &Resolved, only: &[PathBuf], full: bool) -> Result<u8, Vec<Error>> {
    let config = &resolved.config;
    report::notes(&resolved.notes);
    folders::require_readable(&config.root).map_err(|err| vec![err])?;
    let only = only
        .iter()
        .map(|folder| below(folder))
        .collect::<Result<Vec<_>, _>>();
    let (setup, only) = (components::library(config), only.map_err(|err| vec![err])?);
    let order = ScanRequest {
        full,
        ..order(&setup, &only)
    };
    let (_, report) = watched(&order).map_err(|err| vec![scan_error(&err)])?;
    for Fault { path, reason } in &report.faults {
        report::line(format_args!("{}: {reason}", path.escape_ascii()));
    }
    for Fault { path, reason } in report.broken_tags.iter().take(BROKEN_TAGS_LISTED_MAX) {
        report::line(format_args!(
            "{}: the file is indexed as a track, but its tags are broken: {reason}",
            path.escape_ascii()
        ));
    }
    if let Some(more @ 1..) = report.broken_tags.len().checked_sub(BROKEN_TAGS_LISTED_MAX) {
        report::line(format_args!("{more} more tracks have broken tags"));
    }
    for (path, target) in &report.missing {
        report::line(format_args!(
            "{}: this playlist lists a file that is not in the library: {target}",
            path.escape_ascii()
        ));
    }
    print(|out| write!(out, "{}", lines(&report)))?;
    Ok(match report.faults.is_empty() {
        true => EXIT_OK,
        false => EXIT_FINDINGS,
    })
}

/// Brings the catalog up to date, even if some files cannot be read.
pub(crate) fn index(setup: &Setup) -> Result<(LoadedIndex, Report), Error> {
    watched(&order(setup, &[])).map_err(|err| scan_error(&err))
}

fn order<'a>(setup: &'a Setup, only: &'a [Vec<u8>]) -> ScanRequest<'a> {
    ScanRequest {
        root: &setup.root,
        folder: &setup.folder,
        hidden: &setup.hidden,
        splits: &setup.splits,
        limits: &setup.limits,
        only,
        full: false,
    }
}

/// Returns the path of a folder as the catalog stores it: relative, with `/` between names.
fn below(folder: &Path) -> Result<Vec<u8>, Error> {
    let parts = folder.components().map(|part| match part {
        Component::Normal(name) => Some(name.as_encoded_bytes()),
        _ => None,
    });
    let parts: Option<Vec<&[u8]>> = parts.collect();
    let path = parts.map(|parts| parts.join(&b'/'));
    path.filter(|path| !path.is_empty()).ok_or_else(|| {
        let what = format!(
            "--only: {} is not a folder below the root",
            folder.display()
        );
        Error::usage(what).hint(
            "give the path of the folder below ROOT, as in pelton scan ~/Music --only 'Band/Album'",
        )
    })
}

fn lines(report: &Report) -> String {
    let mut out = String::new();
    if let Some(counts) = report.counts {
        out += &format!(
            "{} tracks, {} albums, {} artists, {} genres, {} pictures, {} playlists{}\n",
            counts.tracks,
            counts.albums,
            counts.artists,
            counts.genres,
            counts.photos,
            counts.playlists,
            match report.missing.len() {
                0 => String::new(),
                missing => format!(" ({missing} of their entries are not in the library)"),
            },
        );
    }
    out += &format!(
        "{} files: {} unchanged, {} moved, {} read, {} removed, {} unreadable, {} links not \
         followed\n",
        report.files,
        report.kept,
        report.moved,
        report.opened,
        report.gone,
        report.faults.len(),
        report.links,
    );
    if report.opened != 0 {
        let per_second = report.opened as f64 / report.read.as_secs_f64().max(1e-6);
        out += &format!(
            "read {} in {} read operations, in the order of {}, with {} threads ({}): \
             {per_second:.0} files/s; {} files have broken tags\n",
            HumanBytes(report.bytes),
            report.reads,
            match report.read_order {
                ReadOrder::Inodes => "inodes",
                ReadOrder::Extents => "extents",
            },
            report.readers,
            if report.rotating {
                "a rotational disk"
            } else {
                "a non-rotational disk"
            },
            report.broken_tags.len(),
        );
    }
    out += &format!(
        "times: walk the folder {:.3} s, read files {:.3} s, build the index {:.3} s; size of the \
         index: {}{}\n",
        report.walk.as_secs_f64(),
        report.read.as_secs_f64(),
        report.build.as_secs_f64(),
        HumanBytes(report.index_bytes),
        if report.written { "" } else { ", unchanged" },
    );
    out
}

/// Scans, with a progress bar if stderr is a terminal.
fn watched(order: &ScanRequest<'_>) -> Result<(LoadedIndex, Report), ScanError> {
    let (progress, done) = (Progress::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let bar = scope.spawn(|| watch(&progress, &done));
        let scanned = scan(order, None, &progress);
        done.store(true, Ordering::Release);
        bar.thread().unpark();
        scanned
    })
}

/// Draws the progress bar, until `done` is set.
fn watch(progress: &Progress, done: &AtomicBool) {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files, {msg}");
    let bar = ProgressBar::with_draw_target(Some(0), target)
        .with_style(style.expect("the template is valid"));
    while !done.load(Ordering::Acquire) {
        std::thread::park_timeout(TICK);
        let snapshot = progress.snapshot();
        bar.set_length(snapshot.to_read);
        bar.set_position(snapshot.read);
        bar.set_message(match snapshot.phase {
            Phase::Waiting | Phase::Walking => format!("{} files found", snapshot.walked),
            Phase::Building => "writing the index".to_owned(),
            Phase::Reading => match snapshot.left {
                Some(left) => {
                    let left = HumanDuration(Duration::from_secs(left.as_secs()));
                    format!("{:.0} files/s, {left} left", snapshot.per_second)
                }
                None => String::new(),
            },
        });
        bar.tick();
    }
    bar.finish_and_clear();
}
