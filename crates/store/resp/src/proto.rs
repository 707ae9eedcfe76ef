//! Version of the RESP protocol.

/// Version of the replies that a client understands. Requests are the same in both versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proto {
    /// The version with which every connection starts.
    #[default]
    Resp2,
    /// The version that `HELLO 3` selects, in which maps, sets, doubles, booleans and pushes have
    /// their own types.
    Resp3,
}

impl Proto {
    /// Returns the version number, as HELLO expects it.
    pub fn number(self) -> i64 {
        match self {
            Proto::Resp2 => 2,
            Proto::Resp3 => 3,
        }
    }
}
