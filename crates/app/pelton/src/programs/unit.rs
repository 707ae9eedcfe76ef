//! One program: its cells, the threads that wait for them, and what it did so far.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sandbox::{Failure, FailureKind, Posture, Stats};
use store::{Embedded, StoreUsage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::boot::{self, Bootable, Booted, Output, Stamp};
use super::state;
use crate::report::Error;

/// A program by its name, whatever file it runs at the moment.
pub(super) struct Unit {
    pub(super) name: String,
    running: RwLock<Arc<Running>>,
    past: Mutex<Past>,
    /// Requests that wait for their turn.
    waiting: AtomicU32,
    pub(super) counts: UnitCounts,
}

/// What a unit counts beside what its pools do. Sums only grow.
#[derive(Debug, Default)]
pub(super) struct UnitCounts {
    /// Microseconds that requests waited for their turn.
    pub(super) wait_us: AtomicU64,
    /// Requests that did not get one in time, or found too many before them.
    pub(super) refused: AtomicU64,
    /// Files and settings that took the place of those before.
    pub(super) reloads: AtomicU64,
    /// Those that did not boot.
    pub(super) reload_failures: AtomicU64,
}

/// What a route counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Requests.
    pub(super) requests: AtomicU64,
    /// Of these, those that a program failed.
    pub(super) failures: AtomicU64,
    /// Of these, those that `on_error` answered.
    pub(super) fallbacks: AtomicU64,
}

/// A booted program with its threads, which end when this is dropped and they have answered what was ordered.
struct Running {
    plan: Bootable,
    booted: Arc<Booted>,
    /// What it keeps from request to request.
    state: Option<Arc<Embedded>>,
    orders: Sender<Order>,
    places: Arc<Semaphore>,
}

/// Pools that gave way to others.
#[derive(Default)]
struct Past {
    sums: Stats,
    /// Some of their requests may still be under way.
    leaving: Vec<Arc<Booted>>,
    /// The file that did not boot last, which is not tried again until it changes.
    refused: Option<Stamp>,
}

impl Past {
    /// Takes out the pools that nobody uses any more, and adds up what they did.
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

/// A request for a thread.
struct Order {
    variables: Vec<u8>,
    body: Bytes,
    wall_ms: u32,
    place: OwnedSemaphorePermit,
    answer: oneshot::Sender<Result<Output, Failure>>,
}

impl Unit {
    pub(super) fn start(plan: Bootable) -> Result<Unit, Error> {
        let name = plan.entry.name.clone();
        let running = Running::start(plan, None)?;
        Ok(Unit {
            name,
            running: RwLock::new(Arc::new(running)),
            past: Mutex::default(),
            waiting: AtomicU32::new(0),
            counts: UnitCounts::default(),
        })
    }

    /// Runs it once. `wall_max` bounds it further than its settings do.
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
        sent.expect("its threads live as long as this is held");
        let output = answered.await.expect("a thread answers each order")?;
        if !output.remark.is_empty() {
            tracing::info!(program = self.name, words = output.remark, "a program says");
        }
        Ok(output)
    }

    /// A place among those that run at the same time.
    async fn place(&self, running: &Running) -> Result<OwnedSemaphorePermit, Failure> {
        let begin = Instant::now();
        let refuse = |detail: String| {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            let kind = FailureKind::Host;
            Err(Failure { kind, detail })
        };
        let turn = Turn::new(&self.waiting);
        if running.plan.queue_max < turn.number {
            return refuse(format!("{} requests wait already", running.plan.queue_max));
        }
        let queue_ms = running.plan.limits.max_queue_time_ms;
        let longest = Duration::from_millis(u64::from(queue_ms));
        let place = Arc::clone(&running.places).acquire_owned();
        let Ok(place) = tokio::time::timeout(longest, place).await else {
            return refuse(format!("no cell free within {queue_ms} ms"));
        };
        let waited = begin.elapsed().as_micros() as u64;
        self.counts.wait_us.fetch_add(waited, Ordering::Relaxed);
        Ok(place.expect("nobody closes it"))
    }

    /// Takes over other settings or another file, if there are such. What does not boot changes nothing.
    pub(super) fn renew(&self, plan: Bootable) {
        let running = self.running();
        let stamp = Stamp::of(&plan.entry.path);
        // A file that is not there any more runs on: a boot would tell why, and change nothing.
        if running.plan == plan && stamp.is_ok_and(|stamp| stamp == running.booted.stamp) {
            return;
        }
        self.replace(plan);
    }

    /// The same for a file that has changed.
    pub(super) fn renew_file(&self) {
        self.replace(self.running().plan.clone());
    }

    /// What its file is now, if that is not what runs.
    pub(super) fn changed(&self) -> Option<Stamp> {
        let running = self.running();
        let stamp = Stamp::of(&running.plan.entry.path).ok()?;
        let refused = self.past().refused;
        (stamp != running.booted.stamp && refused != Some(stamp)).then_some(stamp)
    }

    fn replace(&self, plan: Bootable) {
        let path = plan.entry.path.clone();
        match Running::start(plan, self.running().state.as_ref()) {
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
                tracing::error!(program = self.name, %err, "program not reloaded: the old one goes on");
            }
        }
    }

    /// What its cells did, those of its earlier pools included.
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

    /// What it keeps from request to request.
    pub(super) fn store_usage(&self) -> StoreUsage {
        let running = self.running();
        let state = running.state.as_ref();
        state.map(|state| state.store_usage()).unwrap_or_default()
    }

    pub(super) fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Ends pools that have answered their last request, and keeps their sums.
    pub(super) fn forget_the_past(&self) {
        let over = self.past().over();
        // Not under the lock: each waits for its keeper.
        drop(over);
    }

    fn running(&self) -> Arc<Running> {
        Arc::clone(&self.running.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in the line, counted until this is dropped.
struct Turn<'a> {
    waiting: &'a AtomicU32,
    /// How many there are with it.
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
    /// Boots it, in the place of one that left `state`.
    fn start(plan: Bootable, state: Option<&Arc<Embedded>>) -> Result<Running, Error> {
        let booted = Arc::new(plan.boot()?);
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
                .map_err(|err| Error::host(format!("start a thread: {err}")))?;
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

/// Answers orders until nobody can give any.
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
        // Who asked may have left.
        let _left = order.answer.send(output);
    }
}
