//! Types of settings that control access.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::PathBuf;

use server::gate::RequireLogin;

use super::{Raw, Value, Wrong};

/// Part of the server that requires a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginNeed(pub RequireLogin);

const NEEDS: [(&str, RequireLogin); 3] = [
    ("off", RequireLogin::Off),
    ("music", RequireLogin::Music),
    ("all", RequireLogin::All),
];

impl Value for LoginNeed {
    const EXPECTED: &'static str = "\"off\", \"music\" or \"all\"";

    fn read(raw: &Raw) -> Result<LoginNeed, Wrong> {
        let row = NEEDS.iter().find(|row| raw.text() == Some(row.0));
        row.map(|row| LoginNeed(row.1))
            .ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        let row = NEEDS.iter().find(|row| row.1 == self.0);
        row.expect("every value that can be set has a name")
            .0
            .to_owned()
    }
}

/// Host names in lower case, without ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(pub Vec<String>);

impl Value for Hosts {
    const EXPECTED: &'static str =
        "a list of names such as \"music.example.org\" or \"*.example.org\", or \"*\" alone";

    fn read(raw: &Raw) -> Result<Hosts, Wrong> {
        texts(raw, is_host).map(Hosts)
    }

    fn show(&self) -> String {
        self.0.join(",")
    }
}

/// Origins of web pages (scheme, host and port), in the form in which browsers send them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins(pub Vec<String>);

impl Value for Origins {
    const EXPECTED: &'static str = "a list of origins such as \"https://player.example.org\"";

    fn read(raw: &Raw) -> Result<Origins, Wrong> {
        let is_origin = |text: &str| {
            let authority = text.strip_prefix("https://");
            let authority = authority.or_else(|| text.strip_prefix("http://"));
            authority.is_some_and(|authority| {
                let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "1"));
                port.parse::<u16>().is_ok() && is_host(host) && !host.contains('*')
            })
        };
        texts(raw, is_origin).map(Origins)
    }

    fn show(&self) -> String {
        self.0.join(",")
    }
}

/// Path of a file, or `None` if the setting is "off".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaybeFile(pub Option<PathBuf>);

impl Value for MaybeFile {
    const EXPECTED: &'static str = "\"off\" or a path";

    fn read(raw: &Raw) -> Result<MaybeFile, Wrong> {
        match raw.text() {
            Some("off") => Ok(MaybeFile(None)),
            _ => PathBuf::read(raw).map(|path| MaybeFile(Some(path))),
        }
    }

    fn show(&self) -> String {
        self.0.as_ref().map_or("off".to_owned(), Value::show)
    }
}

/// Parses a list of strings and returns them in lower case. Every string must satisfy `fits`.
fn texts(raw: &Raw, fits: impl Fn(&str) -> bool) -> Result<Vec<String>, Wrong> {
    let elements = raw.elements().ok_or_else(|| Wrong::found(raw))?;
    let read = |element: &Raw| {
        let text = element.text().map(str::to_ascii_lowercase);
        text.filter(|text| fits(text))
            .ok_or_else(|| Wrong::found(element))
    };
    elements.iter().map(read).collect()
}

fn is_host(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let address = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    text == "*" || is_name || address.is_some_and(|it| it.parse::<IpAddr>().is_ok())
}
