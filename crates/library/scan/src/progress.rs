use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How far a scan is, for whoever watches, and a way to end it. Counters only grow.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    walked: AtomicU64,
    to_read: AtomicU64,
    read: AtomicU64,
    reading_since: OnceLock<Instant>,
    cancelled: AtomicBool,
}

/// What a scan is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing yet.
    #[default]
    Waiting,
    /// Looking what is there.
    Walking,
    /// Opening files.
    Reading,
    /// Writing the index.
    Building,
}

/// How far a scan is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// What it is doing.
    pub phase: Phase,
    /// Files of music and pictures that the walk met.
    pub walked: u64,
    /// Files to read, once the walk is over.
    pub to_read: u64,
    /// Files read.
    pub read: u64,
    /// Files read in a second, so far.
    pub per_second: f64,
    /// Until everything is read, should the rate stay.
    pub left: Option<Duration>,
}

impl Standing {
    /// Whether it has begun.
    #[must_use]
    pub fn is_scanning(&self) -> bool {
        self.phase != Phase::Waiting
    }
}

impl Progress {
    /// Ends the scan soon, and without an index.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// How far it is.
    #[must_use]
    pub fn standing(&self) -> Standing {
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
        Standing {
            phase: phases[usize::from(self.phase.load(Ordering::Relaxed))],
            walked: self.walked.load(Ordering::Relaxed),
            to_read,
            read,
            per_second,
            // Nothing read yet leaves forever, which is no duration.
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

    pub(crate) fn begin_reading(&self, files: u64) {
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
    use super::{Phase, Progress, Standing};
    use std::time::Duration;

    #[test]
    fn the_rate_so_far_says_what_is_left() {
        let progress = Progress::default();
        assert_eq!(progress.standing(), Standing::default());
        progress.enter(Phase::Walking);
        progress.add_walked(100);
        progress.begin_reading(80);
        let before = progress.standing();
        assert_eq!((before.phase, before.left), (Phase::Reading, None));
        std::thread::sleep(Duration::from_millis(20));
        progress.add_read(20);
        let Standing {
            walked,
            to_read,
            read,
            per_second,
            left,
            ..
        } = progress.standing();
        assert_eq!((walked, to_read, read), (100, 80, 20));
        // 20 ms at least went by, and what is left is three times what was read.
        assert!(0.0 < per_second && per_second <= 1_000.0, "{per_second}");
        let left = left.expect("a rate").as_secs_f64();
        assert!((left * per_second - 60.0).abs() < 0.1, "{left} s");
        progress.add_read(60);
        assert_eq!(progress.standing().left, Some(Duration::ZERO));
    }
}
