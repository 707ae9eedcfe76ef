//! TLS 1.2 and 1.3 by rustls: certificates by name, replaced while serving; sessions are resumed.
//!
//! Principal type: [`Tls`], which all cores share. The only shared writes of a handshake are those
//! of the session cache, for TLS 1.2 clients without tickets. The cryptography is ring's: it builds
//! statically with a C compiler in seconds, while aws-lc-rs needs CMake and minutes. ring lacks
//! post-quantum key exchange.

mod certificate;
mod error;
mod handshakes;
mod keyring;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use reactor::{Conn, Ended, Wait};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::ServerSessionMemoryCache;
use tokio_rustls::TlsAcceptor;

use crate::connection::http1;
use crate::core::Core;
use crate::h2;
use crate::input::Input;
use crate::metrics::Handshake;
use crate::transport::Secured;

pub use certificate::CertificateWarning;
pub use error::{Error, ErrorKind};
pub(crate) use handshakes::Handshakes;
use keyring::{Keyring, Resolver};

/// Certificate chain and key: two PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// File of the chain, the server's own certificate first.
    pub certificates: PathBuf,
    /// File of the key: PKCS #8, SEC 1 or PKCS #1, without a passphrase.
    pub key: PathBuf,
}

/// Certificates and sessions.
#[derive(Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    resolver: Arc<Resolver>,
    pairs: Vec<Pair>,
    /// Modification times of the files at the last check.
    seen: Mutex<Vec<Option<SystemTime>>>,
}

/// Result of a check.
#[derive(Debug, PartialEq, Eq)]
pub enum Reload {
    /// The files have not changed.
    Unchanged,
    /// New handshakes use the new certificates; the warnings are for the operator.
    Changed(Vec<CertificateWarning>),
}

impl Tls {
    /// Loads the files and returns warnings about their certificates for the operator. The first
    /// pair serves clients that send no name or an unknown one. At most `sessions_max` sessions are
    /// kept for clients without tickets.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid, or a key does not match its certificate.
    ///
    /// # Panics
    /// Without a pair.
    pub fn load(
        pairs: Vec<Pair>,
        sessions_max: usize,
    ) -> Result<(Tls, Vec<CertificateWarning>), Error> {
        assert!(!pairs.is_empty(), "no certificate");
        let seen = written(&pairs);
        let (keyring, concerns) = Keyring::read(&pairs)?;
        let resolver = Arc::new(Resolver::new(keyring));
        let mut config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("ring has suites for TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&resolver) as _);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.session_storage = ServerSessionMemoryCache::new(sessions_max);
        config.ticketer = ring::Ticketer::new().map_err(Error::no_randomness)?;
        let tls = Tls {
            config: Arc::new(config),
            resolver,
            pairs,
            seen: Mutex::new(seen),
        };
        Ok((tls, concerns))
    }

    /// Reloads the files. Open connections keep their certificates, and sessions can still be
    /// resumed.
    ///
    /// # Errors
    /// As [`Tls::load`]; the previous certificates stay in use.
    pub fn reload(&self) -> Result<Vec<CertificateWarning>, Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = written(&self.pairs);
        let (keyring, concerns) = Keyring::read(&self.pairs)?;
        self.resolver.replace(keyring);
        Ok(concerns)
    }

    /// Reloads the files if one of them was written since the last check. A check is one `stat` per
    /// file, cheap enough for a timer, so that renewal tools need not notify the server.
    ///
    /// # Errors
    /// As [`Tls::reload`], once per change.
    pub fn reload_if_changed(&self) -> Result<Reload, Error> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let unchanged = *seen == written(&self.pairs);
        drop(seen);
        if unchanged {
            return Ok(Reload::Unchanged);
        }
        self.reload().map(Reload::Changed)
    }

    /// Returns whether a certificate matches `host`: a name, or an address in the form of URLs.
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        self.resolver.covers(host)
    }
}

/// Returns the modification times of the files; `None` if the host does not report one.
fn written(pairs: &[Pair]) -> Vec<Option<SystemTime>> {
    let files = pairs
        .iter()
        .flat_map(|pair| [&pair.certificates, &pair.key]);
    let written = files.map(|file| std::fs::metadata(file).and_then(|file| file.modified()));
    // The error is reported when the file is read.
    written.map(Result::ok).collect()
}

/// Performs the handshake, then serves the protocol that ALPN selected.
pub(crate) async fn serve(core: Rc<Core>, conn: Conn, tls: Arc<Tls>) {
    let listener = conn.listener;
    // Boxed like the rest, so that a connection holds the state of one step only.
    let Some((protocol, conn)) = Box::pin(handshake(&core, conn, &tls)).await else {
        return;
    };
    match protocol {
        Protocol::Http2 => Box::pin(h2::serve(core, conn, Input::default())).await,
        Protocol::Http1 => http1(core, conn, listener, Input::default()).await,
    }
}

enum Protocol {
    Http1,
    Http2,
}

async fn handshake(core: &Core, conn: Conn, tls: &Tls) -> Option<(Protocol, Conn<Secured>)> {
    conn.deadline.arm(Wait::Handshake);
    let buffer_bytes_max = core.service.settings.limits.tls_buffer_bytes_max;
    let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
    let (socket, conn) = conn.counted().swap(());
    let mut place = core.handshakes.begin();
    let accept = acceptor.accept_with(socket, |session| {
        session.set_buffer_limit(Some(buffer_bytes_max));
    });
    let accepted = conn.deadline.within(async {
        tokio::select! {
            biased;
            accepted = accept => accepted.map_err(Ended::Socket),
            () = place.taken() => Err(Ended::Evicted),
        }
    });
    let metrics = core.service.metrics.core(core.reactor.index());
    let stream = match accepted.await.flatten() {
        Ok(stream) => stream,
        Err(err) => {
            tracing::debug!(peer = %conn.peer, ?err, "no TLS handshake");
            metrics.record_handshake(Handshake::Failed);
            return None;
        }
    };
    drop(place);
    let session = stream.get_ref().1;
    metrics.record_handshake(match session.handshake_kind() {
        Some(rustls::HandshakeKind::Resumed) => Handshake::Resumed,
        _ => Handshake::Full,
    });
    let protocol = match session.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    conn.deadline.arm(Wait::FirstByte);
    Some((protocol, conn.swap(Secured::new(stream)).1))
}
