//! Reload of the HTTP service while the process runs.
//!
//! A [`Service`] is immutable. A reload builds a new service, which shares the library and the
//! variants with the old one. Each core uses the new service from its next connection on.
//! Connections of the old service get one more response, with `Connection: close` or a GOAWAY.
//! Listeners and their schemes are fixed at the start of a process.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::scheme::Scheme;
use crate::service::Service;

/// Holder of the current service.
#[derive(Debug)]
pub struct Live {
    current: Mutex<Arc<Service>>,
    generation: AtomicU64,
    schemes: Box<[Scheme]>,
}

impl Live {
    /// Creates the holder with its first service. `schemes` contains the scheme of each listener,
    /// in the order of the listeners.
    #[must_use]
    pub fn new(service: Arc<Service>, schemes: Box<[Scheme]>) -> Arc<Live> {
        Arc::new(Live {
            current: Mutex::new(service),
            generation: AtomicU64::new(0),
            schemes,
        })
    }

    /// Returns the current service.
    #[must_use]
    pub fn current(&self) -> Arc<Service> {
        Arc::clone(&self.current.lock())
    }

    /// Replaces the current service.
    pub fn replace(&self, service: Arc<Service>) {
        *self.current.lock() = service;
        self.generation.fetch_add(1, Relaxed);
    }

    pub(crate) fn schemes(&self) -> &[Scheme] {
        &self.schemes
    }

    /// Returns the number of calls of [`Live::replace`] so far.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }
}
