//! `pelton sign`: signs the URL of a picture, or verifies a signed URL. A URL below
//! `imgproxy.prefix` gets a signature of imgproxy.

#[cfg(test)]
mod tests;

use std::io::Write as _;

use config::{Config, imgproxy, parse_time, permissions};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use report::{Error, print};
use server::imgproxy::Imgproxy;
use server::problem::Problem;
use server::signature::{self, SignatureError, SignatureKey};

/// Characters of a path that must be escaped in a URL. The others would be sent unchanged by a
/// browser.
const ESCAPED_IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
/// Characters of a query that must be escaped in a URL.
const ESCAPED_IN_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'\'').add(b'<').add(b'>');

/// URL to sign or to verify.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Whole URL, or only its path and query.
    pub url: &'a str,
    /// Time for which the signed URL stays valid, with its unit. Without it, the URL stays valid
    /// forever.
    pub expires: Option<&'a str>,
    /// True to verify the signature instead of signing.
    pub check: bool,
}

/// Parts of a URL, escaped as a browser sends them.
struct Parts<'u> {
    /// Scheme and host; empty if the URL begins with its path.
    origin: &'u str,
    path: String,
    query: String,
}

/// Signs the URL, or verifies its signature, and prints the result.
///
/// # Errors
/// The URL is malformed, no key is configured, or the signature of the URL is invalid or expired.
pub fn run(request: &Request<'_>, config: &Config) -> Result<u8, Vec<Error>> {
    let parts = Parts::parse(request.url).map_err(|err| vec![err])?;
    let now_unix_s = wall_clock::unix_secs();
    let imgproxy = imgproxy::load(config).map_err(|err| vec![err])?;
    if let Some(imgproxy) = imgproxy.filter(|imgproxy| imgproxy.contains(&parts.path)) {
        let line = match request.check {
            true => imgproxy_verdict(&parts, &imgproxy, now_unix_s),
            false => sign_imgproxy(request, &parts, &imgproxy),
        };
        let line = line.map_err(|err| vec![err])?;
        return print(|out| writeln!(out, "{line}"));
    }
    let keys = permissions::keys(config).map_err(|err| vec![err])?;
    let [first, ..] = &keys[..] else {
        let what = "sign: no key is configured";
        let hint = "openssl rand -hex 32 makes a key for images.signature_keys or --key";
        return Err(vec![Error::usage(what).hint(hint)]);
    };
    if request.check {
        let verdict = verdict(&parts, &keys, now_unix_s).map_err(|err| vec![err])?;
        return print(|out| writeln!(out, "{verdict}"));
    }
    let until_unix_s = request
        .expires
        .map(|text| until(text, now_unix_s))
        .transpose();
    let until_unix_s = until_unix_s.map_err(|err| vec![err])?;
    let signed = parts.signed(first, until_unix_s);
    print(|out| writeln!(out, "{signed}"))
}

/// Returns the line that describes a valid imgproxy URL.
fn imgproxy_verdict(
    parts: &Parts<'_>,
    imgproxy: &Imgproxy,
    now_unix_s: u64,
) -> Result<String, Error> {
    let until_unix_s = imgproxy.verify(&parts.path, now_unix_s);
    let until_unix_s = until_unix_s.map_err(|problem| match problem {
        Problem::Imgproxy(err) => Error::finding(format!("sign: {err}")),
        Problem::ExpiredUrl => Error::finding("sign: the URL has expired"),
        _ => Error::finding("sign: the signature does not match any of the keys"),
    })?;
    Ok(valid_until(until_unix_s, now_unix_s))
}

/// Returns the line that describes a signature which becomes void at the Unix time `until_unix_s`.
fn valid_until(until_unix_s: u64, now_unix_s: u64) -> String {
    match until_unix_s {
        u64::MAX => "the signature is valid and does not expire".to_owned(),
        until_unix_s => format!(
            "the signature is valid until the Unix time {until_unix_s}, for another {} s",
            until_unix_s - now_unix_s
        ),
    }
}

/// Returns the signed imgproxy URL.
fn sign_imgproxy(
    request: &Request<'_>,
    parts: &Parts<'_>,
    imgproxy: &Imgproxy,
) -> Result<String, Error> {
    if request.expires.is_some() {
        let what = "--expires cannot be used with an imgproxy URL, whose expiry is one of its \
                    options";
        return Err(Error::usage(what).hint("add expires:UNIX_SECONDS to the options of the URL"));
    }
    let signed = imgproxy.sign(&parts.path).ok_or_else(|| {
        let what = "sign: the URL is an imgproxy URL, but imgproxy.keys has no key";
        Error::usage(what).hint("openssl rand -hex 32 makes a key, or a salt")
    })?;
    Ok(format!("{}{signed}", parts.origin))
}

/// Returns the Unix time at which a URL expires that is valid for the time in `text`.
fn until(text: &str, now_unix_s: u64) -> Result<u64, Error> {
    let time = parse_time(text).filter(|time| !time.is_zero());
    let time = time.ok_or_else(|| {
        Error::usage(format!(
            "--expires: expected a time with its unit, such as 1h or 30d, found {text:?}"
        ))
    })?;
    // Fractions of a second are rounded up, so that the URL is valid at least for the given time.
    let seconds = time.as_secs() + u64::from(0 < time.subsec_nanos());
    Ok(now_unix_s.saturating_add(seconds))
}

/// Returns the line that describes a valid signature.
fn verdict(parts: &Parts<'_>, keys: &[SignatureKey], now_unix_s: u64) -> Result<String, Error> {
    let (path, query) = (&parts.path, &parts.query);
    let covered = signature::signed_text(path, query);
    let unfit = |what: &str| Error::finding(format!("sign: {what}"));
    match signature::verify(keys, path, query, now_unix_s) {
        Ok(Some(until_unix_s)) => Ok(valid_until(until_unix_s, now_unix_s)),
        Ok(None) => {
            Err(unfit("the URL has no signature").hint("pelton sign URL adds a signature to a URL"))
        }
        Err(SignatureError::Malformed(what)) => Err(unfit(what)),
        Err(SignatureError::Expired) => Err(unfit("the signature has expired")),
        Err(SignatureError::Wrong) => Err(unfit("the signature does not match any of the keys")
            .hint(format!(
                "a valid signature is computed over the text {covered}"
            ))),
    }
}

impl<'u> Parts<'u> {
    /// Splits a URL, or its path and query.
    fn parse(url: &'u str) -> Result<Parts<'u>, Error> {
        let url = url.split_once('#').map_or(url, |(url, _)| url);
        // A later "://" belongs to the path or the query.
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        let scheme = scheme.filter(|scheme| !scheme.contains(['/', '?']));
        let after_scheme = scheme.map_or(0, |scheme| scheme.len() + "://".len());
        let begin = url[after_scheme..].find(['/', '?']);
        let (origin, target) = match begin {
            Some(at) => url.split_at(after_scheme + at),
            None => (url, ""),
        };
        let is_path = after_scheme == 0;
        if !target.starts_with('/') || is_path && !origin.is_empty() {
            let what = format!("sign: {url} is neither a URL nor a path that begins with /");
            return Err(Error::usage(what).hint("pelton sign '/2019/a.jpg?w=480'"));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Parts {
            origin,
            path: utf8_percent_encode(path, ESCAPED_IN_PATH).to_string(),
            query: utf8_percent_encode(query, ESCAPED_IN_QUERY).to_string(),
        })
    }

    /// Returns the signed URL. It replaces an earlier signature, and the earlier time of expiry if
    /// another one is given.
    fn signed(&self, key: &SignatureKey, until_unix_s: Option<u64>) -> String {
        let is_kept = |pair: &&str| {
            let name = pair.split_once('=').map_or(*pair, |(name, _)| name);
            !pair.is_empty() && name != "sig" && (name != "expires" || until_unix_s.is_none())
        };
        let kept = self.query.split('&').filter(is_kept).map(str::to_owned);
        let expires = until_unix_s.map(|until| format!("expires={until}"));
        let mut pairs: Vec<String> = kept.chain(expires).collect();
        let signature = key.sign(&self.path, &pairs.join("&"));
        pairs.push(format!("sig={signature}"));
        format!("{}{}?{}", self.origin, self.path, pairs.join("&"))
    }
}
