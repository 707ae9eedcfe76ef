//! The time of day, set once a turn.

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// Unix time that runs on with the runtime's clock, so that tests can pause it.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Unix time at `base`.
    base_us: Cell<u64>,
    base: Cell<Instant>,
    now_us: Cell<u64>,
    /// When the command before ended, or the turn began.
    lap: Cell<Instant>,
    turn_begun: Cell<Instant>,
    turns: Cell<Turns>,
}

/// Turns of the core since the start, and the time from the begin of each to the end of its last command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    pub(crate) count: u64,
    pub(crate) took_us: u64,
}

impl Clock {
    /// As the system says.
    pub(crate) fn new() -> Clock {
        let clock = Clock {
            base_us: Cell::new(0),
            base: Cell::new(Instant::now()),
            now_us: Cell::new(0),
            lap: Cell::new(Instant::now()),
            turn_begun: Cell::new(Instant::now()),
            turns: Cell::new(Turns::default()),
        };
        clock.follow_system();
        clock
    }

    /// Takes over corrections of the system's clock; a time before 1970 is 1970.
    pub(crate) fn follow_system(&self) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        self.base_us
            .set(since.map_or(0, |since| since.as_micros() as u64));
        self.base.set(Instant::now());
        self.begin_turn();
    }

    /// Reads the time that the commands of this turn see.
    pub(crate) fn begin_turn(&self) {
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.base.get());
        self.now_us
            .set(self.base_us.get() + passed.as_micros() as u64);
        let took = self.lap.replace(now) - self.turn_begun.replace(now);
        let Turns { count, took_us } = self.turns.get();
        self.turns.set(Turns {
            count: count + 1,
            took_us: took_us + took.as_micros() as u64,
        });
    }

    pub(crate) fn turns(&self) -> Turns {
        self.turns.get()
    }

    /// When what runs now began: where the command before it ended, so that the clock is read once a command.
    pub(crate) fn lap_begun(&self) -> Instant {
        self.lap.get()
    }

    /// Ends what ran since `begun`; how long it took, in microseconds.
    pub(crate) fn end_lap(&self, begun: Instant) -> u64 {
        let now = Instant::now();
        self.lap.set(now);
        now.saturating_duration_since(begun).as_micros() as u64
    }

    pub(crate) fn unix_us(&self) -> u64 {
        self.now_us.get()
    }

    pub(crate) fn unix_ms(&self) -> u64 {
        self.now_us.get() / 1000
    }

    /// How long from now until `unix_ms`.
    pub(crate) fn until(&self, unix_ms: u64) -> Instant {
        let passed_ms = unix_ms.saturating_sub(self.base_us.get() / 1000);
        // A year is as good as never, and no overflow.
        let passed_ms = passed_ms.min(365 * 24 * 3600 * 1000);
        self.base.get() + std::time::Duration::from_millis(passed_ms + 1)
    }

    /// A number that another start does not have.
    pub(crate) fn seed() -> u64 {
        use std::hash::{BuildHasher, Hasher, RandomState};
        RandomState::new().build_hasher().finish()
    }
}

/// What the calling thread has computed so far: how long others are held up, whatever else the processor does meanwhile.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}
