//! State that all requests share.

use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;

use tags::Splits;

use crate::derived::Derived;
use crate::guard::Guard;
use crate::index::Index;
use crate::library_access::LibraryAccess;
use crate::limits::Limits;
use crate::playing::Players;
use crate::renamed::handed_on;
use crate::store::{State, Store};
use crate::visits::Visits;

/// State that all requests share: the library, the users' data, the limits, and data that is kept
/// in memory only.
pub(crate) struct Context {
    pub(crate) library: Arc<dyn LibraryAccess>,
    pub(crate) store: Arc<Store>,
    pub(crate) limits: Limits,
    pub(crate) splits: Splits,
    pub(crate) guard: Guard,
    playing: Mutex<Players>,
    derived: Mutex<Option<Arc<Derived>>>,
    visits: Mutex<Visits>,
}

impl Context {
    pub(crate) fn new(
        library: Arc<dyn LibraryAccess>,
        store: Arc<Store>,
        splits: Splits,
        limits: Limits,
    ) -> Context {
        Context {
            library,
            store,
            guard: Guard::new(&limits),
            limits,
            splits,
            playing: Mutex::default(),
            derived: Mutex::default(),
            visits: Mutex::default(),
        }
    }

    /// Returns the current index and the data derived from the index. The derived data is reused
    /// until the index changes.
    pub(crate) fn index(&self, now_ms: i64) -> (Arc<Index>, Arc<Derived>) {
        let index = self.library.index();
        let mut derived = self.derived.lock();
        let known = derived
            .take()
            .filter(|known| Arc::ptr_eq(&known.index, &index));
        let is_new = known.is_none();
        let known = known.unwrap_or_else(|| Arc::new(Derived::new(&index, now_ms)));
        *derived = Some(Arc::clone(&known));
        drop(derived);
        if is_new {
            self.hand_on_marks(&index);
        }
        (index, known)
    }

    /// Transfers stars and ratings from former ids of albums and artists to their present ids.
    fn hand_on_marks(&self, index: &Index) {
        let is_due = self.store.read(|state| !handed_on(index, state).is_empty());
        let handed = is_due.and_then(|is_due| {
            if is_due {
                let hand_on = |state: &State| Ok::<_, Infallible>(handed_on(index, state));
                let Ok(()) = self.store.change(hand_on)?;
            }
            Ok(())
        });
        if let Err(err) = handed {
            // The stars and ratings stay with the former ids; the next index triggers another
            // attempt.
            tracing::error!(%err, cause = %err.source, "cannot transfer stars and ratings from \
                                                        former ids of albums and artists to new \
                                                        ids; the next scan tries again");
        }
    }

    /// Locks the table of tracks that players play at present, and calls `change` with it.
    pub(crate) fn playing<T>(&self, change: impl FnOnce(&mut Players) -> T) -> T {
        change(&mut self.playing.lock())
    }

    /// Locks the counters of visits to shares, and calls `change` with them.
    pub(crate) fn visits<T>(&self, change: impl FnOnce(&mut Visits) -> T) -> T {
        change(&mut self.visits.lock())
    }
}
