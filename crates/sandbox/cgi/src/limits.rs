//! How much of an output may be its head.

/// Bounds of an output's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Fields and their ends, in bytes. Default 16 KiB.
    pub head_bytes_max: usize,
    /// Fields. Default 64.
    pub fields_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_bytes_max: 16 << 10,
            fields_max: 64,
        }
    }
}
