//! The cache of compiled scripts: which scripts it holds, and which one is dropped next. The
//! compiled functions are in the interpreter.

use std::collections::HashMap;
use std::fmt;

use crate::flags::Flags;
use crate::limits::Limits;

/// SHA-1 of a script's source, as forty hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha([u8; 40]);

impl Sha {
    /// Returns the SHA-1 of a script.
    #[must_use]
    pub fn of(source: &[u8]) -> Sha {
        let digits = sha1_smol::Sha1::from(source).digest().to_string();
        Sha::parse(digits.as_bytes()).expect("a hexadecimal SHA-1 has forty digits")
    }

    /// Parses forty characters; letters may be in upper case. Returns `None` for any other length.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Sha> {
        let digits: [u8; 40] = text.try_into().ok()?;
        Some(Sha(digits.map(|digit| digit.to_ascii_lowercase())))
    }

    /// Returns the digits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reason why a script is not loaded: the error reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub(crate) String);

/// A cached script.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) flags: Flags,
    source_bytes: usize,
    /// True if SCRIPT LOAD loaded the script, which is then kept until SCRIPT FLUSH.
    is_kept: bool,
    /// Number of the script's last use.
    used: u64,
}

/// The scripts in the interpreter, by SHA-1.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    scripts: HashMap<Sha, Script>,
    /// Number of scripts that only EVAL loaded.
    transient: usize,
    /// Bytes of the sources of all scripts that SCRIPT LOAD loaded.
    kept_bytes: usize,
    uses: u64,
}

impl Cache {
    pub(crate) fn len(&self) -> usize {
        self.scripts.len()
    }

    /// Returns the bytes of all sources.
    pub(crate) fn source_bytes(&self) -> usize {
        let sources = self.scripts.values().map(|script| script.source_bytes);
        sources.sum()
    }

    /// Returns a script, and counts the use.
    pub(crate) fn touch(&mut self, sha: &Sha) -> Option<Flags> {
        self.uses += 1;
        let script = self.scripts.get_mut(sha)?;
        script.used = self.uses;
        Some(script.flags)
    }

    pub(crate) fn flags(&self, sha: &Sha) -> Option<Flags> {
        self.scripts.get(sha).map(|script| script.flags)
    }

    pub(crate) fn contains(&self, sha: &Sha) -> bool {
        self.scripts.contains_key(sha)
    }

    /// Adds a compiled script. Returns the script that must be dropped in turn, if any.
    pub(crate) fn add(
        &mut self,
        sha: Sha,
        source: &[u8],
        flags: Flags,
        limits: &Limits,
    ) -> Option<Sha> {
        self.uses += 1;
        let script = Script {
            flags,
            source_bytes: source.len(),
            is_kept: false,
            used: self.uses,
        };
        self.scripts.insert(sha, script);
        self.transient += 1;
        if self.transient <= limits.eval_scripts_max {
            return None;
        }
        let transient = self.scripts.iter().filter(|(_, script)| !script.is_kept);
        let oldest = transient.min_by_key(|(_, script)| script.used);
        let oldest = oldest.map(|(sha, _)| *sha)?;
        self.scripts.remove(&oldest);
        self.transient -= 1;
        Some(oldest)
    }

    /// Keeps a cached script until SCRIPT FLUSH. Returns whether the limit on kept scripts allows
    /// that.
    pub(crate) fn keep(&mut self, sha: &Sha, limits: &Limits) -> bool {
        let Some(script) = self.scripts.get_mut(sha).filter(|it| !it.is_kept) else {
            return true;
        };
        if limits.loaded_bytes_max < self.kept_bytes + script.source_bytes {
            return false;
        }
        script.is_kept = true;
        self.kept_bytes += script.source_bytes;
        self.transient -= 1;
        true
    }
}
