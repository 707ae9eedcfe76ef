//! HTTPS: certificates from the configuration, and the scheme of each listener.

use std::net::SocketAddr;
use std::sync::Arc;

use report::Error;
use server::tls::{self, CertificateWarning, Pair, Tls};
use server::{Https, Scheme};

use crate::{Config, Redirect};

/// Certificates that were loaded, and the problems found in them.
pub struct Loaded {
    /// Certificates and keys, ready for connections.
    pub tls: Arc<Tls>,
    /// Problems of the certificates. Clients may refuse a certificate with such a problem.
    pub concerns: Vec<CertificateWarning>,
}

/// Loads the configured certificates, if there are any.
///
/// # Errors
/// Usage error if the certificate files and the key files do not match, or if a file cannot be
/// used. Host error if the host has no source of randomness.
pub fn load(config: &Config) -> Result<Option<Loaded>, Error> {
    let (certificates, keys) = (&config.tls.cert.0, &config.tls.key.0);
    if certificates.len() != keys.len() {
        let (certificates, keys) = (certificates.len(), keys.len());
        let what = format!("tls: {certificates} certificates are configured, but {keys} keys");
        return Err(Error::usage(what)
            .hint("give --tls-cert and --tls-key the same number of files, in the same order"));
    }
    if certificates.is_empty() {
        return match config.tls.redirect {
            Redirect::Off => Ok(None),
            _ => Err(Error::usage(
                "tls.redirect: HTTPS is off, because no certificate is configured",
            )
            .hint("give --tls-cert and --tls-key")),
        };
    }
    let pair = |(certificates, key): (&_, &_)| Pair {
        certificates: Clone::clone(certificates),
        key: Clone::clone(key),
    };
    let pairs = certificates.iter().zip(keys).map(pair).collect();
    let sessions_max = config.limits.tls_sessions_max as usize;
    let (tls, concerns) = Tls::load(pairs, sessions_max).map_err(|err| refused(&err))?;
    Ok(Some(Loaded {
        tls: Arc::new(tls),
        concerns,
    }))
}

fn refused(err: &tls::Error) -> Error {
    let error = match err.kind {
        tls::ErrorKind::NoRandomness => Error::host(err.to_string()),
        _ => Error::usage(err.to_string()),
    };
    error.hint(err.hint())
}

/// Returns the addresses to listen on: for HTTP, for HTTPS if there are certificates, and for
/// administration if it has an address of its own.
pub fn addresses(config: &Config, loaded: Option<&Loaded>) -> Vec<SocketAddr> {
    let https = loaded.map(|_| config.tls.listen);
    let admin = config.admin_listen.0;
    [config.listen]
        .into_iter()
        .chain(https)
        .chain(admin)
        .collect()
}

/// Returns the scheme of each address in `bound`. These are the addresses that [`addresses`]
/// returns, in the same order, but with the ports that the kernel chose.
pub fn schemes(config: &Config, tls: Option<Arc<Tls>>, bound: &[SocketAddr]) -> Box<[Scheme]> {
    let admin = config.admin_listen.0.map(|_| Scheme::Admin);
    let Some(tls) = tls else {
        return [Scheme::Http].into_iter().chain(admin).collect();
    };
    let port = match config.tls.redirect {
        Redirect::Off => None,
        Redirect::On => Some(bound[1].port()),
        Redirect::Port(port) => Some(port.get()),
    };
    let http = port.map_or(Scheme::Http, |port| {
        let tls = Arc::clone(&tls);
        Scheme::Redirect(Https { tls, port })
    });
    let public = [http, Scheme::Https(tls)];
    public.into_iter().chain(admin).collect()
}

/// Returns the URLs at which `addresses` are served, according to their schemes.
pub fn origins(addresses: &[SocketAddr], schemes: &[Scheme]) -> Vec<String> {
    let pairs = addresses.iter().zip(schemes);
    pairs
        .map(|(address, scheme)| match scheme {
            Scheme::Http | Scheme::Redirect(_) | Scheme::Admin => format!("http://{address}/"),
            Scheme::Https(_) => format!("https://{address}/"),
        })
        .collect()
}
