//! Settings and limits of each component, built from the configuration.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use image_plan::{Accepts, Grammar, Recipe, Target};
use report::Error;
use server::gate::{Gate, Token};
use server::iiif::Iiif;
use server::media_type::AllowedTypes;
use server::{Cors, Settings};
use tags::Splits;
use variants::library::Mount;

use super::settings::Config;
use super::value::{IiifService, PerCore, Timeout, Types};
use super::{imgproxy, permissions};

/// Returns the number of concurrent conversions: the configured number, or one per core.
pub fn concurrency(config: &Config) -> Result<usize, Error> {
    match config.cell.concurrency {
        PerCore::Exactly(number) => Ok(number.get() as usize),
        PerCore::Auto => {
            let cores = reactor::usable_cores(&reactor::Limits::default());
            cores
                .map(|cores| cores.len())
                .map_err(|err| Error::host(err.to_string()))
        }
    }
}

/// Creates the directory for reproducers of failed jobs and returns it with its limits. Returns
/// `None` if `cell.crash_dir` is off.
pub fn crashes(config: &Config) -> Result<Option<sandbox::ReproducerFolder>, Error> {
    let cell = &config.cell;
    let Some(folder) = cell.crash_dir.0.clone() else {
        return Ok(None);
    };
    std::fs::create_dir_all(&folder).map_err(|err| {
        Error::usage(format!("cell.crash_dir: {}: {err}", folder.display()))
            .hint("set cell.crash_dir to a directory that the server may write to, or to off")
    })?;
    Ok(Some(sandbox::ReproducerFolder {
        folder,
        files_max: cell.crash_jobs_max,
        bytes_max: cell.crash_bytes_max.0,
    }))
}

/// Returns the limits of a pool of cells, which are sandboxes. The pool runs at most `jobs` jobs at
/// the same time.
pub fn cell_limits(config: &Config, jobs: usize) -> sandbox::Limits {
    let cell = &config.cell;
    sandbox::Limits {
        concurrency: jobs as u32,
        spare: cell.spare,
        max_queue_time_ms: millis(cell.max_queue_time),
        jobs_per_zygote: cell.jobs_per_zygote.get(),
        max_boot_time_ms: millis(cell.max_boot_time),
        max_request_time_ms: millis(cell.max_request_time),
        deprioritize_after_ms: cell.deprioritize_after.0.as_millis().min(u32::MAX.into()) as u32,
        max_memory_bytes: cell.max_memory.0,
        max_work_memory_bytes: cell.max_work_memory.0,
        max_output_bytes: cell.max_output.0,
        max_restart_pause_ms: millis(cell.max_restart_pause),
        hugepages: cell.hugepages,
        request_hugepages: cell.request_hugepages,
        ephemeral: cell.ephemeral,
        backend: cell.backend.0,
        min_isolation: cell.min_isolation.0,
    }
}

/// Converts an error of the sandbox. An error that the host may have caused gets the hint to run
/// `pelton cell --probe`.
pub fn cell_error(err: &sandbox::Error) -> Error {
    match err.kind {
        sandbox::ErrorKind::Limits => Error::usage(err.to_string()),
        _ => Error::host(err.to_string())
            .hint("pelton cell --probe shows which sandbox features this host refuses"),
    }
}

/// Returns the number of concurrent transcodes: 0 if transcoding is off, else the configured number
/// or one per two cores.
pub fn transcodes(config: &Config) -> Result<usize, Error> {
    if config.transcoding.longest.0.is_zero() {
        return Ok(0);
    }
    match config.transcoding.concurrency {
        PerCore::Exactly(number) => Ok(number.get() as usize),
        PerCore::Auto => {
            let cores = reactor::usable_cores(&reactor::Limits::default());
            let cores = cores.map_err(|err| Error::host(err.to_string()))?;
            Ok((cores.len() / 2).max(1))
        }
    }
}

/// Returns the maximum duration of a track that may be transcoded, in milliseconds.
pub fn transcoded_ms_max(config: &Config) -> u64 {
    config.transcoding.longest.0.as_millis() as u64
}

/// Checks the limits of HTTP and of the reactor. Both components check them again when they start.
pub fn limits(config: &Config) -> Result<(), Error> {
    let refused = |what| Error::usage(format!("limits: {what}"));
    http_limits(config).check().map_err(refused)?;
    reactor_limits(config).check().map_err(refused)
}

fn http_limits(config: &Config) -> http1::Limits {
    let limits = &config.limits;
    http1::Limits {
        head_bytes_max: limits.head_bytes_max.0 as usize,
        fields_max: limits.fields_max.get() as usize,
        target_bytes_max: limits.target_bytes_max.0 as usize,
        body_bytes_max: limits.body_bytes_max.0,
        chunk_line_bytes_max: limits.chunk_line_bytes_max,
        trailer_bytes_max: limits.trailer_bytes_max,
    }
}

/// Returns the settings of the HTTP service, which runs up to `concurrency` conversions at a time.
pub fn settings(config: &Config, concurrency: usize) -> Result<Settings, Error> {
    limits(config)?;
    let limits = &config.limits;
    let reads = |target| config.formats.0.contains(&target);
    Ok(Settings {
        mounts: mounts(config),
        data: config.data.clone(),
        formats: Accepts {
            avif: reads(Target::Avif),
            webp: reads(Target::Webp),
            jxl: true,
            heic: true,
            named: true,
        },
        quality: config.quality.0,
        improve: config.improve,
        allowed_types: types(&config.allowed_types),
        only_types: types(&config.only_types),
        active_types: types(&config.active_types),
        headers: config.headers.0.clone(),
        tags: config.tags.0.clone(),
        cors: Cors::new(config.cors_origins.0.iter().cloned()),
        resource_policy: config.resource_policy.0,
        grammar: match config.strict_query {
            true => Grammar::Strict,
            false => config.queries.0,
        },
        max_age_s: config.max_age.0.as_secs() as u32,
        provisional_age_s: config.max_age_quick.0.as_secs() as u32,
        http: http_limits(config),
        picture: image_plan::Limits {
            source_pixels_max: limits.source_pixels_max.get(),
            target_pixels_max: limits.target_pixels_max.get(),
            profile_bytes_max: limits.profile_bytes_max.0,
            animation_frames_max: limits.animation_frames_max.get(),
            animation_pixels_max: limits.animation_pixels_max.get(),
        },
        flight: conversion::flight::Limits {
            concurrency,
            waiting_max: limits.queue_max as usize,
            waiting_cpu_ms_max: u64::from(millis(limits.queue_time_max)),
            waiting_ms_max: u64::from(millis(limits.queue_time_max)),
            memory_bytes_max: limits.convert_bytes_max.0,
            waiters_max: limits.waiters_max as usize,
            improving_max: limits.improving_max as usize,
        },
        transcode: conversion::transcode::Limits {
            concurrency: transcodes(config)?,
            waiting_max: config.transcoding.waiting_max as usize,
            waiting_ms_max: u64::from(millis(config.transcoding.max_queue_time)),
            waiters_max: limits.waiters_max as usize,
            memory_bytes_max: config.transcoding.max_memory.0,
        },
        limits: caches(config)?,
        access: config.access_log.0.clone(),
        access_limits: server::access::Limits {
            buffer_bytes: config.limits.access_log_bytes.0 as usize,
            field_bytes_max: config.limits.access_field_bytes_max.0 as usize,
        },
        shared_index: variants::shared_index::Limits::default(),
        gate: gate(config)?,
        permissions: permissions::load(config)?,
        imgproxy: imgproxy::load(config)?,
        iiif: iiif(config),
    })
}

/// Returns the settings of the IIIF Image API, or `None` if it is off.
fn iiif(config: &Config) -> Option<Iiif> {
    let base_url = match &config.images.iiif {
        IiifService::Off => return None,
        IiifService::On => None,
        IiifService::At(url) => Some(url.clone()),
    };
    Some(Iiif { base_url })
}

/// Minimum length of the admin token in bytes: 16 random characters cannot be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// Returns the access rules: the required logins, host names, origins and the admin token.
pub fn gate(config: &Config) -> Result<Gate, Error> {
    let token = config
        .admin_token_file
        .0
        .as_deref()
        .map(token)
        .transpose()?;
    Ok(Gate {
        login: config.require_login.0,
        hosts: config.hosts.0.clone(),
        origins: config.origins.0.clone(),
        token,
        has_admin_listener: config.admin_listen.0.is_some(),
    })
}

/// Reads the admin token, which is the whole content of the file except for surrounding white
/// space.
fn token(path: &Path) -> Result<Token, Error> {
    let unfit = |why: &dyn std::fmt::Display| {
        let what = format!("admin_token_file: {}: {why}", path.display());
        Error::usage(what).hint("openssl rand -hex 24 > FILE makes a token")
    };
    let text = std::fs::read_to_string(path).map_err(|err| unfit(&err))?;
    match text.trim() {
        token if token.len() < TOKEN_BYTES_MIN => Err(unfit(&format_args!(
            "the token is shorter than {TOKEN_BYTES_MIN} characters"
        ))),
        token => Ok(Token::new(token)),
    }
}

fn caches(config: &Config) -> Result<server::Limits, Error> {
    let limits = &config.limits;
    let cores = cores(config)?.len().max(1);
    let at_least_one =
        |number: u32| NonZeroUsize::new(number.max(1) as usize).expect("the number is at least 1");
    Ok(server::Limits {
        variants_bytes_max: limits.variants_bytes_max.0,
        facts_max: at_least_one(limits.facts_max),
        placeholders_max: at_least_one(limits.placeholders_max),
        memory_body_bytes_max: limits.memory_body_bytes_max.0,
        comparisons_max: limits.comparisons_max as usize,
        core_body_bytes_max: limits.hot_bytes_max.0 / cores as u64,
        core_responses_max: at_least_one(limits.hot_responses_max / cores as u32),
        revalidate_after_ms: u64::from(millis(limits.revalidate_after)),
        coded_bytes_max: limits.coded_bytes_max.0,
        gallery_entries_max: limits.gallery_entries_max as usize,
        original_bytes_max: limits.original_bytes_max.0,
        handshakes_max: limits.handshakes_max.get() as usize,
        tls_buffer_bytes_max: limits.tls_buffer_bytes_max.0 as usize,
        h2: server::Http2Limits {
            streams_max: limits.h2_streams_max.get(),
            buffer_bytes_max: limits.h2_buffer_bytes_max.0 as usize,
            running_max: limits.h2_running_max.get() as usize,
            idle_bytes_max: limits.h2_idle_bytes_max.0 as usize,
            resets_max: limits.h2_resets_max,
        },
        queued_bytes_max: limits.queued_bytes_max.0 as usize,
        connection_requests_max: limits.connection_requests_max.get(),
        conversion_wall_ms_max: millis(config.cell.max_request_time),
        request_body_bytes: limits.request_body_bytes.0 as usize,
        core_request_body_bytes: limits.request_bodies_bytes.0 as usize / cores,
        mount_responses_bytes: limits.mount_responses_bytes.0 as usize,
    })
}

/// Name of the directory, within the data directory, that contains the catalog.
const CATALOG: &str = "catalog";
/// Name of the directory, within the data directory, for covers that were extracted from music
/// files.
pub const COVERS: &str = "covers";
/// Path prefix of covers that were extracted from music files. The server uses paths with this
/// prefix internally, when it answers a request for a cover. Clients cannot request these paths.
pub const ART: &str = "/-/art";

/// Name of the directory, within the data directory, for users and their data.
pub const USERS: &str = "users";
/// Name of the directory, within the data directory, for users' avatars.
pub const AVATARS: &str = "avatars";
/// Path prefix of avatars. The server uses paths with this prefix internally, when it answers a
/// request for an avatar. Clients cannot request these paths.
pub const AVATAR: &str = "/-/avatar";

/// Returns the separators that split a tag into several artists or genres, and the names that are
/// never split.
pub fn splits(config: &Config) -> Splits {
    let library = &config.library;
    Splits {
        artists: library.split_artists.0.clone(),
        genres: library.split_genres.0.clone(),
        exceptions: library.split_exceptions.0.clone(),
    }
}

/// Returns the settings of the library's indexer.
pub fn library(config: &Config) -> scan::Setup {
    let library = &config.library;
    scan::Setup {
        root: config.root.clone(),
        folder: config.data.join(CATALOG),
        hidden: config.data.clone(),
        splits: splits(config),
        watching: scan::Watching {
            means: library.watch.0,
            settle: library.settle_time.0,
            poll_interval: library.poll_interval.0,
            rescan: library.rescan_time.0,
        },
        limits: scan::Limits::default(),
    }
}

/// Returns the served directories: the directories of `img_map` with their path prefixes, the
/// directories of covers and of avatars, and the root, which serves all other paths.
fn mounts(config: &Config) -> Vec<Mount> {
    let mapped = config.img_map.0.iter();
    let mut mounts: Vec<_> = mapped
        .map(|mapping| Mount {
            prefix: mapping.prefix.clone(),
            directory: mapping.directory.clone(),
            is_internal: false,
        })
        .collect();
    for (folder, path, what) in [
        (COVERS, ART, "embedded covers"),
        (AVATARS, AVATAR, "avatars"),
    ] {
        let directory = config.data.join(folder);
        match std::fs::create_dir_all(&directory) {
            Ok(()) => mounts.push(Mount {
                prefix: path.trim_matches('/').to_owned(),
                directory,
                is_internal: true,
            }),
            Err(err) => {
                tracing::warn!(
                    directory = %directory.display(),
                    %err,
                    "cannot create the directory, so {what} are not shown"
                );
            }
        }
    }
    mounts.push(Mount {
        prefix: String::new(),
        directory: config.root.clone(),
        is_internal: false,
    });
    mounts
}

fn types(types: &Types) -> AllowedTypes {
    match types {
        Types::Every => AllowedTypes::every(),
        Types::Only(extensions) => AllowedTypes {
            all: false,
            extensions: extensions.iter().cloned().collect(),
        },
    }
}

/// Returns the cores that serve requests.
pub fn cores(config: &Config) -> Result<Vec<reactor::CoreId>, Error> {
    reactor::usable_cores(&reactor_limits(config)).map_err(|err| Error::host(err.to_string()))
}

/// Returns the limits of the reactor.
pub fn reactor_limits(config: &Config) -> reactor::Limits {
    let limits = &config.limits;
    let defaults = reactor::Limits::default();
    reactor::Limits {
        cores_max: match config.cores {
            PerCore::Auto => defaults.cores_max,
            PerCore::Exactly(number) => number.get() as usize,
        },
        backlog: limits.backlog.get(),
        connections_max: limits.connections_max.get() as usize,
        address_connections_max: limits.address_connections_max.get() as usize,
        blocking_threads_max: limits.blocking_threads_max.get() as usize,
        first_byte_ms: u64::from(millis(limits.first_byte_timeout)),
        handshake_ms: u64::from(millis(limits.handshake_timeout)),
        head_ms: u64::from(millis(limits.head_timeout)),
        body_ms: u64::from(millis(limits.body_timeout)),
        body_bytes_per_s_min: limits.body_rate_min.0,
        idle_ms: u64::from(millis(limits.idle_timeout)),
        write_stall_ms: u64::from(millis(limits.write_timeout)),
        write_bytes_per_s_min: limits.write_rate_min.0,
        linger_ms: u64::from(millis(limits.linger_timeout)),
        linger_ms_max: u64::from(millis(limits.linger_time_max)),
        linger_bytes_max: limits.linger_bytes_max.0 as usize,
        drain_ms_max: u64::from(millis(limits.drain_timeout)),
        unsent_bytes_max: u32::try_from(limits.unsent_bytes_max.0).unwrap_or(u32::MAX),
        sendfile_slice_bytes: limits.sendfile_slice_bytes.0 as usize,
    }
}

/// Converts a timeout to milliseconds, which fit into 32 bits because a timeout is at most a day.
fn millis(timeout: Timeout) -> u32 {
    let Timeout(time): Timeout = timeout;
    let millis: Duration = time;
    millis.as_millis() as u32
}

/// Returns one recipe per height in `library.picture_sizes`. It requests the first frame of an
/// animation, as the web page's grid does; other pictures have only one frame.
///
/// # Panics
/// Never: the setting accepts only heights that are valid in a query.
#[must_use]
pub fn picture_recipes(config: &Config) -> Vec<Recipe> {
    let heights = config.library.picture_sizes.0.iter();
    let recipes = heights.map(|height| {
        let query = image_plan::parse_query(&format!("h={height}&animation=first"));
        query.expect("sizes are limited by the setting").recipe
    });
    recipes.collect()
}
