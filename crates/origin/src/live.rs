//! Changing what a service is told while it serves.
//!
//! A service never changes; a reload makes another one out of the same parts, and each core takes it up with its next
//! connection. Connections of the old one are answered once more, with `Connection: close`, and come again.

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
}

impl Live {
    /// Begins with `service`.
    #[must_use]
    pub fn new(service: Arc<Service>) -> Arc<Live> {
        Arc::new(Live {
            current: Mutex::new(service),
            generation: AtomicU64::new(0),
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

    /// Grows with each [`Live::replace`].
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }
}

/// A core's share of the service that holds at the moment.
#[derive(Debug)]
pub struct LiveCore {
    live: Arc<Live>,
    schemes: Arc<[Scheme]>,
    core: RefCell<Rc<Core>>,
}

impl LiveCore {
    /// The share of the reactor's core `reactor`, whose listeners speak `schemes`.
    #[must_use]
    pub fn new(live: Arc<Live>, reactor: reactor::Core, schemes: Arc<[Scheme]>) -> LiveCore {
        let core = Core::new(&live, reactor, Arc::clone(&schemes));
        LiveCore {
            live,
            schemes,
            core: RefCell::new(Rc::new(core)),
        }
    }

    /// The share for a new connection.
    #[must_use]
    pub fn get(&self) -> Rc<Core> {
        let mut core = self.core.borrow_mut();
        if core.is_superseded() {
            let (reactor, schemes) = (core.reactor.clone(), Arc::clone(&self.schemes));
            *core = Rc::new(Core::new(&self.live, reactor, schemes));
        }
        Rc::clone(&core)
    }
}
