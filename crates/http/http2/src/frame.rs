//! Format of frames: RFC 9113 §4.1 and §6.

use crate::ErrorCode;

/// First bytes that a client sends: RFC 9113 §3.4.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Length of a frame's head, which precedes the payload.
pub const FRAME_HEAD_BYTES: usize = 9;

/// Maximum payload of a frame that is sent or accepted: the size that every peer must accept (RFC
/// 9113 §4.2).
pub const FRAME_BYTES_MAX: usize = 16 << 10;

/// Type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Headers,
    Priority,
    RstStream,
    Settings,
    PushPromise,
    Ping,
    Goaway,
    WindowUpdate,
    Continuation,
    /// Unknown type, which must be ignored: RFC 9113 §5.5.
    Unknown,
}

/// Flags of frames. Bit 0x1 means an acknowledgement or the end of a stream, depending on the type
/// of the frame.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Head of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameHead {
    pub(crate) length: usize,
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl FrameHead {
    /// Reads the frame head at the start of `bytes`. Returns `None` if the head is incomplete.
    pub(crate) fn read(bytes: &[u8]) -> Option<FrameHead> {
        let &[l0, l1, l2, kind, flags, s0, s1, s2, s3] = bytes.first_chunk()?;
        Some(FrameHead {
            length: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind: Kind::of(kind),
            flags,
            // The first bit is reserved, and must be ignored.
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        })
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl Kind {
    fn of(byte: u8) -> Kind {
        match byte {
            0 => Kind::Data,
            1 => Kind::Headers,
            2 => Kind::Priority,
            3 => Kind::RstStream,
            4 => Kind::Settings,
            5 => Kind::PushPromise,
            6 => Kind::Ping,
            7 => Kind::Goaway,
            8 => Kind::WindowUpdate,
            9 => Kind::Continuation,
            _ => Kind::Unknown,
        }
    }
}

/// Encodes a frame's head.
pub(crate) fn head(length: usize, kind: Kind, flags: u8, stream: u32) -> [u8; FRAME_HEAD_BYTES] {
    debug_assert!(length <= FRAME_BYTES_MAX, "a frame of {length} bytes");
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    [l0, l1, l2, kind as u8, flags, s0, s1, s2, s3]
}

/// Appends a frame's head.
pub(crate) fn write_head(out: &mut Vec<u8>, length: usize, kind: Kind, flags: u8, stream: u32) {
    out.extend_from_slice(&head(length, kind, flags, stream));
}

pub(crate) fn write_reset(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    write_head(out, 4, Kind::RstStream, 0, stream);
    out.extend_from_slice(&(code as u32).to_be_bytes());
}

pub(crate) fn write_window(out: &mut Vec<u8>, stream: u32, bytes: u32) {
    write_head(out, 4, Kind::WindowUpdate, 0, stream);
    out.extend_from_slice(&bytes.to_be_bytes());
}

pub(crate) fn write_goaway(out: &mut Vec<u8>, last: u32, code: ErrorCode, reason: &str) {
    write_head(out, 8 + reason.len(), Kind::Goaway, 0, 0);
    out.extend_from_slice(&last.to_be_bytes());
    out.extend_from_slice(&(code as u32).to_be_bytes());
    out.extend_from_slice(reason.as_bytes());
}
