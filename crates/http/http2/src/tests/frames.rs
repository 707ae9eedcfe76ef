//! Client that sends given frames and records the replies.

use crate::{Connection, Event, Fault, Limits, PREFACE};

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const ACK: u8 = 0x1;
pub(super) const END_STREAM: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const WITH_PRIORITY: u8 = 0x20;
/// Flags of a HEADERS frame that is a whole request: END_STREAM and END_HEADERS.
pub(super) const WHOLE: u8 = END_STREAM | END_HEADERS;

/// HPACK block of a request: GET, http, "/", and the authority "h" as a literal.
pub(super) const GET: &[u8] = b"\x82\x86\x84\x01\x01h";
/// HPACK block of a request: POST, with the other fields of [`GET`].
pub(super) const POST: &[u8] = b"\x83\x86\x84\x01\x01h";

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("frames are short");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Server's side of a connection, with everything it sent and reported.
pub(super) struct Peer {
    pub(super) connection: Connection,
    pub(super) out: Vec<u8>,
    /// One line per event.
    pub(super) events: Vec<String>,
}

impl Peer {
    /// Returns a peer that has received the preface and empty settings. Its replies to them are
    /// dropped.
    pub(super) fn greeted() -> Peer {
        let mut peer = Peer::silent();
        let greeting = [&PREFACE[..], &frame(SETTINGS, 0, 0, b"")].concat();
        peer.send(&greeting).expect("a greeting");
        peer.out.clear();
        peer
    }

    pub(super) fn silent() -> Peer {
        Peer {
            connection: Connection::new(Limits {
                streams_max: 3,
                ..Limits::default()
            }),
            out: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Sends bytes, which must be complete frames.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut rest = bytes;
        while let Some(received) = self.connection.receive(rest, &mut self.out)? {
            rest = &rest[received.bytes..];
            self.events.extend(received.event.map(|event| match event {
                Event::Request { stream, ends } => {
                    let path = String::from_utf8_lossy(self.connection.head().path()).into_owned();
                    format!(
                        "{stream} asks for {path}, {}",
                        if ends { "whole" } else { "begun" }
                    )
                }
                Event::Data {
                    stream,
                    bytes,
                    ends,
                } => {
                    let end = if ends { ", the last" } else { "" };
                    format!("{stream} sends {} bytes{end}", bytes.len())
                }
                Event::Reset { stream } => format!("{stream} is over"),
            }));
        }
        assert!(rest.is_empty(), "a frame was cut off");
        Ok(())
    }

    /// Returns one line per reply frame: type, flags, stream, length, and up to eight bytes of the
    /// payload.
    pub(super) fn replies(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let out = std::mem::take(&mut self.out);
        let mut rest = &out[..];
        while !rest.is_empty() {
            let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
            let stream = u32::from_be_bytes([rest[5], rest[6], rest[7], rest[8]]);
            let payload = &rest[9..9 + length];
            let name = match rest[3] {
                DATA => "DATA",
                HEADERS => "HEADERS",
                RST_STREAM => "RST_STREAM",
                SETTINGS => "SETTINGS",
                PING => "PING",
                GOAWAY => "GOAWAY",
                WINDOW_UPDATE => "WINDOW_UPDATE",
                CONTINUATION => "CONTINUATION",
                kind => panic!("a frame of type {kind}"),
            };
            let shown = &payload[..length.min(8)];
            lines.push(format!("{name} {:x} {stream} {length} {shown:x?}", rest[4]));
            rest = &rest[9 + length..];
        }
        lines
    }
}
