//! `conform h2`: runs h2spec against the shipped server, in cleartext with prior knowledge and then
//! over TLS.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use toolkit::build::Build;
use toolkit::command::{output, timed};
use toolkit::stop::{Stop, at};
use toolkit::{debian, tools};

use crate::served::Served;

/// Cases of h2spec that are expected to fail: scheme, name, and reason for the failure. h2spec
/// tests RFC 7540 and not its successor RFC 9113, so a failure is not always a fault of the server.
const EXPECTED: &[(&str, &str, &str)] = &[(
    "http",
    "Sends invalid connection preface",
    // The port also speaks HTTP/1.1, so an invalid preface gets a 400 response in HTTP/1.1, and the
    // connection is closed. h2spec parses that response as a frame. Over TLS, where ALPN has
    // selected the protocol, the same case passes.
    "the port also accepts HTTP/1.1, and responds to the invalid preface in HTTP/1.1",
)];

/// Size of the served file, in bytes. One case needs a flow-control window smaller than the body.
const BODY_BYTES: usize = 40_000;

/// Runs all cases of h2spec over `http`, then over `https`. The suite takes no arguments.
///
/// # Errors
/// When the suite cannot be run, when a case fails unexpectedly, or when a case passes that is
/// expected to fail.
pub(crate) fn run(root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    if !arguments.is_empty() {
        return Err(Stop::usage("conform h2 takes no arguments"));
    }
    judge(&mut Build::open(root)?)?;
    Ok(ExitCode::SUCCESS)
}

fn judge(build: &mut Build) -> Result<(), Stop> {
    debian::ensure(&["openssl"])?;
    let h2spec = tools::h2spec(build.cache())?;
    let server = build.server()?;
    let folder = build.cache().join("conform-h2");
    prepare(&folder)?;
    let mut serve = Command::new(&server);
    serve
        .args(["serve", "library", "--data", "data"])
        .args(["--allowed-types", "txt", "--listen", "127.0.0.1:0"])
        .args(["--tls-listen", "127.0.0.1:0"])
        .args(["--tls-cert", "certificate.pem", "--tls-key", "key.pem"])
        .current_dir(&folder);
    let server = Served::start(&mut serve)?;
    let mut findings = Vec::new();
    for (scheme, port) in [("http", server.http), ("https", server.https)] {
        let report = folder.join(format!("{scheme}.xml"));
        let mut command = Command::new(&h2spec);
        command
            .args(["--strict", "--host", "localhost", "--path", "/body.txt"])
            .args(["--port", &port.to_string(), "--junit-report"])
            .arg(&report);
        if scheme == "https" {
            command.args(["--tls", "--insecure"]);
        }
        // h2spec's exit code does not say which cases failed. So the results are read from its
        // report.
        timed(&format!("h2spec over {scheme}"), || command.output())
            .map_err(|err| Stop::host(format!("{}: {err}", h2spec.display())))?;
        let report = fs::read_to_string(&report).map_err(at(&report))?;
        let cases = cases(&report);
        findings.extend(unexpected(scheme, &cases));
        let passed = cases.iter().filter(|case| case.passed).count();
        println!("h2spec over {scheme}: {passed} of {} passed", cases.len());
    }
    match findings.is_empty() {
        true => Ok(()),
        false => Err(Stop::findings(findings.join("\n"))),
    }
}

/// Creates a library with one file, and a certificate for the server.
fn prepare(folder: &Path) -> Result<(), Stop> {
    let library = folder.join("library");
    fs::create_dir_all(&library).map_err(at(&library))?;
    let body = library.join("body.txt");
    fs::write(&body, "x".repeat(BODY_BYTES)).map_err(at(&body))?;
    let mut openssl = Command::new("openssl");
    openssl
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:P-256", "-nodes", "-days", "30"])
        .args(["-subj", "/CN=localhost", "-addext"])
        .args(["subjectAltName=DNS:localhost", "-keyout", "key.pem"])
        .args(["-out", "certificate.pem"])
        .current_dir(folder);
    output(&mut openssl).map(drop)
}

/// Case in h2spec's report, with its result.
#[derive(Debug, PartialEq, Eq)]
struct Case {
    name: String,
    passed: bool,
}

/// Parses the cases of h2spec's JUnit report. Each case has one line, followed by `<failure>`,
/// `<error>` or `<skipped>` if the case did not pass.
fn cases(report: &str) -> Vec<Case> {
    let parts = report.split("<testcase ").skip(1);
    let case = |part: &str| {
        let (_, rest) = part.split_once("classname=\"")?;
        let (name, rest) = rest.split_once('"')?;
        let body = rest.split("</testcase>").next()?;
        let failed = ["<failure", "<error", "<skipped"];
        Some(Case {
            name: name.to_owned(),
            passed: !failed.iter().any(|failed| body.contains(failed)),
        })
    };
    parts.filter_map(case).collect()
}

/// Returns a message for each case whose result is not the expected one.
fn unexpected(scheme: &str, cases: &[Case]) -> Vec<String> {
    let expected = |case: &Case| {
        let mut expected = EXPECTED.iter();
        expected.any(|(of, name, _)| (*of, *name) == (scheme, &*case.name))
    };
    let mut findings: Vec<_> = cases
        .iter()
        .filter(|case| case.passed == expected(case))
        .map(|case| match case.passed {
            false => format!("h2spec over {scheme}: failed: {}", case.name),
            true => format!(
                "h2spec over {scheme}: remove this case from EXPECTED, because it passes now: {}",
                case.name
            ),
        })
        .collect();
    if cases.is_empty() {
        findings.push(format!("h2spec over {scheme}: no case ran"));
    }
    findings
}

#[cfg(test)]
mod tests;
