//! Bodies as hyper asks for them: a part whenever the client has made room.
//!
//! A part is not copied. It knows when the last who holds it, which is hyper's queue, lets go of it: then it was written.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use reactor::Ended;
use tokio::sync::OwnedSemaphorePermit;

use super::pulse::Stream;
use crate::answer::{Answer, Payload};
use crate::chunks::{CHUNK_BYTES, Chunks};
use crate::convert::Sealed;

/// The body of one answer.
pub(super) struct Body {
    left: Left,
    stream: Stream,
}

/// What is still to be handed over.
enum Left {
    Nothing,
    Memory(Arc<[u8]>, Range<usize>),
    /// This stream's own memory, so it keeps its turn until that is handed over.
    Owned(Bytes, Option<OwnedSemaphorePermit>),
    File(Opened, Chunks),
}

enum Opened {
    File(Arc<File>),
    Sealed(Arc<Sealed>),
}

/// What a connection has handed over and not written yet. Shared with the parts themselves, which must be `Send`,
/// although all of them stay on one core.
#[derive(Debug, Default)]
pub(super) struct Queued {
    /// Parts.
    pub(super) parts: AtomicUsize,
    /// Bytes of those that are shared with nobody.
    pub(super) own_bytes: AtomicUsize,
    /// Parts written so far.
    pub(super) written: AtomicUsize,
}

/// Bytes that wait to be written.
struct Part {
    bytes: PartBytes,
    queued: Arc<Queued>,
}

enum PartBytes {
    Shared(Arc<[u8]>, Range<usize>),
    Owned(Bytes),
    Chunk(Vec<u8>),
}

impl Body {
    /// The body of `answer`, which had `turn` to be made.
    pub(super) fn new(
        mut stream: Stream,
        answer: Answer,
        turn: Option<OwnedSemaphorePermit>,
    ) -> Body {
        stream.answered(&answer);
        let left = match answer.payload {
            Payload::None => Left::Nothing,
            Payload::Owned(bytes) => Left::Owned(bytes, turn),
            Payload::Memory(bytes, range) => Left::Memory(bytes, range),
            Payload::File(file, range) => Left::File(Opened::File(file), Chunks::new(range)),
            Payload::Sealed(sealed, range) => {
                Left::File(Opened::Sealed(sealed), Chunks::new(range))
            }
        };
        let mut body = Body { left, stream };
        body.settle();
        body
    }

    fn settle(&mut self) {
        if let Left::Nothing = self.left {
            self.stream.handed_over();
        }
    }

    /// The next chunk of a file, when no more than may be of them waits.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        let Left::File(opened, chunks) = &mut self.left else {
            return Poll::Ready(Ok(None));
        };
        ready!(self.stream.pulse.poll_room(context));
        let file = match opened {
            Opened::File(file) => &**file,
            Opened::Sealed(sealed) => &sealed.file,
        };
        let chunk = ready!(chunks.poll_next(file, context));
        Poll::Ready(chunk.map_err(|ended| match ended {
            Ended::File(err) => {
                tracing::error!(%err, "file cannot be read; stream reset");
                err
            }
            // The other one that chunks have.
            ended => {
                tracing::warn!(?ended, "original shrank while it was sent; stream reset");
                io::ErrorKind::UnexpectedEof.into()
            }
        }))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let bytes = match std::mem::replace(&mut self.left, Left::Nothing) {
            Left::Nothing => return Poll::Ready(None),
            Left::Memory(bytes, range) => {
                // In parts too, so that a slow client shows that it takes them.
                let middle = range.end.min(range.start + CHUNK_BYTES);
                if middle < range.end {
                    self.left = Left::Memory(Arc::clone(&bytes), middle..range.end);
                }
                PartBytes::Shared(bytes, range.start..middle)
            }
            Left::Owned(mut bytes, turn) => {
                let part = bytes.split_to(bytes.len().min(CHUNK_BYTES));
                if !bytes.is_empty() {
                    self.left = Left::Owned(bytes, turn);
                }
                PartBytes::Owned(part)
            }
            file @ Left::File(..) => {
                self.left = file;
                match ready!(self.poll_chunk(context)) {
                    Ok(Some(chunk)) => {
                        if let Left::File(_, chunks) = &self.left
                            && chunks.left() == 0
                        {
                            self.left = Left::Nothing;
                        }
                        PartBytes::Chunk(chunk)
                    }
                    Ok(None) => return Poll::Ready(None),
                    Err(err) => return Poll::Ready(Some(Err(err))),
                }
            }
        };
        let part = Part::new(bytes, self.stream.pulse.queued());
        self.stream.sent(part.as_ref().len());
        self.settle();
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(part)))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.left, Left::Nothing)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.left {
            Left::Nothing => 0,
            Left::Memory(_, range) => range.len() as u64,
            Left::Owned(bytes, _) => bytes.len() as u64,
            Left::File(_, chunks) => chunks.left(),
        })
    }
}

impl Part {
    fn new(bytes: PartBytes, queued: &Arc<Queued>) -> Part {
        let part = Part {
            bytes,
            queued: Arc::clone(queued),
        };
        queued.parts.fetch_add(1, Relaxed);
        queued.own_bytes.fetch_add(part.own_bytes(), Relaxed);
        part
    }

    fn own_bytes(&self) -> usize {
        match &self.bytes {
            PartBytes::Shared(..) => 0,
            PartBytes::Owned(bytes) => bytes.len(),
            PartBytes::Chunk(chunk) => chunk.len(),
        }
    }
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        match &self.bytes {
            PartBytes::Shared(bytes, range) => &bytes[range.clone()],
            PartBytes::Owned(bytes) => bytes,
            PartBytes::Chunk(chunk) => chunk,
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.queued.parts.fetch_sub(1, Relaxed);
        self.queued.own_bytes.fetch_sub(self.own_bytes(), Relaxed);
        self.queued.written.fetch_add(1, Relaxed);
    }
}
