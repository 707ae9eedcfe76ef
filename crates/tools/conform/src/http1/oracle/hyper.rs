//! hyper's HTTP/1 server, run over the bytes of one case without a socket or a runtime. It is
//! polled until it neither reads nor responds any more.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use hyper::body::{Body as _, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::http1::reading::{End, ParsedRequest, Reading};

/// The connection counts as idle after this number of polls in a row without progress.
const QUIET_POLLS: u32 = 3;

pub(crate) fn read(bytes: &[u8]) -> Reading {
    let shared = Rc::new(Shared {
        bytes: bytes.to_vec(),
        read_bytes: Cell::new(0),
        events: Cell::new(0),
        requests: RefCell::default(),
        refused: RefCell::default(),
    });
    let service = service_fn(|request| response(Rc::clone(&shared), request));
    let end = poll_until_quiet(&shared, |io| {
        http1::Builder::new().serve_connection(io, service)
    });
    let refused = shared.refused.take();
    Reading {
        requests: shared.requests.take(),
        end: refused.map_or(end, End::Refuses),
    }
}

/// State that the connection and its service share.
struct Shared {
    bytes: Vec<u8>,
    read_bytes: Cell<usize>,
    /// Number of events so far, by which progress is detected.
    events: Cell<u64>,
    requests: RefCell<Vec<ParsedRequest>>,
    /// Error of a refused body, if any. The connection itself then ends without an error.
    refused: RefCell<Option<String>>,
}

impl Shared {
    fn happened(&self) {
        self.events.set(self.events.get() + 1);
    }
}

fn poll_until_quiet<F>(shared: &Rc<Shared>, serve: impl FnOnce(Feed) -> F) -> End
where
    F: Future<Output = Result<(), hyper::Error>>,
{
    let mut connection = pin!(serve(Feed(Rc::clone(shared))));
    let mut context = Context::from_waker(Waker::noop());
    let (mut quiet, mut events) = (0, 0);
    while quiet < QUIET_POLLS {
        match connection.as_mut().poll(&mut context) {
            Poll::Ready(Ok(())) => return End::Closes,
            Poll::Ready(Err(error)) => return End::Refuses(error.to_string()),
            Poll::Pending if shared.events.get() == events => quiet += 1,
            Poll::Pending => (quiet, events) = (0, shared.events.get()),
        }
    }
    End::Waits
}

/// Records the request, reads its body to the end, and responds with an empty body.
async fn response(
    shared: Rc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<String>, Infallible> {
    let (head, mut body) = request.into_parts();
    let at = shared.requests.borrow().len();
    shared.requests.borrow_mut().push(ParsedRequest {
        line: format!("{} {}", head.method, head.uri),
        content_bytes: Some(0),
        whole: false,
    });
    loop {
        let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        shared.happened();
        let mut requests = shared.requests.borrow_mut();
        let seen = &mut requests[at];
        match frame {
            Some(Ok(frame)) => {
                let data = frame.data_ref().map_or(0, |data| data.len() as u64);
                seen.content_bytes = seen.content_bytes.map(|bytes| bytes + data);
            }
            Some(Err(error)) => {
                *shared.refused.borrow_mut() = Some(error.to_string());
                break;
            }
            None => {
                seen.whole = true;
                break;
            }
        }
    }
    Ok(Response::new(String::new()))
}

/// Transport from which hyper reads the bytes of the case. After the last byte, reads stay pending.
/// Written bytes are discarded.
struct Feed(Rc<Shared>);

impl Read for Feed {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let shared = &self.0;
        let rest = &shared.bytes[shared.read_bytes.get()..];
        let count = rest.len().min(buffer.remaining());
        if count == 0 {
            return Poll::Pending;
        }
        buffer.put_slice(&rest[..count]);
        shared.read_bytes.set(shared.read_bytes.get() + count);
        shared.happened();
        Poll::Ready(Ok(()))
    }
}

impl Write for Feed {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.happened();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
