//! Errors of certificates and keys, with advice for the operator, who must fix their cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Error of a certificate or key.
#[derive(Debug)]
pub struct Error {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Path of the affected file.
    pub path: PathBuf,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Kind of an [`Error`], by its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The file cannot be read.
    Unreadable,
    /// The file contains no certificate.
    NoCertificate,
    /// The file contains no private key.
    NoKey,
    /// The first certificate is invalid.
    BadCertificate,
    /// The key is invalid, or of an obsolete kind.
    BadKey,
    /// The key does not match the certificate.
    Mismatch,
    /// The host provides no random numbers; the file is not at fault.
    NoRandomness,
}

impl Error {
    pub(super) fn new(kind: ErrorKind, path: &Path) -> Error {
        Error {
            kind,
            path: path.to_owned(),
            source: None,
        }
    }

    pub(super) fn because(
        kind: ErrorKind,
        path: &Path,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Error {
            source: Some(source.into()),
            ..Error::new(kind, path)
        }
    }

    pub(super) fn unreadable(path: &Path, source: io::Error) -> Error {
        Error::because(ErrorKind::Unreadable, path, source)
    }

    pub(super) fn no_randomness(source: rustls::Error) -> Error {
        Error::because(ErrorKind::NoRandomness, Path::new(""), source)
    }

    /// Returns advice for the operator.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.kind {
            ErrorKind::Unreadable => {
                "the certificate and the key must be readable by the user that pelton runs as"
            }
            ErrorKind::NoCertificate => {
                "give --tls-cert the PEM file with the whole chain, which certbot calls fullchain.pem"
            }
            ErrorKind::NoKey => {
                "give --tls-key the PEM file with the key, without a passphrase: openssl pkey -in \
                 OLD -out NEW removes the passphrase"
            }
            ErrorKind::BadCertificate => {
                "openssl x509 -noout -text -in FILE shows the content of the file"
            }
            ErrorKind::BadKey => {
                "keys may be ECDSA on P-256 or P-384, Ed25519, or RSA from 2048 to 8192 bits"
            }
            ErrorKind::Mismatch => {
                "give certificates and keys in the same order; each file begins with the server's own certificate"
            }
            ErrorKind::NoRandomness => "the kernel refuses getrandom; check for a seccomp filter",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::Unreadable => "the file cannot be read",
            ErrorKind::NoCertificate => "the file holds no certificate",
            ErrorKind::NoKey => "the file holds no private key",
            ErrorKind::BadCertificate => "the certificate cannot be used",
            ErrorKind::BadKey => "the key cannot be used",
            ErrorKind::Mismatch => "the key does not belong to the certificate",
            ErrorKind::NoRandomness => {
                return write!(
                    f,
                    "tls: cannot get random numbers for the keys of session tickets"
                );
            }
        };
        write!(f, "tls: {}: {what}", self.path.display())?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
