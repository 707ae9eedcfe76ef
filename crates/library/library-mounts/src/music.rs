//! Catalog of the music: the indexer that keeps it up to date, and the mounts that use it.

use std::sync::Arc;

use config::{Config, components};
use openmetrics::Text;
use report::Error;
use scan::{LibraryIndexer, ScanError, Status, Watch};
use server::Service;
use server::gate::Users;
use server::mount::Mount;
use web_assets::Assets;

use crate::covers::{CoverMount, Covers};
use crate::files::PageFiles;
use crate::players::Players;

/// Indexer of the library, and the users of its catalog: the covers, and the interfaces for
/// players.
#[derive(Debug)]
pub struct Music {
    indexer: Arc<LibraryIndexer>,
    covers: Arc<Covers>,
    /// Interfaces for players, or `None` if the data directory cannot be written.
    players: Option<Players>,
}

impl Music {
    /// Opens the catalog of the last scan, and starts the indexer that brings it up to date.
    pub fn start(config: &Config) -> Result<Music, Error> {
        let indexer =
            LibraryIndexer::start(components::library(config)).map_err(|err| scan_error(&err))?;
        let (indexer, covers) = (Arc::new(indexer), Arc::new(Covers::open(config)));
        let players = Players::open(config, &indexer, &covers);
        let players = players.inspect_err(|err| {
            let cause = std::error::Error::source(err).map(ToString::to_string);
            tracing::warn!(%err, cause, "cannot open the users' data: requests of music players \
                                         are not answered");
        });
        Ok(Music {
            players: players.ok(),
            indexer,
            covers,
        })
    }

    /// Gives the finder of covers access to the placeholders and the library of the server's
    /// `service`.
    pub fn attach(&self, service: &Service) {
        self.covers.attach(service);
    }

    /// Returns the mounts of covers, of files for logged-in users, and of the interfaces for
    /// players. `assets` are the files of the web page, some of which the page of a share uses.
    pub fn mounts(&self, config: &Config, assets: &Assets) -> Vec<(String, Arc<dyn Mount>)> {
        let covers = CoverMount::new(Arc::clone(&self.covers), Arc::clone(&self.indexer));
        let mut mounts: Vec<(String, Arc<dyn Mount>)> =
            vec![(CoverMount::PREFIX.to_owned(), Arc::new(covers))];
        mounts.push(PageFiles::mount());
        if let Some(players) = &self.players {
            mounts.extend(players.mounts(assets.clone()));
            mounts.extend(players.sessions(config));
        }
        mounts
    }

    /// Returns the verifier of users' logins, or `None` if users cannot be stored.
    pub fn users(&self) -> Option<Arc<dyn Users>> {
        self.players.as_ref().map(Players::users)
    }

    /// Returns the indexer.
    #[must_use]
    pub fn indexer(&self) -> &Arc<LibraryIndexer> {
        &self.indexer
    }

    /// Stops the running scan, if any. The last complete catalog remains valid.
    pub fn stop(&self) {
        self.indexer.stop();
    }
}

/// Appends the metrics of the indexer. The most important metric states whether changes are
/// detected by inotify, by polling, or not at all.
pub(crate) fn metrics(status: &Status, text: &mut Text) {
    let (by, folders) = match &status.watch {
        Watch::Off => ("off", 0),
        Watch::Inotify { folders } => ("inotify", *folders),
        Watch::Polling { .. } => ("polling", 0),
    };
    let report = status.report.as_deref();
    text.family(
        "pelton_library_watch",
        "gauge",
        "1 for the method in use to detect changes of the library, 0 for the other methods",
    );
    for way in ["inotify", "polling", "off"] {
        let labels = format!("by=\"{way}\"");
        text.sample("pelton_library_watch", &labels, u64::from(way == by));
    }
    text.gauge(
        "pelton_library_watched_folders",
        "folders that inotify watches",
        folders as u64,
    );
    text.gauge(
        "pelton_library_unsettled_folders",
        "changed folders whose scan waits until their files stop changing",
        status.unsettled as u64,
    );
    text.gauge(
        "pelton_library_files",
        "files that the last scan found",
        report.map_or(0, |report| report.files),
    );
    text.gauge(
        "pelton_library_unreadable_files",
        "files that the last scan could not read",
        report.map_or(0, |report| report.faults.len() as u64),
    );
    text.gauge(
        "pelton_library_broken_tags",
        "files in which the last scan found damaged tags",
        report.map_or(0, |report| report.broken_tags.len() as u64),
    );
    let scan = status.snapshot.as_ref();
    text.gauge(
        "pelton_library_scan_files",
        "files that the running scan has read so far",
        scan.map_or(0, |scan| scan.read),
    );
    text.gauge(
        "pelton_library_scan_files_to_read",
        "files that the running scan has to read",
        scan.map_or(0, |scan| scan.to_read),
    );
    text.gauge(
        "pelton_library_scanning",
        "1 while a scan runs, else 0",
        status.snapshot.is_some().into(),
    );
    text.counter(
        "pelton_library_scans",
        "scans that have finished",
        status.scans,
    );
}

/// Converts an error of a scan to an error of the program.
pub fn scan_error(err: &ScanError) -> Error {
    let what = format!("scan: {err}");
    match std::error::Error::source(err) {
        Some(source) => Error::host(what).because(source.to_string()),
        None => Error::host(what),
    }
}
