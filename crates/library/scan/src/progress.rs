use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Progress of one scan, for status displays, and the switch that cancels it. Counters only grow.
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
    /// Not started.
    #[default]
    Waiting,
    /// Listing folders.
    Walking,
    /// Opening and reading files.
    Reading,
    /// Building and writing the index.
    Building,
}

/// Progress of a scan at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgressSnapshot {
    /// Current phase.
    pub phase: Phase,
    /// Number of music files, pictures and playlists that the walk has found so far.
    pub walked: u64,
    /// Number of files to read; 0 until the walk has finished.
    pub to_read: u64,
    /// Number of files read so far.
    pub read: u64,
    /// Files read per second, averaged since reading started.
    pub per_second: f64,
    /// Estimated time until all files are read, at the average rate so far; `None` before the first
    /// file.
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
    /// Cancels the scan, which then ends soon and writes no index.
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
            // A rate of 0 gives an infinite time, which a `Duration` cannot express.
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
        // At least 20 ms passed, and three times as many files are left as were read.
        assert!(0.0 < per_second && per_second <= 1_000.0, "{per_second}");
        let left = left.expect("a rate").as_secs_f64();
        assert!((left * per_second - 60.0).abs() < 0.1, "{left} s");
        progress.add_read(60);
        assert_eq!(progress.snapshot().left, Some(Duration::ZERO));
    }
}
