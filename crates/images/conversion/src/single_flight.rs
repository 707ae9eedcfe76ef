//! Single flight: the work for a key is done once, even if many callers wait for its result.
//!
//! ```text
//! first caller ── lead ────► Leader ─┬─ finish ─► the result  ┐
//!                                    └─ drop ───► `Abandoned` ┴─► every Waiter
//! other callers ─ follow ──► Waiter
//! ```
//!
//! The first caller for a key becomes its leader and must produce a result. All callers, including
//! the first one, get a waiter. A waiter can be dropped at any time, and the leader can check
//! whether any waiter remains. A leader may be dropped without a result, by a panic or because its
//! work was removed from a queue. The key is then free again and the waiters fail, so that no
//! waiter waits for ever.
//!
//! Threads: leaders and waiters may be on any thread. The one lock is held for map operations only.
//! Callers may hold a lock of their own, such as that of a queue, while this lock is taken.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;

use super::sync::{AtomicBool, Mutex};

/// Map of the keys for which work is in progress. `T` is the type of results. `P` is the type of a
/// value through which a leader reports progress to its waiters.
#[derive(Debug)]
pub struct SingleFlight<K: Eq + Hash, T, P = ()> {
    flights: Flights<K, T, P>,
    waiters_max: usize,
}

type Flights<K, T, P> = Arc<Mutex<HashMap<K, Flight<T, P>>>>;

/// Work in progress for one key.
#[derive(Debug)]
struct Flight<T, P> {
    waiters: Vec<oneshot::Sender<T>>,
    progress: Arc<Progress<P>>,
}

/// Progress of the work for one key. The leader and the waiters share it.
#[derive(Debug, Default)]
struct Progress<P> {
    has_started: AtomicBool,
    published: P,
}

/// Handle of the caller that must produce the result for a key.
#[derive(Debug)]
pub struct Leader<K: Eq + Hash, T, P = ()> {
    key: K,
    /// True after [`Leader::finish`] has ended the work for the key. The key may then have another
    /// leader, which the `drop` of this leader must not affect.
    is_finished: bool,
    flights: Flights<K, T, P>,
    progress: Arc<Progress<P>>,
}

/// Handle of one caller that waits for a result.
#[derive(Debug)]
pub struct Waiter<T, P = ()> {
    result: oneshot::Receiver<T>,
    progress: Arc<Progress<P>>,
}

/// Error of a waiter whose leader was dropped without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandoned;

/// Error of a caller that cannot join, because the maximum number of callers already waits for the
/// key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyWaiters;

impl<K: Eq + Hash + Clone, T, P: Default> SingleFlight<K, T, P> {
    /// Returns an empty map with at most `waiters_max` waiters per key.
    #[must_use]
    pub fn new(waiters_max: usize) -> SingleFlight<K, T, P> {
        SingleFlight {
            flights: Arc::default(),
            waiters_max,
        }
    }

    /// Joins the work in progress for `key`. Returns `None` if no work is in progress; the caller
    /// may then start work with [`SingleFlight::lead`].
    ///
    /// # Errors
    /// [`TooManyWaiters`] if too many callers wait for the key.
    pub fn follow(&self, key: &K) -> Result<Option<Waiter<T, P>>, TooManyWaiters> {
        let mut flights = self.flights.lock();
        let Some(flight) = flights.get_mut(key) else {
            return Ok(None);
        };
        flight.waiters.retain(|waiter| !waiter.is_closed());
        if self.waiters_max <= flight.waiters.len() {
            return Err(TooManyWaiters);
        }
        Ok(Some(flight.join()))
    }

    /// Starts work for `key`. Returns the leader and the first waiter.
    ///
    /// # Panics
    /// If the key already has a leader. To prevent that, callers hold one lock around
    /// [`SingleFlight::follow`] and this call.
    pub fn lead(&self, key: K) -> (Leader<K, T, P>, Waiter<T, P>) {
        let mut flight = Flight {
            waiters: Vec::new(),
            progress: Arc::default(),
        };
        let waiter = flight.join();
        let leader = Leader {
            key: key.clone(),
            is_finished: false,
            flights: Arc::clone(&self.flights),
            progress: Arc::clone(&flight.progress),
        };
        let former = self.flights.lock().insert(key, flight);
        assert!(former.is_none(), "one leader per key");
        (leader, waiter)
    }

    /// Returns the number of keys for which work is in progress.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flights.lock().len()
    }

    /// Returns whether no work is in progress.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T, P> Flight<T, P> {
    fn join(&mut self) -> Waiter<T, P> {
        let (sender, result) = oneshot::channel();
        self.waiters.push(sender);
        Waiter {
            result,
            progress: Arc::clone(&self.progress),
        }
    }
}

impl<K: Eq + Hash, T, P> Leader<K, T, P> {
    /// Records that the work has started, for [`Waiter::has_started`].
    pub fn start(&self) {
        self.progress.has_started.store(true, Ordering::Relaxed);
    }

    /// Returns the value through which this leader reports progress to its waiters.
    #[must_use]
    pub fn progress(&self) -> &P {
        &self.progress.published
    }

    /// Returns whether at least one waiter for the result still exists.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        let flights = self.flights.lock();
        let flight = flights.get(&self.key);
        flight.is_some_and(|flight| flight.waiters.iter().any(|waiter| !waiter.is_closed()))
    }

    /// Ends the work for the key and sends `result` to all waiters.
    pub fn finish(mut self, result: &T)
    where
        T: Clone,
    {
        // From here on, a new caller for the key becomes the leader of new work.
        let flight = self.flights.lock().remove(&self.key);
        self.is_finished = true;
        for waiter in flight.into_iter().flat_map(|flight| flight.waiters) {
            // Sending fails if the waiter was dropped, which is not an error.
            let _ = waiter.send(result.clone());
        }
    }
}

impl<K: Eq + Hash, T, P> Drop for Leader<K, T, P> {
    fn drop(&mut self) {
        if !self.is_finished {
            let flight = self.flights.lock().remove(&self.key);
            // Drops the senders, which wakes the waiters. The lock is already released, since no
            // waiter may be woken under the lock.
            drop(flight);
        }
    }
}

impl<T, P> Waiter<T, P> {
    /// Waits for the result. If the returned future is dropped before it is ready, the method may
    /// be called again.
    ///
    /// # Errors
    /// [`Abandoned`] if the leader was dropped without a result.
    pub async fn wait(&mut self) -> Result<T, Abandoned> {
        (&mut self.result).await.map_err(|_| Abandoned)
    }

    /// Returns whether the leader has started the work.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.progress.has_started.load(Ordering::Relaxed)
    }

    /// Returns the value through which the leader reports progress to its waiters.
    #[must_use]
    pub fn progress(&self) -> &P {
        &self.progress.published
    }
}
