//! PackBits, the run lengths of TIFF and PSD. Source: TIFF 6.0, section 9.

/// Decoder of one sequence of bytes.
pub(crate) struct PackBits<'a> {
    rest: &'a [u8],
    /// Number of bytes that are left in the current packet.
    left: usize,
    /// Byte that the current packet repeats, if it is a run.
    repeated: Option<u8>,
}

impl<'a> PackBits<'a> {
    pub(crate) const fn new(rest: &'a [u8]) -> PackBits<'a> {
        PackBits {
            rest,
            left: 0,
            repeated: None,
        }
    }

    /// Decodes the next bytes into `out`. Returns whether there were enough bytes.
    pub(crate) fn fill(&mut self, mut out: &mut [u8]) -> bool {
        while !out.is_empty() {
            if self.left == 0 && !self.start_packet() {
                return false;
            }
            let count = self.left.min(out.len());
            let (filled, after) = out.split_at_mut(count);
            match self.repeated {
                Some(byte) => filled.fill(byte),
                None => {
                    let Some((bytes, rest)) = self.rest.split_at_checked(count) else {
                        return false;
                    };
                    filled.copy_from_slice(bytes);
                    self.rest = rest;
                }
            }
            self.left -= count;
            out = after;
        }
        true
    }

    /// Reads the head of the next packet. Returns false at the end of the data.
    fn start_packet(&mut self) -> bool {
        loop {
            match *self.rest {
                // A packet of its own that means nothing.
                [128, ref rest @ ..] => self.rest = rest,
                [head @ 0..=127, ref rest @ ..] => {
                    (self.left, self.repeated, self.rest) = (usize::from(head) + 1, None, rest);
                    return true;
                }
                [head, byte, ref rest @ ..] => {
                    (self.left, self.repeated, self.rest) =
                        (257 - usize::from(head), Some(byte), rest);
                    return true;
                }
                _ => return false,
            }
        }
    }
}
