//! One program: its cells, the threads that wait for them, and its counters.

use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
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
    replaced_pools: Mutex<ReplacedPools>,
    /// Number of requests that wait because `concurrency` other requests are running.
    waiting: AtomicU32,
    pub(super) counts: UnitCounts,
}

/// Counters of a unit (one program), in addition to the counters of its pools. All counters only
/// increase.
#[derive(Debug, Default)]
pub(super) struct UnitCounts {
    /// Total time in microseconds that requests waited because `concurrency` other requests ran.
    pub(super) wait_us: AtomicU64,
    /// Number of requests that were refused because they waited too long or found the queue full.
    pub(super) refused: AtomicU64,
    /// Number of times that the running program was replaced because of a new file or new settings.
    pub(super) reloads: AtomicU64,
    /// Number of times that the program failed to boot with a new file or new settings, so that the
    /// old program kept running.
    pub(super) reload_failures: AtomicU64,
}

/// Counters of a route.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: AtomicU64,
    /// Number of requests in which a program of the route's chain failed.
    pub(super) failures: AtomicU64,
    /// Number of failed requests that the fallback of `on_error` answered.
    pub(super) fallbacks: AtomicU64,
}

/// Booted program with its threads. After this value is dropped, the threads answer the queued
/// requests and end.
struct Running {
    plan: Bootable,
    booted: Arc<Booted>,
    /// Store in which the program keeps state between requests, if any.
    state: Option<Arc<Embedded>>,
    request_sender: Sender<QueuedRequest>,
    permits: Arc<Semaphore>,
}

/// Pools that reloads of the program have replaced, and the stamp of the program file that failed
/// to boot last.
#[derive(Default)]
struct ReplacedPools {
    sums: Stats,
    /// Replaced pools that may still run requests.
    leaving: Vec<Arc<Booted>>,
    /// Stamp (identity and version) of the last program file that failed to boot. While the file
    /// keeps this stamp, the program is not booted from it again.
    refused: Option<Stamp>,
}

impl ReplacedPools {
    /// Removes and returns the pools that are no longer in use, and adds their statistics to the
    /// sums.
    fn unused(&mut self) -> Vec<Arc<Booted>> {
        let (unused, leaving): (Vec<_>, Vec<_>) = std::mem::take(&mut self.leaving)
            .into_iter()
            .partition(|booted| Arc::strong_count(booted) == 1);
        self.leaving = leaving;
        let stats = unused.iter().map(|booted| booted.pool.stats());
        self.sums = stats.fold(self.sums, Stats::followed_by);
        unused
    }
}

/// Request that is queued for a thread.
struct QueuedRequest {
    variables: Vec<u8>,
    body: Bytes,
    wall_ms: u32,
    permit: OwnedSemaphorePermit,
    response: oneshot::Sender<Result<Output, Failure>>,
}

impl Unit {
    pub(super) fn start(plan: Bootable, worker: &'static [u8]) -> Result<Unit, Error> {
        let name = plan.entry.name.clone();
        let running = Running::start(plan, worker, None)?;
        Ok(Unit {
            name,
            worker,
            running: RwLock::new(Arc::new(running)),
            replaced_pools: Mutex::default(),
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
        let permit = self.permit(&running).await?;
        let own_ms = running.plan.limits.max_request_time_ms;
        let wall_ms = wall_max.map_or(own_ms, |most| own_ms.min(most.as_millis() as u32));
        let (response, answered) = oneshot::channel();
        let order = QueuedRequest {
            variables,
            body,
            wall_ms,
            permit,
            response,
        };
        let sent = running.request_sender.send(order);
        sent.expect("the threads live as long as `running`");
        let output = answered.await.expect("a thread replies to each order")?;
        if !output.remark.is_empty() {
            tracing::info!(
                program = self.name,
                words = output.remark,
                "a program wrote to stderr"
            );
        }
        Ok(output)
    }

    /// Waits until fewer than `concurrency` requests run, and returns the permit to run one more.
    async fn permit(&self, running: &Running) -> Result<OwnedSemaphorePermit, Failure> {
        let begin = Instant::now();
        let refuse = |detail: String| {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            let kind = FailureKind::Host;
            Err(Failure { kind, detail })
        };
        let waiting_request = WaitingRequest::new(&self.waiting);
        if running.plan.queue_max < waiting_request.number {
            return refuse(format!(
                "{} requests are already waiting",
                running.plan.queue_max
            ));
        }
        let queue_ms = running.plan.limits.max_queue_time_ms;
        let longest = Duration::from_millis(u64::from(queue_ms));
        let permit = Arc::clone(&running.permits).acquire_owned();
        let Ok(permit) = tokio::time::timeout(longest, permit).await else {
            return refuse(format!("no cell became free within {queue_ms} ms"));
        };
        let waited = begin.elapsed().as_micros() as u64;
        self.counts.wait_us.fetch_add(waited, Ordering::Relaxed);
        Ok(permit.expect("the semaphore is never closed"))
    }

    /// Replaces the running program if its settings or its file have changed. If the new program
    /// fails to boot, the old one keeps running.
    pub(super) fn renew(&self, plan: Bootable) {
        let running = self.running();
        let stamp = Stamp::of(&plan.entry.path);
        // If the file is missing, `replace` fails and logs the reason, and the running program
        // stays.
        if running.plan == plan && stamp.is_ok_and(|stamp| stamp == running.booted.stamp) {
            return;
        }
        self.replace(plan);
    }

    /// Replaces the running program after a change of its file. The settings stay the same.
    pub(super) fn renew_file(&self) {
        self.replace(self.running().plan.clone());
    }

    /// Returns the identity and version (the stamp) of the program's file if the file is not the
    /// one that the running program was booted from. Returns `None` if a file with the same stamp
    /// has already failed to boot.
    pub(super) fn changed(&self) -> Option<Stamp> {
        let running = self.running();
        let stamp = Stamp::of(&running.plan.entry.path).ok()?;
        let refused = self.replaced_pools().refused;
        (stamp != running.booted.stamp && refused != Some(stamp)).then_some(stamp)
    }

    fn replace(&self, plan: Bootable) {
        let path = plan.entry.path.clone();
        match Running::start(plan, self.worker, self.running().state.as_ref()) {
            Ok(next) => {
                let next = Arc::new(next);
                let mut running = self.running.write();
                let old = std::mem::replace(&mut *running, next);
                self.replaced_pools().leaving.push(Arc::clone(&old.booted));
                drop(running);
                self.counts.reloads.fetch_add(1, Ordering::Relaxed);
                tracing::info!(program = self.name, "program reloaded");
            }
            Err(err) => {
                self.replaced_pools().refused = Stamp::of(&path).ok();
                self.counts.reload_failures.fetch_add(1, Ordering::Relaxed);
                tracing::error!(program = self.name, %err, "program not reloaded: the old version keeps running");
            }
        }
    }

    /// Returns the statistics of this unit's cells (sandboxes), in its pool and in replaced pools.
    pub(super) fn stats(&self) -> Stats {
        let running = self.running();
        let replaced_pools = self.replaced_pools();
        let leaving = replaced_pools
            .leaving
            .iter()
            .map(|booted| booted.pool.stats());
        let before = leaving.fold(replaced_pools.sums, Stats::followed_by);
        let leaving_now = replaced_pools
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
    pub(super) fn drop_unused_pools(&self) {
        let unused = self.replaced_pools().unused();
        // The pools are dropped outside the lock, because each pool waits for its supervisor to
        // end.
        drop(unused);
    }

    fn running(&self) -> Arc<Running> {
        Arc::clone(&self.running.read())
    }

    fn replaced_pools(&self) -> MutexGuard<'_, ReplacedPools> {
        self.replaced_pools.lock()
    }
}

/// Request that is included in the count of waiting requests until this value is dropped.
struct WaitingRequest<'a> {
    waiting: &'a AtomicU32,
    /// Number of waiting requests, including this request, at the moment when this request was
    /// added.
    number: u32,
}

impl<'a> WaitingRequest<'a> {
    fn new(waiting: &'a AtomicU32) -> WaitingRequest<'a> {
        let number = waiting.fetch_add(1, Ordering::Relaxed) + 1;
        WaitingRequest { waiting, number }
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Running {
    /// Boots the program. `state` is the store of the program's previous version, if any. The new
    /// version takes over this store if its settings allow a store.
    fn start(
        plan: Bootable,
        worker: &'static [u8],
        state: Option<&Arc<Embedded>>,
    ) -> Result<Running, Error> {
        let booted = Arc::new(plan.boot(worker)?);
        let state = state::inherited(state, &plan.entry);
        let (request_sender, request_receiver) = mpsc::channel();
        let request_receiver = Arc::new(Mutex::new(request_receiver));
        let concurrency = plan.limits.concurrency as usize;
        for number in 0..concurrency {
            let (booted, request_receiver) = (Arc::clone(&booted), Arc::clone(&request_receiver));
            let state = state.clone();
            let name = format!("{}-{number}", plan.entry.name);
            let thread = thread::Builder::new().name(name);
            thread
                .spawn(move || serve(&booted, state.as_deref(), &request_receiver))
                .map_err(|err| Error::host(format!("cannot start a thread: {err}")))?;
        }
        Ok(Running {
            plan,
            booted,
            state,
            request_sender,
            permits: Arc::new(Semaphore::new(concurrency)),
        })
    }
}

/// Runs the program for each queued request, until all senders of requests are dropped.
fn serve(
    booted: &Booted,
    state: Option<&Embedded>,
    request_receiver: &Mutex<Receiver<QueuedRequest>>,
) {
    loop {
        let order = request_receiver.lock().recv();
        let Ok(order) = order else {
            return;
        };
        let QueuedRequest {
            variables,
            body,
            wall_ms,
            ..
        } = &order;
        let output = boot::run(&booted.pool, state, variables, body, *wall_ms);
        drop(order.permit);
        // Sending fails if the client has disconnected. The output is dropped then.
        let _left = order.response.send(output);
    }
}
