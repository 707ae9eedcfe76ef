//! An HTTP/2 client that obeys no rules: frames out, frames in.

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

/// Flags; the first two are of different types.
pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// Connection-wide settings: RFC 9113 §6.5.2.
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

/// One connection.
#[derive(Debug)]
pub(crate) struct Frames {
    stream: TcpStream,
}

/// A frame from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frames {
    /// Connects and says nothing.
    pub(crate) fn silent(address: SocketAddr) -> Frames {
        let stream = TcpStream::connect(address).expect("the server listens");
        for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
            set(&stream, Some(DEADLINE)).expect("a socket takes a timeout");
        }
        Frames { stream }
    }

    /// Connects, with the preface and these settings.
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

    /// Sends bytes as they are; an error once the server has closed.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends `bytes` again and again until the server has closed, at most so often. Tells how often.
    pub(crate) fn flood(&mut self, bytes: &[u8], times_max: usize) -> usize {
        for times in 0..times_max {
            if self.send(bytes).is_err() {
                return times;
            }
        }
        times_max
    }

    /// The next frame; `None` when the server has closed.
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

    /// The next frame of this kind; `None` when the server has closed.
    pub(crate) fn wait_for(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.next()?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Asks for an echo and reads until it comes, or until the server has closed. Gives the frames before.
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

    /// Reads until the server has closed, and gives the frames.
    pub(crate) fn rest(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

/// A frame as bytes.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("frames are short");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// GET `path` on a stream of its own, without a body.
pub(crate) fn request(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &get(path))
}

/// The head of GET `path` in HPACK: from the static table, the path and the host as literals (RFC 7541 §6.2.2).
pub(crate) fn get(path: &str) -> Vec<u8> {
    let mut head = vec![0x82, 0x86];
    head.extend(literal(0x04, path));
    head.extend(literal(0x01, "pelton"));
    head
}

/// A literal with a name of the static table, not kept; its value is shorter than 127 bytes.
fn literal(name: u8, value: &str) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("a short value");
    let mut bytes = vec![name, length];
    bytes.extend_from_slice(value.as_bytes());
    bytes
}
