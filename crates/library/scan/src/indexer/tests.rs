//! Tests of the indexer with real folders. Each test waits for the events that it expects, and then
//! checks the counts of scans and files. So a test fails if the indexer scans more than necessary.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tags::Splits;

use super::{LibraryIndexer, Setup, Status, WatchMode, Watching};
use crate::{Limits, Watch};

const FLAC: &[u8] = include_bytes!("../../../tags/testdata/sine.flac");
/// Timeout for an expected event. Even on a busy machine, each event takes much less time.
const DEADLINE: Duration = Duration::from_secs(60);

/// Temporary folder with a library and its index, removed when dropped.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Home {
        let path =
            std::env::temp_dir().join(format!("pelton-indexer-{name}-{}", std::process::id()));
        let home = Home(path);
        home.put("Band/Album/1.flac");
        home
    }

    fn library(&self) -> PathBuf {
        self.0.join("library")
    }

    fn put(&self, path: &str) {
        let path = self.library().join(path);
        fs::create_dir_all(path.parent().expect("below the library")).expect("a folder of our own");
        fs::write(path, FLAC).expect("a folder of our own");
    }

    fn indexer(&self, watching: Watching, limits: Limits) -> LibraryIndexer {
        let setup = Setup {
            root: self.library(),
            folder: self.0.join("index"),
            hidden: self.0.join("index"),
            splits: Splits::default(),
            watching,
            limits,
        };
        LibraryIndexer::start(setup).expect("a folder of our own")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the test made it");
    }
}

const QUICKLY: Watching = Watching {
    means: WatchMode::Auto,
    settle: Duration::from_millis(30),
    poll_interval: Duration::from_millis(30),
    rescan: Duration::ZERO,
};

fn eventually(indexer: &LibraryIndexer, what: &str, mut come: impl FnMut(&Status) -> bool) {
    let begun = Instant::now();
    while !come(&indexer.status()) {
        assert!(
            begun.elapsed() < DEADLINE,
            "never happened: {what}: {:?}",
            indexer.status()
        );
        thread::park_timeout(Duration::from_millis(2));
    }
}

fn until_tracks(indexer: &LibraryIndexer, tracks: u32) {
    let what = format!("{tracks} tracks");
    eventually(indexer, &what, |_| {
        indexer.catalog().counts().tracks == tracks
    });
}

/// Adds, moves and removes files. After each change, waits until the catalog contains it.
fn check_changes(home: &Home, indexer: &LibraryIndexer) {
    until_tracks(indexer, 1);
    home.put("Band/Album/2.flac");
    until_tracks(indexer, 2);
    home.put("New/Deep/Album/1.flac");
    until_tracks(indexer, 3);
    let at = |path: &str| home.library().join(path);
    fs::rename(at("New"), at("Band/New")).expect("it is there");
    let path = b"Band/New/Deep/Album/1.flac";
    eventually(indexer, "the move", |_| {
        let catalog = indexer.catalog();
        (0..catalog.counts().files)
            .any(|row| catalog.file(row).is_some_and(|(found, _)| found == path))
    });
    home.put("Band/New/Deep/Album/2.flac");
    until_tracks(indexer, 4);
    fs::remove_dir_all(at("Band/New")).expect("it is there");
    until_tracks(indexer, 2);
}

#[test]
fn nothing_is_unsettled_once_it_was_read() {
    let home = Home::new("settled");
    let indexer = home.indexer(QUICKLY, Limits::default());
    until_tracks(&indexer, 1);
    let at = |path: &str| home.library().join(path);
    for round in 0..3 {
        let (before, after) = (format!("Band/{round} a"), format!("Band/{round} b"));
        fs::create_dir(at(&before)).expect("a folder of our own");
        fs::rename(at(&before), at(&after)).expect("it is there");
        home.put(&format!("{after}/1.flac"));
        until_tracks(&indexer, round + 2);
        eventually(&indexer, "all is quiet", |status| status.unsettled == 0);
    }
}

#[test]
fn inotify_reports_what_changes() {
    let home = Home::new("inotify");
    let indexer = home.indexer(QUICKLY, Limits::default());
    check_changes(&home, &indexer);
    // The three watched folders are the root, the folder of the band and the folder of its album.
    eventually(&indexer, "the watches", |status| {
        status.watch == Watch::Inotify { folders: 3 }
    });
    assert_eq!(indexer.status().failed, None);
}

#[test]
fn polling_finds_what_changes() {
    let home = Home::new("polling");
    let watching = Watching {
        means: WatchMode::Polling,
        ..QUICKLY
    };
    check_changes(&home, &home.indexer(watching, Limits::default()));
}

#[test]
fn without_watches_it_polls_and_says_why() {
    let home = Home::new("refused");
    let limits = Limits {
        watches_max: 4,
        ..Limits::default()
    };
    let indexer = home.indexer(QUICKLY, limits);
    check_changes(&home, &indexer);
    let expected = "polling the library every 0 s: the library has more folders than the limit of 4 inotify watches";
    assert_eq!(indexer.status().watch.to_string(), expected);
}

#[test]
fn off_it_scans_when_asked() {
    let home = Home::new("off");
    let watching = Watching {
        means: WatchMode::Off,
        ..QUICKLY
    };
    let indexer = home.indexer(watching, Limits::default());
    until_tracks(&indexer, 1);
    eventually(&indexer, "the end of the scan", |status| status.scans == 1);
    home.put("Band/Album/2.flac");
    indexer.ask(Vec::new());
    until_tracks(&indexer, 2);
    eventually(&indexer, "its end", |status| {
        status.scans == 2 && status.snapshot.is_none()
    });
    assert_eq!(indexer.generation(), 2);
    home.put("Band/Other/1.flac");
    home.put("New/Album/1.flac");
    indexer.ask(vec![b"New".to_vec()]);
    until_tracks(&indexer, 3);
    indexer.ask(vec![b"Band/Other".to_vec(), b"Absent".to_vec()]);
    until_tracks(&indexer, 4);
}

#[test]
fn on_schedule_everything_is_scanned_again() {
    let home = Home::new("schedule");
    let watching = Watching {
        means: WatchMode::Off,
        rescan: Duration::from_millis(50),
        ..QUICKLY
    };
    let indexer = home.indexer(watching, Limits::default());
    until_tracks(&indexer, 1);
    home.put("Band/Album/2.flac");
    until_tracks(&indexer, 2);
    let scans = indexer.status().scans;
    eventually(&indexer, "two more", |status| scans + 2 <= status.scans);
    assert_eq!(indexer.generation(), 2, "nothing else changed");
}

#[test]
fn unreadable_files_are_reported_until_they_are_read_again() {
    let home = Home::new("faults");
    let watching = Watching {
        means: WatchMode::Off,
        ..QUICKLY
    };
    let limits = Limits {
        depth_max: 2,
        ..Limits::default()
    };
    home.put("Band/Album/CD1/1.flac");
    fs::write(home.library().join("Band/Album/2.flac"), b"").expect("a folder of our own");
    let indexer = home.indexer(watching, limits);
    let faults = |status: &Status| {
        let report = status.report.as_ref().expect("a scan has ended");
        let faults = report.faults.iter().map(|fault| &fault.path);
        faults
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect::<Vec<_>>()
    };
    eventually(&indexer, "the first scan", |status| status.scans == 1);
    let both = ["Band/Album/2.flac", "Band/Album/CD1"];
    assert_eq!(faults(&indexer.status()), both);
    home.put("New/1.flac");
    indexer.ask(vec![b"New".to_vec()]);
    eventually(&indexer, "the second", |status| status.scans == 2);
    assert_eq!(faults(&indexer.status()), both);
    fs::remove_dir_all(home.library().join("Band/Album/CD1")).expect("it is there");
    indexer.ask(vec![b"Band".to_vec()]);
    eventually(&indexer, "the third", |status| status.scans == 3);
    assert_eq!(faults(&indexer.status()), both[..1]);
}

#[test]
fn a_cancelled_scan_leaves_the_last_index() {
    // The test is repeated, up to 20 times, if the scan ends before it can be cancelled.
    let cancelled = (0..20).find_map(|attempt| {
        let home = Home::new(&format!("cancelled-{attempt}"));
        for number in 0..1000 {
            home.put(&format!("Band/Album/{number}.flac"));
        }
        let watching = Watching {
            means: WatchMode::Off,
            ..QUICKLY
        };
        let indexer = home.indexer(watching, Limits::default());
        while indexer.status().scans == 0 && indexer.status().failed.is_none() {
            indexer.cancel();
        }
        let status = indexer.status();
        status.failed.map(|failed| (home, indexer, failed))
    });
    let (_home, indexer, failed) = cancelled.expect("one of them was cancelled");
    assert_eq!((failed.as_str(), indexer.generation()), ("cancelled", 0));
    indexer.ask(Vec::new());
    until_tracks(&indexer, 1000);
    eventually(&indexer, "its end", |status| status.failed.is_none());
}

#[test]
fn what_is_not_quiet_is_not_read() {
    let home = Home::new("whole");
    let watching = Watching {
        settle: Duration::from_secs(3600),
        ..QUICKLY
    };
    let indexer = home.indexer(watching, Limits::default());
    eventually(&indexer, "the first scan", |status| status.scans == 1);
    for track in 0..20 {
        home.put(&format!("Band/New/CD{}/{track}.flac", track / 10));
    }
    eventually(&indexer, "the change", |status| status.unsettled != 0);
    assert_eq!(
        (indexer.catalog().counts().tracks, indexer.status().scans),
        (1, 1)
    );
    indexer.ask(Vec::new());
    until_tracks(&indexer, 21);
}

#[test]
fn a_library_that_vanishes_keeps_its_index_and_says_so() {
    let home = Home::new("vanished");
    let indexer = home.indexer(QUICKLY, Limits::default());
    until_tracks(&indexer, 1);
    let (library, away): (PathBuf, &Path) = (home.library(), &home.0.join("away"));
    fs::rename(&library, away).expect("it is there");
    indexer.ask(Vec::new());
    eventually(&indexer, "the failure", |status| status.failed.is_some());
    assert_eq!(indexer.catalog().counts().tracks, 1);
    fs::rename(away, &library).expect("it is there");
    eventually(&indexer, "the recovery", |status| status.failed.is_none());
}

#[test]
fn the_last_index_is_there_at_once_and_stopping_joins() {
    let home = Home::new("again");
    let indexer = home.indexer(QUICKLY, Limits::default());
    until_tracks(&indexer, 1);
    drop(indexer);
    let indexer = Arc::new(home.indexer(QUICKLY, Limits::default()));
    assert_eq!(
        (indexer.generation(), indexer.catalog().counts().tracks),
        (1, 1)
    );
    indexer.stop();
    indexer.stop();
}
