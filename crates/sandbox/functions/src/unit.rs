//! One program: its cells, the threads that wait for them, and its counters.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use report::Error;
use sandbox::{Failure, FailureKind, Posture, Stats};
use store::{Embedded, StoreUsage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::boot::{self, Bootable, Booted, Output, Stamp};
use super::state;

/// Program with a fixed name, whose file and pool can be replaced while it serves requests.
pub(super) struct Unit {
    pub(super) name: String,
    /// ELF image of the worker, which loads the program.
    worker: &'static [u8],
    running: RwLock<Arc<Running>>,
    past: Mutex<Past>,
    /// Number of requests that wait because `concurrency` other requests are running.
    waiting: AtomicU32,
    pub(super) counts: UnitCounts,
}

/// Counters of a unit besides those of its pools. They only grow.
#[derive(Debug, Default)]
pub(super) struct UnitCounts {
    /// Total time in microseconds that requests waited until fewer than `concurrency` others ran.
    pub(super) wait_us: AtomicU64,
    /// Number of requests that were refused because they waited too long or found the queue full.
    pub(super) refused: AtomicU64,
    /// Number of times that a new file or new settings replaced the running program.
    pub(super) reloads: AtomicU64,
    /// Number of times that a new file or new settings failed to boot.
    pub(super) reload_failures: AtomicU64,
}

/// Counters of a route.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: AtomicU64,
    /// Number of requests in which a program failed.
    pub(super) failures: AtomicU64,
    /// Number of failed requests that the fallback of `on_error` answered.
    pub(super) fallbacks: AtomicU64,
}

/// Booted program with its threads. After this is dropped, the threads answer the queued requests
/// and end.
struct Running {
    plan: Bootable,
    booted: Arc<Booted>,
    /// Store in which the program keeps state between requests, if any.
    state: Option<Arc<Embedded>>,
    orders: Sender<Order>,
    places: Arc<Semaphore>,
}

/// Pools of earlier versions of the program, which reloads have replaced.
#[derive(Default)]
struct Past {
    sums: Stats,
    /// Replaced pools, of which some may still run requests.
    leaving: Vec<Arc<Booted>>,
    /// Stamp of the last file that failed to boot. The poll does not boot a file with this stamp
    /// again.
    refused: Option<Stamp>,
}

impl Past {
    /// Removes and returns the pools that are no longer in use, and adds their statistics to the
    /// sums.
    fn over(&mut self) -> Vec<Arc<Booted>> {
        let (over, leaving): (Vec<_>, Vec<_>) = std::mem::take(&mut self.leaving)
            .into_iter()
            .partition(|booted| Arc::strong_count(booted) == 1);
        self.leaving = leaving;
        let stats = over.iter().map(|booted| booted.pool.stats());
        self.sums = stats.fold(self.sums, Stats::followed_by);
        over
    }
}

/// Request that is queued for a thread.
struct Order {
    variables: Vec<u8>,
    body: Bytes,
    wall_ms: u32,
    place: OwnedSemaphorePermit,
    answer: oneshot::Sender<Result<Output, Failure>>,
}

impl Unit {
    pub(super) fn start(plan: Bootable, worker: &'static [u8]) -> Result<Unit, Error> {
        let name = plan.entry.name.clone();
        let running = Running::start(plan, worker, None)?;
        Ok(Unit {
            name,
            worker,
            running: RwLock::new(Arc::new(running)),
            past: Mutex::default(),
            waiting: AtomicU32::new(0),
            counts: UnitCounts::default(),
        })
    }

    /// Runs the program once. `wall_max` can only shorten the time limit of the settings.
    pub(super) async fn run(
        &self,
        variables: Vec<u8>,
        body: Bytes,
        wall_max: Option<Duration>,
    ) -> Result<Output, Failure> {
        let running = self.running();
        let place = self.place(&running).await?;
        let own_ms = running.plan.limits.max_request_time_ms;
        let wall_ms = wall_max.map_or(own_ms, |most| own_ms.min(most.as_millis() as u32));
        let (answer, answered) = oneshot::channel();
        let order = Order {
            variables,
            body,
            wall_ms,
            place,
            answer,
        };
        let sent = running.orders.send(order);
        sent.expect("the threads live as long as `running`");
        let output = answered.await.expect("a thread answers each order")?;
        if !output.remark.is_empty() {
            tracing::info!(
                program = self.name,
                words = output.remark,
                "program wrote to stderr"
            );
        }
        Ok(output)
    }

    /// Waits until fewer than `concurrency` requests run, and returns the permit to run one more.
    async fn place(&self, running: &Running) -> Result<OwnedSemaphorePermit, Failure> {
        let begin = Instant::now();
        let refuse = |detail: String| {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            let kind = FailureKind::Host;
            Err(Failure { kind, detail })
        };
        let turn = Turn::new(&self.waiting);
        if running.plan.queue_max < turn.number {
            return refuse(format!(
                "{} requests are already waiting",
                running.plan.queue_max
            ));
        }
        let queue_ms = running.plan.limits.max_queue_time_ms;
        let longest = Duration::from_millis(u64::from(queue_ms));
        let place = Arc::clone(&running.places).acquire_owned();
        let Ok(place) = tokio::time::timeout(longest, place).await else {
            return refuse(format!("no cell free within {queue_ms} ms"));
        };
        let waited = begin.elapsed().as_micros() as u64;
        self.counts.wait_us.fetch_add(waited, Ordering::Relaxed);
        Ok(place.expect("the semaphore is never closed"))
    }

    /// Replaces the running program if its settings or its file have changed. If the new program
    /// fails to boot, the old one keeps running.
    pub(super) fn renew(&self, plan: Bootable) {
        let running = self.running();
        let stamp = Stamp::of(&plan.entry.path);
        // If the file is missing, the boot below logs the reason, and the running program stays.
        if running.plan == plan && stamp.is_ok_and(|stamp| stamp == running.booted.stamp) {
            return;
        }
        self.replace(plan);
    }

    /// Boots the changed file with the same settings.
    pub(super) fn renew_file(&self) {
        self.replace(self.running().plan.clone());
    }

    /// Returns the stamp of the program's file if it differs from that of the running program,
    /// unless a file with this stamp has already failed to boot.
    pub(super) fn changed(&self) -> Option<Stamp> {
        let running = self.running();
        let stamp = Stamp::of(&running.plan.entry.path).ok()?;
        let refused = self.past().refused;
        (stamp != running.booted.stamp && refused != Some(stamp)).then_some(stamp)
    }

    fn replace(&self, plan: Bootable) {
        let path = plan.entry.path.clone();
        match Running::start(plan, self.worker, self.running().state.as_ref()) {
            Ok(next) => {
                let next = Arc::new(next);
                let mut running = self.running.write().unwrap_or_else(PoisonError::into_inner);
                let old = std::mem::replace(&mut *running, next);
                self.past().leaving.push(Arc::clone(&old.booted));
                drop(running);
                self.counts.reloads.fetch_add(1, Ordering::Relaxed);
                tracing::info!(program = self.name, "program reloaded");
            }
            Err(err) => {
                self.past().refused = Stamp::of(&path).ok();
                self.counts.reload_failures.fetch_add(1, Ordering::Relaxed);
                tracing::error!(program = self.name, %err, "program not reloaded: the old one keeps running");
            }
        }
    }

    /// Returns the statistics of the cells, including those of replaced pools.
    pub(super) fn stats(&self) -> Stats {
        let running = self.running();
        let past = self.past();
        let leaving = past.leaving.iter().map(|booted| booted.pool.stats());
        let before = leaving.fold(past.sums, Stats::followed_by);
        let leaving_now = past
            .leaving
            .iter()
            .map(|booted| booted.pool.stats().running);
        let now = running.booted.pool.stats();
        Stats {
            running: now.running + leaving_now.sum::<u64>(),
            ..before.followed_by(now)
        }
    }

    pub(super) fn posture(&self) -> Posture {
        self.running().booted.pool.posture()
    }

    /// Returns the usage of the program's store.
    pub(super) fn store_usage(&self) -> StoreUsage {
        let running = self.running();
        let state = running.state.as_ref();
        state.map(|state| state.store_usage()).unwrap_or_default()
    }

    pub(super) fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Stops replaced pools that have answered their last request, and keeps their statistics.
    pub(super) fn forget_the_past(&self) {
        let over = self.past().over();
        // Dropped outside the lock, because each pool waits for its supervisor to end.
        drop(over);
    }

    fn running(&self) -> Arc<Running> {
        Arc::clone(&self.running.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Entry in the count of waiting requests. Dropping the entry decrements the count.
struct Turn<'a> {
    waiting: &'a AtomicU32,
    /// Number of waiting requests when this one was added, including this one.
    number: u32,
}

impl<'a> Turn<'a> {
    fn new(waiting: &'a AtomicU32) -> Turn<'a> {
        let number = waiting.fetch_add(1, Ordering::Relaxed) + 1;
        Turn { waiting, number }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Running {
    /// Boots the program, which inherits the store `state` from its predecessor, if any.
    fn start(
        plan: Bootable,
        worker: &'static [u8],
        state: Option<&Arc<Embedded>>,
    ) -> Result<Running, Error> {
        let booted = Arc::new(plan.boot(worker)?);
        let state = state::inherited(state, &plan.entry);
        let (orders, ordered) = mpsc::channel();
        let ordered = Arc::new(Mutex::new(ordered));
        let concurrency = plan.limits.concurrency as usize;
        for number in 0..concurrency {
            let (booted, ordered) = (Arc::clone(&booted), Arc::clone(&ordered));
            let state = state.clone();
            let name = format!("{}-{number}", plan.entry.name);
            let thread = thread::Builder::new().name(name);
            thread
                .spawn(move || serve(&booted, state.as_deref(), &ordered))
                .map_err(|err| Error::host(format!("cannot start a thread: {err}")))?;
        }
        Ok(Running {
            plan,
            booted,
            state,
            orders,
            places: Arc::new(Semaphore::new(concurrency)),
        })
    }
}

/// Runs the program for each queued request, until all senders of requests are dropped.
fn serve(booted: &Booted, state: Option<&Embedded>, ordered: &Mutex<Receiver<Order>>) {
    loop {
        let order = ordered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(order) = order else {
            return;
        };
        let Order {
            variables,
            body,
            wall_ms,
            ..
        } = &order;
        let output = boot::run(&booted.pool, state, variables, body, *wall_ms);
        drop(order.place);
        // The client may have disconnected.
        let _left = order.answer.send(output);
    }
}
