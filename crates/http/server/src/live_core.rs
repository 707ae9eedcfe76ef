//! Holder of one core's state, which is replaced after each reload of the service.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::core::Core;
use crate::live::Live;

/// Holder of one core's state. After a reload, the next connection gets a new state.
#[derive(Debug)]
pub struct LiveCore(RefCell<Rc<Core>>);

impl LiveCore {
    /// Creates the state for the reactor's core `reactor`.
    #[must_use]
    pub fn new(live: &Arc<Live>, reactor: reactor::Core) -> LiveCore {
        LiveCore(RefCell::new(Rc::new(Core::new(live, reactor))))
    }

    /// Returns the state for a new connection.
    #[must_use]
    pub fn get(&self) -> Rc<Core> {
        let mut core = self.0.borrow_mut();
        if core.is_superseded() {
            *core = Rc::new(core.renewed());
        }
        Rc::clone(&core)
    }
}
