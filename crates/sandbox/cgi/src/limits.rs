/// Limits on the header of a program's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of the header in bytes, including the line ends. Default 16 KiB.
    pub head_bytes_max: usize,
    /// Maximum number of header fields. Default 64.
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
