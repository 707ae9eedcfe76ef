//! State of the HTTP service on one core. A cache hit accesses no memory that cores share.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::gate::Verified;
use crate::live::Live;
use crate::ready::ReadyResponses;
use crate::request_context::{RequestContext, Upload, Uploads};
use crate::request_id::RequestId;
use crate::scheme::Scheme;
use crate::service::Service;
use crate::tls::handshakes::Handshakes;

/// State of the HTTP service on one core. It stays on that core's thread.
#[derive(Debug)]
pub struct Core {
    pub(crate) service: Arc<Service>,
    pub(crate) reactor: reactor::Core,
    pub(crate) handshakes: Rc<Handshakes>,
    pub(crate) verified: Verified,
    pub(crate) ready: RefCell<ReadyResponses>,
    requests: Cell<u64>,
    /// Request bodies in memory, with their total size. A body is counted until the response to its
    /// request is ready.
    pub(crate) uploads: Rc<Uploads>,
    live: Arc<Live>,
    generation: u64,
}

impl Core {
    /// Creates the state of the HTTP service for the core `reactor`.
    pub(crate) fn new(live: &Arc<Live>, reactor: reactor::Core) -> Core {
        // The generation is read first, so that a reload between the two reads is noticed.
        let generation = live.generation();
        let service = live.current();
        let limits = &service.settings.limits;
        let ready = ReadyResponses::new(
            limits.core_responses_max,
            limits.core_body_bytes_max,
            service.relevance(),
        );
        let handshakes = Rc::new(Handshakes::new(limits.handshakes_max));
        Core {
            service,
            reactor,
            handshakes,
            verified: Verified::default(),
            ready: RefCell::new(ready),
            requests: Cell::new(0),
            uploads: Rc::default(),
            live: Arc::clone(live),
            generation,
        }
    }

    /// Returns the state of the same core for the current configuration. TLS handshakes in progress
    /// and request bodies in memory stay counted.
    pub(crate) fn renewed(&self) -> Core {
        Core {
            handshakes: Rc::clone(&self.handshakes),
            uploads: Rc::clone(&self.uploads),
            ..Core::new(&self.live, self.reactor.clone())
        }
    }

    pub(crate) fn scheme(&self, listener: usize) -> &Scheme {
        &self.schemes()[listener]
    }

    pub(crate) fn schemes(&self) -> &[Scheme] {
        self.live.schemes()
    }

    /// Returns whether a reload replaced the configuration, so that a connection should close after
    /// its response.
    pub(crate) fn is_superseded(&self) -> bool {
        self.live.generation() != self.generation
    }

    /// Returns the context of a request. The caller adds the body of the request.
    pub(crate) fn request_context(&self, listener: usize, peer: IpAddr) -> RequestContext {
        RequestContext {
            body: Upload::new(&self.uploads),
            supports_streaming: false,
            peer,
            listener,
            secure: matches!(self.scheme(listener), Scheme::Https(_)),
        }
    }

    /// Returns the id of the next request.
    pub(crate) fn next_request_id(&self) -> RequestId {
        let number = self.requests.get() + 1;
        self.requests.set(number);
        RequestId {
            start_unix_ms: self.service.started_unix_ms,
            core: self.reactor.index() as u16,
            number,
        }
    }

    /// Returns the time for the field Date, in Unix seconds.
    pub(crate) fn now_unix_s(&self) -> i64 {
        self.reactor.clock().unix_secs() as i64
    }

    /// Returns the time, on the core's clock, of the next check of a response or login that was
    /// checked just now.
    pub(crate) fn revalidate_at_ms(&self) -> u64 {
        self.reactor.clock().now_ms() + self.service.settings.limits.revalidate_after_ms
    }
}

/// Returns the time since `begun` in microseconds, the unit of the metrics.
pub(crate) fn elapsed_us(begun: Instant) -> u64 {
    let elapsed: Duration = begun.elapsed();
    elapsed.as_micros() as u64
}
