//! `pelton purge`: asks a running server to remove variants from its cache.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use config::Config;
use indicatif::HumanBytes;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use report::{Error, print};
use serde_json::Value;

use crate::running_server::{self, RunningServer};

/// Time within which the server must respond. A purge of a large library walks all its folders.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum size of a response, in bytes.
const RESPONSE_BYTES_MAX: u64 = 64 << 10;

/// Variants to purge.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// Variants of all files.
    Everything,
    /// Variants of the file, or of all files below the folder, at this path of the library.
    Path(&'a str),
    /// Variants of all files with this tag.
    Tag(&'a str),
}

/// Sends the purge to the server at `url`, or at the address in the configuration, and prints the
/// number and size of the removed entries. The request contains the key or token in `key_file`, or
/// else the token of `admin_token_file`, if any.
pub fn run(
    config: &Config,
    selection: Selection<'_>,
    url: Option<&str>,
    key_file: Option<&Path>,
) -> Result<u8, Vec<Error>> {
    let server = RunningServer::find(config, url, key_file).map_err(|err| vec![err])?;
    let (status, document) = send(&server, selection).map_err(|err| vec![err])?;
    let number = |name: &str| document.get(name).and_then(Value::as_u64);
    match (status, number("entries"), number("bytes")) {
        (200, Some(entries), Some(bytes)) => {
            print(|out| writeln!(out, "purged {entries} entries ({})", HumanBytes(bytes)))
        }
        _ => Err(vec![refusal(&server.url, status, &document)]),
    }
}

/// Sends the request. Returns the status and the JSON document of the response; the document is
/// null if the response is not JSON.
fn send(server: &RunningServer, selection: Selection<'_>) -> Result<(u16, Value), Error> {
    let base = &server.url;
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let query = match selection {
        Selection::Everything => String::new(),
        Selection::Path(path) => format!("?path={}", encoded(path)),
        Selection::Tag(tag) => format!("?tag={}", encoded(tag)),
    };
    let failed = |err: ureq::Error| {
        let what = format!("purge: no response from {base}: {err}");
        Error::host(what).hint("give the URL of the server with --url, such as http://nas:3333")
    };
    let agent = running_server::agent(RESPONSE_TIMEOUT);
    let request = agent.delete(format!("{base}/-/api/variants{query}"));
    let mut response = server.authorize(request).call().map_err(failed)?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(RESPONSE_BYTES_MAX);
    let body = body.read_to_vec().map_err(failed)?;
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

/// Returns the error for a response that does not report the result of a purge.
fn refusal(base: &str, status: u16, document: &Value) -> Error {
    let title = document.get("title").and_then(Value::as_str);
    let title = title.unwrap_or("the server gave no reason");
    let what = format!("purge: {base} responded with {status}: {title}");
    match status {
        401 | 403 => Error::usage(what).hint(
            "only admins may purge: create an API key with `pelton user key NAME purge > key` and \
             pass it with `--key-file key`, or set admin_token_file",
        ),
        300..=399 => Error::usage(what)
            .hint("the server accepts purges over HTTPS only: give an https address with --url, or set admin_listen"),
        503 => Error::host(what),
        _ => Error::usage(what),
    }
}
