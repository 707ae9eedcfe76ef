//! Certificates and their keys, selected by the server names that clients send.

use parking_lot::RwLock;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{SignatureAlgorithm, SignatureScheme};
use wall_clock::unix_ms;

use super::certificate::CertificateInfo;
use super::certificate::CertificateWarning;
use super::error::{Error, ErrorKind};
use super::pair::Pair;

/// Maximum size of a certificate file in bytes, enough for several hundred certificates.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// All loaded certificates.
#[derive(Debug)]
pub(super) struct Keyring {
    /// Certificates by name, those with cheaper signatures first.
    by_name: HashMap<String, Vec<Arc<CertifiedKey>>>,
    /// Wildcard certificates, by the name that follows `*.`.
    by_parent: HashMap<String, Vec<Arc<CertifiedKey>>>,
    addresses: HashSet<IpAddr>,
    /// Certificates for clients that send no known name: the certificate of the first pair, and all
    /// certificates that share a name with it.
    default: Vec<Arc<CertifiedKey>>,
    /// Names and validity of each certificate, with its file.
    infos: Vec<(CertificateInfo, PathBuf)>,
}

impl Keyring {
    /// Loads the files of `pairs`, and returns the keyring with warnings about the certificates.
    pub(super) fn read(pairs: &[Pair]) -> Result<(Keyring, Vec<CertificateWarning>), Error> {
        let mut keyring = Keyring {
            by_name: HashMap::new(),
            by_parent: HashMap::new(),
            addresses: HashSet::new(),
            default: Vec::new(),
            infos: Vec::new(),
        };
        let mut warnings = Vec::new();
        let mut first_names: Option<Vec<String>> = None;
        let now_unix_s = (unix_ms() / 1000) as i64;
        for pair in pairs {
            let (certified, info) = read_pair(pair)?;
            warnings.extend(info.warnings(now_unix_s, &pair.certificates));
            let certified = Arc::new(certified);
            keyring
                .infos
                .push((info.clone(), pair.certificates.clone()));
            for name in &info.names {
                let by = match name.strip_prefix("*.") {
                    Some(parent) => keyring.by_parent.entry(parent.to_owned()),
                    None => keyring.by_name.entry(name.clone()),
                };
                insert(by.or_default(), &certified);
            }
            keyring.addresses.extend(info.addresses);
            let names = first_names.get_or_insert_with(|| info.names.clone());
            if keyring.default.is_empty() || names.iter().any(|it| info.names.contains(it)) {
                insert(&mut keyring.default, &certified);
            }
        }
        Ok((keyring, warnings))
    }

    /// Returns the certificate for a client that sends the server name `name` and can verify the
    /// signature schemes `schemes`.
    fn choose(&self, name: Option<&str>, schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let found = name.and_then(|name| self.named(&name.to_ascii_lowercase()));
        let candidates = found.unwrap_or(&self.default);
        let fitting = candidates
            .iter()
            .find(|certified| certified.key.choose_scheme(schemes).is_some());
        // If the client can verify none of the certificates, the first certificate is sent: perhaps
        // the client does not verify certificates at all.
        fitting.or_else(|| candidates.first()).cloned()
    }

    fn named(&self, name: &str) -> Option<&Vec<Arc<CertifiedKey>>> {
        self.by_name.get(name).or_else(|| {
            // RFC 9525 §6.3: the asterisk of a wildcard name stands for exactly its first label.
            let (_, parent) = name.split_once('.')?;
            self.by_parent.get(parent)
        })
    }

    /// Returns warnings about the certificates, as of the time `now_unix_s`.
    fn warnings(&self, now_unix_s: i64) -> Vec<CertificateWarning> {
        let infos = self.infos.iter();
        infos
            .flat_map(|(info, path)| info.warnings(now_unix_s, path))
            .collect()
    }

    fn covers(&self, host: &str) -> bool {
        let address = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        match address.unwrap_or(host).parse() {
            Ok(address) => self.addresses.contains(&address),
            Err(_) => self.named(&host.to_ascii_lowercase()).is_some(),
        }
    }
}

/// Inserts `certified` so that certificates with cheaper signatures come first. An RSA signature
/// takes ten times as long as an ECDSA signature.
fn insert(candidates: &mut Vec<Arc<CertifiedKey>>, certified: &Arc<CertifiedKey>) {
    let cost = |certified: &CertifiedKey| certified.key.algorithm() == SignatureAlgorithm::RSA;
    let index = candidates.partition_point(|before| cost(before) <= cost(certified));
    candidates.insert(index, Arc::clone(certified));
}

fn read_pair(pair: &Pair) -> Result<(CertifiedKey, CertificateInfo), Error> {
    let path = &pair.certificates;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&read(path)?)
        .collect::<Result<_, _>>()
        .map_err(|err| Error::because(ErrorKind::BadCertificate, path, err.to_string()))?;
    let first = chain
        .first()
        .ok_or_else(|| Error::new(ErrorKind::NoCertificate, path))?;
    let info = CertificateInfo::read(first, path)?;
    let path = &pair.key;
    let key = PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|err| match err {
        pem::Error::NoItemsFound => Error::new(ErrorKind::NoKey, path),
        err => Error::because(ErrorKind::BadKey, path, err.to_string()),
    })?;
    let key = ring::sign::any_supported_type(&key)
        .map_err(|err| Error::because(ErrorKind::BadKey, path, err))?;
    let certified = CertifiedKey::new(chain, key);
    certified.keys_match().map_err(|err| match err {
        rustls::Error::InconsistentKeys(_) => Error::new(ErrorKind::Mismatch, path),
        err => Error::because(ErrorKind::BadCertificate, &pair.certificates, err),
    })?;
    Ok((certified, info))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| io_read(file, &mut bytes))
        .map_err(|err| Error::unreadable(path, err))?;
    Ok(bytes)
}

fn io_read(file: std::fs::File, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    use std::io::Read as _;
    file.take(FILE_BYTES_MAX).read_to_end(bytes)
}

/// Current keyring, shared by all cores: it is read once per handshake and replaced once per
/// reload. The lock is held only to copy or replace the pointer.
#[derive(Debug)]
pub(super) struct Resolver(RwLock<Arc<Keyring>>);

impl Resolver {
    pub(super) fn new(keyring: Keyring) -> Resolver {
        Resolver(RwLock::new(Arc::new(keyring)))
    }

    pub(super) fn replace(&self, keyring: Keyring) {
        *self.0.write() = Arc::new(keyring);
    }

    /// Returns warnings about the certificates in use, as of now.
    pub(super) fn warnings(&self) -> Vec<CertificateWarning> {
        self.keyring().warnings((unix_ms() / 1000) as i64)
    }

    pub(super) fn covers(&self, host: &str) -> bool {
        self.keyring().covers(host)
    }

    fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.0.read())
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.keyring()
            .choose(hello.server_name(), hello.signature_schemes())
    }
}
