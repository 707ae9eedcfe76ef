//! Type of the setting for the IIIF Image API.

use super::{Raw, Value, Wrong};

/// State of the IIIF Image API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IiifService {
    /// No URL belongs to the API.
    Off,
    /// The API is on, and its URLs follow from the Host field of each request.
    On,
    /// The API is on, and this is the URL at which clients reach the root of the server, without a
    /// slash at its end.
    At(String),
}

impl Value for IiifService {
    const EXPECTED: &'static str = "on, off or a URL such as \"https://example.org/pictures\"";

    fn read(raw: &Raw) -> Result<IiifService, Wrong> {
        let text = raw.text().ok_or_else(|| Wrong::found(raw))?;
        match text {
            "off" => return Ok(IiifService::Off),
            "on" => return Ok(IiifService::On),
            _ => {}
        }
        let schemes = ["https://", "http://"];
        let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
        let is_sound = |byte: u8| byte.is_ascii_graphic() && !b"?#\"\\<>".contains(&byte);
        let has_host = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
        match has_host && text.bytes().all(is_sound) {
            true => Ok(IiifService::At(text.trim_end_matches('/').to_owned())),
            false => Err(Wrong::found(raw)),
        }
    }

    fn show(&self) -> String {
        match self {
            IiifService::Off => "off".to_owned(),
            IiifService::On => "on".to_owned(),
            IiifService::At(url) => url.clone(),
        }
    }
}
