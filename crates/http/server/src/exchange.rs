//! Requests and responses of one HTTP/1.1 connection. One pass reads once, responds to every
//! complete request in the input, and writes once.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use conversion::chunks::CHUNK_BYTES;
use conversion::growing::{Growing, Pieces};
use http1::body::{BodyDecoder, Decoded};
use http1::head::CONTINUE;
use http1::{Connection, Framing, Limits, Method, Reject, Request, Version};
use reactor::{Ended, Wait};
use wall_clock::unix_ms;

use crate::access::{LogRequest, LogResponse};
use crate::archive::Archive;
use crate::batch::{Batch, Entry};
use crate::core::{Core, elapsed_us};
use crate::input::Input;
use crate::metrics::{Protocol, ResponseRecord};
use crate::parted::Parted;
use crate::problem::Problem;
use crate::request_context::{RequestContext, TOO_SLOW};
use crate::response::{Fields, Payload, Response, Shape};
use crate::trace::TraceId;
use crate::transport::Transport;

/// Maximum size of a body that is copied behind its head, in bytes, so that pipelined responses are
/// sent in one write.
const COPY_BYTES_MAX: usize = 16 << 10;

/// Serves HTTP/1.1 on `conn`, which was accepted on `listener`. `input` contains the bytes that
/// were read already.
pub(crate) async fn http1(core: Rc<Core>, mut conn: impl Transport, listener: usize, input: Input) {
    let mut exchange = Exchange {
        core,
        listener,
        input,
        rest: Input::default(),
        in_head: false,
        batch: Batch::default(),
        requests: 0,
        method: Method::Other,
        trace: None,
        lingers: false,
    };
    match exchange.run(&mut conn).await {
        Err(Ended::ShortFile { missing_bytes }) => {
            tracing::warn!(
                missing_bytes,
                "the original shrank while it was sent; the connection was closed"
            );
        }
        Err(Ended::File(err)) => tracing::error!(
            %err,
            "a file cannot be read; the connection was closed"
        ),
        // The client does not read its response, so the connection is reset. The reactor has
        // counted the timeout.
        Err(Ended::TimedOut(Wait::Write)) => conn.abandon(),
        // The client disconnected or timed out, which the reactor has counted.
        Err(_) => {}
        Ok(()) if exchange.lingers => conn.linger().await,
        Ok(()) => conn.close().await,
    }
}

struct Exchange {
    core: Rc<Core>,
    listener: usize,
    /// Received bytes that are not processed yet: at most the beginning of a request.
    input: Input,
    /// Bytes that were read together with the end of a body, and belong to the next request.
    rest: Input,
    /// True if the beginning of a request head had arrived before the last read, so that the
    /// deadline for the head is running.
    in_head: bool,
    /// Responses that are not written yet. The batch holds no memory while the connection waits for
    /// a request.
    batch: Batch,
    /// Number of requests so far.
    requests: u32,
    /// Method of the request in progress, for the metrics.
    method: Method,
    /// Trace of the request in progress, if the request is logged.
    trace: Option<TraceId>,
    /// True if the client may still send bytes when the server closes the connection after its last
    /// response. The bytes are the rest of a request body, or further requests.
    lingers: bool,
}

/// Next step of a connection after a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Request,
    Close,
}

/// Result of handling one request.
struct Step {
    /// Number of bytes of the input that the request occupied.
    consumed_bytes: usize,
    next: Next,
    /// Body that must still be written. Its head is already in [`Batch::out`]. `None` if there is
    /// no body, or if the body was copied behind its head.
    payload: Option<Payload>,
}

impl Exchange {
    async fn run(&mut self, conn: &mut impl Transport) -> Result<(), Ended> {
        let mut has_input = !self.input.is_empty() || self.read(conn).await?;
        while has_input {
            let begun = Instant::now();
            self.batch = Batch::take();
            let next = self.respond_and_write(conn).await;
            // A response that was not written completely is counted too.
            let answered = self.count(begun);
            std::mem::take(&mut self.batch).give_back();
            if next? == Next::Close {
                return Ok(());
            }
            if self.input.is_empty() {
                conn.deadline().arm(Wait::Idle);
            } else if answered || !self.in_head {
                // The deadline starts once per head: a client that sends single bytes gets no extra
                // time.
                conn.deadline().arm(Wait::Head);
            }
            self.in_head = !self.input.is_empty();
            has_input = match self.read(conn).await {
                Err(Ended::TimedOut(Wait::Head)) => return self.refuse_slow_head(conn).await,
                read => read?,
            };
        }
        Ok(())
    }

    /// Responds with 408 to a client whose request did not arrive in time. RFC 9110 §15.5.9.
    async fn refuse_slow_head(&mut self, conn: &mut impl Transport) -> Result<(), Ended> {
        const TOO_SLOW: Reject = Reject {
            status: 408,
            reason: "the request arrived too slowly",
        };
        let begun = Instant::now();
        self.batch = Batch::take();
        self.log_request(LogRequest::unread, conn);
        self.refuse(TOO_SLOW, 0);
        let written = self.write(conn).await;
        self.count(begun);
        std::mem::take(&mut self.batch).give_back();
        written
    }

    /// Reads once. Returns `false` if the client closed its side.
    async fn read(&mut self, conn: &mut impl Transport) -> Result<bool, Ended> {
        Ok(self.input.read(conn).await? != 0)
    }

    /// Responds to the requests in the input, and writes the responses.
    async fn respond_and_write(&mut self, conn: &mut impl Transport) -> Result<Next, Ended> {
        let next = self.serve_input(conn).await?;
        self.write(conn).await?;
        Ok(next)
    }

    /// Responds to every complete request in the input. An incomplete request at the end stays in
    /// the input.
    async fn serve_input(&mut self, conn: &mut impl Transport) -> Result<Next, Ended> {
        loop {
            let mut input = std::mem::take(&mut self.input);
            let mut begin = 0;
            let mut next = Next::Request;
            while next == Next::Request && begin < input.bytes().len() {
                if self.awaits_body(&input.bytes()[begin..]) {
                    input.drop_front(begin);
                    begin = 0;
                    input.rest();
                }
                let first = self.serve_first(conn, &input.bytes()[begin..]).await?;
                let Some(step) = first else { break };
                begin += step.consumed_bytes;
                next = step.next;
                if let Some(payload) = step.payload {
                    // The input buffer is freed before the body is sent, since a slow client may
                    // take long to read the body.
                    input.drop_front(begin);
                    begin = 0;
                    self.send(conn, payload).await?;
                }
            }
            input.drop_front(begin);
            self.input = input;
            // If the body extended beyond the input, the last read of the body may also have
            // returned the beginning of the next request.
            if self.rest.is_empty() || next == Next::Close {
                return Ok(next);
            }
            self.input = std::mem::take(&mut self.rest);
        }
    }

    /// Returns whether `input` begins with a request whose body is incomplete, so that the input
    /// must be kept while the body arrives.
    fn awaits_body(&self, input: &[u8]) -> bool {
        // GET and HEAD requests rarely have a body. Parsing their heads here, and again later,
        // would waste time.
        if input.starts_with(b"GET ") || input.starts_with(b"HEAD ") {
            return false;
        }
        let parsed = http1::parse(input, &self.core.service.settings.http);
        parsed.is_ok_and(|request| {
            request.is_some_and(|request| match request.framing {
                Framing::None => false,
                Framing::Chunked => true,
                Framing::Length(length) => (input.len() - request.head_bytes) as u64 <= length,
            })
        })
    }

    /// Responds to the first request in `input` and returns the number of bytes that the request
    /// occupied. Returns `None` while the request is incomplete.
    async fn serve_first(
        &mut self,
        conn: &mut impl Transport,
        input: &[u8],
    ) -> Result<Option<Step>, Ended> {
        let limits = &self.core.service.settings.limits;
        if limits.queued_bytes_max <= self.batch.out.len() {
            self.write(conn).await?;
        }
        match http1::parse(input, &self.core.service.settings.http) {
            Ok(None) => Ok(None),
            Ok(Some(request)) => self.respond(conn, &request, input).await.map(Some),
            Err(reject) => {
                self.log_request(LogRequest::unread, conn);
                Ok(Some(self.refuse(reject, input.len())))
            }
        }
    }

    /// Responds to `request`, the first request in `input`.
    async fn respond(
        &mut self,
        conn: &mut impl Transport,
        request: &Request<'_>,
        input: &[u8],
    ) -> Result<Step, Ended> {
        conn.deadline().disarm();
        let mut consumed_bytes = request.head_bytes;
        let (head, after) = input.split_at(consumed_bytes);
        self.log_request(|peer| LogRequest::of(request, head, peer), conn);
        self.method = request.method;
        let mut context = self.core.request_context(self.listener, conn.remote());
        context.supports_streaming = request.version == Version::Http11;
        // Only mounts, the handlers of paths outside the library, read bodies. A client that sent
        // `Expect: 100-continue` waits before it sends the body. If no mount has the path, the
        // client gets the response at once, and need not send the body.
        let has_body = request.framing != Framing::None;
        let wanted = has_body && self.core.service.mounts.find(request.target.path).is_some();
        let mut unread = request.expect_continue && has_body && !wanted;
        if has_body && !unread {
            let kept = wanted.then_some(&mut context);
            // The future is boxed, so that it does not enlarge every connection's task.
            match Box::pin(self.take_body(conn, request, after, kept)).await? {
                Ok(bytes) => consumed_bytes += bytes,
                // The response does not depend on the body, and the body is too long to wait for,
                // so it remains unread.
                Err(reject) if reject.status == 413 && !wanted => unread = true,
                Err(reject) => return Ok(self.refuse(reject, consumed_bytes)),
            }
        }
        self.requests = self.requests.saturating_add(1);
        let core = Rc::clone(&self.core);
        let ready = core.lookup(self.listener, request);
        let mut response = match ready {
            Some(response) => response,
            None => {
                // Earlier responses must not wait for a conversion.
                self.write(conn).await?;
                // The future is boxed, so that it does not enlarge every connection's task.
                Box::pin(core.respond(request, &mut context)).await
            }
        };
        response.complete(&core.service.settings.headers);
        if let Some(trace) = self.trace {
            trace.add_field(&mut response, || core.next_request_id());
        }
        let last = unread || self.is_last(request, conn);
        // The client may still send the rest of the body. If it wants to keep the connection, it
        // may also send further requests. The server reads these bytes before it closes the socket:
        // closing with unread bytes would reset the connection, and the client could lose the
        // response.
        self.lingers = unread || last && request.keep_alive;
        let connection = if last {
            Connection::Close
        } else {
            request.connection()
        };
        if let (Payload::Growing(_), Fields::Listed(fields)) =
            (&response.payload, &mut response.fields)
        {
            fields.push(("transfer-encoding".into(), "chunked".into()));
        }
        self.write_head(&response, connection);
        self.note(&response);
        Ok(Step {
            consumed_bytes,
            next: if last { Next::Close } else { Next::Request },
            payload: self.copy(response.payload),
        })
    }

    /// Returns whether the connection closes after the response to `request`. Called after the
    /// response was prepared, since a drain may have started during the preparation.
    fn is_last(&self, request: &Request<'_>, conn: &mut impl Transport) -> bool {
        let requests_max = self.core.service.settings.limits.connection_requests_max;
        !request.keep_alive
            || requests_max <= self.requests
            || conn.deadline().is_evicted()
            || self.core.is_superseded()
            || self.core.reactor.is_draining()
    }

    /// Reads a request body: first the bytes in `after`, which have arrived already, then the
    /// remaining bytes. The content is stored in `kept`, or dropped if `kept` is `None`. Returns
    /// the number of bytes of the input that the body occupied.
    async fn take_body(
        &mut self,
        conn: &mut impl Transport,
        request: &Request<'_>,
        after: &[u8],
        kept: Option<&mut RequestContext>,
    ) -> Result<Result<usize, Reject>, Ended> {
        let waits = request.expect_continue && after.is_empty();
        let mut body = match Body::new(&self.core, request.framing, kept) {
            Ok(body) => body,
            Err(reject) => return Ok(Err(reject)),
        };
        let mut drained = match body.feed(after) {
            Ok(drained) if drained.is_done => return Ok(Ok(drained.bytes)),
            Ok(drained) => drained,
            Err(reject) => return Ok(Err(reject)),
        };
        if waits {
            self.batch.out.extend_from_slice(CONTINUE);
        }
        // Earlier responses must not wait for a body that may never arrive.
        self.write(conn).await?;
        conn.deadline().arm(Wait::Body);
        while !drained.is_done {
            // The body has not ended, so all bytes read before belong to the body and have been
            // processed.
            self.rest.drop_front(self.rest.bytes().len());
            let read = match self.rest.read(conn).await {
                Err(Ended::TimedOut(Wait::Body)) => return Ok(Err(TOO_SLOW)),
                read => read?,
            };
            if read == 0 {
                return Err(Ended::Socket(io::ErrorKind::UnexpectedEof.into()));
            }
            conn.deadline().note_body_bytes(read);
            drained = match body.feed(self.rest.bytes()) {
                Ok(drained) => drained,
                Err(reject) => return Ok(Err(reject)),
            };
        }
        self.rest.drop_front(drained.bytes);
        conn.deadline().disarm();
        Ok(Ok(after.len()))
    }

    /// Rejects a request that occupied `consumed_bytes` bytes of the input.
    fn refuse(&mut self, reject: Reject, consumed_bytes: usize) -> Step {
        let problem = Problem::BadRequest {
            status: reject.status,
            phrase: reject.reason,
        };
        let mut response = self.core.problem_response(&problem, Shape::UNPARSED);
        response.complete(&self.core.service.settings.headers);
        if let Some(trace) = self.trace {
            trace.add_field(&mut response, || self.core.next_request_id());
        }
        self.write_head(&response, Connection::Close);
        if let Payload::Owned(text) = &response.payload {
            self.batch.out.extend_from_slice(text);
        }
        self.note(&response);
        self.lingers = true;
        Step {
            consumed_bytes,
            next: Next::Close,
            payload: None,
        }
    }

    fn write_head(&mut self, response: &Response, connection: Connection) {
        let date = self.core.reactor.clock().http_date();
        response.write_head(&mut self.batch.out, &date, connection);
    }

    /// Adds to the batch the record of `response`, whose head is in [`Batch::out`].
    fn note(&mut self, response: &Response) {
        let id = response.request_id;
        self.batch.entries.push(Entry {
            record: ResponseRecord {
                method: self.method,
                status: response.status,
                served: response.served,
                body_bytes: response.payload.len(),
                saved_bytes: response.saved_bytes(),
            },
            id: id.unwrap_or_else(|| self.core.next_request_id()),
            request_log_end: self.batch.request_log.len(),
        });
    }

    /// Appends `payload` to its head in [`Batch::out`] if the body is small. Otherwise returns
    /// `payload`.
    fn copy(&mut self, payload: Payload) -> Option<Payload> {
        let bytes = match &payload {
            Payload::None => return None,
            Payload::Owned(bytes) => &**bytes,
            Payload::Memory(bytes, range) => &bytes[range.clone()],
            Payload::File(..)
            | Payload::Sealed(..)
            | Payload::Parted(_)
            | Payload::Growing(_)
            | Payload::Archive(_) => {
                return Some(payload);
            }
        };
        if COPY_BYTES_MAX < bytes.len() {
            return Some(payload);
        }
        self.batch.out.extend_from_slice(bytes);
        None
    }

    /// Writes [`Batch::out`], whose last head is that of `payload`. Then writes `payload`, and adds
    /// the number of body bytes written to the record of the response.
    async fn send(&mut self, conn: &mut impl Transport, payload: Payload) -> Result<(), Ended> {
        let out = &mut self.batch.out;
        let length = payload.len();
        let begin = conn.written_bytes() + out.len() as u64;
        let mut pieces_bytes = 0;
        let sent = match payload {
            Payload::None => Ok(()),
            Payload::Owned(bytes) => {
                let parts = &mut [IoSlice::new(out), IoSlice::new(&bytes)];
                conn.write_all(parts).await
            }
            Payload::Memory(bytes, range) => {
                let parts = &mut [IoSlice::new(out), IoSlice::new(&bytes[range])];
                conn.write_all(parts).await
            }
            Payload::File(file, range) => conn.write_file(out, &file, range).await,
            Payload::Sealed(sealed, range) => conn.write_file(out, &sealed.file, range).await,
            // The future is boxed, so that it does not enlarge every connection's task.
            Payload::Parted(parted) => Box::pin(send_parted(conn, out, *parted)).await,
            // The future is boxed, so that it does not enlarge every connection's task.
            Payload::Growing(growing) => {
                Box::pin(send_pieces(conn, out, growing, &mut pieces_bytes)).await
            }
            Payload::Archive(archive) => Box::pin(send_archive(conn, out, archive)).await,
        };
        out.clear();
        if let Some(entry) = self.batch.entries.last_mut() {
            let written = conn.written_bytes().saturating_sub(begin);
            entry.record.body_bytes = pieces_bytes.max(written.min(length));
        }
        sent
    }

    async fn write(&mut self, conn: &mut impl Transport) -> Result<(), Ended> {
        let out = &mut self.batch.out;
        if !out.is_empty() {
            conn.write_all(&mut [IoSlice::new(out)]).await?;
            out.clear();
        }
        Ok(())
    }

    /// Counts and logs the responses of the batch. `begun` is the time at which the preparation of
    /// these responses started. Returns whether the batch contained any response.
    fn count(&mut self, begun: Instant) -> bool {
        let answered = !self.batch.entries.is_empty();
        let duration_us = elapsed_us(begun);
        let core = self.core.reactor.index();
        let service = &self.core.service;
        let metrics = service.metrics.core(core);
        for one in &self.batch.entries {
            metrics.record(&one.record, duration_us);
            metrics.record_protocol(Protocol::Http1);
        }
        if let Some(access) = &service.access {
            let unix_ms = unix_ms();
            let mut begin = 0;
            for entry in &self.batch.entries {
                let log_response = LogResponse::to(&entry.record, entry.id, duration_us, unix_ms);
                access.add(
                    core,
                    &self.batch.request_log[begin..entry.request_log_end],
                    &log_response,
                );
                begin = entry.request_log_end;
            }
        }
        answered
    }

    /// Records the request for the access log, unless the log is off.
    fn log_request<'a>(
        &mut self,
        request_log: impl FnOnce(IpAddr) -> LogRequest<'a>,
        conn: &impl Transport,
    ) {
        if let Some(access) = &self.core.service.access {
            let mut request_log = request_log(conn.remote());
            request_log.target = self.core.service.mounts.loggable(request_log.target);
            request_log.write(access.field_bytes_max(), &mut self.batch.request_log);
            self.trace = request_log.traceparent.as_ref().map(TraceId::of);
        }
    }
}

/// Writes `head`, and then the body in chunks: a track that is still being transcoded. RFC 9112
/// §7.1 requires chunks for a body of unknown length. Adds the number of body bytes written to
/// `sent_bytes`.
async fn send_pieces(
    conn: &mut impl Transport,
    head: &[u8],
    growing: Arc<Growing>,
    sent_bytes: &mut u64,
) -> Result<(), Ended> {
    let mut pieces = Pieces::new(growing);
    let mut head = head;
    loop {
        let next = poll_fn(|context| pieces.poll_next(CHUNK_BYTES, context));
        let (piece, is_last) = next.await?;
        let begin = format!("{:x}\r\n", piece.len());
        let (begin, behind) = match piece.is_empty() {
            true => ("", ""),
            false => (&*begin, "\r\n"),
        };
        let end = if is_last { "0\r\n\r\n" } else { "" };
        let parts = [
            head,
            begin.as_bytes(),
            &piece,
            behind.as_bytes(),
            end.as_bytes(),
        ];
        conn.write_all(&mut parts.map(IoSlice::new)).await?;
        *sent_bytes += piece.len() as u64;
        if is_last {
            return Ok(());
        }
        head = &[];
    }
}

/// Writes `head` and then an archive, whose length the head states.
async fn send_archive(
    conn: &mut impl Transport,
    head: &[u8],
    mut archive: Box<Archive>,
) -> Result<(), Ended> {
    let mut head = head;
    loop {
        let piece = poll_fn(|context| archive.poll_next(CHUNK_BYTES, context)).await?;
        let mut parts = [IoSlice::new(head), IoSlice::new(&piece)];
        conn.write_all(&mut parts).await?;
        if archive.left() == 0 {
            return Ok(());
        }
        head = &[];
    }
}

/// Writes `head` and then several ranges of a file.
async fn send_parted(
    conn: &mut impl Transport,
    head: &[u8],
    mut parted: Parted,
) -> Result<(), Ended> {
    let mut head = head;
    loop {
        let (piece, is_last) = poll_fn(|context| parted.poll_next(CHUNK_BYTES, context)).await?;
        let parts = [head, &piece];
        conn.write_all(&mut parts.map(IoSlice::new)).await?;
        if is_last {
            return Ok(());
        }
        head = &[];
    }
}

/// Body of a request, which is passed to a mount or dropped.
struct Body<'a> {
    drain: BodyDecoder,
    kept: Option<&'a mut RequestContext>,
    all_bytes_max: usize,
}

impl<'a> Body<'a> {
    fn new(
        core: &Core,
        framing: Framing,
        kept: Option<&'a mut RequestContext>,
    ) -> Result<Body<'a>, Reject> {
        let settings = &core.service.settings;
        let body_bytes_max = match kept {
            Some(_) => settings.limits.request_body_bytes as u64,
            None => settings.http.body_bytes_max,
        };
        let limits = Limits {
            body_bytes_max,
            ..settings.http
        };
        Ok(Body {
            drain: BodyDecoder::new(framing, &limits)?,
            kept,
            all_bytes_max: settings.limits.core_request_body_bytes,
        })
    }

    fn feed(&mut self, piece: &[u8]) -> Result<Decoded, Reject> {
        let Some(context) = &mut self.kept else {
            return self.drain.feed(piece);
        };
        let mut added = Ok(());
        let drained = self.drain.feed_to(piece, |part| {
            if added.is_ok() {
                added = context.body.add(part, self.all_bytes_max);
            }
        })?;
        added.map(|()| drained)
    }
}
