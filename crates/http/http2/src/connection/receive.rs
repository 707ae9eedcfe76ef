//! Handling of the frames that the client sends.

use super::{Connection, Event, Expected, PartialHead, SHUTDOWN_PING, Shutdown};
use crate::ErrorCode;
use crate::error::Fault;
use crate::frame::{self, FrameHead, Kind, flag};
use crate::settings::{self, Setting, WINDOW_BYTES, WINDOW_MAX};
use crate::streams::{End, Stream};

type Outcome<'i> = Result<Option<Event<'i>>, Fault>;

impl Connection {
    pub(super) fn frame<'i>(
        &mut self,
        head: &FrameHead,
        payload: &'i [u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'i> {
        if self.expected == Expected::Settings {
            if head.kind != Kind::Settings || head.has(flag::ACK) {
                return Err(Fault::protocol("the first frame is not SETTINGS"));
            }
            self.expected = Expected::Frames;
        }
        if let Some(partial_head) = &self.partial_head
            && (head.kind != Kind::Continuation || head.stream != partial_head.stream)
        {
            return Err(Fault::protocol(
                "the client sent a frame other than CONTINUATION before the end of a field block",
            ));
        }
        match head.kind {
            Kind::Data => self.data(head, payload, out),
            Kind::Headers => self.headers(head, payload, out),
            Kind::Continuation => self.continuation(head, payload, out),
            Kind::Priority => self.priority(head, payload, out),
            Kind::RstStream => self.reset_by_client(head, payload),
            Kind::Settings => self.settings(head, payload, out),
            Kind::Ping => self.ping(head, payload, out),
            Kind::WindowUpdate => self.window_update(head, payload, out),
            Kind::Goaway if head.stream != 0 => Err(Fault::protocol(
                "the client sent GOAWAY on a stream other than 0",
            )),
            Kind::Goaway if payload.len() < 8 => Err(Fault::size("a GOAWAY frame is too short")),
            Kind::PushPromise => Err(Fault::protocol(
                "the client sent PUSH_PROMISE, which only servers may send",
            )),
            Kind::Goaway | Kind::Unknown => Ok(None),
        }
    }

    fn data<'i>(&mut self, head: &FrameHead, payload: &'i [u8], out: &mut Vec<u8>) -> Outcome<'i> {
        if self.streams.is_idle(head.stream) || head.stream == 0 {
            return Err(Fault::protocol(
                "the client sent DATA on a stream that is not open",
            ));
        }
        // RFC 9113 §6.9.1: padding counts against the windows, and so does data for streams that
        // are already closed.
        let size = payload.len() as u32;
        let allowed = self.allowed.checked_sub(size);
        self.allowed = allowed.ok_or(Fault::flow(
            "the client sent more DATA than the connection allows",
        ))?;
        let bytes = unpadded(head, payload)?;
        let ends = head.has(flag::END_STREAM);
        let Some(stream) = self.streams.get_mut(head.stream) else {
            self.allow(size, out);
            return match self.streams.end_of(head.stream) {
                End::Both => Err(Fault::CLOSED),
                End::ByClient => self.refuse(head.stream, ErrorCode::StreamClosed, out),
                // The frame is ignored: the client may not have received our reset yet, or the end
                // of the stream is not recorded any more.
                End::ByServer | End::Unknown => Ok(None),
            };
        };
        let error_code = if stream.is_request_complete {
            Some(ErrorCode::StreamClosed)
        } else if stream.allowed < size {
            Some(ErrorCode::FlowControl)
        } else {
            stream.allowed -= size;
            stream.is_request_complete = ends;
            let body_bytes = bytes.len() as u64;
            let fits = match &mut stream.left {
                None => true,
                Some(left) => {
                    let fits = body_bytes <= *left && (!ends || body_bytes == *left);
                    *left = left.saturating_sub(body_bytes);
                    fits
                }
            };
            (!fits).then_some(ErrorCode::Protocol)
        };
        if let Some(code) = error_code {
            self.allow(size, out);
            return self.refuse(head.stream, code, out);
        }
        // The caller does not see padding, so padding is released here.
        self.release(head.stream, payload.len() - bytes.len(), out);
        Ok(Some(Event::Data {
            stream: head.stream,
            bytes,
            ends,
        }))
    }

    fn headers<'i>(&mut self, head: &FrameHead, payload: &[u8], out: &mut Vec<u8>) -> Outcome<'i> {
        // RFC 9113 §5.1.1: streams that a client opens have odd numbers.
        if head.stream.is_multiple_of(2) {
            return Err(Fault::protocol(
                "the client sent HEADERS on a stream with an even number, which only servers may \
                 open",
            ));
        }
        let mut block = unpadded(head, payload)?;
        let mut depends_on_itself = false;
        if head.has(flag::PRIORITY) {
            let (priority, rest) = block
                .split_at_checked(5)
                .ok_or(Fault::size("a HEADERS frame is too short"))?;
            depends_on_itself = dependency(priority) == head.stream;
            block = rest;
        }
        let partial_head = PartialHead {
            stream: head.stream,
            ends: head.has(flag::END_STREAM),
            depends_on_itself,
            block: Vec::new(),
            frames: 0,
        };
        if head.has(flag::END_HEADERS) {
            return self.whole_head(&partial_head, block, out);
        }
        self.partial_head = Some(partial_head);
        self.add_to_head(block).map(|()| None)
    }

    fn continuation<'i>(
        &mut self,
        head: &FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'i> {
        self.add_to_head(payload)?;
        if !head.has(flag::END_HEADERS) {
            return Ok(None);
        }
        let partial_head = self.partial_head.take().ok_or(Fault::protocol(
            "the client sent CONTINUATION without HEADERS",
        ))?;
        self.whole_head(&partial_head, &partial_head.block, out)
    }

    /// Appends `piece`, the part of the current head's HPACK block that one frame contains. The
    /// bytes and frames of a head are limited, because a client may send a head that never ends, as
    /// in CVE-2024-27316.
    fn add_to_head(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let partial_head = self.partial_head.as_mut().ok_or(Fault::protocol(
            "the client sent CONTINUATION without HEADERS",
        ))?;
        partial_head.frames += 1;
        // A head above the limit, for instance with too many cookies, still gets a response on its
        // stream. The connection is closed only if the compressed head is longer than twice the
        // limit, or has too many frames.
        if 2 * self.limits.head_bytes_max < partial_head.block.len() + piece.len()
            || self.limits.head_frames_max < partial_head.frames
        {
            return Err(Fault::calm(
                "the client sent a field block with too many bytes or frames",
            ));
        }
        partial_head.block.extend_from_slice(piece);
        Ok(())
    }

    fn whole_head<'i>(
        &mut self,
        partial_head: &PartialHead,
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'i> {
        // The block is always decoded, even if the stream is refused, since later heads may refer
        // to the table entries that the block adds.
        let (head, limits) = (&mut self.head, &self.limits);
        head.clear();
        let read = self
            .decoder
            .read(block, |name, value| head.add(name, value, limits));
        read.map_err(|_| Fault::COMPRESSION)?;
        let &PartialHead {
            stream: id, ends, ..
        } = partial_head;
        if self.streams.get_mut(id).is_some() {
            return self.trailers(partial_head, out);
        }
        if !self.streams.is_idle(id) {
            return match self.streams.end_of(id) {
                End::Both => Err(Fault::CLOSED),
                End::ByClient => self.refuse(id, ErrorCode::StreamClosed, out),
                End::ByServer => Ok(None),
                // RFC 9113 §5.1.1: stream numbers must increase.
                End::Unknown => Err(Fault::protocol(
                    "the client sent HEADERS on a stream that is not open",
                )),
            };
        }
        self.streams.last = id;
        if self.leave == Shutdown::Last {
            self.streams.end(id, End::ByServer);
            return Ok(None);
        }
        if self.limits.streams_max as usize <= self.streams.len() {
            // Too many streams are not an error of the client: it may not have received our limit
            // yet. So only the new stream is refused.
            frame::write_reset(out, id, ErrorCode::RefusedStream);
            self.streams.end(id, End::ByServer);
            return Ok(None);
        }
        let left = self.head.content_length();
        let is_short = ends && left.is_some_and(|left| left != 0);
        if is_short || partial_head.depends_on_itself || self.head.check_request().is_err() {
            return self.refuse(id, ErrorCode::Protocol, out);
        }
        self.last_processed = id;
        self.streams.open(Stream {
            id,
            is_request_complete: ends,
            window: i64::from(self.initial_window),
            allowed: WINDOW_BYTES,
            unreturned_bytes: 0,
            left,
        });
        Ok(Some(Event::Request { stream: id, ends }))
    }

    /// Handles the decoded head of an open stream: the trailers that end its request.
    fn trailers<'i>(&mut self, partial_head: &PartialHead, out: &mut Vec<u8>) -> Outcome<'i> {
        let (id, ends) = (partial_head.stream, partial_head.ends);
        let stream = self.streams.get_mut(id).expect("the stream is open");
        let code = if stream.is_request_complete {
            Some(ErrorCode::StreamClosed)
        } else if !ends
            || partial_head.depends_on_itself
            || stream.left.is_some_and(|left| left != 0)
            || self.head.check_trailers().is_err()
        {
            Some(ErrorCode::Protocol)
        } else {
            None
        };
        if let Some(code) = code {
            return self.refuse(id, code, out);
        }
        stream.is_request_complete = true;
        Ok(Some(Event::Data {
            stream: id,
            bytes: &[],
            ends,
        }))
    }

    fn priority<'i>(&mut self, head: &FrameHead, payload: &[u8], out: &mut Vec<u8>) -> Outcome<'i> {
        if head.stream == 0 {
            return Err(Fault::protocol("the client sent PRIORITY on stream 0"));
        }
        // RFC 9113 §5.3.2: priorities are deprecated; only the form of the frame is checked.
        if payload.len() != 5 {
            return self.refuse(head.stream, ErrorCode::FrameSize, out);
        }
        if dependency(payload) == head.stream {
            return self.refuse(head.stream, ErrorCode::Protocol, out);
        }
        Ok(None)
    }

    fn reset_by_client<'i>(&mut self, head: &FrameHead, payload: &[u8]) -> Outcome<'i> {
        let stream = head.stream;
        if stream == 0 || self.streams.is_idle(stream) {
            return Err(Fault::protocol(
                "the client sent RST_STREAM on a stream that is not open",
            ));
        }
        if payload.len() != 4 {
            return Err(Fault::size(
                "the client sent RST_STREAM of a length other than 4",
            ));
        }
        if !self.is_open(stream) {
            return Ok(None);
        }
        self.streams.end(stream, End::ByClient);
        Ok(Some(Event::Reset { stream }))
    }

    fn settings<'i>(&mut self, head: &FrameHead, payload: &[u8], out: &mut Vec<u8>) -> Outcome<'i> {
        if head.stream != 0 {
            return Err(Fault::protocol(
                "the client sent SETTINGS on a stream other than 0",
            ));
        }
        if head.has(flag::ACK) {
            return match payload {
                [] => Ok(None),
                _ => Err(Fault::size(
                    "the client sent an acknowledgement of SETTINGS with a payload",
                )),
            };
        }
        settings::read(payload, |setting| match setting {
            Setting::TableSize(bytes) => {
                self.encoder.resize(bytes as usize);
                Ok(())
            }
            Setting::InitialWindow(bytes) => {
                let grown = i64::from(bytes) - i64::from(self.initial_window);
                self.initial_window = bytes;
                for stream in self.streams.iter_mut() {
                    stream.window += grown;
                    if i64::from(WINDOW_MAX) < stream.window {
                        return Err(Fault::flow(
                            "the flow-control window of a stream is too large",
                        ));
                    }
                }
                Ok(())
            }
        })?;
        frame::write_head(out, 0, Kind::Settings, flag::ACK, 0);
        Ok(None)
    }

    fn ping<'i>(&mut self, head: &FrameHead, payload: &[u8], out: &mut Vec<u8>) -> Outcome<'i> {
        if head.stream != 0 {
            return Err(Fault::protocol(
                "the client sent PING on a stream other than 0",
            ));
        }
        if payload.len() != 8 {
            return Err(Fault::size("the client sent PING of a length other than 8"));
        }
        if !head.has(flag::ACK) {
            frame::write_head(out, payload.len(), Kind::Ping, flag::ACK, 0);
            out.extend_from_slice(payload);
        } else if self.leave == Shutdown::Announced && payload == SHUTDOWN_PING {
            self.leave_now(out);
        }
        Ok(None)
    }

    fn window_update<'i>(
        &mut self,
        head: &FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Outcome<'i> {
        let &[w0, w1, w2, w3] = payload else {
            return Err(Fault::size(
                "the client sent a WINDOW_UPDATE frame with a length other than 4",
            ));
        };
        let bytes = i64::from(u32::from_be_bytes([w0 & 0x7f, w1, w2, w3]));
        if head.stream == 0 {
            if bytes == 0 {
                return Err(Fault::protocol(
                    "the client sent WINDOW_UPDATE with an increment of 0",
                ));
            }
            self.window += bytes;
            if i64::from(WINDOW_MAX) < self.window {
                return Err(Fault::flow(
                    "the flow-control window of the connection is too large",
                ));
            }
            return Ok(None);
        }
        if self.streams.is_idle(head.stream) {
            return Err(Fault::protocol(
                "the client sent WINDOW_UPDATE on a stream that is not open",
            ));
        }
        let Some(stream) = self.streams.get_mut(head.stream) else {
            return Ok(None);
        };
        if bytes == 0 {
            return self.refuse(head.stream, ErrorCode::Protocol, out);
        }
        stream.window += bytes;
        if i64::from(WINDOW_MAX) < stream.window {
            return self.refuse(head.stream, ErrorCode::FlowControl, out);
        }
        Ok(None)
    }

    /// Resets a stream for an error of the client.
    fn refuse<'i>(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) -> Outcome<'i> {
        frame::write_reset(out, stream, code);
        if !self.streams.is_idle(stream) {
            self.streams.end(stream, End::ByServer);
        }
        Ok(Some(Event::Reset { stream }))
    }
}

/// Returns a payload without its padding: RFC 9113 §6.1.
fn unpadded<'p>(head: &FrameHead, payload: &'p [u8]) -> Result<&'p [u8], Fault> {
    if !head.has(flag::PADDED) {
        return Ok(payload);
    }
    const TOO_LONG: Fault =
        Fault::protocol("the client sent padding that is longer than its frame");
    let (&padding, rest) = payload.split_first().ok_or(Fault::size(
        "the client sent a padded frame without a padding length",
    ))?;
    let length = rest.len().checked_sub(usize::from(padding));
    Ok(&rest[..length.ok_or(TOO_LONG)?])
}

/// Returns the stream dependency of a `priority` field: the number of the stream that the
/// prioritised stream depends on (RFC 7540 §5.3.1).
fn dependency(priority: &[u8]) -> u32 {
    match priority {
        &[s0, s1, s2, s3, ..] => u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        _ => 0,
    }
}
