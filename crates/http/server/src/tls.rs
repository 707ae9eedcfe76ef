//! TLS 1.2 and 1.3 by rustls: certificates by name, replaced while serving, sessions resumed.
//!
//! Principal type: [`Tls`], shared by all cores. A handshake's only shared writes are those of the session cache, which
//! TLS 1.2 clients without tickets need; tickets carry everything else. The cryptography is ring's: it builds with a C
//! compiler alone, in seconds and statically, where aws-lc-rs wants CMake and minutes; what it lacks is post-quantum
//! key exchange.

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

pub use certificate::Concern;
pub use error::{Error, ErrorKind};
pub(crate) use handshakes::Handshakes;
use keyring::{Keyring, Resolver};

/// A certificate with those that lead to its root, and its key: two PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The server's own certificate first.
    pub certificates: PathBuf,
    /// PKCS #8, SEC 1 or PKCS #1, without a passphrase.
    pub key: PathBuf,
}

/// Certificates and sessions.
#[derive(Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    resolver: Arc<Resolver>,
    pairs: Vec<Pair>,
    /// When the files were written that were last looked at.
    seen: Mutex<Vec<Option<SystemTime>>>,
}

/// What became of a reload.
#[derive(Debug, PartialEq, Eq)]
pub enum Reload {
    /// The files are those last looked at.
    Unchanged,
    /// Handshakes from now on get the new certificates, which an operator should know this of.
    Changed(Vec<Concern>),
}

impl Tls {
    /// Reads the files, and tells what an operator should know of their certificates. The first pair is for clients
    /// that ask for no name or an unknown one. At most `sessions_max` sessions are kept for clients without tickets.
    ///
    /// # Errors
    /// A file cannot be read or makes no sense, or a key is not its certificate's.
    ///
    /// # Panics
    /// Without a pair.
    pub fn load(pairs: Vec<Pair>, sessions_max: usize) -> Result<(Tls, Vec<Concern>), Error> {
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

    /// Reads the files again. Connections that are open keep what they have, and sessions can still be resumed.
    ///
    /// # Errors
    /// As [`Tls::load`]; what was there before goes on being used.
    pub fn reload(&self) -> Result<Vec<Concern>, Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = written(&self.pairs);
        let (keyring, concerns) = Keyring::read(&self.pairs)?;
        self.resolver.replace(keyring);
        Ok(concerns)
    }

    /// Reads the files again if one of them was written since they were last looked at: a `stat` each, and so cheap
    /// enough to be called by a clock. Who renews a certificate need not tell us.
    ///
    /// # Errors
    /// As [`Tls::reload`], once for each change.
    pub fn reload_if_changed(&self) -> Result<Reload, Error> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let unchanged = *seen == written(&self.pairs);
        drop(seen);
        if unchanged {
            return Ok(Reload::Unchanged);
        }
        self.reload().map(Reload::Changed)
    }

    /// Whether a certificate is for `host`: a name, or an address as URLs have it.
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        self.resolver.covers(host)
    }
}

/// When each file was written; `None` where the host does not say.
fn written(pairs: &[Pair]) -> Vec<Option<SystemTime>> {
    let files = pairs
        .iter()
        .flat_map(|pair| [&pair.certificates, &pair.key]);
    let written = files.map(|file| std::fs::metadata(file).and_then(|file| file.modified()));
    // What is wrong with a file is told by whoever reads it.
    written.map(Result::ok).collect()
}

/// Shakes hands, then speaks what ALPN decided.
pub(crate) async fn serve(core: Rc<Core>, conn: Conn, tls: Arc<Tls>) {
    let listener = conn.listener;
    // Boxed, as what follows: a connection holds what it needs for one of them, not for all.
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
            metrics.shook_hands(Handshake::Failed);
            return None;
        }
    };
    drop(place);
    let session = stream.get_ref().1;
    metrics.shook_hands(match session.handshake_kind() {
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
