//! What a client gets that asked for something it cannot have.

use std::borrow::Cow;

/// Numbers of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Generic = 0,
    Missing = 10,
    Login = 40,
    TwoWaysIn = 43,
    BadKey = 44,
    NotAllowed = 50,
    NotFound = 70,
}

/// Reason why an endpoint is not offered: it may come one day, or it will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    Yet,
    ForGood,
}

/// An error of the protocol, which HTTP calls a success, mostly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    /// Of HTTP.
    pub(crate) status: u16,
    pub(crate) message: Cow<'static, str>,
}

impl Fault {
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            code,
            status: 200,
            message: message.into(),
        }
    }

    pub(crate) fn missing(name: &str) -> Fault {
        Fault::new(
            Code::Missing,
            format!("required parameter {name} is missing"),
        )
    }

    /// For whoever failed to log in too often.
    pub(crate) fn guessing(wait_s: u64) -> Fault {
        let what = format!("too many failed logins; the next try is open in {wait_s} seconds");
        Fault {
            status: 429,
            ..Fault::new(Code::Login, what)
        }
    }

    pub(crate) fn bad(name: &str) -> Fault {
        Fault::new(Code::Generic, format!("parameter {name} does not fit"))
    }

    /// For a body that is not what the endpoint reads.
    pub(crate) fn bad_body(why: &str) -> Fault {
        Fault::new(Code::Generic, format!("the body does not fit: {why}"))
    }

    /// For whoever asks for more at a time than is made at a time.
    pub(crate) fn busy() -> Fault {
        let what = "as many tracks as may be are being transcoded; ask again soon";
        Fault {
            status: 429,
            ..Fault::new(Code::Generic, what)
        }
    }

    /// For an endpoint of the protocol that is not offered, with the status that Navidrome gives.
    pub(crate) fn lacking(lack: Lack) -> Fault {
        let (status, what) = match lack {
            Lack::Yet => (501, "this endpoint is not implemented"),
            Lack::ForGood => (410, "this endpoint will not be implemented"),
        };
        Fault {
            status,
            ..Fault::new(Code::Generic, what)
        }
    }

    pub(crate) fn not_found(what: &'static str) -> Fault {
        Fault::new(Code::NotFound, format!("no such {what}"))
    }

    pub(crate) fn not_allowed() -> Fault {
        Fault::new(Code::NotAllowed, "this user may not do that")
    }

    /// For a user who keeps as much as a user may.
    pub(crate) fn full() -> Fault {
        let what = "this user keeps as much as one may: remove playlists, bookmarks or stars";
        Fault::new(Code::NotAllowed, what)
    }

    pub(crate) fn host() -> Fault {
        Fault::new(Code::Generic, "the server cannot keep this at the moment")
    }
}
