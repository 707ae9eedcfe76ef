//! State that all cores share: the library, the index of variants, the flights, and the facts about
//! originals.

use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use conversion::convert::Converter;
use conversion::flight::{self, Flights};
use conversion::quarantine::Quarantine;
use conversion::transcode::{self, Transcoder};
use image_plan::{Accepts, Facts, Format, Grammar, ProbeErrorKind, Recipe};
use lru::LruCache;
use openmetrics::Text;
use variants::cache::Variants;
use variants::clock::unix_ms;
use variants::library::{Identity, Library, LibraryPath, Missing, Mount, Wait};
use variants::placeholders::Looks;
use variants::shared_index::{self, Ledger, Store};
use variants::source::FileSource;

use crate::access::{self, AccessLog};
use crate::answer_memory::ResponseMemory;
use crate::fields::{Cors, Headers};
use crate::gallery::PAGE;
use crate::gate::{Gate, Part};
use crate::h2;
use crate::media_type::{self, AllowedTypes};
use crate::metrics::{Metrics, render_access};
use crate::mount::Mounts;
use crate::problem::Problem;
use crate::scheme::PROBES;

/// Internal folder of covers and users' pictures. Only targets that the server composes lead there.
const INTERNAL_FOLDER: &str = "-";

/// Settings of the operator, which `pelton check` prints.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Directories of originals.
    pub mounts: Vec<Mount>,
    /// Directory of the variants.
    pub data: PathBuf,
    /// Output formats that clients may get if they accept them.
    pub formats: Accepts,
    /// Quality of requests that name none, on the JPEG scale.
    pub quality: u8,
    /// True if variants are encoded again at higher effort when cores are idle.
    pub improve: bool,
    /// Files that are served although they are neither pictures nor audio.
    pub allowed_types: AllowedTypes,
    /// Files that are served at all, by extension.
    pub only_types: AllowedTypes,
    /// Grammar of queries.
    pub grammar: Grammar,
    /// Allowed files whose scripts browsers may run.
    pub active_types: AllowedTypes,
    /// Fields of every response.
    pub headers: Headers,
    /// Origins whose pages may read the library's responses.
    pub cors: Cors,
    /// Cross-Origin-Resource-Policy of the library's responses.
    pub resource_policy: Option<&'static str>,
    /// Freshness of final responses, in seconds.
    pub max_age_s: u32,
    /// Freshness of provisional responses, in seconds.
    pub provisional_age_s: u32,
    /// Limits on requests.
    pub http: http1::Limits,
    /// Limits on pictures.
    pub picture: image_plan::Limits,
    /// Limits on conversions.
    pub flight: flight::Limits,
    /// Limits on transcodings.
    pub transcode: transcode::Limits,
    /// Limits on caches and responses.
    pub limits: Limits,
    /// Destination of the access log.
    pub access: access::Sink,
    /// Limits on the access log.
    pub access_limits: access::Limits,
    /// Limits on the shared index.
    pub ledger: shared_index::Limits,
    /// Rules of access.
    pub gate: Gate,
}

/// Bounds of the service's caches and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of variants on disk.
    pub variants_bytes_max: u64,
    /// Originals whose facts are cached in memory; about 150 bytes each.
    pub facts_max: NonZeroUsize,
    /// Originals whose placeholders are kept, in memory and on disk; about 150 bytes each.
    pub looks_max: NonZeroUsize,
    /// Largest body that is sent from memory, in bytes; larger ones are sent by `sendfile`.
    pub memory_body_bytes_max: u64,
    /// Bytes of bodies that one core caches in memory.
    pub core_body_bytes_max: u64,
    /// Responses that one core keeps ready; each with a larger body holds a descriptor.
    pub core_answers_max: NonZeroUsize,
    /// Time for which a core trusts cached facts of a file, in milliseconds.
    pub core_trust_ms: u64,
    /// Largest text that is compressed in memory, in bytes.
    pub coded_bytes_max: u64,
    /// Entries of a folder that its page shows.
    pub gallery_entries_max: usize,
    /// Largest original that is converted, in bytes; larger ones are sent unconverted.
    pub original_bytes_max: u64,
    /// TLS handshakes in progress on one core; beyond the limit, the oldest is closed.
    pub handshakes_max: usize,
    /// Bytes of one TLS connection that are encrypted, or wait to be, and that the client has not
    /// read.
    pub tls_buffer_bytes_max: usize,
    /// Limits on HTTP/2 connections.
    pub h2: h2::Limits,
    /// Bytes of waiting responses that trigger a write, however many requests remain.
    pub queued_bytes_max: usize,
    /// Requests per connection; the last response closes it.
    pub connection_requests_max: u32,
    /// Longest conversion, in milliseconds, whatever its estimate.
    pub conversion_wall_ms_max: u32,
    /// Largest body of one request to a mount, in bytes on the wire.
    pub request_body_bytes: usize,
    /// Bytes of such bodies on one core whose responses are pending. Beyond the limit a slow one is
    /// dropped, or the response is 503.
    pub core_request_body_bytes: usize,
    /// Bytes of mounts' responses that clients have not read; beyond the limit, the response is
    /// 503.
    pub mount_answers_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            variants_bytes_max: 4 << 30,
            facts_max: NonZeroUsize::new(65_536).expect("not zero"),
            looks_max: NonZeroUsize::new(65_536).expect("not zero"),
            memory_body_bytes_max: 64 << 10,
            core_body_bytes_max: 128 << 20,
            core_answers_max: NonZeroUsize::new(4096).expect("not zero"),
            core_trust_ms: 1_000,
            coded_bytes_max: 4 << 20,
            gallery_entries_max: 1_000,
            original_bytes_max: 256 << 20,
            handshakes_max: 512,
            tls_buffer_bytes_max: 32 << 10,
            h2: h2::Limits::default(),
            queued_bytes_max: 24 << 10,
            connection_requests_max: 10_000,
            conversion_wall_ms_max: 120_000,
            request_body_bytes: 1 << 20,
            core_request_body_bytes: 32 << 20,
            mount_answers_bytes: 256 << 20,
        }
    }
}

/// Path of the metrics.
pub(crate) const METRICS_PATH: &str = "/-/metrics";

/// Type of a file, from its first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// Picture that can be converted.
    Picture(Facts),
    /// Picture by its magic bytes, with an invalid header.
    Damaged,
    /// Picture of a format that is not converted, with its media type.
    Untouched(&'static str),
    /// Audio of this media type.
    Audio(&'static str),
    /// File of an allowed type.
    Allowed(&'static str),
    /// File that is not served.
    NotServed,
}

/// Service that all cores share.
#[derive(Debug)]
pub struct Service {
    pub(crate) settings: Settings,
    pub(crate) flights: Arc<Flights>,
    pub(crate) transcoder: Arc<Transcoder>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) mounts: Mounts,
    pub(crate) answer_memory: ResponseMemory,
    library: Arc<Library>,
    variants: Arc<Variants>,
    facts: Mutex<LruCache<Identity, Known>>,
    cores: Arc<[reactor::Counters]>,
    pub(crate) access: Option<Arc<AccessLog>>,
    ledger: Option<Arc<Ledger>>,
    pub(crate) started_unix_ms: u64,
}

/// Error at the start of the service; the operator must fix its cause.
#[derive(Debug)]
pub struct OpenError {
    /// Step that failed.
    pub doing: &'static str,
    /// Path of the step.
    pub path: PathBuf,
    /// Error of the host.
    pub source: io::Error,
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.doing, self.path.display(), self.source)
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Service {
    /// Opens the library and starts the conversion threads. The index of variants loads in the
    /// background, and is written to `store`, if there is one. `cores` are the counters of the
    /// serving cores; empty for commands that do not serve. `mounts` handle paths outside the
    /// library.
    ///
    /// # Errors
    /// [`OpenError`] if a root cannot be opened or a thread not started. A data directory that
    /// cannot be written is not an error: the service runs without the cache.
    pub fn open(
        settings: Settings,
        pool: impl Into<Arc<sandbox::Pool>>,
        cores: Arc<[reactor::Counters]>,
        mounts: Mounts,
        store: Option<Arc<dyn Store>>,
    ) -> Result<Arc<Service>, OpenError> {
        let ledger = store.map(|store| Arc::new(Ledger::new(store, settings.ledger)));
        let opened = Library::open(&settings.mounts, &settings.data);
        let failed = |doing| {
            move |(path, source)| OpenError {
                doing,
                path,
                source,
            }
        };
        let library = Arc::new(opened.map_err(failed("open library"))?);
        let variants = Variants::new(&settings.data, settings.limits.variants_bytes_max);
        let variants = Arc::new(variants.recorded(ledger.clone()));
        let metrics = Arc::new(Metrics::new(cores.len()));
        let converter = Converter {
            library: Arc::clone(&library),
            variants: Arc::clone(&variants),
            pool: pool.into(),
            looks: Arc::new(Looks::open(&settings.data, settings.limits.looks_max)),
            metrics: Arc::default(),
            ledger: ledger.clone(),
            wall_ms_max: settings.limits.conversion_wall_ms_max,
            quarantine: Quarantine::open(&settings.data),
        };
        let access = AccessLog::start(&settings.access, cores.len(), settings.access_limits);
        let access = access.map_err(|source| OpenError {
            doing: "open access log",
            path: match &settings.access {
                access::Sink::File(path) => path.clone(),
                access::Sink::Off | access::Sink::Stderr => PathBuf::new(),
            },
            source,
        })?;
        let refused = |doing| {
            let path = settings.data.clone();
            move |source| OpenError {
                doing,
                path,
                source,
            }
        };
        let flights = Flights::start(converter, settings.flight);
        let flights = Arc::new(flights.map_err(refused("start conversions for"))?);
        let transcoder = Transcoder::start(&flights, settings.transcode)
            .map_err(refused("start transcodings for"))?;
        let facts = Mutex::new(LruCache::new(settings.limits.facts_max));
        start_index(&variants, ledger.as_ref(), &flights.converter().metrics)
            .map_err(refused("start the index for"))?;
        Ok(Arc::new(Service {
            settings,
            flights,
            transcoder: Arc::new(transcoder),
            metrics,
            mounts,
            answer_memory: ResponseMemory::default(),
            library,
            variants,
            facts,
            cores,
            access: access.map(Arc::new),
            ledger,
            started_unix_ms: unix_ms(),
        }))
    }

    /// Returns the service with other settings and mounts. Library, variants, conversions and the
    /// access log are shared, and the settings of these parts are ignored.
    #[must_use]
    pub fn with(&self, settings: Settings, mounts: Mounts) -> Arc<Service> {
        Arc::new(Service {
            flights: Arc::clone(&self.flights),
            transcoder: Arc::clone(&self.transcoder),
            metrics: Arc::clone(&self.metrics),
            mounts,
            answer_memory: self.answer_memory.share(),
            library: Arc::clone(&self.library),
            variants: Arc::clone(&self.variants),
            // The facts of originals depend on which types are allowed.
            facts: Mutex::new(LruCache::new(settings.limits.facts_max)),
            cores: Arc::clone(&self.cores),
            access: self.access.clone(),
            ledger: self.ledger.clone(),
            started_unix_ms: unix_ms(),
            settings,
        })
    }

    /// Returns the index of variants.
    #[must_use]
    pub fn variants(&self) -> &Arc<Variants> {
        &self.variants
    }

    /// Returns the placeholders of originals, as far as they were converted.
    #[must_use]
    pub fn looks(&self) -> &Arc<Looks> {
        &self.flights.converter().looks
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

    /// Returns the metrics of all parts as OpenMetrics text.
    pub(crate) fn render_metrics(&self) -> String {
        let converter = self.flights.converter();
        let access = self.access.as_ref();
        let mut text = Text::default();
        self.metrics.render(&mut text);
        converter
            .metrics
            .render(&mut text, converter.quarantine.count());
        self.transcoder.stats().render(&mut text);
        self.variants.stats().render(&mut text);
        self.flights.stats().render(&mut text);
        reactor::render_metrics(&mut text, &self.cores);
        render_access(&mut text, access.map_or((0, 0), |access| access.counts()));
        sandbox::render_metrics(&mut text, &converter.pool.stats());
        if let Some(ledger) = &self.ledger {
            ledger.stats().render(&mut text);
        }
        text.append(&self.mounts.metrics());
        text.finish()
    }

    /// Returns the counters of conversions.
    pub(crate) fn conversions(&self) -> &conversion::metrics::Metrics {
        &self.flights.converter().metrics
    }

    /// Returns the isolation in force around a conversion.
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
            named: accepts.named,
        }
    }

    /// Returns the recipe with the operator's quality if the request names none.
    pub(crate) fn planned(&self, recipe: Recipe) -> Recipe {
        Recipe {
            quality_pct: recipe.quality_pct.or(Some(self.settings.quality)),
            ..recipe
        }
    }

    /// Returns whether the extension of `path` allows it to be served. Paths below
    /// [`INTERNAL_FOLDER`] are internal.
    pub(crate) fn admits(&self, path: &Path) -> bool {
        self.settings.only_types.admits(path) || path.starts_with(INTERNAL_FOLDER)
    }

    /// Returns the part of the server that a request's `path` belongs to.
    pub(crate) fn part_of(&self, path: &str) -> Part {
        match self.mounts.find(path) {
            Some(mount) => mount.part(),
            None if PROBES.contains(&path) => Part::Open,
            None if path == METRICS_PATH => Part::Admin,
            // The start page only redirects to its first folder.
            None if path.starts_with(PAGE) => Part::Pages,
            None => Part::Files,
        }
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

    /// Returns the facts about the original at `path`, which is read at most once per version.
    pub(crate) async fn facts(
        &self,
        path: &LibraryPath,
        identity: &Identity,
    ) -> Result<Known, Problem> {
        let known = self
            .facts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(identity)
            .cloned();
        let known = match known {
            Some(known) => known,
            None => {
                let (library, path) = (Arc::clone(&self.library), path.clone());
                let allowed = self.settings.allowed_types.clone();
                let (known, identity) = blocking(move || look(&library, &path, &allowed)).await?;
                self.facts
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .put(identity, known.clone());
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

/// Starts the threads that maintain the index and the shared index.
fn start_index(
    variants: &Arc<Variants>,
    ledger: Option<&Arc<Ledger>>,
    conversions: &Arc<conversion::metrics::Metrics>,
) -> io::Result<()> {
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let loading = Arc::clone(variants);
    thread("variants").spawn(move || loading.keep())?;
    if let Some(ledger) = ledger {
        let (ledger, conversions) = (Arc::clone(ledger), Arc::clone(conversions));
        let variants = Arc::downgrade(variants);
        thread("ledger").spawn(move || ledger.keep(&variants, &|| conversions.totals()))?;
    }
    Ok(())
}

/// Reads the head of a file and returns its type and version.
pub(crate) fn look(
    library: &Library,
    path: &LibraryPath,
    allowed: &AllowedTypes,
) -> Result<(Known, Identity), Problem> {
    const HEAD_BYTES: usize = 64;
    let (file, identity) = library
        .open_original(path)
        .map_err(|err| Problem::of_missing(path, err))?;
    let unreadable = |err: io::Error| {
        tracing::error!(path = %path.as_path().display(), %err, "original cannot be read");
        Problem::Host
    };
    let known = match image_plan::probe(&FileSource(&file), identity.size_bytes) {
        Ok(facts) => Known::Picture(facts),
        Err(err) if err.kind == ProbeErrorKind::Io => {
            return Err(unreadable(io::Error::other(err)));
        }
        Err(err) if err.kind == ProbeErrorKind::Unknown => {
            let mut head = [0; HEAD_BYTES];
            let length = file.read_at(&mut head, 0).map_err(unreadable)?;
            if let Some(untouched) = image_plan::untouched(&head[..length]) {
                return Ok((Known::Untouched(untouched), identity));
            }
            let extension = path.extension();
            let audio = match (media_type::audio(&head[..length]), &extension) {
                (None, Some(extension)) => {
                    let source = FileSource(&file);
                    media_type::audio_within(&source, identity.size_bytes, extension)
                        .map_err(unreadable)?
                }
                (audio, _) => audio,
            };
            match audio {
                Some(audio) => Known::Audio(audio),
                None => extension
                    .and_then(|ext| allowed.media_type(&ext))
                    .map_or(Known::NotServed, Known::Allowed),
            }
        }
        Err(err) => {
            tracing::info!(path = %path.as_path().display(), %err, "picture cannot be probed: broken header");
            Known::Damaged
        }
    };
    Ok((known, identity))
}

impl Known {
    /// Returns the media type of the original. A damaged picture is sent as bytes.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        match self {
            Known::Picture(facts) => facts.format.media_type(),
            Known::Untouched(media_type)
            | Known::Audio(media_type)
            | Known::Allowed(media_type) => media_type,
            Known::Damaged | Known::NotServed => "application/octet-stream",
        }
    }

    /// Returns whether a browser could run scripts inside the file.
    #[must_use]
    pub fn may_be_active(&self) -> bool {
        match self {
            Known::Picture(facts) => facts.format == Format::Svg,
            Known::Untouched(_) | Known::Audio(_) | Known::Damaged => false,
            Known::Allowed(_) | Known::NotServed => true,
        }
    }
}

/// Runs `work`, which may sleep, on the blocking pool of the core's runtime.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work)
        .await
        .expect("a panic aborts the process, and the task is never cancelled")
}
