//! Facts with their evidence, and the reasons why facts are unknown.

use std::fmt;

/// Property of the host, and the place from which it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact<T> {
    /// Path, netlink attribute or system call that yields the value.
    pub source: String,
    /// Text of the value, as evidence for people; empty if the value is unknown.
    pub text: String,
    /// Value, or the reason why the value is unknown.
    pub value: Result<T, Unread>,
}

/// Reason why a fact is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// No attempt was made to read the fact.
    NotRead,
    /// The caller lacks a permission.
    Denied,
    /// The file or object does not exist on this host.
    Absent,
    /// The kernel, or the driver of a device, does not offer the property.
    Unsupported,
    /// The kernel or the server did not reply in time.
    TimedOut,
    /// There is no running server that could have the property.
    NoServer,
    /// The content is longer than the program reads.
    TooLong,
    /// The content has another form than documented.
    Malformed,
    /// The running server refused the request with this status.
    Refused(u16),
    /// The kernel reported another error, with this number.
    Errno(i32),
}

/// Value that supports a judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Path, netlink attribute or system call.
    pub source: String,
    /// Value that was read, or the reason why it is unknown.
    pub value: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unread::NotRead => "not read",
            Unread::Denied => "permission denied; run as root to read this value",
            Unread::Absent => "does not exist on this host",
            Unread::Unsupported => "not supported by this kernel or driver",
            Unread::TimedOut => "no reply within the time limit",
            Unread::NoServer => {
                "no running server was found; give --pid or --data to name a server"
            }
            Unread::TooLong => "the content is longer than this program reads",
            Unread::Malformed => "the content has an unknown format",
            Unread::Refused(status) => {
                return write!(f, "the server refused the request with status {status}");
            }
            Unread::Errno(number) => return write!(f, "the kernel returned error {number}"),
        })
    }
}

impl<T> Default for Fact<T> {
    fn default() -> Fact<T> {
        Fact::unknown("", Unread::NotRead)
    }
}

impl<T> Fact<T> {
    /// Creates a fact that was read from `source`. `text` is the value as the source writes it.
    pub fn known(source: impl Into<String>, text: impl Into<String>, value: T) -> Fact<T> {
        Fact {
            source: source.into(),
            text: text.into(),
            value: Ok(value),
        }
    }

    /// Creates a fact that could not be read from `source`.
    pub fn unknown(source: impl Into<String>, why: Unread) -> Fact<T> {
        Fact {
            source: source.into(),
            text: String::new(),
            value: Err(why),
        }
    }

    /// Converts the value. The new fact has the same source and text. It is unknown if `convert`
    /// returns `None`.
    pub fn and_then<U>(self, convert: impl FnOnce(T) -> Option<U>) -> Fact<U> {
        let value = self
            .value
            .and_then(|value| convert(value).ok_or(Unread::Malformed));
        Fact {
            text: if value.is_ok() {
                self.text
            } else {
                String::new()
            },
            source: self.source,
            value,
        }
    }

    /// Returns the value, or as error the evidence that the value is unknown.
    pub(crate) fn get(&self) -> Result<&T, Unknown> {
        self.value.as_ref().map_err(|why| Unknown {
            evidence: self.evidence(),
            why: *why,
        })
    }

    /// Returns the value, if it is known.
    pub fn ok(&self) -> Option<&T> {
        self.value.as_ref().ok()
    }

    /// Returns the source with the text of the value, or with the reason why the value is unknown.
    pub(crate) fn evidence(&self) -> Evidence {
        Evidence {
            source: self.source.clone(),
            value: match &self.value {
                Ok(_) => self.text.clone(),
                Err(why) => format!("unknown: {why}"),
            },
        }
    }
}

/// Missing fact, without which a row cannot be judged.
#[derive(Clone, Debug)]
pub(crate) struct Unknown {
    pub(crate) evidence: Evidence,
    pub(crate) why: Unread,
}
