//! One connection's life: read what came, answer every whole request in it, write once.

use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use http1::body::Drain;
use http1::{Connection, Framing, Reject, Request};
use reactor::{Conn, Ended, FileRange, Wait};

use crate::answer::{Answer, Payload, Shape};
use crate::core::{Core, elapsed_us};
use crate::input::Input;
use crate::metrics::Served;
use crate::problem::Problem;

/// Bodies up to this size are copied behind their head, so that pipelined answers leave in one write.
const COPY_BYTES_MAX: usize = 16 << 10;
/// Answers are written once so many bytes wait, however many requests are still to be answered.
const QUEUED_BYTES_MAX: usize = 128 << 10;

/// Serves `conn` until either side ends it.
pub async fn serve(core: Rc<Core>, mut conn: Conn) {
    let mut exchange = Exchange {
        core,
        input: Input::default(),
        rest: Input::default(),
        in_head: false,
        out: Vec::new(),
        unwritten: Vec::new(),
        lingers: false,
    };
    let ended = exchange.run(&mut conn).await;
    match ended {
        Err(Ended::ShortFile { missing_bytes }) => {
            tracing::warn!(
                missing_bytes,
                "original shrank while it was sent; connection closed"
            );
        }
        Err(Ended::File(err)) => tracing::error!(%err, "file cannot be read; connection closed"),
        // The client went away or took too long; the reactor has counted it.
        Err(_) => {}
        // How the client takes its leave changes nothing any more.
        Ok(()) if exchange.lingers => drop(conn.linger().await),
        Ok(()) => {}
    }
}

struct Exchange {
    core: Rc<Core>,
    /// The begin of a request.
    input: Input,
    /// What was read behind a body.
    rest: Input,
    /// `input` was not empty before the last read either, and its deadline runs.
    in_head: bool,
    /// Answers not yet written.
    out: Vec<u8>,
    /// What those answers count as.
    unwritten: Vec<(u16, Served, u64)>,
    /// The last answer was given before the client had sent everything.
    lingers: bool,
}

/// Whether the connection goes on after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Request,
    Close,
}

impl Exchange {
    async fn run(&mut self, conn: &mut Conn) -> Result<(), Ended> {
        loop {
            if !self.read(conn).await? {
                return Ok(());
            }
            let begun = Instant::now();
            let next = self.answer_all(conn).await?;
            self.write(conn).await?;
            let answered = self.count(begun);
            if next == Next::Close {
                return Ok(());
            }
            if self.input.is_empty() {
                conn.deadline.arm(Wait::Idle);
            } else if answered || !self.in_head {
                // Armed once a head: a client that sends it byte by byte gets no more time for it.
                conn.deadline.arm(Wait::Head);
            }
            self.in_head = !self.input.is_empty();
        }
    }

    /// Reads once. `false` when the client has ended its side.
    async fn read(&mut self, conn: &mut Conn) -> Result<bool, Ended> {
        if self.input.is_empty() {
            // Ten thousand idle connections must not hold ten thousand buffers.
            conn.readable().await?;
        }
        Ok(self.input.read(conn).await? != 0)
    }

    /// Answers every whole request in the input; what is left of it is the begin of one.
    async fn answer_all(&mut self, conn: &mut Conn) -> Result<Next, Ended> {
        loop {
            let mut input = std::mem::take(&mut self.input);
            let mut begin = 0;
            let mut next = Next::Request;
            while next == Next::Request && begin < input.bytes().len() {
                next = match self.answer_first(conn, &input.bytes()[begin..]).await? {
                    Some((taken, next)) => {
                        begin += taken;
                        next
                    }
                    None => break,
                };
            }
            input.drop_front(begin);
            self.input = input;
            // A body that reached beyond the input brought the begin of the next request with it.
            if self.rest.is_empty() || next == Next::Close {
                return Ok(next);
            }
            self.input = std::mem::take(&mut self.rest);
        }
    }

    /// Answers the request that `input` begins with, and tells how much of it that took. `None` while it is not whole.
    async fn answer_first(
        &mut self,
        conn: &mut Conn,
        input: &[u8],
    ) -> Result<Option<(usize, Next)>, Ended> {
        if QUEUED_BYTES_MAX <= self.out.len() {
            self.write(conn).await?;
        }
        match http1::parse(input, &self.core.service.settings.http) {
            Ok(None) => Ok(None),
            Ok(Some(request)) => self
                .answer(conn, &request, &input[request.head_bytes..])
                .await
                .map(Some),
            Err(reject) => {
                self.refuse(reject);
                Ok(Some((input.len(), Next::Close)))
            }
        }
    }

    /// Answers `request`, behind whose head `after` was read. Tells how much of the input it was.
    async fn answer(
        &mut self,
        conn: &mut Conn,
        request: &Request<'_>,
        after: &[u8],
    ) -> Result<(usize, Next), Ended> {
        conn.deadline.disarm();
        let mut taken = request.head_bytes;
        // Nothing here wants a body. A client that asks first is told by the answer, and then the connection closes.
        let unwanted = request.expect_continue && request.framing != Framing::None;
        if request.framing != Framing::None && !unwanted {
            match self.skip_body(conn, request, after).await? {
                Ok(skipped) => taken += skipped,
                Err(reject) => {
                    self.refuse(reject);
                    return Ok((taken, Next::Close));
                }
            }
        }
        let last = unwanted || !request.keep_alive || self.core.reactor.is_draining();
        let connection = if last {
            Connection::Close
        } else {
            request.connection()
        };
        let core = Rc::clone(&self.core);
        let answer = match core.answer_ready(request, connection, &mut self.out) {
            Some(answer) => answer,
            None => {
                // Whoever waits for a conversion must not hold back the answers before it.
                self.write(conn).await?;
                core.answer_slowly(request, connection, &mut self.out).await
            }
        };
        self.lingers = unwanted;
        // A drain that began while this answer was made has closed its head.
        let last = last || self.core.reactor.is_draining();
        self.send(conn, answer).await?;
        Ok((taken, if last { Next::Close } else { Next::Request }))
    }

    /// Skips a body: what was read of it already, then what is still to come. Tells how much of `after` it was.
    async fn skip_body(
        &mut self,
        conn: &mut Conn,
        request: &Request<'_>,
        after: &[u8],
    ) -> Result<Result<usize, Reject>, Ended> {
        let mut drain = match Drain::new(request.framing, &self.core.service.settings.http) {
            Ok(drain) => drain,
            Err(reject) => return Ok(Err(reject)),
        };
        let mut drained = match drain.feed(after) {
            Ok(drained) if drained.is_done => return Ok(Ok(drained.bytes)),
            Ok(drained) => drained,
            Err(reject) => return Ok(Err(reject)),
        };
        // Answers to the requests before it must not wait for a body that may never come.
        self.write(conn).await?;
        conn.deadline.arm(Wait::Head);
        while !drained.is_done {
            // A body that has not ended has taken all there was.
            self.rest.drop_front(self.rest.bytes().len());
            if self.rest.read(conn).await? == 0 {
                return Err(Ended::Socket(io::ErrorKind::UnexpectedEof.into()));
            }
            drained = match drain.feed(self.rest.bytes()) {
                Ok(drained) => drained,
                Err(reject) => return Ok(Err(reject)),
            };
        }
        self.rest.drop_front(drained.bytes);
        conn.deadline.disarm();
        Ok(Ok(after.len()))
    }

    fn refuse(&mut self, reject: Reject) {
        let problem = Problem::BadRequest {
            status: reject.status,
            phrase: reject.reason,
        };
        let answer = self
            .core
            .answer_problem(&problem, Shape::CLOSING, &mut self.out);
        self.queue(&answer);
        self.lingers = true;
    }

    /// Queues an answer that is text, or has no body.
    fn queue(&mut self, answer: &Answer) {
        if let Payload::Text(text) = &answer.payload {
            self.out.extend_from_slice(text.as_bytes());
        }
        self.unwritten
            .push((answer.status, answer.served, answer.payload.len()));
    }

    /// Queues or writes the body of an answer whose head is in `out`.
    async fn send(&mut self, conn: &mut Conn, answer: Answer) -> Result<(), Ended> {
        self.queue(&answer);
        match answer.payload {
            Payload::None | Payload::Text(_) => {}
            Payload::Memory(bytes, range) if range.len() <= COPY_BYTES_MAX => {
                self.out.extend_from_slice(&bytes[range]);
            }
            Payload::Memory(bytes, range) => {
                conn.write_all(&mut [IoSlice::new(&self.out), IoSlice::new(&bytes[range])])
                    .await?;
                self.out.clear();
            }
            Payload::File(file, range) => self.send_file(conn, &file, range).await?,
            Payload::Sealed(sealed, range) => self.send_file(conn, &sealed.file, range).await?,
        }
        Ok(())
    }

    async fn send_file(
        &mut self,
        conn: &mut Conn,
        file: &File,
        range: Range<u64>,
    ) -> Result<(), Ended> {
        let body = FileRange {
            file,
            offset: range.start,
            len: range.end - range.start,
        };
        conn.write_file(&self.out, body).await?;
        self.out.clear();
        Ok(())
    }

    async fn write(&mut self, conn: &mut Conn) -> Result<(), Ended> {
        if !self.out.is_empty() {
            conn.write_all(&mut [IoSlice::new(&self.out)]).await?;
            self.out.clear();
        }
        Ok(())
    }

    /// Counts what was answered since `begun`, and tells whether that was anything.
    fn count(&mut self, begun: Instant) -> bool {
        let answered = !self.unwritten.is_empty();
        let latency_us = elapsed_us(begun);
        let metrics = self.core.service.metrics.core(self.core.reactor.index());
        for (status, served, body_bytes) in self.unwritten.drain(..) {
            metrics.answered(status, served, body_bytes, latency_us);
        }
        answered
    }
}
