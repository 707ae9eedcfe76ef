//! Prefetch on request of an operator: for each picture of a folder, creates the variants that the
//! web page requests, on idle cores, and reports its progress.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use catalog::DatedPhoto;
use openmetrics::Text;
use parking_lot::Mutex;
use scan::LibraryIndexer;
use serde_json::{Value, json};
use server::{PrefetchProgress, Service};
use variants::library::LibraryPath;
use wall_clock::unix_ms;

/// Queries of the variants that the web page requests: the tiles of its timeline, and full-screen
/// pictures on a phone and on a computer.
const QUERIES: [&str; 4] = ["h=240", "h=480", "w=960", "w=1600"];

/// Name without its prefix, description and value of a metric of a prefetch.
type Metric = (&'static str, &'static str, fn(&Job) -> u64);

/// Metrics of the latest prefetch. All are 0 before the first one.
const METRICS: [Metric; 8] = [
    (
        "running",
        "1 while a prefetch that an operator started is running, otherwise 0",
        |job| job.is_running().into(),
    ),
    (
        "done",
        "pictures that the latest prefetch has finished",
        Job::done,
    ),
    (
        "pictures",
        "originals that the latest prefetch has to process",
        |job| job.pictures,
    ),
    (
        "created",
        "variants that the latest prefetch created",
        |job| job.progress.created.load(Relaxed),
    ),
    (
        "existing",
        "variants that existed before the latest prefetch",
        |job| job.progress.existing.load(Relaxed),
    ),
    (
        "not_smaller",
        "conversions of the latest prefetch whose result was no smaller than the original",
        |job| job.progress.not_smaller.load(Relaxed),
    ),
    (
        "failed",
        "failed conversions of the latest prefetch",
        |job| job.progress.failed.load(Relaxed),
    ),
    (
        "bytes",
        "bytes of the variants that the latest prefetch created",
        |job| job.progress.variant_bytes.load(Relaxed),
    ),
];

/// Prefetch on request of an operator. At most one runs at a time.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    latest: Mutex<Option<Arc<Job>>>,
}

/// One prefetch, which runs or has ended.
#[derive(Debug, Default)]
struct Job {
    /// Folder whose pictures are converted, or `None` for the whole library.
    folder: Option<LibraryPath>,
    pictures: u64,
    started_ms: u64,
    /// Time of the end in milliseconds since 1970; 0 while the job runs.
    ended_ms: AtomicU64,
    is_cancelled: AtomicBool,
    progress: PrefetchProgress,
}

/// Reason why a prefetch does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotStarted {
    /// Another prefetch runs.
    Busy,
    /// The host refused a thread.
    Host,
}

impl Prefetch {
    /// Starts a prefetch of all pictures below `folder`, or of the whole library, in a new thread.
    /// Pictures that were taken last come first.
    pub(crate) fn start(
        &self,
        service: &Arc<Service>,
        indexer: &LibraryIndexer,
        folder: Option<LibraryPath>,
    ) -> Result<(), NotStarted> {
        let catalog = indexer.catalog();
        let pictures = pictures(&catalog, folder.as_ref()).count() as u64;
        let job = Arc::new(Job {
            folder,
            pictures,
            started_ms: unix_ms(),
            ..Job::default()
        });
        let mut latest = self.latest.lock();
        if latest.as_ref().is_some_and(|job| job.is_running()) {
            return Err(NotStarted::Busy);
        }
        let (own, service) = (Arc::clone(&job), Arc::clone(service));
        let run = move || {
            own.run(&service, &catalog);
            own.ended_ms.store(unix_ms(), Relaxed);
        };
        let started = thread::Builder::new()
            .name("prefetch".to_owned())
            .spawn(run);
        if let Err(err) = started {
            tracing::error!(%err, "cannot start the thread of a prefetch");
            return Err(NotStarted::Host);
        }
        *latest = Some(job);
        Ok(())
    }

    /// Ends the running prefetch, if any, after the picture in progress. The variants that exist
    /// stay.
    pub(crate) fn cancel(&self) {
        if let Some(job) = &*self.latest.lock()
            && job.is_running()
        {
            job.is_cancelled.store(true, Relaxed);
        }
    }

    /// Returns the state of the latest prefetch, or `null` if there was none.
    pub(crate) fn to_json(&self) -> Value {
        let latest = self.latest.lock().clone();
        latest.map_or(Value::Null, |job| job.to_json())
    }

    /// Writes the metrics of the latest prefetch.
    pub(crate) fn render(&self, text: &mut Text) {
        let latest = self.latest.lock().clone();
        for (name, help, value) in METRICS {
            let value = latest.as_deref().map_or(0, value);
            text.gauge(&format!("pelton_prefetch_{name}"), help, value);
        }
    }
}

impl Job {
    fn run(&self, service: &Service, catalog: &scan::Index) {
        let recipes = QUERIES.map(|query| {
            let parsed = image_plan::parse_query(query);
            parsed.expect("the queries are valid").recipe
        });
        for path in pictures(catalog, self.folder.as_ref()) {
            if self.is_cancelled.load(Relaxed) {
                return;
            }
            service.prefetch_when_idle(&path, &recipes, &self.progress, &self.is_cancelled);
        }
    }

    fn is_running(&self) -> bool {
        self.ended_ms.load(Relaxed) == 0
    }

    fn done(&self) -> u64 {
        self.progress.originals.load(Relaxed)
    }

    fn to_json(&self) -> Value {
        let (progress, done) = (&self.progress, self.done());
        let ended_ms = self.ended_ms.load(Relaxed);
        let now_ms = if ended_ms == 0 { unix_ms() } else { ended_ms };
        let seconds = now_ms.saturating_sub(self.started_ms) as f64 / 1e3;
        let left = self.pictures.saturating_sub(done);
        let folder = self.folder.as_ref();
        json!({
            "isRunning": self.is_running(),
            "isCancelled": self.is_cancelled.load(Relaxed),
            "folder": folder.map(|it| it.as_path().to_string_lossy().into_owned()),
            "done": done,
            "pictures": self.pictures,
            "created": progress.created.load(Relaxed),
            "existing": progress.existing.load(Relaxed),
            "notSmaller": progress.not_smaller.load(Relaxed),
            "failed": progress.failed.load(Relaxed),
            "bytes": progress.variant_bytes.load(Relaxed),
            "secondsLeft": (0 < done).then(|| seconds / done as f64 * left as f64),
            "endedMs": (ended_ms != 0).then_some(ended_ms),
        })
    }
}

/// Returns all photographs with their paths, the most recently taken first.
pub(crate) fn newest_photos(
    catalog: &scan::Index,
) -> impl Iterator<Item = (DatedPhoto, LibraryPath)> + '_ {
    catalog.newest_photos().filter_map(|(photo, path)| {
        let path = LibraryPath::from_relative(Path::new(OsStr::from_bytes(&path)));
        Some((photo, path?))
    })
}

/// Returns the pictures below `folder`, or of the whole library, the most recently taken first.
fn pictures<'a>(
    catalog: &'a scan::Index,
    folder: Option<&'a LibraryPath>,
) -> impl Iterator<Item = LibraryPath> + 'a {
    let paths = newest_photos(catalog).map(|(_, path)| path);
    paths.filter(move |path| folder.is_none_or(|it| path.as_path().starts_with(it.as_path())))
}

#[cfg(test)]
mod tests {
    use super::QUERIES;

    /// Asserts that the source code of the web page contains the same heights of tiles and widths
    /// of pictures as `QUERIES`.
    #[test]
    fn the_sizes_are_those_that_the_page_requests() {
        let tiles = include_str!("../../../../web/src/photos/tile.ts");
        let pictures = include_str!("../../../../web/src/photos/zoom.ts");
        let [small, large, phone, screen] = QUERIES.map(|query| &query[2..]);
        assert!(tiles.contains(&format!("const LADDER = [{small}, {large}];")));
        assert!(pictures.contains(&format!("number[] = [{phone}, {screen}, ")));
    }
}
