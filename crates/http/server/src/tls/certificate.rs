//! Contents of a certificate: its names and its validity.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use http1::date;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::error::{Error, ErrorKind};

/// Number of days before the expiry at which the operator is warned. Tools for automatic renewal
/// act earlier, so certificates that they renew cause no warning.
const RENEW_DAYS: i64 = 14;

/// Warning about a certificate that clients may reject. The certificate is used all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateWarning {
    /// File of the certificate.
    pub path: PathBuf,
    /// Text of the warning.
    pub what: String,
}

impl fmt::Display for CertificateWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tls: {}: {}", self.path.display(), self.what)
    }
}

/// Names and validity of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CertificateInfo {
    /// Host names in lower case; a leading `*.` stands for one label.
    pub(super) names: Vec<String>,
    pub(super) addresses: Vec<IpAddr>,
    begin_unix_s: i64,
    end_unix_s: i64,
}

impl CertificateInfo {
    /// Parses the certificate `der`, the first in the file `path`.
    pub(super) fn read(der: &[u8], path: &Path) -> Result<CertificateInfo, Error> {
        let bad = |err: x509_cert::der::Error| {
            Error::because(ErrorKind::BadCertificate, path, err.to_string())
        };
        let certificate = Certificate::from_der(der).map_err(bad)?;
        let certificate = certificate.tbs_certificate();
        let alternatives = certificate
            .get_extension::<SubjectAltName>()
            .map_err(bad)?
            .map_or_else(Vec::new, |(_critical, names)| names.0);
        let (mut names, mut addresses) = (Vec::new(), Vec::new());
        for alternative in &alternatives {
            match alternative {
                GeneralName::DnsName(name) => names.push(name.as_str().to_ascii_lowercase()),
                GeneralName::IpAddress(octets) => addresses.extend(address(octets.as_bytes())),
                // Clients match no other kind of name against a host (RFC 9525 §6), so these names
                // are ignored.
                _ => {}
            }
        }
        let validity = certificate.validity();
        Ok(CertificateInfo {
            names,
            addresses,
            begin_unix_s: validity.not_before.to_unix_duration().as_secs() as i64,
            end_unix_s: validity.not_after.to_unix_duration().as_secs() as i64,
        })
    }

    /// Returns warnings about names and validity, as of the time `now_unix_s`.
    pub(super) fn warnings(&self, now_unix_s: i64, path: &Path) -> Vec<CertificateWarning> {
        let mut what = Vec::new();
        let day = |unix_s| {
            let date = date::format(unix_s);
            str::from_utf8(&date).expect("dates are ASCII").to_owned()
        };
        if self.end_unix_s < now_unix_s {
            what.push(format!(
                "the certificate expired on {}",
                day(self.end_unix_s)
            ));
        } else if self.end_unix_s < now_unix_s + RENEW_DAYS * 86_400 {
            what.push(format!(
                "the certificate expires on {}",
                day(self.end_unix_s)
            ));
        }
        if now_unix_s < self.begin_unix_s {
            what.push(format!(
                "the certificate is not valid before {}",
                day(self.begin_unix_s)
            ));
        }
        if self.names.is_empty() && self.addresses.is_empty() {
            what.push(
                "the certificate lists no host as a subject alternative name: clients ignore the \
                 common name"
                    .to_owned(),
            );
        }
        let warning = |what| CertificateWarning {
            path: path.to_owned(),
            what,
        };
        what.into_iter().map(warning).collect()
    }
}

/// Parses an IP address of four or sixteen octets. RFC 5280 §4.2.1.6.
fn address(octets: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        return Some(octets.into());
    }
    <[u8; 16]>::try_from(octets).ok().map(IpAddr::from)
}
