//! Context of a request: the data that its head does not contain, above all a body that a mount
//! will receive.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http1::Reject;
use tokio::time::Instant;

/// Data of a request that its head does not contain.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) body: Upload,
    pub(crate) peer: IpAddr,
    /// Index of the listener that accepted the connection.
    pub(crate) listener: usize,
    pub(crate) secure: bool,
    /// True if the client's protocol supports bodies of unknown length.
    pub(crate) supports_streaming: bool,
}

/// Request bodies that one core receives for mounts. A body counts towards the limit on their total
/// size until the response to its request is ready.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    /// Total size of the request bodies on this core, in bytes. A body is counted until the
    /// response to its request is ready.
    bytes: Cell<usize>,
    /// Bodies that no mount has received yet, oldest first.
    incoming: RefCell<Vec<Rc<IncomingBody>>>,
}

/// Body that is being received.
#[derive(Debug)]
struct IncomingBody {
    begun: Instant,
    counted: Cell<usize>,
    /// Bytes received so far; `None` after the body was dropped, or passed to a mount.
    bytes: RefCell<Option<Vec<u8>>>,
}

impl Uploads {
    /// Drops the oldest body that has been arriving for at least [`SLOW_TIME`], except `wanted`.
    /// Returns whether such a body existed.
    fn drop_slow_body(&self, wanted: Option<&Rc<IncomingBody>>) -> bool {
        let mut incoming = self.incoming.borrow_mut();
        let is_slow = |it: &Rc<IncomingBody>| {
            SLOW_TIME <= it.begun.elapsed() && wanted.is_none_or(|wanted| !Rc::ptr_eq(it, wanted))
        };
        let Some(at) = incoming.iter().position(is_slow) else {
            return false;
        };
        let slow = incoming.remove(at);
        *slow.bytes.borrow_mut() = None;
        self.bytes.set(self.bytes.get() - slow.counted.take());
        true
    }

    fn forget(&self, removed_body: &Rc<IncomingBody>) {
        self.incoming
            .borrow_mut()
            .retain(|it| !Rc::ptr_eq(it, removed_body));
    }
}

/// Time after which an incomplete body counts as slow, and is dropped if other bodies need its
/// memory. At one megabit per second, a form of one MiB takes eight seconds.
pub(crate) const SLOW_TIME: Duration = Duration::from_secs(10);

/// Rejection of a body that arrived too slowly: RFC 9110 §15.5.9.
pub(crate) const TOO_SLOW: Reject = Reject {
    status: 408,
    reason: "the body arrived too slowly",
};

/// Body of a request to a mount. It counts towards the core's limit until the response is ready.
#[derive(Debug)]
pub(crate) struct Upload {
    /// Received part of the body; `None` until the first bytes arrive.
    incoming: Option<Rc<IncomingBody>>,
    all: Rc<Uploads>,
}

/// Rejection of a slow body that was dropped because other bodies needed its memory.
const BODY_DROPPED: Reject = Reject {
    status: 408,
    reason: "the body arrived too slowly, and other requests needed its memory",
};

impl Upload {
    /// Returns an empty body that is counted in `all`.
    pub(crate) fn new(all: &Rc<Uploads>) -> Upload {
        Upload {
            incoming: None,
            all: Rc::clone(all),
        }
    }

    /// Appends received bytes. All bodies that this core is receiving may hold `all_bytes_max`
    /// together. If they would hold more, slow bodies are dropped. If there is no slow body, this
    /// body is rejected.
    pub(crate) fn add(&mut self, part: &[u8], all_bytes_max: usize) -> Result<(), Reject> {
        const MEMORY_FULL: Reject = Reject {
            status: 503,
            reason: "too many request bodies are being received",
        };
        while all_bytes_max < self.all.bytes.get() + part.len() {
            if !self.all.drop_slow_body(self.incoming.as_ref()) {
                return Err(MEMORY_FULL);
            }
        }
        let incoming = self.incoming.get_or_insert_with(|| {
            let incoming = Rc::new(IncomingBody {
                begun: Instant::now(),
                counted: Cell::new(0),
                bytes: RefCell::new(Some(Vec::new())),
            });
            self.all.incoming.borrow_mut().push(Rc::clone(&incoming));
            incoming
        });
        let mut bytes = incoming.bytes.borrow_mut();
        bytes.as_mut().ok_or(BODY_DROPPED)?.extend_from_slice(part);
        incoming.counted.set(incoming.counted.get() + part.len());
        self.all.bytes.set(self.all.bytes.get() + part.len());
        Ok(())
    }

    /// Removes and returns the received bytes.
    ///
    /// # Errors
    /// If the body was dropped.
    pub(crate) fn take(&mut self) -> Result<Bytes, Reject> {
        let Some(incoming) = &self.incoming else {
            return Ok(Bytes::new());
        };
        self.all.forget(incoming);
        let bytes = incoming.bytes.borrow_mut().take();
        bytes.map(Bytes::from).ok_or(BODY_DROPPED)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(incoming) = &self.incoming {
            self.all.forget(incoming);
            self.all
                .bytes
                .set(self.all.bytes.get() - incoming.counted.get());
        }
    }
}
