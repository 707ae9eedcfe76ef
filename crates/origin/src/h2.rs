//! HTTP/2 by hyper, with the answers of HTTP/1.1.
//!
//! A stream's head is put into the words of HTTP/1.1 and judged by the same rules ([`translate`]), answered by the same
//! code, and the answer's fields put into a `HeaderMap` ([`crate::head`]). Bodies in memory are passed on as they are,
//! files in chunks, a few at a time for each connection ([`body`]).
//!
//! hyper and its `h2` bound heads, streams, resets in the accept queue and frames that want an acknowledgement.
//! [`Pulse`] adds what only we can know: whether a client takes what it asked for, and whether what it sends is more
//! than noise. Deadlines are the connection's own, so that eviction and drain work as they do for HTTP/1.1.

mod body;
mod pulse;
mod translate;
mod wire;

use std::cell::RefCell;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http1::Reject;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use reactor::Conn;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::answer::{Answer, Shape};
use crate::core::Core;
use crate::mount::Came;
use crate::problem::Problem;
use body::Body;
use pulse::{Pulse, Stream, Turn};
pub(crate) use wire::Carrier;
use wire::Wire;

/// What a client sends first: RFC 9113 §3.4.
pub(crate) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bounds of one HTTP/2 connection. A head is bounded as HTTP/1.1's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Streams open at the same time; RFC 9113 §6.5.2 wants 100 at least. Default 100.
    pub streams_max: u32,
    /// Bytes read from files that wait for the client, over all streams; one chunk more is possible. What is sent from
    /// memory is shared and does not count. Default 16 KiB.
    pub buffer_bytes_max: usize,
    /// Answers in the making that are not ready, over all streams; more wait for their turn. Default 32.
    pub making_max: usize,
    /// Bytes a client may send without a new request, or taking anything of an answer. Default 256 KiB.
    pub idle_bytes_max: usize,
    /// Streams given up by the client before their answer was sent, beyond those it took. Default 256.
    pub resets_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            streams_max: 100,
            buffer_bytes_max: 16 << 10,
            making_max: 32,
            idle_bytes_max: 256 << 10,
            resets_max: 256,
        }
    }
}

/// Streams reset by the client while hyper has not looked at them, and streams reset by us for errors of the client's
/// (CVE-2023-44487, CVE-2025-8671). Beyond, GOAWAY.
const RESETS_QUEUED_MAX: usize = 20;
/// The body of a request that nobody reads.
const WINDOW_BYTES: u32 = 64 << 10;

/// Serves `conn`, of which `begun` has been read, until either side ends it.
pub(crate) async fn serve<S>(core: Rc<Core>, conn: Conn<S>, begun: Vec<u8>)
where
    S: Carrier,
{
    let (stream, conn) = conn.swap(());
    let stream = Rc::new(RefCell::new(stream));
    let limits = &core.service.settings.limits;
    let pulse = Rc::new(Pulse::new(conn, limits.h2, limits.connection_requests_max));
    let wire = Wire::new(begun, Rc::clone(&stream), Rc::clone(&pulse));
    let answering = {
        let (core, pulse) = (Rc::clone(&core), Rc::clone(&pulse));
        service_fn(move |request| answer(&core, Stream::open(&core, &pulse), request))
    };
    // Streams end with their connection, whatever they wait for.
    let streams = Rc::new(Streams::default());
    let builder = builder(&core, Begun(Rc::downgrade(&streams)));
    let mut served = pin!(builder.serve_connection(TokioIo::new(wire), answering));
    let mut drained = pin!(core.reactor.drain_begun());
    // A new configuration wakes nobody: as in HTTP/1.1, it is noticed with the next request.
    let mut drain = pin!(poll_fn(|context| match core.is_superseded() {
        true => Poll::Ready(()),
        false => drained.as_mut().poll(context),
    }));
    loop {
        let acked = || stream.borrow().acked_bytes();
        let turn = {
            let both = pin!(running(served.as_mut(), &streams));
            pulse.run(both, drain.as_mut(), acked).await
        };
        match turn {
            Turn::Over => break,
            // RFC 9113 §6.8: a GOAWAY that allows for streams under way, then, a round trip later, the last one.
            Turn::Last => served.as_mut().graceful_shutdown(),
            Turn::Leave => {
                if pulse.is_stuck() {
                    stream.borrow().reset_when_closed();
                }
                served.as_mut().graceful_shutdown();
                pulse.leave(pin!(running(served.as_mut(), &streams))).await;
                break;
            }
        }
    }
    reap(&mut streams.waiting.borrow_mut());
}

/// A connection's streams.
#[derive(Default)]
struct Streams {
    /// Those nobody has looked at yet.
    begun: RefCell<Vec<Pin<Box<dyn Future<Output = ()>>>>>,
    /// Those that wait for something, each a task on its core.
    waiting: RefCell<JoinSet<()>>,
}

impl Streams {
    /// Looks at those that have begun, and says whether there were any. A hit that its client has room for is then over,
    /// and was never a task. The others are looked at again by their own.
    fn run_begun(&self) -> bool {
        let begun = self.begun.take();
        let any = !begun.is_empty();
        let mut context = Context::from_waker(Waker::noop());
        for mut stream in begun {
            if stream.as_mut().poll(&mut context).is_pending() {
                let waiting = &mut *self.waiting.borrow_mut();
                reap(waiting);
                waiting.spawn_local(stream);
            }
        }
        any
    }
}

/// Where hyper puts a connection's streams. All that arrived together begin together, so that their answers leave
/// together.
#[derive(Clone)]
struct Begun(Weak<Streams>);

impl<F> Executor<F> for Begun
where
    F: Future<Output = ()> + 'static,
{
    fn execute(&self, stream: F) {
        if let Some(streams) = self.0.upgrade() {
            streams.begun.borrow_mut().push(Box::pin(stream));
        }
    }
}

/// Runs `served` and the streams it begins.
fn running<F: Future>(
    mut served: Pin<&mut F>,
    streams: &Streams,
) -> impl Future<Output = F::Output> {
    poll_fn(move |context| {
        loop {
            let polled = served.as_mut().poll(context);
            if polled.is_ready() || !streams.run_begun() {
                return polled;
            }
        }
    })
}

/// Takes the streams away that are over. A panic goes on in the connection.
fn reap(streams: &mut JoinSet<()>) {
    while let Some(ended) = streams.try_join_next() {
        if let Err(err) = ended
            && err.is_panic()
        {
            resume_unwind(err.into_panic());
        }
    }
}

fn builder(core: &Core, streams: Begun) -> http2::Builder<Begun> {
    let settings = &core.service.settings;
    let mut builder = http2::Builder::new(streams);
    builder
        .max_concurrent_streams(settings.limits.h2.streams_max)
        .max_header_list_size(settings.http.head_bytes_max as u32)
        .max_pending_accept_reset_streams(RESETS_QUEUED_MAX)
        .max_local_error_reset_streams(RESETS_QUEUED_MAX)
        .max_send_buf_size(settings.limits.h2.buffer_bytes_max)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES);
    builder
}

type Answered = Result<Response<Body>, hyper::Error>;

/// The answer to one stream. What has to be waited for is boxed: a stream that only waits for its client is to be small.
#[expect(
    clippy::large_enum_variant,
    reason = "to box a hit would cost it an allocation"
)]
enum Answering {
    /// Until it is taken.
    Ready(Option<Response<Body>>),
    Making(Pin<Box<dyn Future<Output = Answered>>>),
}

impl Future for Answering {
    type Output = Answered;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answered> {
        match &mut *self {
            Answering::Ready(response) => {
                Poll::Ready(Ok(response.take().expect("polled until it is ready")))
            }
            Answering::Making(making) => making.as_mut().poll(context),
        }
    }
}

fn answer(core: &Rc<Core>, mut stream: Stream, request: Request<Incoming>) -> Answering {
    let (head, body) = request.into_parts();
    stream.asks(&head);
    if body.is_end_stream()
        && let Some(answer) = answer_ready(core, &stream.pulse, &head)
    {
        return Answering::Ready(Some(respond(stream, answer, None)));
    }
    Answering::Making(Box::pin(make(Rc::clone(core), stream, head, body)))
}

/// An answer that needs no waiting: a hit, or that to a head that is refused.
fn answer_ready(core: &Core, pulse: &Pulse, head: &Parts) -> Option<Answer> {
    let mut text = pulse.take_text();
    let answer = match translate::request(head, &mut text, &core.service.settings.http) {
        Ok(request) => core.answer_ready(pulse.listener(), &request),
        Err(reject) => Some(refuse(core, &head.method, reject)),
    };
    pulse.give_back(text);
    answer
}

/// Any other answer, and a head's with a body behind it.
async fn make(core: Rc<Core>, stream: Stream, head: Parts, body: Incoming) -> Answered {
    let pulse = &stream.pulse;
    let mut text = Vec::new();
    let judged = translate::request(&head, &mut text, &core.service.settings.http);
    let mut came = core.came(pulse.listener(), pulse.peer());
    let taken = match judged {
        Ok(request) => {
            let mounted = core.service.mounts.find(request.target.path).is_some();
            let kept = mounted.then_some(&mut came);
            let taken = take(&core, pulse, body, kept).await?;
            taken.map(|()| request)
        }
        Err(reject) => Err(reject),
    };
    let (answer, turn) = match taken {
        Ok(request) => match core.answer_ready(pulse.listener(), &request) {
            Some(answer) => (answer, None),
            None => {
                let turn = pulse.turn().await;
                let answer = core.answer_slowly(&request, &mut came).await;
                (answer, Some(turn))
            }
        },
        Err(reject) => (refuse(&core, &head.method, reject), None),
    };
    Ok(respond(stream, answer, turn))
}

fn respond(
    stream: Stream,
    mut answer: Answer,
    turn: Option<OwnedSemaphorePermit>,
) -> Response<Body> {
    stream.tell_trace(&mut answer);
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(answer.status).expect("an answer has a status");
    *response.headers_mut() = answer.header_map();
    let body = Body::new(stream, answer, turn);
    response.map(|()| body)
}

/// Reads a body, as HTTP/1.1 does: a request is answered when it is whole. It goes to `kept`, or nowhere.
async fn take(
    core: &Core,
    pulse: &Pulse,
    mut body: Incoming,
    mut kept: Option<&mut Came>,
) -> Result<Result<(), Reject>, hyper::Error> {
    const TOO_LARGE: Reject = Reject {
        status: 413,
        reason: "the body is too large",
    };
    const TOO_SLOW: Reject = Reject {
        status: 408,
        reason: "the body took too long",
    };
    let settings = &core.service.settings;
    let mut left = match kept {
        Some(_) => settings.limits.request_body_bytes as u64,
        None => settings.http.body_bytes_max,
    };
    let limits = core.reactor.limits();
    let time = Duration::from_millis(limits.body_ms);
    let mut due = Instant::now() + time;
    let mut window_bytes = 0;
    loop {
        let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let Ok(frame) = timeout_at(due, frame).await else {
            return Ok(Err(TOO_SLOW));
        };
        let Some(frame) = frame else {
            return Ok(Ok(()));
        };
        let frame = frame?;
        let part = frame.data_ref().map_or(&b""[..], |data| data);
        pulse.expected(part.len());
        let Some(still) = left.checked_sub(part.len() as u64) else {
            return Ok(Err(TOO_LARGE));
        };
        left = still;
        if let Some(came) = &mut kept
            && let Err(reject) = came.body.add(part, settings.limits.core_request_body_bytes)
        {
            return Ok(Err(reject));
        }
        window_bytes += part.len() as u64;
        if limits.body_window_bytes() <= window_bytes {
            (window_bytes, due) = (0, Instant::now() + time);
        }
    }
}

fn refuse(core: &Core, method: &http::Method, reject: Reject) -> Answer {
    let problem = Problem::BadRequest {
        status: reject.status,
        phrase: reject.reason,
    };
    let shape = Shape {
        bodiless: method == http::Method::HEAD,
        ..Shape::UNREAD
    };
    core.answer_problem(&problem, shape)
}
