//! Authentication by parameters of the Subsonic protocol: a password, a salted token, or an API
//! key.

use crate::fault::{Code, Fault};
use crate::params::Params;
use crate::store::{Secret, State, key_hash};

/// Message to clients as long as there are no users.
const NOBODY: &str = "there are no users yet: on the server, run `pelton user add NAME`";

/// Returns the name of the user whom `params` authenticate, or an error of the Subsonic protocol.
pub(crate) fn user<'s>(
    params: &Params<'_>,
    state: &'s State,
    secret: Option<&Secret>,
) -> Result<&'s str, Fault> {
    if state.users.is_empty() {
        return Err(Fault::new(Code::Login, NOBODY));
    }
    if let Some(key) = params.first("apiKey") {
        let two = ["u", "p", "t", "s"]
            .iter()
            .any(|name| params.first(name).is_some());
        if two {
            let what = "the parameter apiKey cannot be combined with u, p, t or s";
            return Err(Fault::new(Code::TwoWaysIn, what));
        }
        return of_key(key, state)
            .ok_or_else(|| Fault::new(Code::BadKey, "the value of apiKey is not a valid API key"));
    }
    let name = params.first("u").ok_or_else(|| Fault::missing("u"))?;
    let known = state.user_named(name);
    let password = known.and_then(|(name, user)| secret?.open_sealed(name, &user.password));
    let fits = |password: &str| match (params.first("p"), params.first("t")) {
        (Some(given), _) => Ok(equals_in_constant_time(
            &decoded_password(given),
            password.as_bytes(),
        )),
        (None, Some(token)) => {
            let salt = params.first("s").ok_or_else(|| Fault::missing("s"))?;
            let expected = token_of(password, salt);
            let token = token.to_ascii_lowercase();
            Ok(equals_in_constant_time(
                token.as_bytes(),
                expected.as_bytes(),
            ))
        }
        (None, None) => {
            let what =
                "credentials are missing: send the parameter p, the parameters t and s, or apiKey";
            Err(Fault::new(Code::Missing, what))
        }
    };
    // An unknown name is checked too, against an empty password, so that the response time does not
    // reveal which users exist.
    let is_in = fits(password.as_deref().unwrap_or(""))? && password.is_some();
    match known {
        Some((name, _)) if is_in => Ok(name),
        _ => Err(Fault::new(Code::Login, "wrong user name or password")),
    }
}

/// Returns the user with this name and password, if any.
pub(crate) fn of_password<'s>(
    name: &str,
    password: &str,
    state: &'s State,
    secret: Option<&Secret>,
) -> Option<&'s str> {
    let known = state.user_named(name);
    let kept = known.and_then(|(name, user)| secret?.open_sealed(name, &user.password));
    // An unknown name is checked too, against an empty password, so that the response time does not
    // reveal which users exist.
    let is_password = equals_in_constant_time(
        password.as_bytes(),
        kept.as_deref().unwrap_or("").as_bytes(),
    );
    let (name, _) = known.filter(|_| is_password && kept.is_some())?;
    Some(name)
}

/// Returns the user to whom the API key belongs, if any.
pub(crate) fn of_key<'s>(key: &str, state: &'s State) -> Option<&'s str> {
    let hash = key_hash(key);
    let mut users = state.users.iter();
    let found = users.find(|(_, user)| user.keys.values().any(|key| key.hash == hash));
    found.map(|(name, _)| name.as_str())
}

/// Decodes the parameter `p`: hexadecimal digits after `enc:`, or the password as text.
fn decoded_password(given: &str) -> Vec<u8> {
    let encoded = given.strip_prefix("enc:");
    let decoded = encoded.and_then(|text| hex::decode(text).ok());
    decoded.unwrap_or_else(|| given.as_bytes().to_vec())
}

/// Returns the token that a client sends instead of the password: the MD5 hash of the concatenated
/// password and salt.
fn token_of(password: &str, salt: &str) -> String {
    format!("{:x}", md5::compute(format!("{password}{salt}")))
}

/// Returns whether `a` equals `b`. Compares the hashes of `a` and `b`, so that the duration does
/// not reveal the length of a common prefix.
pub(crate) fn equals_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    blake3::hash(a) == blake3::hash(b)
}

#[cfg(test)]
mod tests;
