/// Bounds of an output's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of the head: its lines with their ends. Default 16 KiB.
    pub head_bytes_max: usize,
    /// Most fields. Default 64.
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
