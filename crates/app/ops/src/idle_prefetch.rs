//! Prefetch in idle time: while the server is idle, a thread creates the variants that the grid of
//! the web page requests, and the placeholders of the same photographs. It converts one photograph
//! at a time, the newest first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use config::Config;
use config::components::picture_recipes;
use image_plan::Recipe;
use openmetrics::Text;
use report::Error;
use scan::LibraryIndexer;
use server::{Live, PrefetchProgress};

use crate::prefetch::newest_photos;

/// Interval between checks whether the server is idle.
const POLL: Duration = Duration::from_millis(500);
/// Percentage of the cache of variants at which this prefetch ends. The rest of the cache stays
/// free for variants that clients request. This prefetch therefore evicts no variants.
const CACHE_PCT_MAX: u64 = 90;

/// Settings and progress of the prefetch in idle time, shared with its thread.
#[derive(Debug)]
pub(crate) struct IdlePrefetch {
    recipes: Vec<Recipe>,
    idle_time: Duration,
    progress: PrefetchProgress,
    is_stopping: AtomicBool,
}

/// Components of the server whose state shows whether it is idle.
#[derive(Debug)]
struct Server {
    live: Arc<Live>,
    indexer: Arc<LibraryIndexer>,
}

/// Position in the list of photographs at which the prefetch continues after an interruption.
#[derive(Debug)]
struct Position {
    /// [`Server::state`] to which the list belongs. In another state, the prefetch starts again.
    state: (u64, u64),
    /// Number of photographs that are finished.
    next: usize,
    /// True if all photographs are finished, or the cache is almost full.
    is_at_end: bool,
}

impl IdlePrefetch {
    pub(crate) fn new(config: &Config) -> IdlePrefetch {
        IdlePrefetch {
            recipes: picture_recipes(config),
            idle_time: config.library.prefetch_idle_time.0,
            progress: PrefetchProgress::default(),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// Starts the thread of the prefetch, unless the settings turn it off. The thread runs until
    /// [`IdlePrefetch::stop`].
    ///
    /// # Errors
    /// If the host refuses to create the thread.
    pub(crate) fn start(
        self: &Arc<IdlePrefetch>,
        live: &Arc<Live>,
        indexer: &Arc<LibraryIndexer>,
    ) -> Result<(), Error> {
        if self.idle_time.is_zero() || self.recipes.is_empty() {
            return Ok(());
        }
        let server = Server {
            live: Arc::clone(live),
            indexer: Arc::clone(indexer),
        };
        let prefetch = Arc::clone(self);
        let thread = thread::Builder::new().name("idle prefetch".to_owned());
        let started = thread.spawn(move || prefetch.run(&server));
        started.map(drop).map_err(|err| {
            Error::host(format!(
                "cannot start the thread that prefetches in idle time: {err}"
            ))
        })
    }

    /// Lets the thread end after the picture in progress.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Relaxed);
    }

    /// Writes the metrics of this prefetch.
    pub(crate) fn render(&self, text: &mut Text) {
        let progress = &self.progress;
        text.counter(
            "pelton_idle_prefetch_variants",
            "variants that the server created by prefetching in idle time",
            progress.created.load(Relaxed),
        );
        text.counter(
            "pelton_idle_prefetch_failures",
            "conversions that failed while the server prefetched in idle time",
            progress.failed.load(Relaxed),
        );
    }

    fn run(&self, server: &Server) {
        let mut position = Position::start(server.state());
        let mut responses = server.response_count();
        let mut idle_since = Instant::now();
        while !self.is_stopping.load(Relaxed) {
            thread::sleep(POLL);
            let now = server.response_count();
            if server.is_busy() || now != responses {
                (responses, idle_since) = (now, Instant::now());
                continue;
            }
            let state = server.state();
            if position.state != state {
                position = Position::start(state);
            }
            if self.idle_time <= idle_since.elapsed() && !position.is_at_end {
                self.continue_from(&mut position, server, responses);
            }
        }
    }

    /// Creates the missing variants of the photographs from `position` on, as long as the server is
    /// idle: the number of responses stays `before`.
    fn continue_from(&self, position: &mut Position, server: &Server, before: u64) {
        let catalog = server.indexer.catalog();
        for (photo, path) in newest_photos(&catalog).skip(position.next) {
            let is_stopping = self.is_stopping.load(Relaxed);
            if is_stopping || server.is_busy() || server.response_count() != before {
                return;
            }
            let service = server.live.current();
            let bytes_max = service.settings().limits.variants_bytes_max;
            if bytes_max / 100 * CACHE_PCT_MAX <= service.variants().stats().bytes {
                tracing::info!(
                    "prefetching in idle time stops, because the cache of variants is almost full"
                );
                break;
            }
            // Skips pictures beside music, such as covers. The timeline of the web page does not
            // show these pictures.
            if !photo.is_beside_music {
                let (recipes, progress) = (&self.recipes, &self.progress);
                service.prefetch_when_idle(&path, recipes, progress, &self.is_stopping);
            }
            position.next += 1;
        }
        position.is_at_end = true;
    }
}

impl Position {
    fn start(state: (u64, u64)) -> Position {
        Position {
            state,
            next: 0,
            is_at_end: false,
        }
    }
}

impl Server {
    /// Returns the generation of the index of the library, and the number of variants that were
    /// evicted or purged. If either changes, photographs may lack variants.
    fn state(&self) -> (u64, u64) {
        let stats = self.live.current().variants().stats();
        let generation = self.indexer.catalog().generation();
        (generation, stats.evicted + stats.purged)
    }

    /// Returns whether a scan, a conversion or a transcode runs or waits.
    fn is_busy(&self) -> bool {
        let figures = self.live.current().figures();
        let (conversions, transcodes) = (figures.conversions, figures.transcodes);
        self.indexer.status().snapshot.is_some()
            || 0 < conversions.waiting + conversions.running + conversions.improving
            || 0 < transcodes.waiting + transcodes.running
    }

    /// Returns the number of responses that contained a file or a variant. Other responses do not
    /// count, because an open dashboard or a scraper of metrics also polls an idle server.
    fn response_count(&self) -> u64 {
        let responses = self.live.current().figures().responses;
        responses.hits + responses.misses + responses.originals
    }
}
