//! What is told to a client that is refused.

/// Why a stream or a connection ends: RFC 9113 §7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ErrorCode {
    /// Nothing is wrong.
    No = 0,
    /// The peer broke a rule that has no code of its own.
    Protocol = 1,
    /// Our fault: an answer cannot be completed.
    Internal = 2,
    /// More was sent than a window allowed, or a window grew too large.
    FlowControl = 3,
    /// A frame for a stream that has ended.
    StreamClosed = 5,
    /// A frame of a wrong length.
    FrameSize = 6,
    /// Nothing of the stream was looked at; it may be asked again.
    RefusedStream = 7,
    /// The stream is not wanted any more.
    Cancel = 8,
    /// A block of fields that cannot be read; what is remembered is now in doubt.
    Compression = 9,
    /// The peer makes more work than sense.
    EnhanceYourCalm = 11,
}

/// A mistake of the client's that ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What GOAWAY says.
    pub code: ErrorCode,
    /// The same in words, for whoever looks for the mistake.
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
        reason: "a frame for a stream that has ended",
    };

    pub(crate) const COMPRESSION: Fault = Fault {
        code: ErrorCode::Compression,
        reason: "a block of fields that cannot be read",
    };
}
