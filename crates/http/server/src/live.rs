//! Changing what a service is told while it serves.
//!
//! A service never changes; a reload makes another one out of the same parts, and each core takes it up with its next
//! connection. Connections of the old one are answered once more, with `Connection: close` or a GOAWAY, and come again.
//! What listens, and what is spoken there, is decided when a process starts.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::core::Core;
use crate::scheme::Scheme;
use crate::service::Service;

/// The service that holds at the moment.
#[derive(Debug)]
pub struct Live {
    current: Mutex<Arc<Service>>,
    generation: AtomicU64,
    schemes: Box<[Scheme]>,
}

impl Live {
    /// Begins with `service`, where the listeners speak `schemes`, in their order.
    #[must_use]
    pub fn new(service: Arc<Service>, schemes: Box<[Scheme]>) -> Arc<Live> {
        Arc::new(Live {
            current: Mutex::new(service),
            generation: AtomicU64::new(0),
            schemes,
        })
    }

    /// The service that holds now.
    #[must_use]
    pub fn current(&self) -> Arc<Service> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another service in its place.
    pub fn replace(&self, service: Arc<Service>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = service;
        self.generation.fetch_add(1, Relaxed);
    }

    /// What each listener speaks.
    pub(crate) fn schemes(&self) -> &[Scheme] {
        &self.schemes
    }

    /// Grows with each [`Live::replace`].
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }
}

/// A core's share of the service that holds at the moment.
#[derive(Debug)]
pub struct LiveCore(RefCell<Rc<Core>>);

impl LiveCore {
    /// The share of the reactor's core `reactor`.
    #[must_use]
    pub fn new(live: &Arc<Live>, reactor: reactor::Core) -> LiveCore {
        LiveCore(RefCell::new(Rc::new(Core::new(live, reactor))))
    }

    /// The share for a new connection.
    #[must_use]
    pub fn get(&self) -> Rc<Core> {
        let mut core = self.0.borrow_mut();
        if core.is_superseded() {
            *core = Rc::new(core.renewed());
        }
        Rc::clone(&core)
    }
}
