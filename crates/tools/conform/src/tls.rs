//! `conform tls`: scans the server's TLS with testssl.sh, and uses sslyze to compare the server's
//! TLS settings with Mozilla's intermediate configuration.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::command::{output, timed};
use toolkit::stop::{Stop, at};
use toolkit::{debian, tools};

use crate::served::Served;

const SSLYZE: &str = "6.3.1";
/// Prefix of the names in the rows that testssl.sh writes last.
const LAST_TEST: &str = "clientsimulation-";

/// Findings of the scanners that are not faults of the server, each with the reason.
const EXPECTED: &[(&str, &str)] = &[
    // In Mozilla's intermediate configuration, the client chooses the cipher. Every cipher is good,
    // and a client such as a phone chooses one that its hardware supports.
    (
        "cipher_order",
        "the client chooses the cipher, because all offered ciphers are good",
    ),
    (
        "cert_revocation",
        "the test certificate names no revocation service",
    ),
    (
        "certificate_path_validation",
        "no browser trusts the root of the test certificate",
    ),
    ("DNS_CAArecord", "localhost has no DNS records"),
    // testssl.sh uses `openssl s_client` with its input closed. The client disconnects as soon as
    // the handshake is done, so it misses the session ticket, which TLS 1.3 sends after the
    // handshake. The tests of `pelton` resume sessions.
    (
        "sessionresumption_ticket",
        "in one of three runs, the scanner disconnects before its session ticket arrives",
    ),
    (
        "HSTS",
        "HSTS is a promise for years, which only the operator or a proxy in front of the server can make",
    ),
];

/// Runs both scanners. The suite takes no arguments.
///
/// # Errors
/// When a scanner cannot be run, or has an unexpected finding.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    if !arguments.is_empty() {
        return Err(Stop::usage("conform tls takes no arguments"));
    }
    let mut build = Build::open(root)?;
    debian::ensure(&["openssl", "testssl.sh"])?;
    let python = tools::python(build.cache(), "sslyze", SSLYZE, "sslyze")?;
    let program = build.server()?;
    let folder = build.cache().join("conform-tls");
    prepare(&folder)?;
    let mut serve = Command::new(program);
    serve
        .args(["serve", "library", "--data", "data"])
        .args(["--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0"])
        .args(["--tls-cert", "chain.pem", "--tls-key", "key.pem"])
        .current_dir(&folder);
    let served = Served::start(&mut serve)?;
    let at_port = format!("localhost:{}", served.https);
    let mut found = timed("testssl.sh", || testssl(&folder, &at_port))?;
    found.extend(timed("sslyze", || sslyze(&python, &at_port))?);
    let (expected, findings): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|finding| finding.reason().is_some());
    for finding in expected {
        let reason = finding.reason().unwrap_or_default();
        println!("{}: {} (expected: {reason})", finding.scanner, finding.name);
    }
    match findings.is_empty() {
        true => {
            println!("testssl.sh and sslyze report only the expected findings");
            Ok(ExitCode::SUCCESS)
        }
        false => {
            let line = |it: &Finding| format!("{}: {}: {}", it.scanner, it.name, it.detail);
            let lines: Vec<_> = findings.iter().map(line).collect();
            Err(Stop::findings(lines.join("\n")))
        }
    }
}

/// Creates a library, and a certificate with a root certificate that issued it.
fn prepare(folder: &Path) -> Result<(), Stop> {
    let library = folder.join("library");
    fs::create_dir_all(&library).map_err(at(&library))?;
    let extensions = folder.join("extensions");
    let text = "subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\nkeyUsage=digitalSignature\n\
                basicConstraints=CA:FALSE\n";
    fs::write(&extensions, text).map_err(at(&extensions))?;
    let openssl = |words: &str| {
        let mut openssl = Command::new("openssl");
        openssl.args(words.split(' ')).current_dir(folder);
        output(&mut openssl).map(drop)
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(&format!(
        "req -x509 {key} -days 90 -subj /CN=root -keyout root-key.pem -out root.pem"
    ))?;
    openssl(&format!(
        "req {key} -subj /CN=localhost -keyout key.pem -out request.pem"
    ))?;
    openssl(
        "x509 -req -in request.pem -CA root.pem -CAkey root-key.pem -CAcreateserial -days 90 -extfile extensions \
         -out leaf.pem",
    )?;
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(at(&path))
    };
    let chain = folder.join("chain.pem");
    fs::write(&chain, read("leaf.pem")? + &read("root.pem")?).map_err(at(&chain))
}

/// Fault that a scanner reports.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    scanner: &'static str,
    name: String,
    detail: String,
}

impl Finding {
    fn reason(&self) -> Option<&'static str> {
        let mut expected = EXPECTED.iter();
        expected.find_map(|(name, reason)| (*name == self.name).then_some(*reason))
    }
}

fn testssl(folder: &Path, at_port: &str) -> Result<Vec<Finding>, Stop> {
    let report = folder.join("testssl.csv");
    if report.exists() {
        fs::remove_file(&report).map_err(at(&report))?;
    }
    let mut command = Command::new("testssl");
    command
        .args([
            "--quiet",
            "--color",
            "0",
            "--warnings",
            "off",
            "--nodns",
            "none",
            "--csvfile",
        ])
        .arg(&report)
        .arg("--add-ca")
        .arg(folder.join("root.pem"))
        .arg(format!("https://{at_port}/-/"))
        .stdin(std::process::Stdio::null());
    // The exit code is ignored, because testssl.sh returns the number of its findings.
    command
        .output()
        .map_err(|err| Stop::host(format!("testssl: {err}")))?;
    let report = fs::read_to_string(&report).map_err(at(&report))?;
    testssl_findings(&report).ok_or_else(|| Stop::host("testssl.sh did not finish"))
}

/// Parses lines of `"id","fqdn/ip","port","severity","finding","cve","cwe"`. Returns `None` if the
/// last test is missing.
fn testssl_findings(report: &str) -> Option<Vec<Finding>> {
    let rows = report.lines().map(|line| {
        let line = line.trim_matches('"');
        line.split("\",\"").collect::<Vec<_>>()
    });
    let rows: Vec<_> = rows.filter(|row| 5 <= row.len()).collect();
    if !rows.iter().any(|row| row[0].starts_with(LAST_TEST)) {
        return None;
    }
    let faulted = |severity: &str| !["severity", "OK", "INFO"].contains(&severity);
    let findings = rows.iter().filter(|row| faulted(row[3]));
    let findings = findings.map(|row| Finding {
        scanner: "testssl.sh",
        name: row[0].to_owned(),
        detail: format!("{} {}", row[3], row[4]),
    });
    Some(findings.collect())
}

fn sslyze(python: &Path, at_port: &str) -> Result<Vec<Finding>, Stop> {
    let mut command = Command::new(python);
    command.args(["-m", "sslyze", "--mozilla_config=intermediate", at_port]);
    // The exit code is ignored, because it only says that sslyze has findings.
    let output = command
        .output()
        .map_err(|err| Stop::host(format!("sslyze: {err}")))?;
    let stdout_text = String::from_utf8_lossy(&output.stdout);
    sslyze_findings(&stdout_text)
        .ok_or_else(|| Stop::host("sslyze did not finish").hint(stdout_text.trim_end()))
}

/// Parses the lines `* name: text` below the verdict. Returns `None` if there is no verdict.
fn sslyze_findings(stdout_text: &str) -> Option<Vec<Finding>> {
    let (_, verdict) = stdout_text.split_once("COMPLIANCE AGAINST")?;
    if !verdict.contains(": OK") && !verdict.contains(": FAILED") {
        return None;
    }
    let lines = verdict
        .lines()
        .filter_map(|line| line.trim().strip_prefix("* "));
    let findings = lines.filter_map(|line| line.split_once(": "));
    let findings = findings.map(|(name, detail)| Finding {
        scanner: "sslyze",
        name: name.to_owned(),
        detail: detail.to_owned(),
    });
    Some(findings.collect())
}

#[cfg(test)]
mod tests;
