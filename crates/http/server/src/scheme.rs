//! Schemes of listeners, and the redirect from HTTP to HTTPS.

use std::sync::Arc;

use http1::{Method, Request};

use crate::answer::{Answer, Fields, Payload, Shape};
use crate::core::Core;
use crate::metrics::Served;
use crate::problem::Problem;
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

/// Paths of health checks, which know neither host names nor TLS.
pub(crate) const PROBES: [&str; 3] = ["/healthz", "/-/live", "/-/ready"];

impl Core {
    /// Redirects a client to `https`, unless this listener may respond itself.
    ///
    /// The host comes from the client, so it is repeated only if a certificate matches it.
    /// Otherwise a cache in between could be made to redirect others anywhere.
    pub(crate) fn redirect_to_https(&self, https: &Https, request: &Request<'_>) -> Option<Answer> {
        let target = request.target;
        if target.path == "*" || PROBES.contains(&target.path) {
            return None;
        }
        let name = request.host.map(without_port);
        let Some(name) = name.filter(|name| https.tls.covers(name)) else {
            let shape = Shape {
                bodiless: request.method == Method::Head,
                negotiable: false,
            };
            return Some(self.problem_response(&Problem::Misdirected, shape));
        };
        let mut location = format!("https://{name}");
        if https.port != 443 {
            location += &format!(":{}", https.port);
        }
        location += target.path;
        if let Some(query) = target.query {
            location.push('?');
            location += query;
        }
        Some(Answer {
            status: 308,
            served: Served::Other,
            fields: Fields::Listed(vec![
                ("location".into(), location.into()),
                ("content-length".into(), "0".into()),
            ]),
            added: Vec::new(),
            payload: Payload::None,
            request_id: None,
        })
    }
}

/// Returns the host of a valid authority; an IPv6 address keeps its brackets.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}
