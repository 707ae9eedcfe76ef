use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, KeyPair};

use super::{ErrorKind, Pair, Reload, Tls};

/// Temporary directory of one test, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("pelton-tls-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("temporary directory");
        Scratch(path)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// Writes a self-signed certificate for `names`, valid until 3 February of `year`, and its key.
    fn issue(&self, file: &str, names: &[&str], year: i32) -> Pair {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("valid names");
        params.not_after = rcgen::date_time_ymd(year, 2, 3);
        let key = KeyPair::generate().expect("there are random numbers");
        let certificate = params.self_signed(&key).expect("the key signs");
        let pair = Pair {
            certificates: self.path(&format!("{file}.pem")),
            key: self.path(&format!("{file}.key")),
        };
        fs::write(&pair.certificates, certificate.pem()).expect("own directory");
        fs::write(&pair.key, key.serialize_pem()).expect("own directory");
        pair
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("own directory");
    }
}

fn load(pairs: &[&Pair]) -> Result<(Tls, Vec<String>), (ErrorKind, PathBuf)> {
    let pairs = pairs.iter().copied().cloned().collect();
    match Tls::load(pairs, 16) {
        Ok((tls, warnings)) => Ok((tls, warnings.into_iter().map(|it| it.what).collect())),
        Err(err) => Err((err.kind, err.path)),
    }
}

#[test]
fn an_error_names_the_invalid_file() {
    let scratch = Scratch::new("wrong");
    let good = scratch.issue("good", &["h"], 4000);
    let other = scratch.issue("other", &["h"], 4000);
    let text = |path: &Path| fs::read_to_string(path).expect("just written");
    let write = |file: &str, text: String| {
        let path = scratch.path(file);
        fs::write(&path, text).expect("own directory");
        path
    };
    let missing = scratch.path("missing");
    let empty = write("empty", String::new());
    let cut = write("cut", text(&good.certificates)[..300].to_owned());
    let garbled = write(
        "garbled",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(),
    );
    let bad_key = write(
        "bad_key",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".to_owned(),
    );
    let (certificates, key) = (&good.certificates, &good.key);
    // Columns: file of the certificates, file of the key, expected error, file that the error
    // names.
    for (certificates, key, kind, at) in [
        (&missing, key, ErrorKind::Unreadable, &missing),
        (certificates, &missing, ErrorKind::Unreadable, &missing),
        (&empty, key, ErrorKind::NoCertificate, &empty),
        (key, key, ErrorKind::NoCertificate, key),
        (&cut, key, ErrorKind::BadCertificate, &cut),
        (&garbled, key, ErrorKind::BadCertificate, &garbled),
        (certificates, &empty, ErrorKind::NoKey, &empty),
        (certificates, certificates, ErrorKind::NoKey, certificates),
        (certificates, &bad_key, ErrorKind::BadKey, &bad_key),
        (certificates, &other.key, ErrorKind::Mismatch, &other.key),
    ] {
        let pair = Pair {
            certificates: certificates.clone(),
            key: key.clone(),
        };
        let refused = load(&[&good, &pair]).expect_err("this pair cannot be used");
        assert_eq!(refused, (kind, at.clone()));
    }
}

#[test]
fn certificates_that_clients_refuse_cause_warnings() {
    let scratch = Scratch::new("concerns");
    let expired = scratch.issue("expired", &["h"], 2020);
    let nameless = scratch.issue("nameless", &[], 4000);
    let good = scratch.issue("good", &["h"], 4000);
    let (_, warnings) = load(&[&expired, &nameless, &good]).expect("they can be used");
    assert_eq!(
        warnings,
        [
            "the certificate expired on Mon, 03 Feb 2020 00:00:00 GMT",
            "the certificate lists no host as a subject alternative name: clients ignore the common name",
        ]
    );
}

#[test]
fn hosts_are_covered_by_name_wildcard_and_address() {
    let scratch = Scratch::new("covers");
    let names = ["a.example", "*.b.example", "127.0.0.1", "::1"];
    let pair = scratch.issue("many", &names, 4000);
    let (tls, _) = load(&[&pair]).expect("it can be used");
    for host in [
        "a.example",
        "A.Example",
        "x.b.example",
        "127.0.0.1",
        "[::1]",
    ] {
        assert!(tls.covers(host), "{host}");
    }
    let strangers = [
        "",
        ".",
        "b.example",
        "x.y.b.example",
        "a.example.",
        "127.0.0.2",
        "[::2]",
        "*.b.example.",
    ];
    for host in strangers {
        assert!(!tls.covers(host), "{host}");
    }
}

#[test]
fn files_that_change_are_read_again_once_and_errors_keep_the_old() {
    let scratch = Scratch::new("reload");
    let pair = scratch.issue("one", &["old.example"], 4000);
    let (tls, _) = load(&[&pair]).expect("it can be used");
    let again = |expected| {
        let reloaded = tls.reload_if_changed();
        assert_eq!(reloaded.map_err(|err| err.kind), expected);
    };
    again(Ok(Reload::Unchanged));
    scratch.issue("one", &["new.example"], 4000);
    again(Ok(Reload::Changed(Vec::new())));
    again(Ok(Reload::Unchanged));
    assert!(tls.covers("new.example") && !tls.covers("old.example"));
    fs::write(&pair.key, "").expect("own directory");
    again(Err(ErrorKind::NoKey));
    again(Ok(Reload::Unchanged));
    assert!(tls.covers("new.example"));
    // An explicit reload reports the error again, although `reload_if_changed` has reported it.
    assert!(tls.reload().is_err());
}
