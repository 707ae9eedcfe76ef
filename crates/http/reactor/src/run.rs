//! Runs the cores' threads, from their start until all connections are drained.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use rustix::thread::CpuSet;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::task::coop::unconstrained;
use tokio::task::{JoinError, JoinSet, yield_now};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};
use wall_clock::unix_secs;

use crate::accept::{Accepted, Acceptor};
use crate::address::{AddressLimitReached, Addresses};
use crate::clock::TICK_MS;
use crate::gate::{Arrival, Gate};
use crate::listen::{CoreListeners, CoreSocket};
use crate::open::OpenConnections;
use crate::steering::{ArrivalCounts, SAMPLE, SteeringState};
use crate::{
    Clock, Conn, Core, Counters, Error, Limits, Listeners, Steering, Stop, cores, slice, steering,
};

/// Result of a reactor's drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still busy at the drain's deadline, and were dropped.
    pub dropped: usize,
}

/// Serves until `stop` is triggered and the drain is over. Blocks the calling thread.
///
/// On each core's thread, `start` builds the state of the core and returns the handler of its
/// connections. `shed_response` is sent to a connection that is shed; it may be empty.
///
/// # Errors
/// A core could not be started. In this case, all other cores have stopped.
///
/// # Panics
/// A handler panicked, and the process has no panic hook that ends it, as in tests: the panic
/// continues on the calling thread, after the other cores have drained. In the program, the hook of
/// the crate `report` ends the process at once.
pub fn run<S, H, F>(
    listeners: Listeners,
    limits: &Limits,
    shed_response: &'static [u8],
    stop: &Stop,
    start: S,
) -> Result<Drained, Error>
where
    S: Fn(&Core) -> H + Sync,
    H: Fn(Conn) -> F,
    F: Future<Output = ()> + 'static,
{
    let ids: Vec<_> = listeners.cores.iter().map(|core| core.id).collect();
    let shared = Shared {
        steered: SteeringState::new(listeners.steering, &ids),
        limits: *limits,
        blocking_threads: (limits.blocking_threads_max / listeners.cores.len()).max(1),
        shed_response,
        stop: stop.clone(),
        open: OpenConnections::new(),
        addresses: Arc::new(Addresses::new(
            limits.address_connections_max,
            listeners.exempt,
        )),
        counters: listeners.counters,
        pins: 1 < ids.len(),
        allowed: cores::allowed()
            .map_err(|source| Error::host("cannot read the CPU affinity", source))?,
    };
    let gate = Gate::new(ids.len());
    thread::scope(|scope| {
        let threads: Vec<_> = listeners
            .cores
            .into_iter()
            .enumerate()
            .map(|(index, listeners)| {
                let (shared, start) = (&shared, &start);
                let arrival = Arrival(&gate);
                thread::Builder::new()
                    .name(format!("core-{index}"))
                    .spawn_scoped(scope, move || {
                        // When one core ends, for any reason, all cores stop.
                        let _stop_all = StopOnDrop(&shared.stop);
                        shared.core(index, listeners, start, arrival)
                    })
                    .inspect_err(|_| shared.stop.trigger())
                    .map_err(|source| {
                        Error::host(format!("cannot start thread core-{index}"), source)
                    })
            })
            .collect();
        let mut drained = Drained { dropped: 0 };
        let mut failed = None;
        for thread in threads {
            let ended = thread
                .and_then(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            match ended {
                Ok(dropped) => drained.dropped += dropped,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(drained), Err)
    })
}

/// State shared by all cores.
struct Shared {
    limits: Limits,
    blocking_threads: usize,
    shed_response: &'static [u8],
    stop: Stop,
    open: OpenConnections,
    addresses: Arc<Addresses>,
    counters: Arc<[Counters]>,
    /// True if each core's thread is pinned to its processor. A single core is not pinned.
    /// Otherwise several processes with a single core would share one processor while other
    /// processors are idle.
    pins: bool,
    /// Processors that the process may use, for threads that are not pinned.
    allowed: CpuSet,
    steered: SteeringState,
}

struct StopOnDrop<'a>(&'a Stop);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.trigger();
    }
}

impl Shared {
    fn core<S, H, F>(
        &self,
        index: usize,
        listeners: CoreListeners,
        start: &S,
        arrival: Arrival<'_>,
    ) -> Result<usize, Error>
    where
        S: Fn(&Core) -> H,
        H: Fn(Conn) -> F,
        F: Future<Output = ()> + 'static,
    {
        let CoreListeners { id, sockets } = listeners;
        let failed = |action: &str| {
            let action = format!("{action} of core-{index} on processor {}", id.0);
            move |source| Error::host(action, source)
        };
        if self.pins {
            cores::pin(&cores::only(id)).map_err(failed("cannot pin the thread"))?;
        }
        if let Err(error) = slice::request_low_latency() {
            tracing::debug!(core = index, %error, "cannot set the time slice of the thread");
        }
        let runtime = self
            .runtime(index)
            .map_err(failed("cannot start the runtime"))?;
        let served = runtime.block_on(async {
            let sockets = sockets
                .into_iter()
                .map(|CoreSocket { socket, address }| {
                    TcpListener::from_std(socket).map(|socket| (socket, address))
                })
                .collect::<Result<_, _>>()
                .map_err(failed("cannot register the listeners"))?;
            let clock = Clock::new(0, unix_secs());
            let core = Core::new(index, id, self.limits, clock, Arc::clone(&self.counters));
            let acceptor = Acceptor::new(core.clone(), sockets, self.shed_response)
                .map_err(failed("cannot reserve a spare file descriptor"))?;
            let mut ticks = interval(Duration::from_millis(TICK_MS));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let serving = RunningCore {
                shared: self,
                handler: start(&core),
                core,
                started: Instant::now(),
                steering: self.steered.now(),
                counts_at_decision: ArrivalCounts::default(),
                connections: JoinSet::new(),
                ticks,
            };
            arrival.wait();
            Ok(serving.serve(acceptor).await)
        });
        // Limits the wait for the blocking pool, which may hang on a disk or a network share.
        // Dropping the runtime would wait without limit.
        let left = served.as_ref().map_or(Duration::ZERO, |drained| {
            drained.deadline.saturating_duration_since(Instant::now())
        });
        runtime.shutdown_timeout(left);
        served.map(|drained| drained.dropped)
    }

    fn runtime(&self, index: usize) -> std::io::Result<LocalRuntime> {
        let allowed = self.allowed;
        let counters = Arc::clone(&self.counters);
        Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(self.blocking_threads)
            .thread_name(format!("core-{index}-file"))
            .on_thread_park(move || counters[index].waits.count())
            .on_thread_start(move || {
                // A new thread inherits the processor affinity of the core's thread. Without this
                // call, the new thread could run only on that core's processor, where it would have
                // to wait for the core's thread.
                if let Err(_narrowed) = cores::pin(&allowed) {
                    // Since its start, this process has lost the right to use other processors. The
                    // thread stays on the processor of the core that started it.
                }
            })
            .build_local(LocalOptions::default())
    }
}

/// Result of one core's drain.
struct CoreDrained {
    dropped: usize,
    /// Time at which the drain must be over. The blocking pool may work until then.
    deadline: Instant,
}

/// One running core.
struct RunningCore<'a, H> {
    shared: &'a Shared,
    core: Core,
    /// Time at which the core's clock reads 0.
    started: Instant,
    handler: H,
    connections: JoinSet<()>,
    ticks: Interval,
    /// Steering method that is currently set on this core's listeners.
    steering: Steering,
    /// Counts of arrived and accepted connections at the last decision of `Steering::Auto`.
    counts_at_decision: ArrivalCounts,
}

impl<H, F> RunningCore<'_, H>
where
    H: Fn(Conn) -> F,
    F: Future<Output = ()> + 'static,
{
    async fn serve(mut self, mut acceptor: Acceptor) -> CoreDrained {
        self.core.counters().steering.set(self.steering as u64);
        let stop = self.shared.stop.clone();
        let mut stopped = std::pin::pin!(stop.triggered());
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                _ = self.ticks.tick() => {
                    self.tick();
                    self.steer(&acceptor);
                    acceptor.resume();
                }
                Some(ended) = self.connections.join_next() => self.ended(ended),
                accepted = acceptor.accept() => self.admit(accepted, &acceptor),
            }
        }
        self.drain(acceptor).await
    }

    fn tick(&self) {
        self.core
            .tick(self.started.elapsed().as_millis() as u64, unix_secs());
    }

    /// Applies the current steering method to this core's listeners if the method has changed. Core
    /// 0 also makes the decisions of `Steering::Auto`.
    fn steer(&mut self, acceptor: &Acceptor) {
        let steered = &self.shared.steered;
        if self.core.index() == 0 {
            let accepted: Vec<_> = self
                .shared
                .counters
                .iter()
                .map(Counters::accepted)
                .collect();
            steered.reconsider(&accepted, &mut self.counts_at_decision);
        }
        let now = steered.now();
        if now != self.steering {
            let preferred = (now == Steering::IncomingCpu).then_some(self.core.id());
            if acceptor.prefer(preferred).is_err() {
                // A kernel without this socket option spreads connections by hash.
                return;
            }
            self.steering = now;
        }
        self.core.counters().steering.set(now as u64);
    }

    /// Determines the processor on which a connection arrived, for every `SAMPLE`-th connection of
    /// this core.
    fn sample_arrival(&self, stream: &TcpStream) {
        let counters = self.core.counters();
        if !counters.accepted().is_multiple_of(SAMPLE) {
            return;
        }
        // The kernel cannot report the processor of a connection that is already closed.
        if let Ok(cpu) = steering::arrived_on(stream) {
            counters.located.count();
            if self.shared.steered.note(cpu, self.core.index()) {
                counters.local.count();
            }
        }
    }

    fn admit(&mut self, accepted: Accepted, acceptor: &Acceptor) {
        let address_slot = match self.shared.addresses.count(accepted.peer.ip()) {
            Ok(slot) => slot,
            Err(AddressLimitReached) => {
                self.core.counters().shed_by_address.count();
                return acceptor.shed(accepted.stream);
            }
        };
        let open = &self.shared.open;
        if !open.try_add(self.shared.limits.connections_max) {
            if !self.core.evict() {
                return acceptor.shed(accepted.stream);
            }
            // The evicted connection ends before the core polls its sockets again.
            // `connections_max` is exceeded only until the evicted connection has ended.
            open.add();
        }
        self.sample_arrival(&accepted.stream);
        self.core.counters().accepted.count();
        let conn = Conn::new(accepted, &self.core, address_slot);
        self.connections.spawn_local((self.handler)(conn));
    }

    fn ended(&self, ended: Result<(), JoinError>) {
        self.shared.open.remove();
        self.core.counters().closed.count();
        if let Err(error) = ended
            && error.is_panic()
        {
            resume_unwind(error.into_panic());
        }
    }

    async fn drain(mut self, mut acceptor: Acceptor) -> CoreDrained {
        let deadline = Instant::now() + Duration::from_millis(self.shared.limits.drain_ms_max);
        // tokio notices new connections only when it polls the sockets. Yielding triggers a poll.
        yield_now().await;
        for _ in 0..self.shared.limits.backlog {
            let Some(accepted) = unconstrained(queued(&mut acceptor)).await else {
                break;
            };
            self.admit(accepted, &acceptor);
        }
        drop(acceptor);
        self.core.start_drain();
        while !self.connections.is_empty() {
            tokio::select! {
                biased;
                () = sleep_until(deadline) => break,
                _ = self.ticks.tick() => self.tick(),
                Some(ended) = self.connections.join_next() => self.ended(ended),
            }
        }
        let dropped = self.connections.len();
        self.connections.abort_all();
        while let Some(ended) = self.connections.join_next().await {
            self.ended(ended);
        }
        CoreDrained { dropped, deadline }
    }
}

/// Returns the next connection of the backlog; `None` if there is none.
async fn queued(acceptor: &mut Acceptor) -> Option<Accepted> {
    poll_fn(|context| match acceptor.poll_accept(context) {
        Poll::Ready(accepted) => Poll::Ready(Some(accepted)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
