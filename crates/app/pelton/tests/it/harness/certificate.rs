//! Certificates that the tests generate. Each is self-signed.

use std::fs;
use std::path::PathBuf;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;

use super::Home;

/// Certificate and its key, in two files of the test's temporary directory.
#[derive(Debug)]
pub(crate) struct Certificate {
    pub(crate) der: CertificateDer<'static>,
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificate {
    /// Issues a certificate for these names, and writes it to `FILE.pem` and its key to `FILE.key`,
    /// where FILE is the parameter `file`.
    pub(crate) fn issue(home: &Home, file: &str, names: &[&str]) -> Certificate {
        Certificate::issue_until(home, file, names, 4000)
    }

    /// Issues a certificate that is valid until 1 January of `year`.
    pub(crate) fn issue_until(home: &Home, file: &str, names: &[&str], year: i32) -> Certificate {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names make sense");
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().expect("there are random numbers");
        let made = params.self_signed(&key).expect("the key signs");
        let issued = Certificate {
            der: made.der().clone(),
            certificate: home.directory().join(format!("{file}.pem")),
            key: home.directory().join(format!("{file}.key")),
        };
        // Writes each file under another name, then renames it to the final name. The file with the
        // final name is thus complete at any time. Programs that renew certificates do the same.
        for (path, text) in [
            (&issued.certificate, made.pem()),
            (&issued.key, key.serialize_pem()),
        ] {
            let beside = path.with_extension("new");
            fs::write(&beside, text).expect("the home can be written");
            fs::rename(&beside, path).expect("the home can be written");
        }
        issued
    }

    /// Returns the flags that serve these certificates on a port that the kernel chooses.
    pub(crate) fn flags(certificates: &[&Certificate]) -> Vec<String> {
        let list = |pick: fn(&Certificate) -> &PathBuf| {
            let paths = certificates.iter().map(|it| pick(it).display().to_string());
            paths.collect::<Vec<_>>().join(",")
        };
        vec![
            "--tls-listen".to_owned(),
            "127.0.0.1:0".to_owned(),
            "--tls-cert".to_owned(),
            list(|it| &it.certificate),
            "--tls-key".to_owned(),
            list(|it| &it.key),
        ]
    }
}
