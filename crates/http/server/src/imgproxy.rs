//! URLs in the grammar of imgproxy: their place, their signatures, and their meaning as requests
//! for files of the library. [`image_plan::imgproxy`] parses the options.
//!
//! ```text
//! signature = base64url(first bytes of HMAC-SHA256(key, salt ‖ "/" ‖ rest of the path))
//! ```

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use image_plan::Format;
use image_plan::imgproxy::{
    Disposition, ImgproxyError, ImgproxyErrorKind, ImgproxyRequest, ImgproxyRules,
    decode_base64url, encode_base64url, restored_path,
};
use variants::library::encode;

use crate::denial::Denial;
use crate::problem::Problem;
use crate::signature::SignatureKey;

/// Settings of the operator for imgproxy URLs.
#[derive(Clone, Debug)]
pub struct Imgproxy {
    /// Prefix of the paths that are imgproxy URLs, without a slash at its end. If the prefix is
    /// empty, every path of a file is an imgproxy URL.
    pub prefix: String,
    /// Keys of signatures. Without keys, every signature is valid.
    pub keys: Vec<SignatureKey>,
    /// Number of bytes of a signature, from 1 to 32.
    pub signature_bytes: usize,
    /// Texts that are valid as signatures of every URL.
    pub trusted_signatures: Vec<String>,
    /// Presets and sources.
    pub rules: ImgproxyRules,
}

/// Parsed imgproxy URL, and the time of its validity.
pub(crate) struct ImgproxyUrl {
    pub(crate) request: ImgproxyRequest,
    /// Unix time in seconds at which the URL becomes void; `u64::MAX` if it never does.
    pub(crate) until_unix_s: u64,
    /// True if a key or a trusted signature proves that the operator permits the request.
    pub(crate) is_signed: bool,
}

const WRONG_SIGNATURE: Problem = Problem::Denied {
    denial: Denial::WrongSignature,
    detail: None,
};

impl Imgproxy {
    /// Returns the part of `path` after the prefix and its slash; `None` if the path is not an
    /// imgproxy URL.
    pub(crate) fn path_below<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.prefix)?.strip_prefix('/')
    }

    /// Verifies and parses an imgproxy URL, the part of the path that [`Imgproxy::path_below`]
    /// returns.
    ///
    /// # Errors
    /// [`Problem::Denied`] if the signature is wrong, [`Problem::Imgproxy`] if the URL is invalid,
    /// and [`Problem::ExpiredUrl`].
    pub(crate) fn parse(&self, path: &str, now_unix_s: u64) -> Result<ImgproxyUrl, Problem> {
        let (signature, path) = path.split_once('/').unwrap_or((path, ""));
        let path = restored_path(path);
        if !self.is_valid(signature, &path) {
            return Err(WRONG_SIGNATURE);
        }
        let request = self.rules.parse(&path).map_err(Problem::Imgproxy)?;
        let until_unix_s = request.expires_unix_s.unwrap_or(u64::MAX);
        match now_unix_s < until_unix_s {
            true => Ok(ImgproxyUrl {
                request,
                until_unix_s,
                is_signed: !self.keys.is_empty(),
            }),
            false => Err(Problem::ExpiredUrl),
        }
    }

    /// Returns whether `signature` is valid for `path`, the part of a path after the signature and
    /// its slash. Without keys, every text is valid that is not empty and cannot be an option.
    fn is_valid(&self, signature: &str, path: &str) -> bool {
        if self.keys.is_empty() {
            return !signature.is_empty() && !signature.contains(':');
        }
        // The comparison of hashes takes constant time.
        let sent = blake3::hash(signature.as_bytes());
        let mut trusted = self.trusted_signatures.iter();
        if trusted.any(|trusted| blake3::hash(trusted.as_bytes()) == sent) {
            return true;
        }
        let Some(sent) = decode_base64url(signature) else {
            return false;
        };
        let sent = blake3::hash(&sent);
        let mut tags = self.keys.iter().map(|key| self.tag(key, path));
        tags.any(|tag| blake3::hash(&tag) == sent)
    }

    /// Returns the signed form of an imgproxy URL: the path with the signature of the first key in
    /// place of `signature`. Returns `None` if there is no key, or if `path` is not an imgproxy
    /// URL.
    #[must_use]
    pub fn sign(&self, path: &str) -> Option<String> {
        let (_, rest) = self.path_below(path)?.split_once('/')?;
        let tag = self.tag(self.keys.first()?, &restored_path(rest));
        Some(format!("{}/{}/{rest}", self.prefix, encode_base64url(&tag)))
    }

    /// Returns whether `path` is an imgproxy URL.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.path_below(path).is_some_and(|rest| rest.contains('/'))
    }

    /// Verifies an imgproxy URL for people: returns the Unix time in seconds at which it becomes
    /// void; `u64::MAX` if it never does. Without keys, every signature is wrong.
    ///
    /// # Errors
    /// The [`Problem`] that a request for `path` would get before its file is read.
    pub fn verify(&self, path: &str, now_unix_s: u64) -> Result<u64, Problem> {
        let below = self.path_below(path).filter(|_| !self.keys.is_empty());
        let url = self.parse(below.ok_or(WRONG_SIGNATURE)?, now_unix_s)?;
        Ok(url.until_unix_s)
    }

    fn tag(&self, key: &SignatureKey, path: &str) -> Vec<u8> {
        let tag = key.tag(&format!("/{path}"));
        tag[..self.signature_bytes.min(tag.len())].to_vec()
    }
}

/// Returns the status of the response to an invalid imgproxy URL.
pub(crate) fn status(error: &ImgproxyError) -> u16 {
    match error.kind {
        ImgproxyErrorKind::Path => 404,
        ImgproxyErrorKind::Option => 400,
        ImgproxyErrorKind::Source => 422,
    }
}

/// Returns the title of the problem document for an invalid imgproxy URL.
pub(crate) fn title(error: &ImgproxyError) -> &'static str {
    match error.kind {
        ImgproxyErrorKind::Path => "the path is not an imgproxy URL",
        ImgproxyErrorKind::Option => "an option of the imgproxy URL is invalid or not supported",
        ImgproxyErrorKind::Source => "the source of the imgproxy URL cannot be used",
    }
}

/// Returns the value of Content-Disposition (RFC 6266) for a response with `media_type`, made from
/// the file at `path`. Returns `None` if the URL states neither a name nor an attachment.
pub(crate) fn content_disposition(
    disposition: &Disposition,
    path: &std::path::Path,
    media_type: &str,
) -> Option<Cow<'static, str>> {
    if *disposition == Disposition::default() {
        return None;
    }
    let own_stem = || {
        let stem = path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    };
    let name = disposition.filename.clone().unwrap_or_else(own_stem);
    let mut formats = Format::ALL.into_iter();
    let format = formats.find(|format| format.media_type() == media_type);
    let extension = match (format, path.extension()) {
        (Some(format), _) => format!(".{}", format.extension()),
        (None, Some(extension)) => format!(".{}", extension.to_string_lossy()),
        (None, None) => String::new(),
    };
    let kind = match disposition.is_attachment {
        true => "attachment",
        false => "inline",
    };
    // A slash would make the rest of the name a file in a folder.
    let name = format!("{name}{extension}").replace('/', "_");
    let name = encode(std::path::Path::new(&name));
    Some(format!("{kind}; filename*=UTF-8''{name}").into())
}
