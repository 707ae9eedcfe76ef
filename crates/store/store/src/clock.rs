//! The time of day, read once per pass of the core's event loop (a turn).

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;
use wall_clock::since_1970;

/// Unix time that advances with the runtime's clock, so that tests can pause it.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Unix time in microseconds at the instant `base`.
    base_us: Cell<u64>,
    base: Cell<Instant>,
    now_us: Cell<u64>,
    /// End of the previous command, or start of the event loop's current pass if no command has run
    /// in it.
    lap: Cell<Instant>,
    turn_started: Cell<Instant>,
    turns: Cell<Turns>,
}

/// Number of passes of the core's event loop since the start, and their total duration. A pass
/// lasts from its start to the end of its last command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    pub(crate) count: u64,
    pub(crate) took_us: u64,
}

impl Clock {
    /// Creates a clock set to the system's time.
    pub(crate) fn new() -> Clock {
        let clock = Clock {
            base_us: Cell::new(0),
            base: Cell::new(Instant::now()),
            now_us: Cell::new(0),
            lap: Cell::new(Instant::now()),
            turn_started: Cell::new(Instant::now()),
            turns: Cell::new(Turns::default()),
        };
        clock.follow_system();
        clock
    }

    /// Sets the clock to the system's current time. A time before 1970 becomes 1970.
    pub(crate) fn follow_system(&self) {
        let since = since_1970(SystemTime::now());
        self.base_us.set(since.as_micros() as u64);
        self.base.set(Instant::now());
        self.start_turn();
    }

    /// Starts a turn, one pass of the event loop: reads the time that all commands of the turn use.
    pub(crate) fn start_turn(&self) {
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.base.get());
        self.now_us
            .set(self.base_us.get() + passed.as_micros() as u64);
        let took = self.lap.replace(now) - self.turn_started.replace(now);
        let Turns { count, took_us } = self.turns.get();
        self.turns.set(Turns {
            count: count + 1,
            took_us: took_us + took.as_micros() as u64,
        });
    }

    pub(crate) fn turns(&self) -> Turns {
        self.turns.get()
    }

    /// Returns the start of the current command, which is taken to be the end of the previous
    /// command, so that the clock is read only once per command.
    pub(crate) fn lap_start(&self) -> Instant {
        self.lap.get()
    }

    /// Records the end of a command that started at `started`. Returns its duration in
    /// microseconds.
    pub(crate) fn end_lap(&self, started: Instant) -> u64 {
        let now = Instant::now();
        self.lap.set(now);
        now.saturating_duration_since(started).as_micros() as u64
    }

    pub(crate) fn unix_us(&self) -> u64 {
        self.now_us.get()
    }

    pub(crate) fn unix_ms(&self) -> u64 {
        self.now_us.get() / 1000
    }

    /// Converts a Unix time into an instant of the runtime's clock.
    pub(crate) fn until(&self, unix_ms: u64) -> Instant {
        let passed_ms = unix_ms.saturating_sub(self.base_us.get() / 1000);
        // The duration is capped at a year to avoid an overflow.
        let passed_ms = passed_ms.min(365 * 24 * 3600 * 1000);
        self.base.get() + std::time::Duration::from_millis(passed_ms + 1)
    }

    /// Returns a random number, to seed hashes and random generators.
    pub(crate) fn seed() -> u64 {
        use std::hash::{BuildHasher, Hasher, RandomState};
        RandomState::new().build_hasher().finish()
    }
}

/// Returns the CPU time that the calling thread has used. Unlike wall-clock time, CPU time excludes
/// the time during which other threads run.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}
