//! Requests to a running server, for the commands that need one.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use config::Config;
use report::Error;
use ureq::RequestBuilder;
use ureq::typestate::WithoutBody;

/// Maximum size of the file with a key or token, in bytes.
const KEY_BYTES_MAX: u64 = 4 << 10;

/// Running server, with the secret that commands send to it.
pub(crate) struct RunningServer {
    /// URL of the server, without a slash at the end.
    pub(crate) url: String,
    /// API key of an admin, or the server's token for administration.
    key: Option<String>,
}

impl RunningServer {
    /// Finds the server: at `url`, or at the address in the configuration. The secret is read from
    /// `key_file`, or else from the file of `admin_token_file`, if any.
    ///
    /// # Errors
    /// When the file with the secret cannot be read.
    pub(crate) fn find(
        config: &Config,
        url: Option<&str>,
        key_file: Option<&Path>,
    ) -> Result<RunningServer, Error> {
        let url = match url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => address(config),
        };
        let key = key_file.or(config.admin_token_file.0.as_deref());
        let key = key.map(read_key).transpose()?;
        Ok(RunningServer { url, key })
    }

    /// Adds the secret, if any, to a request.
    pub(crate) fn authorize(
        &self,
        request: RequestBuilder<WithoutBody>,
    ) -> RequestBuilder<WithoutBody> {
        match &self.key {
            Some(key) => request.header("authorization", format!("Bearer {key}")),
            None => request,
        }
    }
}

/// Returns a client for requests to whose responses the server has `timeout`. An error status is a
/// response like any other, and redirects are not followed, so that the secret stays with the
/// server.
pub(crate) fn agent(timeout: Duration) -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(timeout))
        .build()
        .new_agent()
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
        let why = format!("the file of the API key has more than {KEY_BYTES_MAX} bytes");
        return Err(unreadable(&why));
    }
    let text = fs::read_to_string(path).map_err(|err| unreadable(&err))?;
    Ok(text.trim().to_owned())
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
