//! `pelton prefetch`: creates the usual variants of a whole library before clients request them.
//! Variants of music covers, and variants in the sizes of the web page's grid, are among them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use catalog::CoverOwner;
use config::{Config, components};
use image_plan::{Recipe, Stage};
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use library_mounts::Covers;
use report::{EXIT_FINDINGS, EXIT_OK, Error};
use server::{PrefetchProgress, Service};
use variants::library::LibraryPath;

use crate::scan;

/// Interval between updates of the progress bar.
const TICK: Duration = Duration::from_millis(250);

/// Creates the missing variants and prints a summary. With `quick`, creates the provisional
/// variants that the first requests would get.
pub fn run(config: &Config, service: &Service, quick: bool) -> Result<u8, Vec<Error>> {
    let wanted = wanted(config, service).map_err(|err| vec![err])?;
    let stage = if quick { Stage::Quick } else { Stage::Better };
    let tally = prefetch(service, &wanted, stage);
    let sizes = components::picture_recipes(config);
    let files = wanted.iter().filter(|(_, recipe)| recipe.is_identity());
    let files = files.count();
    let in_grid = wanted.iter().filter(|(_, recipe)| sizes.contains(recipe));
    let in_grid = in_grid.count();
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (original, variant) = (count(&tally.original_bytes), count(&tally.variant_bytes));
    report::line(format_args!(
        "{files} files, {} covers: {} variants created ({} in size, from {} of originals), {} \
         already existed, {} no smaller than the original, {} failed",
        wanted.len() - files - in_grid,
        count(&tally.created),
        HumanBytes(variant),
        HumanBytes(original),
        count(&tally.existing),
        count(&tally.not_smaller),
        count(&tally.failed),
    ));
    Ok(if count(&tally.failed) == 0 {
        EXIT_OK
    } else {
        EXIT_FINDINGS
    })
}

/// Updates the catalog, then returns the variants to create, each as an original and a recipe.
/// Every picture of the library gets the recipe that changes only its format. Photographs also get
/// the sizes of the web page's grid. Covers of artists, albums and discs get the configured sizes.
fn wanted(config: &Config, service: &Service) -> Result<Vec<(LibraryPath, Recipe)>, Error> {
    let setup = components::library(config);
    let (index, report) = scan::index(&setup)?;
    tracing::info!(files = report.files, opened = report.opened, "scanned");
    let found = covers(config, index.catalog());
    let boxes = config.library.cover_sizes.0.iter().map(|side| {
        let ask = image_plan::parse_query(&format!("w={side}&h={side}"));
        ask.expect("sizes in the settings are valid in a query")
            .recipe
    });
    let boxes: Vec<Recipe> = boxes.collect();
    let sized = found
        .into_iter()
        .flat_map(|path| boxes.iter().map(move |recipe| (path.clone(), *recipe)));
    let photos = index.catalog().newest_photos();
    let in_timeline = photos.filter(|(photo, _)| !photo.is_beside_music);
    let paths = in_timeline
        .filter_map(|(_, path)| LibraryPath::from_relative(Path::new(OsStr::from_bytes(&path))));
    let sizes = components::picture_recipes(config);
    let in_grid = paths.flat_map(|path| sizes.iter().map(move |recipe| (path.clone(), *recipe)));
    let mut wanted = service.list_files();
    // Clients do not request extracted covers in full size.
    wanted.retain(|path| {
        !path
            .as_path()
            .starts_with(components::ART.trim_matches('/'))
    });
    let whole = wanted.into_iter().map(|path| (path, Recipe::default()));
    let mut all: Vec<_> = whole.chain(sized).chain(in_grid).collect();
    // The recipes of one picture are adjacent, so that they share one decode.
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}

/// Returns the covers of artists, albums and discs. Covers that belong only to single tracks are
/// left out.
fn covers(config: &Config, catalog: &::scan::Index) -> BTreeSet<LibraryPath> {
    let covers = Covers::open(config);
    let counts = catalog.counts();
    let artists = (0..counts.artists).map(CoverOwner::Artist);
    let discs = (0..counts.albums).flat_map(|row| {
        let album = catalog
            .album(row)
            .expect("the row is below the count of albums");
        let tracks = (album.first_track..).take(album.tracks as usize);
        let discs = tracks.filter_map(|track| Some(catalog.track(track)?.disc));
        let discs: BTreeSet<u8> = discs.collect();
        discs
            .into_iter()
            .map(move |disc| CoverOwner::Disc(row, disc))
    });
    let albums = (0..counts.albums).map(CoverOwner::Album);
    let all = artists.chain(albums).chain(discs);
    all.filter_map(|of| covers.path(catalog, of)).collect()
}

fn prefetch(service: &Service, wanted: &[(LibraryPath, Recipe)], stage: Stage) -> PrefetchProgress {
    let tally = PrefetchProgress::default();
    let done = AtomicU64::new(0);
    let originals = wanted.chunk_by(|a, b| a.0 == b.0).count();
    std::thread::scope(|scope| {
        let watched = scope.spawn(|| watch(originals as u64, &tally, &done));
        service.prefetch(wanted, stage, &tally);
        done.store(1, Ordering::Release);
        watched.thread().unpark();
    });
    tally
}

/// Draws the progress bar on a terminal, until `done` is set.
fn watch(originals: u64, tally: &PrefetchProgress, done: &AtomicU64) {
    let terminal = std::io::stderr().is_terminal();
    let target = if terminal {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} files, {per_sec}, {eta} left, {msg}");
    let bar = ProgressBar::with_draw_target(Some(originals), target)
        .with_style(style.expect("the template is valid"));
    while done.load(Ordering::Acquire) == 0 {
        std::thread::park_timeout(TICK);
        let variant_bytes = tally.variant_bytes.load(Ordering::Relaxed);
        bar.set_position(tally.originals.load(Ordering::Relaxed));
        bar.set_message(format!("{} made", HumanBytes(variant_bytes)));
    }
    bar.finish_and_clear();
}
