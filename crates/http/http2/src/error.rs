//! Errors that are sent to a client.

/// Reason why a stream or a connection is closed: RFC 9113 §7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ErrorCode {
    /// No error.
    No = 0,
    /// The peer broke a rule that has no error code of its own.
    Protocol = 1,
    /// Our fault: a response cannot be completed.
    Internal = 2,
    /// More data than a window allowed, or a window that grew too large.
    FlowControl = 3,
    /// A frame for a stream that has ended.
    StreamClosed = 5,
    /// A frame of a wrong length.
    FrameSize = 6,
    /// The stream was not processed; the client may retry the request.
    RefusedStream = 7,
    /// The stream is no longer wanted.
    Cancel = 8,
    /// An HPACK block that cannot be decoded. After this error, the content of the HPACK table is
    /// unknown.
    Compression = 9,
    /// The peer causes excessive work.
    EnhanceYourCalm = 11,
}

/// Connection error (RFC 9113 §5.4.1): the client violated the protocol, and the connection is
/// closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Error code of the GOAWAY frame.
    pub code: ErrorCode,
    /// Description of the error, for debugging.
    pub reason: &'static str,
}

impl Fault {
    pub(crate) const fn protocol(reason: &'static str) -> Fault {
        Fault {
            code: ErrorCode::Protocol,
            reason,
        }
    }

    pub(crate) const fn size(reason: &'static str) -> Fault {
        Fault {
            code: ErrorCode::FrameSize,
            reason,
        }
    }

    pub(crate) const fn flow(reason: &'static str) -> Fault {
        Fault {
            code: ErrorCode::FlowControl,
            reason,
        }
    }

    pub(crate) const fn calm(reason: &'static str) -> Fault {
        Fault {
            code: ErrorCode::EnhanceYourCalm,
            reason,
        }
    }

    pub(crate) const CLOSED: Fault = Fault {
        code: ErrorCode::StreamClosed,
        reason: "a frame on a stream that has ended",
    };

    pub(crate) const COMPRESSION: Fault = Fault {
        code: ErrorCode::Compression,
        reason: "a field block that cannot be decoded",
    };
}
