//! Signatures of request targets, by which clients prove that the operator permits a request.
//!
//! ```text
//! sig = hex(HMAC-SHA256(key, salt ‖ path ‖ "?" ‖ sorted pairs of the query, without sig))
//! ```
//!
//! Path and query are signed in the form in which they stand in the URL; percent escapes are not
//! decoded. The pairs of the query are sorted by their bytes and joined by `&`. A query without
//! pairs is left out, with its question mark. The pair `expires=SECONDS` limits the validity to a
//! Unix time, and is signed like every other pair.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use ring::hmac;

/// Name of the parameter with the signature.
const SIGNATURE: &str = "sig";
/// Name of the parameter with the Unix time, in seconds, at which the signature becomes void.
const EXPIRES: &str = "expires";
/// Minimum length of a key in bytes. Shorter keys can be guessed.
const KEY_BYTES_MIN: usize = 16;
/// Length of a signature in bytes.
const SIGNATURE_BYTES: usize = 32;

/// Secret key, with a salt that precedes every signed text.
#[derive(Clone, Debug)]
pub struct SignatureKey {
    key: hmac::Key,
    salt: Vec<u8>,
}

/// Fault of a key in hexadecimal form. Its text does not contain the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key or the salt is not hexadecimal.
    #[error("a key has the form KEY or KEY:SALT, in hexadecimal digits")]
    NotHexadecimal,
    /// The key has fewer than 16 bytes.
    #[error("a key has at least {} hexadecimal digits", 2 * KEY_BYTES_MIN)]
    TooShort,
}

impl SignatureKey {
    /// Parses a key in the form `KEY` or `KEY:SALT`, each in hexadecimal digits.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn parse(text: &str) -> Result<SignatureKey, KeyError> {
        let (key, salt) = text.split_once(':').unwrap_or((text, ""));
        let decode = |text: &str| hex::decode(text).map_err(|_| KeyError::NotHexadecimal);
        let (key, salt) = (decode(key)?, decode(salt)?);
        if key.len() < KEY_BYTES_MIN {
            return Err(KeyError::TooShort);
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        Ok(SignatureKey { key, salt })
    }

    /// Returns a key of any length, as imgproxy permits.
    #[must_use]
    pub fn new(key: &[u8], salt: &[u8]) -> SignatureKey {
        SignatureKey {
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
            salt: salt.to_vec(),
        }
    }

    /// Returns the HMAC of the salt and `text`.
    pub(crate) fn tag(&self, text: &str) -> Vec<u8> {
        let signed = [&self.salt, text.as_bytes()].concat();
        hmac::sign(&self.key, &signed).as_ref().to_vec()
    }

    /// Returns the signature of a target: its path and its query. A pair `sig` of the query is not
    /// signed.
    #[must_use]
    pub fn sign(&self, path: &str, query: &str) -> String {
        let tag = hmac::sign(&self.key, &self.signed_bytes(path, query));
        hex::encode(tag.as_ref())
    }

    /// Returns whether `signature` is the signature of a target. The comparison takes constant
    /// time.
    fn is_signature(&self, signature: &[u8], path: &str, query: &str) -> bool {
        hmac::verify(&self.key, &self.signed_bytes(path, query), signature).is_ok()
    }

    fn signed_bytes(&self, path: &str, query: &str) -> Vec<u8> {
        [&self.salt, signed_text(path, query).as_bytes()].concat()
    }
}

/// Returns the text that a signature covers, without the salt.
#[must_use]
pub fn signed_text(path: &str, query: &str) -> String {
    let pairs = query.split('&');
    let is_signed = |pair: &&str| !pair.is_empty() && !is_signature(pair);
    let mut pairs: Vec<&str> = pairs.filter(is_signed).collect();
    pairs.sort_unstable();
    match pairs.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", pairs.join("&")),
    }
}

/// Query whose signature and time of expiry have been separated from its other parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedQuery<'q> {
    /// Query without the two parameters.
    pub(crate) rest: Cow<'q, str>,
    signature: Option<&'q str>,
    expires: Option<&'q str>,
}

/// Fault of a signed query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// A parameter is repeated, or `expires` is not a number; the text says which.
    Malformed(&'static str),
    /// No key has made the signature.
    Wrong,
    /// The signature has expired.
    Expired,
}

const MALFORMED_TIME: SignatureError =
    SignatureError::Malformed("expires: must be a Unix time in seconds");
const REPEATED: SignatureError =
    SignatureError::Malformed("sig and expires: each must be given only once");

impl<'q> SignedQuery<'q> {
    /// Separates the parameters of the signature from the others.
    ///
    /// # Errors
    /// [`SignatureError::Malformed`] if a parameter of the signature is repeated.
    pub(crate) fn parse(query: &'q str) -> Result<SignedQuery<'q>, SignatureError> {
        let (mut signature, mut expires) = (None, None);
        let mut rest = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let is_repeated = match name {
                SIGNATURE => signature.replace(value).is_some(),
                EXPIRES => expires.replace(value).is_some(),
                _ => {
                    rest.push(pair);
                    false
                }
            };
            if is_repeated {
                return Err(REPEATED);
            }
        }
        let rest = match (signature, expires) {
            (None, None) => Cow::Borrowed(query),
            _ => Cow::Owned(rest.join("&")),
        };
        Ok(SignedQuery {
            rest,
            signature,
            expires,
        })
    }

    /// Verifies the signature of a target with this query, and returns the Unix time in seconds at
    /// which the signature becomes void; `u64::MAX` if it never does. Returns `None` if the target
    /// has no signature.
    ///
    /// # Errors
    /// [`SignatureError`].
    pub(crate) fn verify(
        &self,
        keys: &[SignatureKey],
        path: &str,
        query: &str,
        now_unix_s: u64,
    ) -> Result<Option<u64>, SignatureError> {
        let Some(signature) = self.signature else {
            return Ok(None);
        };
        let until_unix_s = match self.expires {
            None => u64::MAX,
            Some(digits) => unix_seconds(digits).ok_or(MALFORMED_TIME)?,
        };
        let mut bytes = [0; SIGNATURE_BYTES];
        let is_hex = hex::decode_to_slice(signature, &mut bytes).is_ok();
        let mut keys = keys.iter();
        if !is_hex || !keys.any(|key| key.is_signature(&bytes, path, query)) {
            return Err(SignatureError::Wrong);
        }
        match now_unix_s < until_unix_s {
            true => Ok(Some(until_unix_s)),
            false => Err(SignatureError::Expired),
        }
    }
}

/// Verifies a target for people: returns the Unix time in seconds at which its signature becomes
/// void, `u64::MAX` if it never does, or `None` if the target has no signature.
///
/// # Errors
/// [`SignatureError`].
pub fn verify(
    keys: &[SignatureKey],
    path: &str,
    query: &str,
    now_unix_s: u64,
) -> Result<Option<u64>, SignatureError> {
    SignedQuery::parse(query)?.verify(keys, path, query, now_unix_s)
}

/// Returns whether the pair of a query contains a signature.
pub(crate) fn is_signature(pair: &str) -> bool {
    name_of(pair) == SIGNATURE
}

/// Parses a number that consists only of decimal digits; `str::parse` would also accept a sign.
fn unix_seconds(digits: &str) -> Option<u64> {
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all_digits)
}

fn name_of(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(name, _)| name)
}
