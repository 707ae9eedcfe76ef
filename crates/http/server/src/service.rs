//! State of the HTTP service that all cores share: settings, library, index of variants, queues of
//! conversions, and detected types of originals.

use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conversion::convert::Converter;
use conversion::flight::Flights;
use conversion::quarantine::Quarantine;
use conversion::transcode::Transcoder;
use image_plan::{Accepts, Facts, Frames, Recipe};
use lru::LruCache;
use openmetrics::Text;
use reactor::blocking;
use tokio::sync::Semaphore;
use variants::cache::Variants;
use variants::library::{Identity, Library, LibraryPath, Missing, Wait};
use variants::placeholders::Placeholders;
use variants::shared_index::{SharedIndex, Store};
use wall_clock::unix_ms;

use crate::access::{self, AccessLog};
use crate::denial::Denials;
use crate::gate::Part;
use crate::known::{Known, detect};
use crate::metrics::{Metrics, render_access, render_process};
use crate::mount::Mounts;
use crate::paths::{IIIF, INTERNAL_FOLDER, METRICS_PATH, PAGE, PROBES};
use crate::permission::Relevance;
use crate::problem::Problem;
use crate::quota::Quotas;
use crate::response_memory::ResponseMemory;
use crate::settings::Settings;

/// Error messages, before the path of the data directory.
const NO_CONVERSIONS: &str =
    "cannot start the threads that convert pictures; their data directory is";
const NO_TRANSCODING: &str =
    "cannot start the threads that transcode tracks; their data directory is";

/// State of the HTTP service that all cores share.
#[derive(Debug)]
pub struct Service {
    pub(crate) settings: Settings,
    pub(crate) flights: Arc<Flights>,
    pub(crate) transcoder: Arc<Transcoder>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) mounts: Mounts,
    pub(crate) response_memory: ResponseMemory,
    library: Arc<Library>,
    variants: Arc<Variants>,
    facts: Mutex<LruCache<(Identity, u16), Known>>,
    /// Semaphore that limits how many comparisons of a variant with its original run at the same
    /// time.
    pub(crate) comparisons: Arc<Semaphore>,
    pub(crate) denials: Arc<Denials>,
    pub(crate) quotas: Arc<Quotas>,
    cores: Arc<[reactor::Counters]>,
    pub(crate) access: Option<Arc<AccessLog>>,
    shared_index: Option<Arc<SharedIndex>>,
    pub(crate) started_unix_ms: u64,
    /// Time at which the process opened the service. A reload does not change it.
    opened_unix_ms: u64,
}

/// Error at the start of the service; the operator must fix its cause.
#[derive(Debug, thiserror::Error)]
#[error("{doing} {}: {source}", .path.display())]
pub struct OpenError {
    /// Description of the step that failed.
    pub doing: &'static str,
    /// Path that the step used.
    pub path: PathBuf,
    /// Error of the host.
    pub source: io::Error,
}

/// Opens the library of originals.
fn open_library(settings: &Settings) -> Result<Library, OpenError> {
    let opened = Library::open(&settings.mounts, &settings.data);
    opened.map_err(|(path, source)| OpenError {
        doing: "cannot open the library",
        path,
        source,
    })
}

/// Opens the access log. Returns `None` if the log is off.
fn open_access_log(settings: &Settings, cores: usize) -> Result<Option<AccessLog>, OpenError> {
    let started = AccessLog::start(&settings.access, cores, settings.access_limits);
    started.map_err(|source| OpenError {
        doing: "cannot open the access log",
        path: match &settings.access {
            access::Sink::File(path) => path.clone(),
            access::Sink::Off | access::Sink::Stderr => PathBuf::new(),
        },
        source,
    })
}

impl Service {
    /// Opens the library and starts the conversion threads. The index of variants is loaded in the
    /// background. If `store` is given, the index is also written to it. `cores` holds the counters
    /// of the cores that serve requests; it is empty for commands without such cores. `mounts`
    /// handle paths outside the library.
    ///
    /// # Errors
    /// [`OpenError`] if a folder of originals or the access log cannot be opened, or if a thread
    /// cannot be started. A data directory that cannot be written is not an error: the service then
    /// runs without the cache.
    pub fn open(
        settings: Settings,
        pool: impl Into<Arc<sandbox::Pool>>,
        cores: Arc<[reactor::Counters]>,
        mounts: Mounts,
        store: Option<Arc<dyn Store>>,
    ) -> Result<Arc<Service>, OpenError> {
        let shared_index =
            store.map(|store| Arc::new(SharedIndex::new(store, settings.shared_index)));
        let library = Arc::new(open_library(&settings)?);
        let variants = Variants::new(&settings.data, settings.limits.variants_bytes_max);
        let variants = Arc::new(variants.recorded(shared_index.clone()));
        let metrics = Arc::new(Metrics::new(cores.len()));
        let converter = Converter {
            library: Arc::clone(&library),
            variants: Arc::clone(&variants),
            pool: pool.into(),
            placeholders: Arc::new(Placeholders::open(
                &settings.data,
                settings.limits.placeholders_max,
            )),
            metrics: Arc::default(),
            shared_index: shared_index.clone(),
            wall_ms_max: settings.limits.conversion_wall_ms_max,
            quarantine: Quarantine::open(&settings.data),
        };
        let access = open_access_log(&settings, cores.len())?;
        let refused = |doing| {
            let path = settings.data.clone();
            move |source| OpenError {
                doing,
                path,
                source,
            }
        };
        let flights = Flights::start(converter, settings.flight);
        let flights = Arc::new(flights.map_err(refused(NO_CONVERSIONS))?);
        let transcoder = Transcoder::start(&flights, settings.transcode);
        let transcoder = transcoder.map_err(refused(NO_TRANSCODING))?;
        let comparisons_max = settings.limits.comparisons_max;
        let facts = Mutex::new(LruCache::new(settings.limits.facts_max));
        start_index(
            &variants,
            shared_index.as_ref(),
            &flights.converter().metrics,
        )
        .map_err(refused(
            "cannot load the index of variants from the data directory",
        ))?;
        Ok(Arc::new(Service {
            settings,
            flights,
            transcoder: Arc::new(transcoder),
            metrics,
            mounts,
            response_memory: ResponseMemory::default(),
            library,
            variants,
            facts,
            comparisons: Arc::new(Semaphore::new(comparisons_max)),
            denials: Arc::default(),
            quotas: Arc::default(),
            cores,
            access: access.map(Arc::new),
            shared_index,
            started_unix_ms: unix_ms(),
            opened_unix_ms: unix_ms(),
        }))
    }

    /// Returns a service with other settings and mounts. It shares the library, variants,
    /// conversions and access log with this service, and ignores the new settings of these parts.
    #[must_use]
    pub fn with(&self, settings: Settings, mounts: Mounts) -> Arc<Service> {
        Arc::new(Service {
            flights: Arc::clone(&self.flights),
            transcoder: Arc::clone(&self.transcoder),
            metrics: Arc::clone(&self.metrics),
            mounts,
            response_memory: self.response_memory.share(),
            library: Arc::clone(&self.library),
            variants: Arc::clone(&self.variants),
            // The cached types of originals depend on the settings, so the new cache is empty.
            facts: Mutex::new(LruCache::new(settings.limits.facts_max)),
            comparisons: Arc::clone(&self.comparisons),
            denials: Arc::clone(&self.denials),
            quotas: Arc::clone(&self.quotas),
            cores: Arc::clone(&self.cores),
            access: self.access.clone(),
            shared_index: self.shared_index.clone(),
            started_unix_ms: unix_ms(),
            opened_unix_ms: self.opened_unix_ms,
            settings,
        })
    }

    /// Returns the index of variants.
    #[must_use]
    pub fn variants(&self) -> &Arc<Variants> {
        &self.variants
    }

    /// Returns the placeholders of those originals that were converted.
    #[must_use]
    pub fn placeholders(&self) -> &Arc<Placeholders> {
        &self.flights.converter().placeholders
    }

    /// Returns the access log, unless it is off.
    #[must_use]
    pub fn access_log(&self) -> Option<&AccessLog> {
        self.access.as_deref()
    }

    /// Returns the library of originals.
    #[must_use]
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// Returns the metrics of the service and its mounts as OpenMetrics text.
    #[must_use]
    pub fn render_metrics(&self) -> String {
        let converter = self.flights.converter();
        let access = self.access.as_ref();
        let mut text = Text::default();
        render_process(&mut text, self.opened_unix_ms);
        self.metrics.render(&mut text);
        self.denials.render(&mut text);
        converter
            .metrics
            .render(&mut text, converter.quarantine.count());
        self.transcoder.stats().render(&mut text);
        self.variants.stats().render(&mut text);
        self.flights.stats().render(&mut text);
        reactor::render_metrics(&mut text, &self.cores);
        render_access(&mut text, access.map_or((0, 0), |access| access.counts()));
        sandbox::render_metrics(&mut text, &converter.pool.stats());
        if let Some(shared_index) = &self.shared_index {
            shared_index.stats().render(&mut text);
        }
        self.mounts.metrics(&mut text);
        text.finish()
    }

    pub(crate) fn cores(&self) -> &[reactor::Counters] {
        &self.cores
    }

    /// Returns the shared index, if there is one.
    pub(crate) fn shared_index(&self) -> Option<&SharedIndex> {
        self.shared_index.as_deref()
    }

    /// Returns the isolation mechanisms in force for conversions.
    #[must_use]
    pub fn posture(&self) -> sandbox::Posture {
        self.flights.converter().pool.posture()
    }

    /// Returns the formats that are both enabled and accepted by the client.
    pub(crate) fn allowed(&self, accepts: Accepts) -> Accepts {
        let formats = self.settings.formats;
        Accepts {
            avif: accepts.avif && formats.avif,
            webp: accepts.webp && formats.webp,
            jxl: accepts.jxl,
            heic: accepts.heic,
            named: accepts.named,
        }
    }

    /// Returns `recipe`, with the operator's default quality if the request specifies none.
    pub(crate) fn planned(&self, recipe: Recipe) -> Recipe {
        recipe.with_default_quality(self.settings.quality)
    }

    /// Returns the rule that decides which parameters of a query distinguish responses.
    pub(crate) fn relevance(&self) -> Relevance {
        let settings = &self.settings;
        settings.permissions.relevance(settings.grammar)
    }

    /// Returns whether the extension of `path` allows the file to be served. Paths below
    /// [`INTERNAL_FOLDER`] are always allowed.
    pub(crate) fn admits(&self, path: &Path) -> bool {
        self.settings.only_types.admits(path) || path.starts_with(INTERNAL_FOLDER)
    }

    /// Returns the part of the server that a request's `path` belongs to.
    pub(crate) fn part_of(&self, path: &str) -> Part {
        match self.mounts.find(path) {
            _ if self.is_iiif(path) => Part::Files,
            Some(mount) => mount.part(),
            None if PROBES.contains(&path) => Part::Open,
            None if path == METRICS_PATH => Part::Admin,
            // The path `/` does not begin with [`PAGE`], to which it only redirects.
            None if path.starts_with(PAGE) => Part::Pages,
            None => Part::Files,
        }
    }

    /// Returns whether `path` is a URL of the IIIF Image API.
    pub(crate) fn is_iiif(&self, path: &str) -> bool {
        self.settings.iiif.is_some() && path.starts_with(IIIF)
    }

    /// Returns the current version of an original.
    pub(crate) async fn identify(&self, path: &LibraryPath) -> Result<Identity, Problem> {
        if !self.admits(path.as_path()) {
            return Err(Problem::NotFound);
        }
        let identified = match self.library.identify(path, Wait::Never) {
            Err(Missing::WouldSleep) => {
                let (library, path) = (Arc::clone(&self.library), path.clone());
                blocking(move || library.identify(&path, Wait::Allowed)).await
            }
            identified => identified,
        };
        identified.map_err(|err| Problem::of_missing(path, err))
    }

    /// Returns whether the original at `path` is a picture.
    pub(crate) async fn is_picture(&self, path: &LibraryPath) -> Result<bool, Problem> {
        let identity = self.identify(path).await?;
        let known = self.facts(path, &identity).await?;
        Ok(known.media_type().starts_with("image/"))
    }

    /// Returns the type of the original at `path`, and of a picture the facts of its first page.
    pub(crate) async fn facts(
        &self,
        path: &LibraryPath,
        identity: &Identity,
    ) -> Result<Known, Problem> {
        self.detect_once(path, identity, 1).await
    }

    /// Returns the facts as [`Service::facts`] does, but of the page that `recipe` requests. Fails
    /// if the picture has no such page or no such frame.
    pub(crate) async fn facts_for(
        &self,
        path: &LibraryPath,
        identity: &Identity,
        recipe: &Recipe,
    ) -> Result<Known, Problem> {
        let page = recipe.page_number();
        match self.facts(path, identity).await? {
            Known::Picture(Facts {
                frames: Frames::Exactly(frames),
                ..
            }) if frames < u32::from(recipe.frame_number()) => Err(Problem::NoFrame { frames }),
            Known::Picture(first) if first.pages < page => {
                Err(Problem::NoPage { pages: first.pages })
            }
            Known::Picture(_) if page != 1 => self.detect_once(path, identity, page).await,
            known => Ok(known),
        }
    }

    /// Detects the type of the original at `path`, at most once per page and version of the file.
    async fn detect_once(
        &self,
        path: &LibraryPath,
        identity: &Identity,
        page: u16,
    ) -> Result<Known, Problem> {
        let known = self.facts.lock().get(&(*identity, page)).cloned();
        let known = match known {
            Some(known) => known,
            None => {
                let (library, path) = (Arc::clone(&self.library), path.clone());
                let allowed = self.settings.allowed_types.clone();
                let (known, identity) =
                    blocking(move || detect(&library, &path, &allowed, page)).await?;
                self.facts.lock().put((identity, page), known.clone());
                known
            }
        };
        if known == Known::NotServed {
            Err(Problem::NotFound)
        } else {
            Ok(known)
        }
    }
}

/// Starts the threads that maintain the index of variants and the shared index.
fn start_index(
    variants: &Arc<Variants>,
    shared_index: Option<&Arc<SharedIndex>>,
    conversions: &Arc<conversion::metrics::Metrics>,
) -> io::Result<()> {
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let loading = Arc::clone(variants);
    thread("variants").spawn(move || loading.maintain())?;
    if let Some(shared_index) = shared_index {
        let (shared_index, conversions) = (Arc::clone(shared_index), Arc::clone(conversions));
        let variants = Arc::downgrade(variants);
        thread("shared-index")
            .spawn(move || shared_index.maintain(&variants, &|| conversions.totals()))?;
    }
    Ok(())
}
