//! Loop of one HTTP/2 connection: handle the received frames, write what is ready, repeat.

use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use http1::Reject;
use http2::hpack::EncodedField;
use http2::{Connection, ErrorCode, Event, Fault};
use reactor::Conn;
use tokio::time::{Sleep, sleep_until};

use super::completed_stream::{CompletedStream, RequestInfo};
use super::flood_guard::{FloodGuard, Work};
use super::outgoing::{Outgoing, Piece};
use super::pending::{PendingRequest, PendingResponses};
use super::sending::Sending;
use super::translate;
use super::upload::Upload;
use super::wire::Carrier;
use crate::core::Core;
use crate::input::Input;
use crate::problem::Problem;
use crate::request_context::TOO_SLOW;
use crate::response::{Payload, Response, Shape};

/// Maximum size, in bytes, of a body or body part that is copied behind its head into the buffer of
/// frames. Longer ones are queued by reference.
const COPY_BYTES_MAX: usize = 4 << 10;
/// Number of unwritten bytes at which no more body parts are queued. The limit lets streams
/// alternate, and stops a response soon after the client resets its stream.
const QUEUED_BYTES_MAX: usize = 128 << 10;
/// Maximum number of unwritten bytes in the buffer of frames. Above this number, no more input is
/// read. Most of these bytes are replies to frames such as PING.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Maximum number of finished responses that are collected before they are counted.
const DONE_MAX: usize = 256;

/// State of an HTTP/2 connection.
pub(super) struct Session<'c, S> {
    core: &'c Rc<Core>,
    conn: &'c Conn<()>,
    pub(super) stream: S,
    http2: Connection,
    input: Input,
    out: Outgoing,
    /// Responses whose bodies are not yet queued completely. Their next parts are queued in turn.
    sending: VecDeque<Sending>,
    /// Responses that are queued completely, or that were cut off. They are counted after the queue
    /// is written.
    done: Vec<CompletedStream>,
    pending: PendingResponses,
    uploads: Vec<Upload>,
    /// Timer for the upload whose time limit ends first.
    upload_due: Option<Pin<Box<Sleep>>>,
    flood_guard: FloodGuard,
    /// Number of bytes that the client's TCP had acknowledged at the last check of its reading
    /// speed.
    acked_bytes: Cell<u64>,
    requests: u32,
    /// Buffer for a request head that was converted to HTTP/1.1 text.
    text: Vec<u8>,
    /// Current date, and the Date field encoded from it.
    date: Option<([u8; 29], EncodedField)>,
    /// Time at which bytes were last received.
    now: Instant,
    state: State,
    /// True if the client closed its sending side.
    has_ended: bool,
    /// True if the GOAWAY for the client's error was sent, or could not be sent.
    is_goaway_done: bool,
    needs_flush: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Serving,
    /// A GOAWAY was sent; open streams finish.
    Leaving,
    /// The final GOAWAY was sent: streams that the client opens later are ignored.
    Left,
    /// The client made an error and gets a GOAWAY.
    Failed,
    /// The socket failed.
    Broken,
}

impl<'c, S: Carrier> Session<'c, S> {
    pub(super) fn new(core: &'c Rc<Core>, conn: &'c Conn<()>, stream: S, begun: Input) -> Self {
        let settings = &core.service.settings;
        let limits = settings.limits.h2;
        let http2 = Connection::new(http2::Limits {
            streams_max: limits.streams_max,
            head_bytes_max: settings.http.head_bytes_max,
            ..http2::Limits::default()
        });
        let mut out = Outgoing::default();
        http2.begin(out.text());
        let mut session = Session {
            core,
            conn,
            stream,
            http2,
            input: begun,
            out,
            sending: VecDeque::new(),
            done: Vec::new(),
            pending: PendingResponses::default(),
            uploads: Vec::new(),
            upload_due: None,
            flood_guard: FloodGuard::new(limits, core.reactor.limits().write_window_bytes()),
            acked_bytes: Cell::new(0),
            requests: 0,
            text: Vec::new(),
            date: None,
            now: Instant::now(),
            state: State::Serving,
            has_ended: false,
            is_goaway_done: false,
            needs_flush: false,
        };
        if !session.input.is_empty() {
            session.receive();
        }
        session
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.state != State::Serving
    }

    /// Returns whether the number of requests has reached the connection's limit plus `more`.
    pub(super) fn has_reached_request_limit(&self, more: u32) -> bool {
        let requests_max = self.core.service.settings.limits.connection_requests_max;
        requests_max.saturating_add(more) <= self.requests
    }

    /// Returns whether a GOAWAY, the last frame of a connection, can still reach the client: the
    /// socket works, the client has not closed its side, and all queued bytes were written.
    pub(super) fn is_sound(&self) -> bool {
        self.state != State::Broken && !self.has_ended && self.is_written()
    }

    /// Returns whether the connection ended because the client made an error or sent a flood of
    /// frames.
    pub(super) fn is_at_fault(&self) -> bool {
        self.state == State::Failed
    }

    fn is_written(&self) -> bool {
        self.out.is_empty() && !self.needs_flush
    }

    /// Returns whether the deadline for writing is armed and the client has acknowledged bytes at
    /// the minimum rate since the previous call. The first call counts from the start of the
    /// connection, so it may return true for a slow client.
    pub(super) fn reads_fast_enough(&self) -> bool {
        self.conn.deadline.is_armed(reactor::Wait::Write)
            && self.stream.acked_bytes().is_ok_and(|acked| {
                let before = self.acked_bytes.replace(acked);
                self.core.reactor.limits().write_window_bytes() <= acked.saturating_sub(before)
            })
    }

    /// Sends a GOAWAY, which requests that the client open no more streams: RFC 9113 §6.8.
    pub(super) fn leave(&mut self) {
        self.state = State::Leaving;
        self.http2.leave(self.out.text());
    }

    /// Sends the final GOAWAY. Afterwards the caller, not the session, controls the deadline.
    pub(super) fn leave_now(&mut self) {
        if !matches!(self.state, State::Failed | State::Broken) {
            self.state = State::Left;
            self.http2.leave_now(self.out.text());
        }
    }

    /// Makes all progress that is possible without waiting. Returns `Ready` when the connection is
    /// over.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut has_progressed = false;
            if self.state != State::Failed {
                has_progressed |= self.poll_answers(context);
                self.queue_body_parts(context);
            }
            has_progressed |= self.poll_write(context);
            has_progressed |= self.poll_read(context);
            if self.is_over() {
                return Poll::Ready(());
            }
            if !has_progressed {
                break;
            }
        }
        if self.out.is_empty() {
            self.out.rest();
        }
        self.input.rest();
        self.conn.deadline.set_queued(self.out.own_bytes());
        if self.state != State::Left {
            let work = Work {
                is_preparing: self.pending.len() + self.uploads.len() != 0,
                sends: !self.sending.is_empty() || !self.out.is_empty(),
                has_partial_input: !self.input.is_empty() || self.http2.is_in_head(),
            };
            self.flood_guard.arm_deadline(&self.conn.deadline, work);
        }
        Poll::Pending
    }

    fn is_over(&self) -> bool {
        match self.state {
            State::Broken => true,
            // After a failure, the connection is over once the GOAWAY was sent. The server does not
            // wait until the client reads the GOAWAY.
            State::Failed => self.is_goaway_done,
            _ if self.has_ended => self.is_written() && self.http2.streams() == 0,
            _ => self.is_written() && self.http2.is_over(),
        }
    }

    /// Sends responses that are ready, and starts to prepare responses to waiting requests.
    fn poll_answers(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_progressed = false;
        while let Some((stream, request_info, response)) = self.pending.poll_response(context) {
            self.send_response(stream, request_info, response);
            has_progressed = true;
        }
        let owned = self.sending.iter().filter(|it| it.is_owned()).count();
        let running_max = self.core.service.settings.limits.h2.running_max;
        has_progressed |= self
            .pending
            .begin(self.core, running_max.saturating_sub(owned));
        has_progressed | self.poll_uploads(context)
    }

    /// Sends an error response to each upload that is too slow.
    fn poll_uploads(&mut self, context: &mut Context<'_>) -> bool {
        let Some(first) = self.uploads.iter().map(|upload| upload.due).min() else {
            self.upload_due = None;
            return false;
        };
        let sleep = self
            .upload_due
            .get_or_insert_with(|| Box::pin(sleep_until(first)));
        if sleep.deadline() != first {
            sleep.as_mut().reset(first);
        }
        if sleep.as_mut().poll(context).is_pending() {
            return false;
        }
        let (late, rest) = std::mem::take(&mut self.uploads)
            .into_iter()
            .partition(|upload: &Upload| upload.due <= first);
        self.uploads = rest;
        for upload in late {
            self.refuse(upload.stream, upload.request_info, TOO_SLOW);
        }
        true
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_progressed = false;
        self.is_goaway_done = self.state == State::Failed;
        while !self.out.is_empty() {
            match self.out.poll_write(self.stream.stream(), context) {
                Poll::Pending => return has_progressed,
                Poll::Ready(Err(_)) => {
                    self.state = State::Broken;
                    return true;
                }
                Poll::Ready(Ok(_)) => {
                    self.flood_guard
                        .note_body_bytes_written(self.out.take_written());
                    self.needs_flush = true;
                    has_progressed = true;
                }
            }
        }
        if self.needs_flush {
            let flushed = Pin::new(self.stream.stream());
            match tokio::io::AsyncWrite::poll_flush(flushed, context) {
                Poll::Pending => return has_progressed,
                Poll::Ready(Err(_)) => self.state = State::Broken,
                Poll::Ready(Ok(())) => self.needs_flush = false,
            }
            count(self.core, &mut self.done);
        }
        has_progressed
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> bool {
        if self.has_ended || self.state == State::Failed || TEXT_BYTES_MAX < self.out.text_bytes() {
            return false;
        }
        match self.input.poll_read(self.stream.stream(), context) {
            Poll::Pending => false,
            Poll::Ready(Err(_)) => {
                self.state = State::Broken;
                true
            }
            Poll::Ready(Ok(0)) => {
                self.has_ended = true;
                true
            }
            Poll::Ready(Ok(_)) => {
                self.receive();
                true
            }
        }
    }

    /// Processes every complete frame of the input.
    fn receive(&mut self) {
        self.now = Instant::now();
        let mut input = std::mem::take(&mut self.input);
        let mut begin = 0;
        while self.state != State::Failed {
            match self.http2.receive(&input.bytes()[begin..], self.out.text()) {
                Ok(None) => break,
                Ok(Some(received)) => {
                    begin += received.bytes;
                    self.flood_guard.note_received(received.bytes);
                    if let Some(event) = received.event {
                        self.take(event);
                    }
                    if self.flood_guard.is_abused() {
                        const FLOOD: Fault = Fault {
                            code: ErrorCode::EnhanceYourCalm,
                            reason: "too many stream resets, or too many frames that carry no request",
                        };
                        self.fail(FLOOD);
                    }
                }
                Err(fault) => self.fail(fault),
            }
        }
        input.drop_front(begin);
        self.input = input;
    }

    fn fail(&mut self, fault: Fault) {
        tracing::debug!(peer = %self.conn.peer, ?fault, "HTTP/2 connection ended");
        self.http2.fail(fault, self.out.text());
        self.state = State::Failed;
        self.done
            .extend(self.sending.drain(..).map(|sending| sending.completed));
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Request { stream, ends } => self.request(stream, ends),
            Event::Data {
                stream,
                bytes,
                ends,
            } => self.body(stream, bytes, ends),
            Event::Reset { stream } => {
                self.flood_guard.note_unanswered();
                self.drop_stream(stream);
            }
        }
    }

    /// Removes a stream that has ended, and counts the bytes of its response that were sent.
    fn drop_stream(&mut self, stream: u32) {
        self.pending.drop(stream);
        self.uploads.retain(|upload| upload.stream != stream);
        if let Some(index) = self.sending.iter().position(|it| it.stream == stream)
            && let Some(sending) = self.sending.remove(index)
        {
            self.done.push(sending.completed);
        }
    }

    fn request(&mut self, stream: u32, ends: bool) {
        self.requests = self.requests.saturating_add(1);
        // A GOAWAY was sent when the connection reached its limit on requests. At that moment, up
        // to `streams_max` further requests could be in flight. A client that has sent that many
        // more has ignored the GOAWAY.
        if self.has_reached_request_limit(self.core.service.settings.limits.h2.streams_max) {
            self.http2.leave_now(self.out.text());
        }
        self.flood_guard.note_request();
        let peer = self.conn.peer.ip();
        let core = self.core;
        let request_info = RequestInfo::new(core, self.http2.head(), peer, self.now);
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let parsed = translate::request(self.http2.head(), &mut text, &core.service.settings.http);
        let request = match parsed {
            Ok(request) => request,
            Err(reject) => {
                self.refuse(stream, request_info, reject);
                self.text = text;
                return;
            }
        };
        if !ends {
            let is_kept = core.service.mounts.find(request.target.path).is_some();
            let context = core.request_context(self.conn.listener, peer);
            let upload = Upload::new(core, (stream, request_info), text, context, is_kept);
            return self.uploads.push(upload);
        }
        match core.lookup(self.conn.listener, &request) {
            Some(response) => {
                self.send_response(stream, request_info, response);
                self.text = text;
            }
            None => self.pending.push(PendingRequest {
                stream,
                request_info,
                text,
                context: core.request_context(self.conn.listener, peer),
            }),
        }
    }

    fn body(&mut self, stream: u32, bytes: &[u8], ends: bool) {
        self.flood_guard.note_upload_bytes(bytes.len());
        let Some(index) = self.uploads.iter().position(|it| it.stream == stream) else {
            return self.http2.skip(bytes.len(), self.out.text());
        };
        // The bytes are processed at once, so the client is allowed to send the same number of
        // bytes again.
        self.http2.release(stream, bytes.len(), self.out.text());
        match self.uploads[index].take(self.core, bytes) {
            Ok(()) if !ends => return,
            Ok(()) => {}
            // No mount needs this body, and it is too long to wait for. So the rest of the body is
            // skipped, and the request is answered.
            Err(_) if !self.uploads[index].is_kept => {}
            Err(reject) => {
                let upload = self.uploads.swap_remove(index);
                return self.refuse(stream, upload.request_info, reject);
            }
        }
        let Upload {
            request_info,
            text,
            context,
            ..
        } = self.uploads.swap_remove(index);
        let limits = &self.core.service.settings.http;
        let request =
            translate::read(&text, limits).expect("the request was parsed before its body arrived");
        match self.core.lookup(self.conn.listener, &request) {
            Some(response) => self.send_response(stream, request_info, response),
            None => self.pending.push(PendingRequest {
                stream,
                request_info,
                text,
                context,
            }),
        }
    }

    fn refuse(&mut self, stream: u32, request_info: RequestInfo, reject: Reject) {
        let problem = Problem::BadRequest {
            status: reject.status,
            phrase: reject.reason,
        };
        let shape = Shape {
            bodiless: request_info.method == http1::Method::Head,
            ..Shape::UNPARSED
        };
        let response = self.core.problem_response(&problem, shape);
        self.send_response(stream, request_info, response);
    }

    /// Queues a response for writing: first its head, then its body, at once or in parts.
    fn send_response(&mut self, stream: u32, request_info: RequestInfo, mut response: Response) {
        response.complete(&self.core.service.settings.headers);
        request_info.add_trace_field(&mut response, self.core);
        let completed = CompletedStream::new(request_info, &response, self.core);
        let clock = self.core.reactor.clock().http_date();
        let date = match &mut self.date {
            Some((of, line)) if *of == clock => line,
            date => {
                &mut date
                    .insert((clock, EncodedField::shared(b"date", &clock)))
                    .1
            }
        };
        let grows = matches!(response.payload, Payload::Growing(_));
        let ends = response.payload.len() == 0 && !grows;
        self.http2
            .send_head(stream, ends, self.out.text(), |block, encoder| {
                response.write_block(block, encoder, date);
            });
        let mut sending = match Sending::new(stream, completed, response.payload) {
            Ok(sending) if !ends => sending,
            Ok(Sending { completed, .. }) | Err(completed) => {
                return self.complete_stream(completed);
            }
        };
        // A body in memory is usually queued whole at once. A body in a file is queued in parts,
        // which alternate with parts of other streams' bodies.
        if self.sending.is_empty() && !sending.is_read() {
            let context = &mut Context::from_waker(Waker::noop());
            if let SendStep::Last = self.queue_body_part(&mut sending, context) {
                return self.complete_stream(sending.completed);
            }
        }
        self.sending.push_back(sending);
    }

    fn complete_stream(&mut self, completed: CompletedStream) {
        self.flood_guard.note_whole_response();
        self.done.push(completed);
        if DONE_MAX <= self.done.len() {
            count(self.core, &mut self.done);
        }
    }

    /// Queues one part of each body in turn. Stops when the client's flow-control windows or the
    /// limits allow no more.
    fn queue_body_parts(&mut self, context: &mut Context<'_>) {
        let mut waiting = 0;
        while waiting < self.sending.len() && self.out.queued_bytes() < QUEUED_BYTES_MAX {
            let Some(mut sending) = self.sending.pop_front() else {
                return;
            };
            match self.queue_body_part(&mut sending, context) {
                SendStep::Nothing => {
                    waiting += 1;
                    self.sending.push_back(sending);
                }
                SendStep::Part => {
                    waiting = 0;
                    self.sending.push_back(sending);
                }
                SendStep::Last => self.complete_stream(sending.completed),
                SendStep::Failed => self.done.push(sending.completed),
            }
        }
    }

    fn queue_body_part(&mut self, sending: &mut Sending, context: &mut Context<'_>) -> SendStep {
        let room = self.http2.room(sending.stream);
        let buffer_bytes_max = self.core.service.settings.limits.h2.buffer_bytes_max;
        if room == 0 || sending.is_read() && buffer_bytes_max <= self.out.own_bytes() {
            return SendStep::Nothing;
        }
        let stream = sending.stream;
        let part = match sending.poll_part(room, context) {
            Poll::Pending => return SendStep::Nothing,
            Poll::Ready(Ok(part)) => part,
            Poll::Ready(Err(_)) => {
                self.http2
                    .reset(stream, ErrorCode::Internal, self.out.text());
                return SendStep::Failed;
            }
        };
        self.http2
            .send_data(stream, part.bytes, part.is_last, self.out.text());
        match &part.piece {
            Piece::Shared(bytes, range) if range.len() <= COPY_BYTES_MAX => {
                self.out.text().extend_from_slice(&bytes[range.clone()]);
                self.flood_guard.note_body_bytes_written(part.bytes);
            }
            Piece::Owned(bytes) if bytes.len() <= COPY_BYTES_MAX => {
                self.out.text().extend_from_slice(bytes);
                self.flood_guard.note_body_bytes_written(part.bytes);
            }
            _ => self.out.push(part.piece),
        }
        if part.is_last {
            self.http2.sent(stream, self.out.text());
            return SendStep::Last;
        }
        SendStep::Part
    }
}

impl<S> Drop for Session<'_, S> {
    /// Counts the responses that were not finished, with the bytes sent so far.
    fn drop(&mut self) {
        self.done
            .extend(self.sending.drain(..).map(|sending| sending.completed));
        count(self.core, &mut self.done);
    }
}

/// Counts and logs finished responses.
fn count(core: &Core, done: &mut Vec<CompletedStream>) {
    if done.is_empty() {
        return;
    }
    let now = Instant::now();
    for completed in done.drain(..) {
        completed.count_and_log(core, now);
    }
}

/// Result of one attempt to queue a part of a body.
enum SendStep {
    /// No part was queued: the body waits for the client, the disk or a limit.
    Nothing,
    Part,
    Last,
    Failed,
}
