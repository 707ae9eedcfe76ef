//! Limits of one request.

/// Upper bound of [`Limits::fields_max`]. The table of fields is on the stack, so its size is
/// fixed.
pub const FIELDS_BOUND: usize = 100;

/// Limits of one request. The default values are the values that the server uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes of the request line, the fields and the empty line after them. A longer head
    /// gets 431, or 414 if even the request line does not fit.
    pub head_bytes_max: usize,
    /// Maximum number of field lines, at most [`FIELDS_BOUND`]. A request with more gets 431.
    pub fields_max: usize,
    /// Maximum bytes of the request target. A longer target gets 414. RFC 9112 §3 recommends at
    /// least 8,000.
    pub target_bytes_max: usize,
    /// Maximum size on the wire, including chunk lines and trailers, of a body that is read and
    /// dropped so that the connection can be kept. A longer body gets 413.
    pub body_bytes_max: u64,
    /// Maximum bytes of a chunk line: the size of the chunk and its extensions. A longer line gets
    /// 400.
    pub chunk_line_bytes_max: u32,
    /// Maximum bytes of all trailer fields after the last chunk. A longer trailer section gets 431.
    pub trailer_bytes_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_bytes_max: 16 * 1024,
            fields_max: FIELDS_BOUND,
            target_bytes_max: 8 * 1024,
            body_bytes_max: 64 * 1024,
            chunk_line_bytes_max: 256,
            trailer_bytes_max: 4 * 1024,
        }
    }
}

impl Limits {
    /// Checks that the limits are consistent. Call once, at start-up.
    ///
    /// # Errors
    /// A message for the operator that names the invalid limit.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.fields_max == 0 || FIELDS_BOUND < self.fields_max {
            return Err("fields_max must be from 1 to 100");
        }
        if self.target_bytes_max < 8_000 {
            return Err(
                "target_bytes_max must be at least 8000, the minimum of RFC 9112 section 3",
            );
        }
        if self.head_bytes_max <= self.target_bytes_max {
            return Err("head_bytes_max must be larger than target_bytes_max");
        }
        if self.chunk_line_bytes_max == 0 {
            return Err("chunk_line_bytes_max must be at least 1");
        }
        Ok(())
    }
}
