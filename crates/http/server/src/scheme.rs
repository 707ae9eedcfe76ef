//! Schemes of listeners: HTTP, HTTP with only redirects to HTTPS, HTTPS, and HTTP for
//! administration.

use std::sync::Arc;

use crate::tls::Tls;

/// Protocols of one listener's connections.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// HTTP/1.1, and HTTP/2 with prior knowledge.
    Http,
    /// Same protocols as [`Scheme::Http`]; the only response is a redirect to TLS.
    Redirect(Https),
    /// HTTP/1.1 and HTTP/2 over TLS, selected by ALPN.
    Https(Arc<Tls>),
    /// Same protocols as [`Scheme::Http`], for administration: metrics, status and the API need no
    /// login.
    Admin,
}

/// TLS listener that clients are redirected to.
#[derive(Clone, Debug)]
pub struct Https {
    /// Certificates, which determine the host names that redirects may contain.
    pub tls: Arc<Tls>,
    /// Port that clients connect to.
    pub port: u16,
}

/// Returns the host of a valid authority, without the port. An IPv6 address keeps its brackets.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}
