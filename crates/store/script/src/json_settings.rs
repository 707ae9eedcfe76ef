//! Settings of the library `cjson`.

/// Settings of `cjson`, which a script may change; the next script starts with the defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JsonSettings {
    /// True if a sparse array is encoded as an object instead of being refused.
    pub(crate) converts_sparse: bool,
    /// An array is sparse if its highest index exceeds `sparse_safe`, and the number of its
    /// elements times `sparse_ratio`.
    pub(crate) sparse_ratio: i64,
    pub(crate) sparse_safe: i64,
    pub(crate) encode_depth_max: usize,
    pub(crate) decode_depth_max: usize,
    /// Significant digits of numbers.
    pub(crate) precision: usize,
    /// True if NaN and infinity are read from JSON texts.
    pub(crate) decodes_invalid: bool,
    /// True if NaN and infinity are written as `nan` and `inf`.
    pub(crate) encodes_invalid: bool,
}

impl Default for JsonSettings {
    fn default() -> JsonSettings {
        JsonSettings {
            converts_sparse: false,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_depth_max: 1000,
            decode_depth_max: 1000,
            precision: 14,
            decodes_invalid: true,
            encodes_invalid: false,
        }
    }
}
