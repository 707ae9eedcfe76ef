//! TLS 1.2 and 1.3 with rustls. Certificates are selected by name, and can be replaced while the
//! server runs. Sessions can be resumed.
//!
//! Principal type: [`Tls`], which all cores share. A handshake writes to shared memory only for TLS
//! 1.2 clients without tickets, whose sessions are in a shared cache.
//!
//! The cryptographic library is ring, which a C compiler builds in seconds. It lacks post-quantum
//! key exchange. Its alternative aws-lc-rs needs CMake, and takes minutes to build.

mod certificate;
mod error;
pub(crate) mod handshakes;
mod keyring;
mod pair;
pub(crate) mod serve;
#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::ServerSessionMemoryCache;

pub use certificate::CertificateWarning;
pub use error::{Error, ErrorKind};
use keyring::{Keyring, Resolver};
pub use pair::Pair;

/// TLS configuration: certificates and resumable sessions.
#[derive(Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    resolver: Arc<Resolver>,
    pairs: Vec<Pair>,
    /// Modification times of the certificate and key files at the last check.
    modified_times: Mutex<Vec<Option<SystemTime>>>,
}

/// Result of a check of the certificate files for changes.
#[derive(Debug, PartialEq, Eq)]
pub enum Reload {
    /// The files have not changed.
    Unchanged,
    /// New handshakes use the new certificates; the warnings are for the operator.
    Changed(Vec<CertificateWarning>),
}

impl Tls {
    /// Loads the files and returns warnings about their certificates for the operator. The first
    /// pair serves clients that send no server name or an unknown name. At most `sessions_max`
    /// sessions are kept for clients without tickets.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid, or a key does not match its certificate.
    ///
    /// # Panics
    /// If `pairs` is empty.
    pub fn load(
        pairs: Vec<Pair>,
        sessions_max: usize,
    ) -> Result<(Tls, Vec<CertificateWarning>), Error> {
        assert!(!pairs.is_empty(), "no certificate");
        let modified_times = written(&pairs);
        let (keyring, warnings) = Keyring::read(&pairs)?;
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
            modified_times: Mutex::new(modified_times),
        };
        Ok((tls, warnings))
    }

    /// Reloads the files. Open connections keep their certificates, and sessions can still be
    /// resumed.
    ///
    /// # Errors
    /// As [`Tls::load`]; the previous certificates stay in use.
    pub fn reload(&self) -> Result<Vec<CertificateWarning>, Error> {
        let mut modified_times = self.modified_times.lock();
        *modified_times = written(&self.pairs);
        let (keyring, warnings) = Keyring::read(&self.pairs)?;
        self.resolver.replace(keyring);
        Ok(warnings)
    }

    /// Reloads the files if one of them was written since the last check. A check is one `stat` per
    /// file, cheap enough for a timer, so that renewal tools need not notify the server.
    ///
    /// # Errors
    /// As [`Tls::reload`]. Each change of the files leads to at most one error.
    pub fn reload_if_changed(&self) -> Result<Reload, Error> {
        let modified_times = self.modified_times.lock();
        let unchanged = *modified_times == written(&self.pairs);
        drop(modified_times);
        if unchanged {
            return Ok(Reload::Unchanged);
        }
        self.reload().map(Reload::Changed)
    }

    /// Returns the warnings about the certificates in use, as of now.
    #[must_use]
    pub fn warnings(&self) -> Vec<CertificateWarning> {
        self.resolver.warnings()
    }

    /// Returns whether a certificate matches `host`: a name, or an IP address as it is written in a
    /// URL.
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
    // An error here is ignored, since reading the file will report the error.
    written.map(Result::ok).collect()
}
