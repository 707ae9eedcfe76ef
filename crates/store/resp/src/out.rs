//! Output buffer for replies: short data in one vector, blobs by reference.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

use crate::{BLOB_BYTES_MIN, Proto, number};

/// Output buffer that collects replies for a vectored write.
///
/// ```text
/// small   +OK\r\n$20000\r\n│\r\n:1\r\n$30000\r\n│\r\n
/// blobs                    ▲ 20,000 bytes       ▲ 30,000 bytes, each with its offset in `small`
/// ```
///
/// A caller that writes the head of an aggregate must then write as many elements as the head
/// states (twice as many for a map). This type does not check the number of elements; the tests
/// that compare our replies with those of Redis do.
#[derive(Debug)]
pub struct Out {
    proto: Proto,
    small: Vec<u8>,
    /// Number of bytes of `small` that were written to the socket.
    sent: usize,
    /// Blobs in order, each with its offset in `small`.
    blobs: VecDeque<(usize, Bytes)>,
    /// Total bytes of `blobs`.
    blob_bytes: usize,
    /// Size of the output at which further strings are dropped.
    bytes_max: usize,
    errors: u64,
}

impl Default for Out {
    fn default() -> Out {
        Out {
            proto: Proto::default(),
            small: Vec::new(),
            sent: 0,
            blobs: VecDeque::new(),
            blob_bytes: 0,
            bytes_max: usize::MAX,
            errors: 0,
        }
    }
}

/// A position between two replies, from [`Out::mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    small: usize,
    blobs: usize,
}

impl Out {
    /// Returns an empty buffer for the given protocol.
    pub fn new(proto: Proto) -> Out {
        Out {
            proto,
            ..Out::default()
        }
    }

    /// Returns the protocol of the next reply.
    pub fn proto(&self) -> Proto {
        self.proto
    }

    /// Sets the protocol of the following replies.
    pub fn set_proto(&mut self, proto: Proto) {
        self.proto = proto;
    }

    /// Returns the number of bytes that wait to be written.
    pub fn len(&self) -> usize {
        self.small.len() - self.sent + self.blob_bytes
    }

    /// Returns whether no bytes wait to be written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the size of the output at which further strings are dropped. After a drop the output is
    /// not a valid reply any more, so the caller must close the connection.
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// Returns whether the output has reached the size at which further strings are dropped. A
    /// command whose reply has no size limit may then stop early.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes_max <= self.len()
    }

    /// Returns the number of error replies that were appended since the buffer was created.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Appends `+text`. The text must not contain a line end.
    pub fn simple(&mut self, text: &str) {
        debug_assert!(!text.contains(['\r', '\n']));
        self.small.push(b'+');
        self.small.extend_from_slice(text.as_bytes());
        self.end_line();
    }

    /// Appends `+OK`.
    pub fn ok(&mut self) {
        self.small.extend_from_slice(b"+OK\r\n");
    }

    /// Appends an error. `text` consists of the error's code, a space and a message, such as `ERR
    /// syntax error`. Line ends in `text`, which can only come from a client, become spaces.
    pub fn error(&mut self, text: impl AsRef<[u8]>) {
        self.errors += 1;
        self.small.push(b'-');
        let line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let clean = |byte: &u8| if line_end(byte) { b' ' } else { *byte };
        self.small.extend(text.as_ref().iter().map(clean));
        self.end_line();
    }

    /// Appends an integer.
    pub fn int(&mut self, value: i64) {
        self.head(b':', value);
    }

    /// Appends a string by copying it.
    pub fn bulk(&mut self, value: &[u8]) {
        if self.is_full() {
            return;
        }
        self.head(b'$', value.len() as i64);
        self.small.extend_from_slice(value);
        self.end_line();
    }

    /// Appends a string: by reference if it is a blob, else by copying.
    pub fn blob(&mut self, value: &Bytes) {
        if value.len() < BLOB_BYTES_MIN {
            return self.bulk(value);
        }
        if self.is_full() {
            return;
        }
        self.head(b'$', value.len() as i64);
        self.blob_bytes += value.len();
        self.blobs.push_back((self.small.len(), value.clone()));
        self.end_line();
    }

    /// Appends an integer as a string, as in the reply of GET for a value that is an integer.
    pub fn bulk_int(&mut self, value: i64) {
        self.bulk(itoa::Buffer::new().format(value).as_bytes());
    }

    /// Appends a null for a missing value.
    pub fn null(&mut self) {
        self.small.extend_from_slice(match self.proto {
            Proto::Resp2 => b"$-1\r\n",
            Proto::Resp3 => b"_\r\n",
        });
    }

    /// Appends a null for a missing array.
    pub fn null_array(&mut self) {
        self.small.extend_from_slice(match self.proto {
            Proto::Resp2 => b"*-1\r\n",
            Proto::Resp3 => b"_\r\n",
        });
    }

    /// Appends the head of an array of `count` elements.
    pub fn array(&mut self, count: usize) {
        self.head(b'*', count as i64);
    }

    /// Appends the head of a map of `count` pairs. RESP2 has no maps: the head is then that of an
    /// array of alternating keys and values.
    pub fn map(&mut self, count: usize) {
        match self.proto {
            Proto::Resp2 => self.head(b'*', 2 * count as i64),
            Proto::Resp3 => self.head(b'%', count as i64),
        }
    }

    /// Appends the head of a set; in RESP2, an array.
    pub fn set(&mut self, count: usize) {
        match self.proto {
            Proto::Resp2 => self.head(b'*', count as i64),
            Proto::Resp3 => self.head(b'~', count as i64),
        }
    }

    /// Appends the head of a push message; in RESP2, an array.
    pub fn push(&mut self, count: usize) {
        match self.proto {
            Proto::Resp2 => self.head(b'*', count as i64),
            Proto::Resp3 => self.head(b'>', count as i64),
        }
    }

    /// Appends the head of an attribute map with `pairs` pairs, which describes the next reply.
    /// Only valid in RESP3.
    pub fn attribute(&mut self, pairs: usize) {
        self.head(b'|', pairs as i64);
    }

    /// Appends a floating-point number; in RESP2, its text as a string.
    pub fn double(&mut self, value: f64) {
        let mut text = Vec::with_capacity(24);
        number::double(value, &mut text);
        match self.proto {
            Proto::Resp2 => self.bulk(&text),
            Proto::Resp3 => {
                self.small.push(b',');
                self.small.extend_from_slice(&text);
                self.end_line();
            }
        }
    }

    /// Appends a boolean; in RESP2, the integer 1 or 0.
    pub fn bool(&mut self, value: bool) {
        self.small.extend_from_slice(match (self.proto, value) {
            (Proto::Resp2, true) => b":1\r\n",
            (Proto::Resp2, false) => b":0\r\n",
            (Proto::Resp3, true) => b"#t\r\n",
            (Proto::Resp3, false) => b"#f\r\n",
        });
    }

    /// Appends an integer of any size, given as digits; in RESP2, a string.
    pub fn big_number(&mut self, digits: &str) {
        match self.proto {
            Proto::Resp2 => self.bulk(digits.as_bytes()),
            Proto::Resp3 => {
                self.small.push(b'(');
                self.small.extend_from_slice(digits.as_bytes());
                self.end_line();
            }
        }
    }

    /// Appends a verbatim string: a text, and three letters that name its format, such as `txt`. In
    /// RESP2, appends the text as a plain string.
    pub fn verbatim(&mut self, format: [u8; 3], text: &[u8]) {
        match self.proto {
            Proto::Resp2 => self.bulk(text),
            Proto::Resp3 => {
                self.head(b'=', text.len() as i64 + 4);
                self.small.extend_from_slice(&format);
                self.small.push(b':');
                self.small.extend_from_slice(text);
                self.end_line();
            }
        }
    }

    /// Appends the unwritten content of `other`, blobs by reference. The content keeps the protocol
    /// of `other`.
    pub fn append(&mut self, other: &Out) {
        let mut from = other.sent;
        for (offset, blob) in &other.blobs {
            self.small.extend_from_slice(&other.small[from..*offset]);
            from = *offset;
            self.blob_bytes += blob.len();
            self.blobs.push_back((self.small.len(), blob.clone()));
        }
        self.small.extend_from_slice(&other.small[from..]);
    }

    /// Returns the position at which the next reply will start.
    pub fn mark(&self) -> Mark {
        Mark {
            small: self.small.len(),
            blobs: self.blobs.len(),
        }
    }

    /// Removes all replies since `mark`. No byte of these replies may have been written.
    pub fn truncate(&mut self, mark: Mark) {
        assert!(self.sent <= mark.small && mark.blobs <= self.blobs.len());
        self.small.truncate(mark.small);
        for (_, blob) in self.blobs.drain(mark.blobs..) {
            self.blob_bytes -= blob.len();
        }
    }

    /// Replaces the replies between two marks by an error. No byte of these replies may have been
    /// written.
    pub fn replace_with_error(&mut self, from: Mark, to: Mark, text: &str) {
        let mut suffix = Out::new(self.proto);
        let mut start = to.small;
        for (offset, blob) in self.blobs.range(to.blobs..) {
            suffix.small.extend_from_slice(&self.small[start..*offset]);
            start = *offset;
            suffix.blob_bytes += blob.len();
            suffix.blobs.push_back((suffix.small.len(), blob.clone()));
        }
        suffix.small.extend_from_slice(&self.small[start..]);
        self.truncate(from);
        self.error(text);
        self.append(&suffix);
    }

    /// Returns the text of the error at `mark`, if the reply there is an error.
    pub fn error_at(&self, mark: Mark) -> Option<&[u8]> {
        match self.small.get(mark.small..)? {
            [b'-', text @ ..] => Some(&text[..memchr::memchr(b'\r', text)?]),
            _ => None,
        }
    }

    /// Fills `parts` with the next slices to write, in order, up to `bytes_max` bytes in total.
    /// Returns the number of slices filled.
    pub fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>], bytes_max: usize) -> usize {
        let mut filled = 0;
        let mut left = bytes_max;
        let mut fill = |bytes: &'a [u8]| {
            let bytes = &bytes[..left.min(bytes.len())];
            if bytes.is_empty() {
                return 0 < left;
            }
            let Some(part) = parts.get_mut(filled) else {
                return false;
            };
            *part = IoSlice::new(bytes);
            filled += 1;
            left -= bytes.len();
            true
        };
        let mut from = self.sent;
        for (offset, blob) in &self.blobs {
            if !fill(&self.small[from..*offset]) || !fill(blob) {
                return filled;
            }
            from = *offset;
        }
        fill(&self.small[from..]);
        filled
    }

    /// Removes the first `written` bytes, and drops blobs that were written completely.
    ///
    /// # Panics
    /// If `written` exceeds the bytes to be written.
    pub fn advance(&mut self, written: usize) {
        let mut left = written;
        while let Some((offset, blob)) = self.blobs.front_mut() {
            let before = left.min(*offset - self.sent);
            self.sent += before;
            left -= before;
            let part = left.min(blob.len());
            blob.advance(part);
            self.blob_bytes -= part;
            left -= part;
            if !blob.is_empty() {
                break;
            }
            self.blobs.pop_front();
        }
        if self.blobs.is_empty() {
            self.sent += left;
            left = 0;
        }
        assert!(left == 0 && self.sent <= self.small.len());
        self.reclaim();
    }

    /// Removes and returns the blob, if the unwritten content is exactly one string that is a blob.
    pub fn take_blob(&mut self) -> Option<Bytes> {
        let [(offset, _)] = self.blobs.make_contiguous() else {
            return None;
        };
        let (before, after) = self.small[self.sent..].split_at(*offset - self.sent);
        if before.first() != Some(&b'$')
            || memchr::memchr(b'\n', before) != Some(before.len() - 1)
            || after != b"\r\n"
        {
            return None;
        }
        let (_, blob) = self.blobs.pop_front()?;
        self.blob_bytes = 0;
        self.sent = self.small.len();
        self.reclaim();
        Some(blob)
    }

    /// Copies the content into one buffer, for tests and callers without a socket.
    pub fn to_bytes(&self) -> Bytes {
        let mut all = Vec::with_capacity(self.len());
        let mut from = self.sent;
        for (offset, blob) in &self.blobs {
            all.extend_from_slice(&self.small[from..*offset]);
            all.extend_from_slice(blob);
            from = *offset;
        }
        all.extend_from_slice(&self.small[from..]);
        all.into()
    }

    /// Frees the memory of bytes that were already written, once the buffer is empty, or once the
    /// written bytes of `small` outnumber the unwritten bytes and exceed [`IDLE_CAPACITY_BYTES`].
    fn reclaim(&mut self) {
        if self.is_empty() {
            self.small.clear();
            self.small.shrink_to(IDLE_CAPACITY_BYTES);
            self.sent = 0;
        } else if IDLE_CAPACITY_BYTES < self.sent && self.small.len() - self.sent < self.sent {
            self.small.drain(..self.sent);
            for (offset, _) in &mut self.blobs {
                *offset -= self.sent;
            }
            self.sent = 0;
        }
    }

    fn head(&mut self, kind: u8, number: i64) {
        self.small.push(kind);
        // Fast path: most lengths and counts have one digit.
        match u8::try_from(number) {
            Ok(digit @ 0..=9) => self.small.push(b'0' + digit),
            _ => {
                let mut buffer = itoa::Buffer::new();
                self.small
                    .extend_from_slice(buffer.format(number).as_bytes());
            }
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        self.small.extend_from_slice(b"\r\n");
    }
}

/// Maximum capacity of `small` that an idle connection keeps.
const IDLE_CAPACITY_BYTES: usize = 16 * 1024;
