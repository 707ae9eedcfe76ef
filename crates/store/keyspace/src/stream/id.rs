//! Ids of stream entries.

use std::fmt;

/// Length of the longest text that is parsed as an id, as in Redis.
const TEXT_BYTES_MAX: usize = 127;

/// Id of an entry: a time in Unix milliseconds, and a sequence number within that millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    pub(crate) ms: u64,
    pub(crate) seq: u64,
}

impl Id {
    pub(crate) const MIN: Self = Self::new(0, 0);
    pub(crate) const MAX: Self = Self::new(u64::MAX, u64::MAX);

    pub(crate) const fn new(ms: u64, seq: u64) -> Self {
        Self { ms, seq }
    }

    /// Returns the next id, or `None` after the largest one.
    pub(crate) fn next(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self::new(self.ms.checked_add(1)?, 0)),
        }
    }

    /// Returns the previous id, or `None` before the smallest one.
    pub(crate) fn previous(self) -> Option<Self> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self::new(self.ms.checked_sub(1)?, u64::MAX)),
        }
    }

    /// Parses `MS-SEQ` or `MS`; in the latter case, the sequence number is `missing_seq`.
    pub(crate) fn parse(text: &[u8], missing_seq: u64) -> Option<Self> {
        if TEXT_BYTES_MAX < text.len() {
            return None;
        }
        match text.iter().position(|&byte| byte == b'-') {
            Some(at) => Some(Self::new(number(&text[..at])?, number(&text[at + 1..])?)),
            None => Some(Self::new(number(text)?, missing_seq)),
        }
    }

    /// Returns the id as 16 bytes, whose order is the order of the ids.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.ms) << 64 | u128::from(self.seq)).to_be_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let both = u128::from_be_bytes(bytes);
        Self::new((both >> 64) as u64, both as u64)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}-{}", self.ms, self.seq)
    }
}

/// Parses decimal digits. Leading zeros are valid, as in Redis; a sign is not.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}
