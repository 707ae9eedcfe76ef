//! `pelton profile`: takes a CPU profile of a running server and its workers, and writes it to a
//! file. The server itself takes the profile, or this process takes it from outside.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::profile::{Error as ProfileError, Format, Known, Of};
use config::Config;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::{EXIT_OK, Error};
use serde_json::Value;
use ureq::Body;
use ureq::http::Response;

use crate::replace::replace;
use crate::running_server::{self, RunningServer};

/// Time that the server has for its response beyond the duration of the profile: it names the
/// functions, and the response is transferred.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of a profile in a response, in bytes.
const PROFILE_BYTES_MAX: u64 = 1 << 30;
/// Maximum size of the document that gives the reason of a refusal, in bytes.
const PROBLEM_BYTES_MAX: u64 = 64 << 10;
/// Time between two drawings of the progress.
const TICK: Duration = Duration::from_millis(100);

/// Profile to take.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Way to the server.
    pub way: Way<'a>,
    /// Duration, from 1 to [`::profile::SECONDS_MAX`] seconds.
    pub seconds: u64,
    /// Processes whose samples count.
    pub of: Of,
    /// Format of the file. Without it, the extension of `output` selects the format.
    pub format: Option<Format>,
    /// File to write.
    pub output: &'a Path,
}

/// Way in which the command takes a profile.
#[derive(Clone, Copy, Debug)]
pub enum Way<'a> {
    /// The server takes the profile of itself. It is found at the URL, or at the address in the
    /// configuration. The request contains the key or token in `key_file`, or else the token of
    /// `admin_token_file`, if any.
    Server {
        /// URL of the server.
        url: Option<&'a str>,
        /// File with an API key of an admin or the token.
        key_file: Option<&'a Path>,
    },
    /// This process samples the server with this process id, which need not respond.
    Process(u32),
}

/// Numbers of a profile that was written.
struct Written {
    samples: u64,
    lost: u64,
    refused: u64,
}

/// Takes the profile, writes it to the output, and reports its size and the next step on stderr.
/// `known` are executable files that are not on the disk. An existing file is replaced only by a
/// complete profile.
///
/// # Errors
/// When the server does not respond or refuses, the kernel refuses, or the output cannot be
/// written.
pub fn run(request: &Request<'_>, config: &Config, known: &[Known]) -> Result<u8, Vec<Error>> {
    let format = request.format.unwrap_or(by_extension(request.output));
    require_folder(request.output).map_err(|err| vec![err])?;
    let written = match request.way {
        Way::Server { url, key_file } => RunningServer::find(config, url, key_file)
            .and_then(|server| fetch(request, format, &server)),
        Way::Process(pid) => sample(request, format, pid, known),
    };
    for line in summary(request.output, format, &written.map_err(|err| vec![err])?) {
        report::line(line);
    }
    Ok(EXIT_OK)
}

/// Returns the format that the extension of a file stands for.
fn by_extension(output: &Path) -> Format {
    match output.extension().and_then(|it| it.to_str()) {
        Some("svg") => Format::Svg,
        Some("folded" | "txt") => Format::Folded,
        _ => Format::Pprof,
    }
}

/// Fails if the folder of a file does not exist, so that no profile is taken in vain.
fn require_folder(output: &Path) -> Result<(), Error> {
    let folder = match output.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Error::usage(format!(
            "cannot write {}: {} is not a folder",
            output.display(),
            folder.display()
        ))),
        Err(err) => Err(unwritable(output, &err)),
    }
}

fn unwritable(output: &Path, err: &io::Error) -> Error {
    Error::host(format!("cannot write {}: {err}", output.display()))
}

/// Has the server take the profile, and writes its response.
fn fetch(request: &Request<'_>, format: Format, server: &RunningServer) -> Result<Written, Error> {
    let Request { seconds, of, .. } = *request;
    let url = format!(
        "{}/-/profile?seconds={seconds}&of={}&format={}",
        server.url,
        of.name(),
        format.name()
    );
    let progress = Progress::start(&server.url, seconds);
    let agent = running_server::agent(Duration::from_secs(seconds) + RESPONSE_TIMEOUT);
    let response = server.authorize(agent.get(url)).call();
    drop(progress);
    let mut response = response.map_err(|err| {
        let what = format!("profile: no response from {}: {err}", server.url);
        Error::host(what).hint("give the URL of the server with --url, such as http://nas:3333")
    })?;
    let number = |response: &Response<Body>, name: &str| {
        let value = response.headers().get(name)?.to_str().ok()?;
        value.parse::<u64>().ok()
    };
    let samples = number(&response, "pelton-profile-samples");
    let lost = number(&response, "pelton-profile-lost");
    let refused = number(&response, "pelton-profile-refused");
    let (200, Some(samples), Some(lost), Some(refused)) =
        (response.status().as_u16(), samples, lost, refused)
    else {
        return Err(refusal(&server.url, &mut response));
    };
    let body = response.body_mut().with_config().limit(PROFILE_BYTES_MAX);
    replace(request.output, |file| io::copy(&mut body.reader(), file))
        .map_err(|err| unwritable(request.output, &err))?;
    Ok(Written {
        samples,
        lost,
        refused,
    })
}

/// Returns the error for a response without a profile.
fn refusal(base: &str, response: &mut Response<Body>) -> Error {
    let status = response.status().as_u16();
    let retry_after = response.headers().get("retry-after");
    let retry_after = retry_after.and_then(|value| value.to_str().ok().map(str::to_owned));
    let body = response.body_mut().with_config().limit(PROBLEM_BYTES_MAX);
    let document = match body.read_to_vec() {
        // A server other than Pelton may respond with any bytes.
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        Err(err) => {
            return Error::host(format!(
                "profile: the response of {base} with status {status} is incomplete: {err}"
            ));
        }
    };
    refusal_of(base, status, &document, retry_after.as_deref())
}

/// Returns the error for a response with this status, problem document and field Retry-After.
fn refusal_of(base: &str, status: u16, document: &Value, retry_after: Option<&str>) -> Error {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let title = text("title").unwrap_or("the server gave no reason");
    let what = format!("profile: {base} responded with {status}: {title}");
    match status {
        200 | 404 => Error::usage(format!(
            "profile: {base} responded with {status}, but sent no profile"
        ))
            .hint("--url must be the URL of a Pelton server of this version, without a path"),
        300..=399 => Error::usage(what)
            .hint("the server sends profiles over HTTPS only: give an https address with --url, or set admin_listen"),
        401 | 403 => Error::usage(what).hint(
            "only admins may take profiles: create an API key with `pelton user key NAME profile > \
             key` and pass it with `--key-file key`, or set admin_token_file",
        ),
        409 => Error::host(what).hint(match retry_after {
            Some(seconds) => format!("try again in {seconds} s"),
            None => "try again in a minute".to_owned(),
        }),
        503 => {
            let error = match text("detail") {
                Some(detail) => Error::host(what).because(detail),
                None => Error::host(what),
            };
            match text("hint") {
                Some(hint) => error.hint(hint),
                None => error,
            }
        }
        _ => Error::usage(what),
    }
}

/// Samples the server from outside, and writes the profile.
fn sample(
    request: &Request<'_>,
    format: Format,
    pid: u32,
    known: &[Known],
) -> Result<Written, Error> {
    let progress = Progress::start(&format!("process {pid}"), request.seconds);
    let wanted = ::profile::Request {
        server: pid,
        seconds: request.seconds,
        of: request.of,
    };
    let taken = ::profile::take(wanted, known, &AtomicBool::new(false));
    drop(progress);
    let profile = taken.map_err(|err| {
        let what = format!("profile: {err}");
        let error = match err {
            ProfileError::NoProcess(_) => Error::usage(what),
            _ => Error::host(what),
        };
        match err.hint() {
            Some(hint) => error.hint(hint),
            None => error,
        }
    })?;
    for issue in &profile.issues {
        report::line(format!("some functions have no names: {issue}"));
    }
    format
        .encode(&profile)
        .and_then(|bytes| replace(request.output, |file| file.write_all(&bytes)))
        .map_err(|err| unwritable(request.output, &err))?;
    Ok(Written {
        samples: profile.samples(),
        lost: profile.lost,
        refused: profile.refused as u64,
    })
}

/// Returns the lines about a profile that was written: its size, what is missing, and a command
/// that shows it.
fn summary(output: &Path, format: Format, written: &Written) -> Vec<String> {
    let output = output.display();
    let Written {
        samples,
        lost,
        refused,
    } = written;
    let mut lines = vec![format!("{output}: {samples} samples, {lost} lost")];
    if *samples == 0 {
        lines.push("the processes used no CPU time while they were sampled".to_owned());
    }
    if 0 < *refused {
        lines.push(format!(
            "{refused} processes are missing, because the kernel refused to sample them"
        ));
    }
    lines.push(match format {
        Format::Pprof => format!("go tool pprof -top {output} lists the functions"),
        Format::Folded => format!("sort -rnk 2 {output} | head lists the most frequent stacks"),
        Format::Svg => format!("open {output} in a browser"),
    });
    lines
}

/// Progress on stderr while samples are taken: drawn on a terminal, and otherwise one line.
struct Progress(Option<ProgressBar>);

impl Progress {
    /// Shows that `subject` is sampled for `seconds` seconds.
    fn start(subject: &str, seconds: u64) -> Progress {
        let text = format!("sampling {subject} for {seconds} s");
        if !io::stderr().is_terminal() {
            report::line(text);
            return Progress(None);
        }
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed} elapsed");
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
            .with_style(style.expect("the template is valid"))
            .with_message(text);
        bar.enable_steady_tick(TICK);
        Progress(Some(bar))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(status: u16, document: &Value, retry_after: Option<&str>, expected: Expect) {
        let error = refusal_of("http://nas:3333", status, document, retry_after);
        expected.assert_eq(&error.to_string());
    }

    #[test]
    fn refusals_say_what_to_do() {
        check(
            409,
            &json!({"title": "another profile is already being taken"}),
            Some("7"),
            expect![[r#"
                pelton: profile: http://nas:3333 responded with 409: another profile is already being taken
                hint:   try again in 7 s"#]],
        );
        let document = json!({
            "title": "the host does not let this server take a profile",
            "detail": "the kernel refuses to sample: Permission denied",
            "hint": "sysctl -w kernel.perf_event_paranoid=2",
        });
        check(
            503,
            &document,
            None,
            expect![[r#"
                pelton: profile: http://nas:3333 responded with 503: the host does not let this server take a profile
                cause:  the kernel refuses to sample: Permission denied
                hint:   sysctl -w kernel.perf_event_paranoid=2"#]],
        );
        check(
            401,
            &json!({"title": "a login is needed"}),
            None,
            expect![[r#"
                pelton: profile: http://nas:3333 responded with 401: a login is needed
                hint:   only admins may take profiles: create an API key with `pelton user key NAME profile > key` and pass it with `--key-file key`, or set admin_token_file"#]],
        );
        check(
            404,
            &Value::Null,
            None,
            expect![[r#"
                pelton: profile: http://nas:3333 responded with 404, but sent no profile
                hint:   --url must be the URL of a Pelton server of this version, without a path"#]],
        );
    }

    #[test]
    fn the_extension_selects_the_format() {
        let of = |name: &str| by_extension(Path::new(name)).name();
        assert_eq!(of("a/profile.svg"), "svg");
        assert_eq!(of("profile.folded"), "folded");
        assert_eq!(of("profile.pb.gz"), "pprof");
        assert_eq!(of("svg"), "pprof");
    }

    #[test]
    fn summaries() {
        let written = Written {
            samples: 0,
            lost: 2,
            refused: 3,
        };
        let lines = summary(Path::new("p.pb.gz"), Format::Pprof, &written);
        expect![[r#"
            p.pb.gz: 0 samples, 2 lost
            the processes used no CPU time while they were sampled
            3 processes are missing, because the kernel refused to sample them
            go tool pprof -top p.pb.gz lists the functions"#]]
        .assert_eq(&lines.join("\n"));
    }
}
