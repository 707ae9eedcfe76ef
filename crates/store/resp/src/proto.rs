//! The version of the protocol a client speaks.

/// Which replies a client understands. Requests look the same in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proto {
    /// What every client starts with.
    #[default]
    Resp2,
    /// Asked for with `HELLO 3`: maps, sets, doubles, booleans and pushes have types of their own.
    Resp3,
}

impl Proto {
    /// The number that `HELLO` takes and shows.
    pub fn number(self) -> i64 {
        match self {
            Proto::Resp2 => 2,
            Proto::Resp3 => 3,
        }
    }
}
