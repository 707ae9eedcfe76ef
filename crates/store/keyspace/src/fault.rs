//! Error replies of commands. The texts are those of Redis, because clients compare them.

use std::borrow::Cow;

/// Error reply of a command: an error code, a space, and the text. The cause is always the client's
/// request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(Cow<'static, [u8]>);

impl Fault {
    pub(crate) const SYNTAX: Self = Self::of("ERR syntax error");
    pub(crate) const WRONG_TYPE: Self =
        Self::of("WRONGTYPE Operation against a key holding the wrong kind of value");
    pub(crate) const NOT_INT: Self = Self::of("ERR value is not an integer or out of range");
    pub(crate) const NOT_FLOAT: Self = Self::of("ERR value is not a valid float");
    pub(crate) const NO_KEY: Self = Self::of("ERR no such key");
    pub(crate) const OUT_OF_RANGE: Self = Self::of("ERR index out of range");
    pub(crate) const OVERFLOW: Self = Self::of("ERR increment or decrement would overflow");
    pub(crate) const NAN_OR_INFINITY: Self =
        Self::of("ERR increment would produce NaN or Infinity");
    pub(crate) const TOO_LONG: Self =
        Self::of("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    pub(crate) const NOT_POSITIVE: Self = Self::of("ERR value is out of range, must be positive");
    pub(crate) const OUT_OF_MEMORY: Self =
        Self::of("OOM command not allowed when used memory > 'maxmemory'.");
    pub(crate) const INVALID_CURSOR: Self = Self::of("ERR invalid cursor");
    pub(crate) const DB_OUT_OF_RANGE: Self = Self::of("ERR DB index is out of range");

    pub(crate) const fn of(text: &'static str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }

    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Self {
        Self(Cow::Owned(text.into()))
    }

    pub(crate) fn arity(name: &str) -> Self {
        Self::new(format!(
            "ERR wrong number of arguments for '{name}' command"
        ))
    }

    /// Returns the error for an expire time that is out of range.
    pub(crate) fn expire_time(name: &str) -> Self {
        Self::new(format!("ERR invalid expire time in '{name}' command"))
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.0
    }
}
