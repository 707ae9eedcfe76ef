//! Several ranges of one representation in one body: RFC 9110 §14.6.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::task::{Context, Poll, ready};

use conversion::chunks::Chunks;
use http1::range::Parts;
use reactor::Ended;

use crate::representation::{Bytes, Representation};

/// Body of type `multipart/byteranges`, and the position up to which it was sent.
#[derive(Debug)]
pub(crate) struct Parted {
    source: Bytes,
    steps: VecDeque<Step>,
    reading: Option<Chunks>,
    /// Total length of the body in bytes.
    pub(crate) length: u64,
}

#[derive(Debug)]
enum Step {
    Text(Vec<u8>),
    Body(Range<u64>),
}

impl Parted {
    /// Returns the body with `parts` of `representation`, separated by `boundary`.
    pub(crate) fn new(representation: &Representation, parts: &Parts, boundary: &str) -> Parted {
        let media_type = representation.media_type();
        let all = representation.length;
        let mut steps = VecDeque::new();
        for (start, end) in parts.iter() {
            let last = end - 1;
            let head = format!(
                "\r\n--{boundary}\r\ncontent-type: {media_type}\r\ncontent-range: bytes {start}-{last}/{all}\r\n\r\n"
            );
            steps.push_back(Step::Text(head.into_bytes()));
            steps.push_back(Step::Body(start..end));
        }
        steps.push_back(Step::Text(format!("\r\n--{boundary}--\r\n").into_bytes()));
        let length = steps.iter().map(|step| match step {
            Step::Text(text) => text.len() as u64,
            Step::Body(range) => range.end - range.start,
        });
        Parted {
            length: length.sum(),
            source: representation.bytes.clone(),
            steps,
            reading: None,
        }
    }

    /// Returns the whole body if the representation is in memory.
    pub(crate) fn joined(&self) -> Option<Vec<u8>> {
        let Bytes::Memory(bytes) = &self.source else {
            return None;
        };
        let mut out = Vec::with_capacity(self.length as usize);
        for step in &self.steps {
            match step {
                Step::Text(text) => out.extend_from_slice(text),
                Step::Body(range) => {
                    out.extend_from_slice(&bytes[range.start as usize..range.end as usize]);
                }
            }
        }
        Some(out)
    }

    /// Returns the next piece, and whether it is the last. A piece has at most `bytes_max` bytes.
    ///
    /// # Errors
    /// If the file cannot be read, or has shrunk.
    pub(crate) fn poll_next(
        &mut self,
        bytes_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<(Vec<u8>, bool), Ended>> {
        loop {
            if let Some(chunks) = &mut self.reading {
                let Some((file, _)) = file(&self.source) else {
                    return Poll::Ready(Ok((Vec::new(), true)));
                };
                match ready!(chunks.poll_next(file, bytes_max, context))? {
                    Some(piece) => return Poll::Ready(Ok((piece, false))),
                    None => self.reading = None,
                }
            }
            match self.steps.pop_front() {
                Some(Step::Text(mut text)) => {
                    if bytes_max < text.len() {
                        let rest = text.split_off(bytes_max);
                        self.steps.push_front(Step::Text(rest));
                    }
                    return Poll::Ready(Ok((text, self.steps.is_empty())));
                }
                Some(Step::Body(range)) => {
                    let begin = file(&self.source).map_or(0, |(_, begin)| begin);
                    let range = begin + range.start..begin + range.end;
                    self.reading = Some(Chunks::new(range));
                }
                None => return Poll::Ready(Ok((Vec::new(), true))),
            }
        }
    }
}

/// Returns the file that contains `bytes`, and the offset at which they begin. Returns `None` if
/// the bytes are in memory.
fn file(bytes: &Bytes) -> Option<(&File, u64)> {
    match bytes {
        Bytes::Memory(_) => None,
        Bytes::File(file) => Some((&**file, 0)),
        Bytes::Part(file, begin) => Some((&**file, *begin)),
        Bytes::Sealed(sealed) => Some((&*sealed.file, sealed.start)),
    }
}
