//! Memory that conversions on several threads may use together.
//!
//! Threads: any. The lock is held only to change the number.

use parking_lot::{Condvar, Mutex};

/// Estimated memory that is free for conversions. A conversion reserves its part before it starts.
pub(super) struct Budget {
    total_bytes: u64,
    free_bytes: Mutex<u64>,
    freed: Condvar,
}

/// Reserved part of a [`Budget`]; it becomes free when this value is dropped.
pub(super) struct Reservation<'budget> {
    budget: &'budget Budget,
    bytes: u64,
}

impl Budget {
    pub(super) fn new(total_bytes: u64) -> Budget {
        Budget {
            total_bytes,
            free_bytes: Mutex::new(total_bytes),
            freed: Condvar::new(),
        }
    }

    /// Reserves `bytes`, and waits until they are free. If `bytes` exceeds the whole budget, waits
    /// until the whole budget is free: the limit of the cell decides whether the conversion fails.
    pub(super) fn reserve(&self, bytes: u64) -> Reservation<'_> {
        let bytes = bytes.min(self.total_bytes);
        let mut free = self.free_bytes.lock();
        self.freed.wait_while(&mut free, |free| *free < bytes);
        *free -= bytes;
        Reservation {
            budget: self,
            bytes,
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        *self.budget.free_bytes.lock() += self.bytes;
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn reservations_never_exceed_the_budget_and_all_are_made() {
        let budget = Budget::new(100);
        let (reserved, peak, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for number in 0..8 {
                let (budget, reserved, peak, done) = (&budget, &reserved, &peak, &done);
                scope.spawn(move || {
                    for round in 0..50 {
                        // The largest exceed the budget, and run alone.
                        let bytes = 10 + 17 * (number + round) % 120;
                        let reservation = budget.reserve(bytes);
                        let bytes = bytes.min(100);
                        let now = reserved.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        peak.fetch_max(now, Ordering::SeqCst);
                        thread::yield_now();
                        reserved.fetch_sub(bytes, Ordering::SeqCst);
                        drop(reservation);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        let peak = peak.into_inner();
        assert!(peak <= 100, "{peak}");
        assert_eq!(done.into_inner(), 400);
    }
}
