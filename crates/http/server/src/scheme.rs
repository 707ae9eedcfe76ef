//! Schemes of listeners.

use std::sync::Arc;

use crate::tls::Tls;

/// Protocols of one listener's connections.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// HTTP/1.1, and HTTP/2 with prior knowledge.
    Http,
    /// As [`Scheme::Http`], with a redirect to TLS as the only response.
    Redirect(Https),
    /// HTTP/1.1 and HTTP/2 over TLS, selected by ALPN.
    Https(Arc<Tls>),
    /// As [`Scheme::Http`], for the administration: metrics, status and the API need no login.
    Admin,
}

/// Location of the TLS listener.
#[derive(Clone, Debug)]
pub struct Https {
    /// Certificates and their hosts.
    pub tls: Arc<Tls>,
    /// Port that clients connect to.
    pub port: u16,
}

/// Returns the host of a valid authority; an IPv6 address keeps its brackets.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}
