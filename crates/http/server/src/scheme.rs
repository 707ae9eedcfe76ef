//! What is spoken by which listener, and the way from http to https.

use std::sync::Arc;

use http1::{Method, Request};

use crate::answer::{Answer, Fields, Payload, Shape};
use crate::core::Core;
use crate::metrics::Served;
use crate::problem::Problem;
use crate::tls::Tls;

/// What is spoken with the connections of one listener.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// HTTP/1.1, and HTTP/2 with prior knowledge.
    Http,
    /// The same, and all it says is: come again over TLS.
    Redirect(Https),
    /// HTTP/1.1 and HTTP/2 over TLS, as ALPN decides.
    Https(Arc<Tls>),
    /// As [`Scheme::Http`], for the administration: metrics, status and the API need no login there.
    Admin,
}

/// Where TLS is spoken.
#[derive(Clone, Debug)]
pub struct Https {
    /// The hosts it is for.
    pub tls: Arc<Tls>,
    /// The port as clients reach it.
    pub port: u16,
}

/// What a host's own probes ask for, which know neither names nor TLS.
pub(crate) const PROBES: [&str; 3] = ["/healthz", "/-/live", "/-/ready"];

impl Core {
    /// Sends a client to `https`, where this is not what answers it.
    ///
    /// The host is the client's word, so it is repeated only where a certificate is for it: a cache in between could
    /// otherwise be taught to send others anywhere.
    pub(crate) fn answer_elsewhere(&self, https: &Https, request: &Request<'_>) -> Option<Answer> {
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
            return Some(self.answer_problem(&Problem::Misdirected, shape));
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

/// The host of a valid authority; an IPv6 address keeps its brackets.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}
