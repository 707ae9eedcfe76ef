//! Rejection of malformed requests.

/// Rejection of a request: respond with `status`, then close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Status of the response, 4xx or 5xx.
    pub status: u16,
    /// Description of the broken rule. The text is fixed and quotes nothing from the request, so
    /// any client may see it.
    pub reason: &'static str,
}

impl Reject {
    /// Creates a 400, for a request that violates the grammar.
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
