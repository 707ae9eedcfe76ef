//! What a malformed request gets.

/// A request that is not served: answer with `status`, then close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The answer's status, 4xx or 5xx.
    pub status: u16,
    /// Which rule was broken; fixed text without a word of the request, so it may be shown to anyone.
    pub reason: &'static str,
}

impl Reject {
    /// The request breaks the grammar.
    pub(crate) const fn bad(reason: &'static str) -> Reject {
        Reject {
            status: 400,
            reason,
        }
    }

    pub(crate) const fn with(status: u16, reason: &'static str) -> Reject {
        Reject { status, reason }
    }
}
