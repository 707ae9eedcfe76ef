//! Files of a certificate.

use std::path::PathBuf;

/// Certificate chain and key: two PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// File of the certificate chain. The server's own certificate comes first.
    pub certificates: PathBuf,
    /// File of the key: PKCS #8, SEC 1 or PKCS #1, without a passphrase.
    pub key: PathBuf,
}
