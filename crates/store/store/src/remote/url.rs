//! Address of a store: `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

const SCHEME: &str = "redis://";
const PORT: u16 = 6379;

/// Address of a store, with user and password. Percent-encoded characters are not decoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    pub(super) host: String,
    pub(super) port: u16,
    user: String,
    password: String,
    database: u32,
}

/// Error for an invalid URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected redis://[user:password@]host[:port][/database]")]
pub struct UrlError;

impl Url {
    /// Returns the commands to send first on a connection: authentication and the choice of the
    /// database.
    pub(super) fn handshake_commands(&self) -> Vec<Vec<Bytes>> {
        let words = |words: &[&str]| {
            let words = words
                .iter()
                .map(|word| Bytes::copy_from_slice(word.as_bytes()));
            words.collect::<Vec<_>>()
        };
        let mut handshake_commands = Vec::new();
        if !self.password.is_empty() {
            handshake_commands.push(match self.user.as_str() {
                "" => words(&["AUTH", &self.password]),
                user => words(&["AUTH", user, &self.password]),
            });
        }
        if self.database != 0 {
            handshake_commands.push(words(&["SELECT", &self.database.to_string()]));
        }
        handshake_commands.push(words(&["CLIENT", "SETNAME", "pelton"]));
        handshake_commands
    }

    /// Returns the URL as [`Display`](fmt::Display) prints it, but with `***` in place of the
    /// password, for tables that people see.
    #[must_use]
    pub fn redacted(&self) -> String {
        let mut url = self.clone();
        if !url.password.is_empty() {
            url.password = "***".to_owned();
        }
        url.to_string()
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Url, UrlError> {
        let rest = text.strip_prefix(SCHEME).ok_or(UrlError)?;
        let (credentials, address) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (user, password) = credentials.split_once(':').unwrap_or(("", credentials));
        let (authority, database) = address.split_once('/').unwrap_or((address, ""));
        // An IPv6 address is in brackets. A colon within the brackets does not start a port.
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| UrlError)?)
            }
            _ => (authority, PORT),
        };
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        let database = match database {
            "" => 0,
            number => number.parse().map_err(|_| UrlError)?,
        };
        if host.is_empty() || (!user.is_empty() && password.is_empty()) {
            return Err(UrlError);
        }
        Ok(Url {
            host: host.to_owned(),
            port,
            user: user.to_owned(),
            password: password.to_owned(),
            database,
        })
    }
}

impl fmt::Display for Url {
    /// Prints the URL, including the password, in the form that [`FromStr`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        if !self.password.is_empty() {
            write!(f, "{}:{}@", self.user, self.password)?;
        }
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => f.write_str(&self.host)?,
        }
        write!(f, ":{}/{}", self.port, self.database)
    }
}

impl fmt::Debug for Url {
    /// Prints the URL without the password, because this form is logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}:{}/{}", self.host, self.port, self.database)
    }
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn a_url_round_trips() {
        for (text, shown) in [
            ("redis://h", Some("redis://h:6379/0")),
            ("redis://h:1/2", Some("redis://h:1/2")),
            ("redis://p@h", Some("redis://:p@h:6379/0")),
            ("redis://u:p@h", Some("redis://u:p@h:6379/0")),
            ("redis://:p@ss@h", Some("redis://:p@ss@h:6379/0")),
            ("redis://[::1]", Some("redis://[::1]:6379/0")),
            ("redis://[::1]:7/3", Some("redis://[::1]:7/3")),
            ("redis://", None),
            ("redis://u:@h", None),
            ("redis://h:x", None),
            ("redis://h/x", None),
            ("rediss://h", None),
        ] {
            let read = text.parse::<Url>().ok();
            assert_eq!(read.map(|url| url.to_string()).as_deref(), shown, "{text}");
        }
    }

    #[test]
    fn a_redacted_url_has_no_password() {
        for (text, shown) in [
            ("redis://h", "redis://h:6379/0"),
            ("redis://secret@h", "redis://:***@h:6379/0"),
            ("redis://u:secret@h:1/2", "redis://u:***@h:1/2"),
            ("redis://u:se cr@et@[::1]", "redis://u:***@[::1]:6379/0"),
        ] {
            let url: Url = text.parse().expect("a valid URL");
            assert_eq!(url.redacted(), shown, "{text}");
        }
    }
}
