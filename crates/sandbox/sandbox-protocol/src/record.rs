//! Requests and answers of a program that is kept, as records on its standard input and output.
//!
//! ```text
//! request  environment bytes, u32 │ body bytes, u32 │ environment: NAME=VALUE, each ended by a zero byte │ body
//! answer   bytes, u32 │ what a program that is not kept would write on standard output
//! ```
//!
//! Numbers are little-endian. One request at a time: the program reads it whole, answers it, and reads the next.

/// Bytes of a request before its environment.
pub const REQUEST_HEAD_BYTES: usize = 8;
/// Bytes of an answer before what it says.
pub const ANSWER_HEAD_BYTES: usize = 4;

/// What stands before a request of so many bytes of environment and of body.
#[must_use]
pub fn request_head(environment_bytes: u32, body_bytes: u32) -> [u8; REQUEST_HEAD_BYTES] {
    let mut head = [0; REQUEST_HEAD_BYTES];
    head[..4].copy_from_slice(&environment_bytes.to_le_bytes());
    head[4..].copy_from_slice(&body_bytes.to_le_bytes());
    head
}

/// An answer as it comes, in pieces of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerRecord {
    head: [u8; ANSWER_HEAD_BYTES],
    head_bytes: usize,
    body_bytes: u64,
}

/// A program wrote more than the answer that it announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess;

impl AnswerRecord {
    /// Takes the next piece, and returns what of it belongs to the answer itself, after that of the pieces before.
    ///
    /// # Errors
    /// [`Excess`], the program's fault, when the answer is over before the piece is.
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

    /// Length of the answer, once the program has said it.
    #[must_use]
    pub fn announced_bytes(&self) -> Option<u64> {
        let whole = self.head_bytes == ANSWER_HEAD_BYTES;
        whole.then(|| u64::from(u32::from_le_bytes(self.head)))
    }

    /// How much of it has come.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether all of it has come.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.announced_bytes() == Some(self.body_bytes)
    }
}
