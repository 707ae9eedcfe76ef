use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Progress of one scan, for displays, and the means to cancel it. The counters only increase.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    walked: AtomicU64,
    to_read: AtomicU64,
    read: AtomicU64,
    reading_since: OnceLock<Instant>,
    cancelled: AtomicBool,
}

/// Phase of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The scan has not started.
    #[default]
    Waiting,
    /// The scan lists the folders.
    Walking,
    /// The scan opens and reads files.
    Reading,
    /// The scan builds and writes the index.
    Building,
}

/// Progress of a scan at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgressSnapshot {
    /// Current phase.
    pub phase: Phase,
    /// Number of music files, pictures and playlists that were found so far.
    pub walked: u64,
    /// Number of files that must be read; 0 until all folders are listed.
    pub to_read: u64,
    /// Number of files that were read so far.
    pub read: u64,
    /// Number of files read per second, averaged since the first read.
    pub per_second: f64,
    /// Estimated time until all files are read, at the average rate so far. `None` until a file was
    /// read.
    pub left: Option<Duration>,
}

impl ProgressSnapshot {
    /// Returns whether a scan is in progress. Between scans, the phase is `Waiting`.
    #[must_use]
    pub fn is_scanning(&self) -> bool {
        self.phase != Phase::Waiting
    }
}

impl Progress {
    /// Cancels the scan. The scan ends soon and does not write an index.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns the progress at this moment.
    #[must_use]
    pub fn snapshot(&self) -> ProgressSnapshot {
        let (read, to_read) = (
            self.read.load(Ordering::Relaxed),
            self.to_read.load(Ordering::Relaxed),
        );
        let spent = self.reading_since.get().map(Instant::elapsed);
        let per_second = spent.map_or(0.0, |spent| read as f64 / spent.as_secs_f64().max(1e-6));
        let left = to_read.saturating_sub(read) as f64 / per_second;
        let phases = [
            Phase::Waiting,
            Phase::Walking,
            Phase::Reading,
            Phase::Building,
        ];
        ProgressSnapshot {
            phase: phases[usize::from(self.phase.load(Ordering::Relaxed))],
            walked: self.walked.load(Ordering::Relaxed),
            to_read,
            read,
            per_second,
            // At a rate of 0, the time is infinite, which a `Duration` cannot represent.
            left: Duration::try_from_secs_f64(left).ok(),
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn add_walked(&self, files: u64) {
        self.walked.fetch_add(files, Ordering::Relaxed);
    }

    pub(crate) fn start_reading(&self, files: u64) {
        self.to_read.store(files, Ordering::Relaxed);
        self.reading_since.get_or_init(Instant::now);
        self.enter(Phase::Reading);
    }

    pub(crate) fn add_read(&self, files: u64) {
        self.read.fetch_add(files, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Phase, Progress, ProgressSnapshot};
    use std::time::Duration;

    #[test]
    fn the_rate_so_far_says_what_is_left() {
        let progress = Progress::default();
        assert_eq!(progress.snapshot(), ProgressSnapshot::default());
        progress.enter(Phase::Walking);
        progress.add_walked(100);
        progress.start_reading(80);
        let before = progress.snapshot();
        assert_eq!((before.phase, before.left), (Phase::Reading, None));
        std::thread::sleep(Duration::from_millis(20));
        progress.add_read(20);
        let ProgressSnapshot {
            walked,
            to_read,
            read,
            per_second,
            left,
            ..
        } = progress.snapshot();
        assert_eq!((walked, to_read, read), (100, 80, 20));
        // At least 20 ms have passed, and three times as many files remain as were read.
        assert!(0.0 < per_second && per_second <= 1_000.0, "{per_second}");
        let left = left.expect("a rate").as_secs_f64();
        assert!((left * per_second - 60.0).abs() < 0.1, "{left} s");
        progress.add_read(60);
        assert_eq!(progress.snapshot().left, Some(Duration::ZERO));
    }
}
