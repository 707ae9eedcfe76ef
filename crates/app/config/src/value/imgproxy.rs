//! Types of settings for imgproxy URLs.

use std::fmt::Display;

use image_plan::imgproxy::ImgproxyRules;

use super::{Raw, Value, Wrong};

/// Number of bytes of a whole signature.
const SIGNATURE_BYTES: u32 = 32;

/// Beginning of URL paths, without a slash at its end; `None` if the setting is "off". The path `/`
/// is the empty text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPrefix(pub Option<String>);

impl Value for UrlPrefix {
    const EXPECTED: &'static str = "\"off\" or a path such as \"/imgproxy\"";

    fn read(raw: &Raw) -> Result<UrlPrefix, Wrong> {
        let text = raw.text().ok_or_else(|| Wrong::found(raw))?;
        if text == "off" {
            return Ok(UrlPrefix(None));
        }
        let prefix = text.trim_end_matches('/');
        let is_sound = |byte: u8| byte.is_ascii_graphic() && !b"?#%".contains(&byte);
        let is_path = text.starts_with('/') && prefix.bytes().all(is_sound);
        // The server's own pages stand below /-/, and take precedence over imgproxy URLs.
        let is_own = prefix == "/-" || prefix.starts_with("/-/");
        match is_path && !is_own && !prefix.contains("//") {
            true => Ok(UrlPrefix(Some(prefix.to_owned()))),
            false => Err(Wrong::found(raw)),
        }
    }

    fn show(&self) -> String {
        match self.0.as_deref() {
            None => "off".to_owned(),
            Some("") => "/".to_owned(),
            Some(prefix) => prefix.to_owned(),
        }
    }
}

/// Secret bytes, each in hexadecimal digits: the keys or the salts of signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexSecrets(pub Vec<Vec<u8>>);

impl Value for HexSecrets {
    const EXPECTED: &'static str = "a list of strings of hexadecimal digits";
    const IS_SECRET: bool = true;

    fn read(raw: &Raw) -> Result<HexSecrets, Wrong> {
        // Messages number the secrets, because a message must not repeat a secret.
        let unfit = |row: usize, why: &dyn Display| Wrong::Because(format!("{}: {why}", row + 1));
        let elements = raw
            .elements()
            .ok_or_else(|| unfit(0, &"the value is not a list"))?;
        let read = |(row, element): (usize, &Raw)| {
            let bytes = element.text().and_then(|text| hex::decode(text).ok());
            let bytes = bytes.filter(|bytes| !bytes.is_empty());
            bytes.ok_or_else(|| unfit(row, &"the string does not consist of hexadecimal digits"))
        };
        let secrets = elements.iter().enumerate().map(read);
        secrets.collect::<Result<_, _>>().map(HexSecrets)
    }

    fn show(&self) -> String {
        self.0.iter().map(hex::encode).collect::<Vec<_>>().join(",")
    }
}

/// Texts that are valid as signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedSignatures(pub Vec<String>);

impl Value for TrustedSignatures {
    const EXPECTED: &'static str = "a list of strings";
    const IS_SECRET: bool = true;

    fn read(raw: &Raw) -> Result<TrustedSignatures, Wrong> {
        let elements = raw.elements();
        let texts = elements.and_then(|elements| {
            let texts = elements
                .iter()
                .map(|element| element.text().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        });
        let is_segment = |text: &String| !text.is_empty() && !text.contains('/');
        let texts = texts.filter(|texts| texts.iter().all(is_segment));
        let unfit = || Wrong::Because("expected a list of strings without slashes".to_owned());
        texts.map(TrustedSignatures).ok_or_else(unfit)
    }

    fn show(&self) -> String {
        self.0.join(",")
    }
}

/// Number of bytes of a signature, from 1 to 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureSize(pub u32);

impl SignatureSize {
    pub(crate) const WHOLE: SignatureSize = SignatureSize(SIGNATURE_BYTES);
}

impl Value for SignatureSize {
    const EXPECTED: &'static str = "a whole number from 1 to 32";

    fn read(raw: &Raw) -> Result<SignatureSize, Wrong> {
        let size = u32::read(raw).ok();
        let size = size.filter(|size| (1..=SIGNATURE_BYTES).contains(size));
        size.map(SignatureSize).ok_or_else(|| Wrong::found(raw))
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// Options of imgproxy URLs by the names of their presets, in the order of the names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImgproxyPresets(pub Vec<(String, String)>);

impl Value for ImgproxyPresets {
    const EXPECTED: &'static str = "names of presets with their options: in the configuration file \
                                    { thumb = \"rs:fill:96:96/q:70\" }; in a flag or variable \
                                    \"thumb=rs:fill:96:96/q:70\", with | between several";

    fn read(raw: &Raw) -> Result<ImgproxyPresets, Wrong> {
        let presets = super::images::named_texts(raw)?;
        let rules = ImgproxyRules {
            presets: presets.iter().cloned().collect(),
            ..ImgproxyRules::default()
        };
        rules.check_presets().map_err(Wrong::Because)?;
        Ok(ImgproxyPresets(presets))
    }

    fn show(&self) -> String {
        let presets = self.0.iter().map(|(name, text)| format!("{name}={text}"));
        presets.collect::<Vec<_>>().join("|")
    }
}

/// Beginning of the sources of imgproxy URLs; empty if sources are complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(pub String);

impl Value for BaseUrl {
    const EXPECTED: &'static str = "\"off\" or a URL such as \"local:///photos/\"";

    fn read(raw: &Raw) -> Result<BaseUrl, Wrong> {
        match raw.text() {
            Some("off" | "") => Ok(BaseUrl(String::new())),
            Some(text) => Ok(BaseUrl(text.to_owned())),
            None => Err(Wrong::found(raw)),
        }
    }

    fn show(&self) -> String {
        match self.0.as_str() {
            "" => "off".to_owned(),
            url => url.to_owned(),
        }
    }
}
