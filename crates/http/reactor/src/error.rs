//! Errors that prevent a reactor from starting.

use std::io;
use std::net::SocketAddr;

/// Kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Another socket already listens on the address.
    AddressInUse,
    /// The address does not belong to this host, or this user may not listen on it.
    AddressRefused,
    /// The host lacks a resource: descriptors, memory, processors.
    Host,
}

/// Error that prevents a reactor from starting. It is always the fault of the host, or of the
/// operator who chose the address.
#[derive(Debug, thiserror::Error)]
#[error("{failure}: {source}")]
pub struct Error {
    kind: ErrorKind,
    failure: String,
    hint: Option<String>,
    source: io::Error,
}

impl Error {
    pub(crate) fn host(failure: impl Into<String>, source: io::Error) -> Error {
        Error {
            kind: ErrorKind::Host,
            failure: failure.into(),
            hint: None,
            source,
        }
    }

    /// Adds advice for the operator.
    pub(crate) fn with_hint(mut self, hint: String) -> Error {
        self.hint = Some(hint);
        self
    }

    pub(crate) fn listen(address: SocketAddr, source: io::Error) -> Error {
        let port = address.port();
        let (kind, hint) = match source.kind() {
            io::ErrorKind::AddrInUse => (
                ErrorKind::AddressInUse,
                Some(format!(
                    "`ss -ltnp 'sport = :{port}'` shows the process that listens on this port; \
                     stop the process or choose another port"
                )),
            ),
            io::ErrorKind::PermissionDenied => (
                ErrorKind::AddressRefused,
                Some(
                    "ports below net.ipv4.ip_unprivileged_port_start need the capability \
                     CAP_NET_BIND_SERVICE; grant the capability, or choose port 1024 or above"
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
            failure: format!("cannot listen on {address}"),
            hint,
            source,
        }
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns advice for the operator, if any.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
