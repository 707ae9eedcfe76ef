//! Error responses of the Subsonic protocol.

use std::borrow::Cow;

use crate::store::StoreError;

/// Error codes of the Subsonic protocol.
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

/// Reason why an endpoint is not offered: not implemented yet, or never to be implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    NotYet,
    Never,
}

/// Error response of the Subsonic protocol. The HTTP status is 200 for most errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    /// HTTP status.
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

    /// Returns the error for a client that failed to log in too often.
    pub(crate) fn guessing(wait_s: u64) -> Fault {
        let what = format!("too many failed logins; try again in {wait_s} seconds");
        Fault {
            status: 429,
            ..Fault::new(Code::Login, what)
        }
    }

    pub(crate) fn bad(name: &str) -> Fault {
        Fault::new(Code::Generic, format!("parameter {name} is invalid"))
    }

    /// Returns the error for a request body that the endpoint cannot parse.
    pub(crate) fn bad_body(why: &str) -> Fault {
        Fault::new(Code::Generic, format!("the request body is invalid: {why}"))
    }

    /// Returns the error for a request that would exceed the limit on concurrent transcodes.
    pub(crate) fn busy() -> Fault {
        let what = "too many transcodes in progress; try again soon";
        Fault {
            status: 429,
            ..Fault::new(Code::Generic, what)
        }
    }

    /// Returns the error for an endpoint of the protocol that this server does not offer. The HTTP
    /// status is the one that Navidrome, another Subsonic server, sends.
    pub(crate) fn lacking(lack: Lack) -> Fault {
        let (status, what) = match lack {
            Lack::NotYet => (501, "this endpoint is not implemented"),
            Lack::Never => (410, "this endpoint will not be implemented"),
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
        Fault::new(
            Code::NotAllowed,
            "this user is not authorized for this operation",
        )
    }

    /// Returns the error for a user who has reached a limit on stored data.
    pub(crate) fn full() -> Fault {
        let what = "this user has reached a storage limit: remove playlists, bookmarks or stars";
        Fault::new(Code::NotAllowed, what)
    }
}

impl From<StoreError> for Fault {
    /// Logs the error, and returns the error for the client, which contains no details of the host.
    fn from(err: StoreError) -> Fault {
        tracing::error!(%err, cause = %err.source, "cannot read or store user data");
        let what = "the server cannot read or store user data at the moment";
        Fault::new(Code::Generic, what)
    }
}
