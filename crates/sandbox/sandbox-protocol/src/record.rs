//! Requests and outputs of a persistent program, as records on its standard input and output.
//!
//! ```text
//! request  length of environment, u32 │ length of body, u32 │ environment │ body
//!          environment: NAME=VALUE, each followed by a zero byte
//! output   length, u32 │ the output that an ephemeral program would write
//! ```
//!
//! Numbers are little-endian. There is one request at a time: the program reads all of it, answers
//! it, and reads the next.

/// Size of the head of a request in bytes. The environment follows it.
pub const REQUEST_HEAD_BYTES: usize = 8;
/// Size of the head of an output in bytes. The output follows it.
pub const ANSWER_HEAD_BYTES: usize = 4;

/// Encodes the head of a request, given the lengths of its environment and its body.
#[must_use]
pub fn request_head(environment_bytes: u32, body_bytes: u32) -> [u8; REQUEST_HEAD_BYTES] {
    let mut head = [0; REQUEST_HEAD_BYTES];
    head[..4].copy_from_slice(&environment_bytes.to_le_bytes());
    head[4..].copy_from_slice(&body_bytes.to_le_bytes());
    head
}

/// Receiver of an output that arrives in pieces of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputRecord {
    head: [u8; ANSWER_HEAD_BYTES],
    head_bytes: usize,
    body_bytes: u64,
}

/// Error of a program that wrote more bytes than it had announced for its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess;

impl OutputRecord {
    /// Processes the next piece of an output. Returns the bytes of the piece without those that
    /// belong to the output's head (its length).
    ///
    /// # Errors
    /// [`Excess`] if the output, including this piece, is longer than the program announced in the
    /// output's head. This is a fault of the program.
    pub fn take<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], Excess> {
        let missing = ANSWER_HEAD_BYTES - self.head_bytes;
        let (head, body) = piece.split_at(missing.min(piece.len()));
        self.head[self.head_bytes..self.head_bytes + head.len()].copy_from_slice(head);
        self.head_bytes += head.len();
        let end = self.body_bytes + body.len() as u64;
        match self.announced_bytes() {
            Some(announced) if announced < end => Err(Excess),
            _ => {
                self.body_bytes = end;
                Ok(body)
            }
        }
    }

    /// Returns the length of the output, once the program has announced it.
    #[must_use]
    pub fn announced_bytes(&self) -> Option<u64> {
        let whole = self.head_bytes == ANSWER_HEAD_BYTES;
        whole.then(|| u64::from(u32::from_le_bytes(self.head)))
    }

    /// Returns the number of bytes received so far, without the head.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Returns whether the whole output was received.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.announced_bytes() == Some(self.body_bytes)
    }
}
