//! What one request may take.

/// Upper bound of [`Limits::fields_max`]: the fields' table lives on the stack.
pub const FIELDS_BOUND: usize = 100;

/// Bounds of one request. The defaults are what the server starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Request line, fields and the empty line after them, in bytes. Beyond it: 431, or 414 within the target.
    pub head_bytes_max: usize,
    /// Field lines, at most [`FIELDS_BOUND`]. Beyond it: 431.
    pub fields_max: usize,
    /// Request target, in bytes. Beyond it: 414. RFC 9112 §3 wants at least 8,000.
    pub target_bytes_max: usize,
    /// Body that is skipped so that the connection can go on, in bytes on the wire, chunk lines and trailers included.
    /// Beyond it: 413.
    pub body_bytes_max: u64,
    /// One chunk's size with its extensions, in bytes. Beyond it: 400.
    pub chunk_line_bytes_max: u32,
    /// All trailer fields after the last chunk, in bytes. Beyond it: 431.
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
    /// Whether the limits fit each other; to be asked once, at start-up.
    ///
    /// # Errors
    /// Which limit does not, for the operator.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.fields_max == 0 || FIELDS_BOUND < self.fields_max {
            return Err("fields_max is not between 1 and 100");
        }
        if self.target_bytes_max < 8_000 {
            return Err("target_bytes_max is below 8000, which RFC 9112 section 3 asks for");
        }
        if self.head_bytes_max <= self.target_bytes_max {
            return Err("head_bytes_max is not above target_bytes_max");
        }
        if self.chunk_line_bytes_max == 0 {
            return Err("chunk_line_bytes_max is zero");
        }
        Ok(())
    }
}
