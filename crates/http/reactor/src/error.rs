//! Why a reactor cannot start.

use std::net::SocketAddr;
use std::{fmt, io};

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Somebody listens on the address already.
    AddressInUse,
    /// The address is not one of this host's, or not to be had by this user.
    AddressRefused,
    /// The host lacks a resource: descriptors, memory, processors.
    Host,
}

/// A reactor that cannot start: always the host's fault, or that of who chose the address.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    action: String,
    hint: Option<String>,
    source: io::Error,
}

impl Error {
    pub(crate) fn host(action: impl Into<String>, source: io::Error) -> Error {
        Error {
            kind: ErrorKind::Host,
            action: action.into(),
            hint: None,
            source,
        }
    }

    pub(crate) fn listen(address: SocketAddr, source: io::Error) -> Error {
        let port = address.port();
        let (kind, hint) = match source.kind() {
            io::ErrorKind::AddrInUse => (
                ErrorKind::AddressInUse,
                Some(format!(
                    "`ss -ltnp 'sport = :{port}'` names who listens there; stop it or choose another port"
                )),
            ),
            io::ErrorKind::PermissionDenied => (
                ErrorKind::AddressRefused,
                Some(
                    "ports below net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE; \
                     grant it, or choose port 1024 or above"
                        .to_owned(),
                ),
            ),
            io::ErrorKind::AddrNotAvailable => (
                ErrorKind::AddressRefused,
                Some("`ip -brief address` lists this host's addresses".to_owned()),
            ),
            _ => (ErrorKind::Host, None),
        };
        Error {
            kind,
            action: format!("listen on {address}"),
            hint,
            source,
        }
    }

    /// What a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What a person can do about it, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.action, self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
