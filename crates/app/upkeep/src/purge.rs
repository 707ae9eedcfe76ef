//! `pelton purge`: asks a running server to remove variants from its cache.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use config::Config;
use indicatif::HumanBytes;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use report::{Error, print};
use serde_json::Value;

/// Time within which the server must respond. A purge of a large library walks all its folders.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum size of a response, in bytes.
const RESPONSE_BYTES_MAX: u64 = 64 << 10;
/// Maximum size of the file with a key or token, in bytes.
const KEY_BYTES_MAX: u64 = 4 << 10;

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
    let base = match url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => address(config),
    };
    let key = key_file.or(config.admin_token_file.0.as_deref());
    let key = key.map(read_key).transpose();
    let key = key.map_err(|err| vec![err])?;
    let (status, document) = send(&base, selection, key.as_deref()).map_err(|err| vec![err])?;
    let number = |name: &str| document.get(name).and_then(Value::as_u64);
    match (status, number("entries"), number("bytes")) {
        (200, Some(entries), Some(bytes)) => {
            print(|out| writeln!(out, "purged {entries} entries ({})", HumanBytes(bytes)))
        }
        _ => Err(vec![refusal(&base, status, &document)]),
    }
}

/// Returns the URL of the server that runs with `config` on this machine. Prefers the address for
/// administration, because it needs no login.
fn address(config: &Config) -> String {
    let mut address = config.admin_listen.0.unwrap_or(config.listen);
    if address.ip().is_unspecified() {
        let ip = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(ip);
    }
    format!("http://{address}")
}

fn read_key(path: &Path) -> Result<String, Error> {
    let unreadable = |err: &dyn std::fmt::Display| {
        Error::usage(format!("cannot read {}: {err}", path.display()))
    };
    let bytes = fs::metadata(path).map_err(|err| unreadable(&err))?.len();
    if KEY_BYTES_MAX < bytes {
        let why = format!("the file has more than {KEY_BYTES_MAX} bytes");
        return Err(unreadable(&why));
    }
    let text = fs::read_to_string(path).map_err(|err| unreadable(&err))?;
    Ok(text.trim().to_owned())
}

/// Sends the request. Returns the status and the JSON document of the response; the document is
/// null if the response is not JSON.
fn send(base: &str, selection: Selection<'_>, key: Option<&str>) -> Result<(u16, Value), Error> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let query = match selection {
        Selection::Everything => String::new(),
        Selection::Path(path) => format!("?path={}", encoded(path)),
        Selection::Tag(tag) => format!("?tag={}", encoded(tag)),
    };
    let failed = |err: ureq::Error| {
        let what = format!("purge: no response from {base}: {err}");
        Error::host(what).hint("give the URL of the server by --url, such as http://nas:3333")
    };
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(RESPONSE_TIMEOUT))
        .build()
        .new_agent();
    let mut request = agent.delete(format!("{base}/-/api/variants{query}"));
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut response = request.call().map_err(failed)?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(RESPONSE_BYTES_MAX);
    let body = body.read_to_vec().map_err(failed)?;
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

/// Returns the error for a response that does not report the result of a purge.
fn refusal(base: &str, status: u16, document: &Value) -> Error {
    let title = document.get("title").and_then(Value::as_str);
    let title = title.unwrap_or("no reason given");
    let what = format!("purge: {base} responded with {status}: {title}");
    match status {
        401 | 403 => Error::usage(what).hint(
            "only admins may purge: create an API key by pelton user key NAME purge > key and pass it by --key-file key, or set admin_token_file",
        ),
        300..=399 => Error::usage(what)
            .hint("the server accepts purges over HTTPS only: give an https address with --url, or set admin_listen"),
        503 => Error::host(what),
        _ => Error::usage(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_found_by_its_settings() {
        let mut config = Config::default();
        assert_eq!(address(&config), "http://127.0.0.1:3333");
        config.listen = "[::]:80".parse().expect("an address");
        assert_eq!(address(&config), "http://[::1]:80");
        config.admin_listen.0 = Some("0.0.0.0:81".parse().expect("an address"));
        assert_eq!(address(&config), "http://127.0.0.1:81");
    }
}
