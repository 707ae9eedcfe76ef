//! HTTP/2 client that sends and receives frames without enforcing any rules.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::wait::DEADLINE;

/// Types of frames: RFC 9113 §6.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// Flags. `ACK` and `END_STREAM` share a value, and belong to different types of frames.
pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// Identifier of a setting: RFC 9113 §6.5.2.
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

/// Connection to the server.
#[derive(Debug)]
pub(crate) struct Frames {
    stream: TcpStream,
}

/// Frame from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frames {
    /// Connects without sending anything.
    pub(crate) fn silent(address: SocketAddr) -> Frames {
        let stream = TcpStream::connect(address).expect("the server listens");
        for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
            set(&stream, Some(DEADLINE)).expect("a socket takes a timeout");
        }
        Frames { stream }
    }

    /// Connects, and sends the preface with these settings.
    pub(crate) fn connect(address: SocketAddr, settings: &[(u16, u32)]) -> Frames {
        let mut frames = Frames::silent(address);
        let mut payload = Vec::new();
        for (id, value) in settings {
            payload.extend_from_slice(&id.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        let mut begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        begin.extend(frame(SETTINGS, 0, 0, &payload));
        frames.send(&begin).expect("the server takes the preface");
        frames
    }

    /// Sends bytes unchanged. Fails once the server has closed the connection.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends `bytes` repeatedly, until the server has closed the connection or `times_max` is
    /// reached, and returns the number of successful sends.
    pub(crate) fn flood(&mut self, bytes: &[u8], times_max: usize) -> usize {
        for times in 0..times_max {
            if self.send(bytes).is_err() {
                return times;
            }
        }
        times_max
    }

    /// Returns the next frame, or `None` if the server has closed the connection.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.fill(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.fill(&mut payload)?;
        Some(Frame {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload,
        })
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Option<()> {
        match self.stream.read_exact(buffer) {
            Ok(()) => Some(()),
            Err(err)
                if matches!(
                    err.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
                ) =>
            {
                None
            }
            Err(err) => panic!("the server neither answers nor closes: {err}"),
        }
    }

    /// Returns the next frame of this type, or `None` if the server has closed the connection.
    pub(crate) fn wait_for(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.next()?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Sends a PING, and returns the frames that arrive before its acknowledgement or before the
    /// server closes the connection.
    pub(crate) fn until_quiet(&mut self) -> Vec<Frame> {
        const ECHO: &[u8] = b"is quiet";
        if self.send(&frame(PING, 0, 0, ECHO)).is_err() {
            return self.rest();
        }
        let is_echo = |frame: &Frame| frame.kind == PING && frame.payload == ECHO;
        std::iter::from_fn(|| self.next())
            .take_while(|frame| !is_echo(frame))
            .collect()
    }

    /// Returns the frames up to the end of the connection.
    pub(crate) fn rest(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

/// Encodes a frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("frames are short");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Encodes a complete GET request of `path` without a body, as one HEADERS frame on `stream`.
pub(crate) fn request(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &get(path))
}

/// Encodes the head of a GET request for `path` in HPACK. Method and scheme are entries of the
/// static table; path and host are literals (RFC 7541 §6.2.2).
pub(crate) fn get(path: &str) -> Vec<u8> {
    let mut head = vec![0x82, 0x86];
    head.extend(literal(0x04, path));
    head.extend(literal(0x01, "pelton"));
    head
}

/// Encodes a literal field that is not added to the dynamic table. The name is an index of the
/// static table, and the value is shorter than 127 bytes.
fn literal(name: u8, value: &str) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("a short value");
    let mut bytes = vec![name, length];
    bytes.extend_from_slice(value.as_bytes());
    bytes
}
