use std::collections::HashMap;

/// Visits since the start of the server, by share id. They are not stored: otherwise anonymous
/// requests would cause disk writes.
pub(crate) type Visits = HashMap<String, Visited>;

/// Visits of one share.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Visited {
    pub(crate) count: u32,
    pub(crate) last_ms: i64,
}
