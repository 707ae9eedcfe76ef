//! Response whose body is handed over in parts.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use conversion::chunks::Chunks;
use conversion::growing::Pieces;
use reactor::Ended;
use variants::sealed::Sealed;

use super::outgoing::Piece;
use super::told::CompletedStream;
use crate::answer::Payload;
use crate::archive::Archive;
use crate::parted::Parted;

/// Response in progress.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) stream: u32,
    pub(super) told: CompletedStream,
    left: RemainingBody,
}

/// Remaining body.
#[derive(Debug)]
enum RemainingBody {
    Memory(Arc<[u8]>, Range<usize>),
    /// Memory of this stream alone, which keeps its turn until the memory is handed over.
    Owned(Bytes),
    File(BodyFile, Chunks),
    Parted(Box<Parted>),
    Growing(Pieces),
    Archive(Box<Archive>),
}

#[derive(Debug)]
enum BodyFile {
    File(Arc<File>),
    Sealed(Arc<Sealed>),
}

/// Part of a body.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) piece: Piece,
    pub(super) bytes: usize,
    /// True for the last part.
    pub(super) is_last: bool,
}

impl Sending {
    /// Creates the state for a body. Returns `None` if there is no body.
    pub(super) fn new(
        stream: u32,
        told: CompletedStream,
        payload: Payload,
    ) -> Result<Sending, CompletedStream> {
        let left = match payload {
            Payload::None => return Err(told),
            Payload::Owned(bytes) => RemainingBody::Owned(bytes),
            Payload::Memory(bytes, range) => RemainingBody::Memory(bytes, range),
            Payload::File(file, range) => {
                RemainingBody::File(BodyFile::File(file), Chunks::new(range))
            }
            Payload::Sealed(sealed, range) => {
                RemainingBody::File(BodyFile::Sealed(sealed), Chunks::new(range))
            }
            Payload::Parted(parted) => RemainingBody::Parted(parted),
            Payload::Growing(growing) => RemainingBody::Growing(Pieces::new(growing)),
            Payload::Archive(archive) => RemainingBody::Archive(archive),
        };
        Ok(Sending { stream, told, left })
    }

    /// Returns whether the body occupies memory of its own.
    pub(super) fn is_owned(&self) -> bool {
        matches!(self.left, RemainingBody::Owned(_))
    }

    /// Returns whether the body must be read from a file.
    pub(super) fn is_read(&self) -> bool {
        matches!(
            self.left,
            RemainingBody::File(..)
                | RemainingBody::Parted(_)
                | RemainingBody::Growing(_)
                | RemainingBody::Archive(_)
        )
    }

    /// Returns the next part, of at most `bytes_max`, which must be positive.
    ///
    /// # Errors
    /// If the file cannot be read, or has shrunk. Logged here.
    pub(super) fn poll_part(
        &mut self,
        bytes_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<Part, Ended>> {
        let (piece, bytes, left) = match &mut self.left {
            RemainingBody::Memory(bytes, range) => {
                let middle = range.end.min(range.start + bytes_max);
                let part = range.start..middle;
                range.start = middle;
                let length = part.len();
                (Piece::Shared(Arc::clone(bytes), part), length, range.len())
            }
            RemainingBody::Owned(bytes) => {
                let part = bytes.split_to(bytes.len().min(bytes_max));
                let length = part.len();
                (Piece::Owned(part), length, bytes.len())
            }
            RemainingBody::File(opened, chunks) => {
                let file = match opened {
                    BodyFile::File(file) => &**file,
                    BodyFile::Sealed(sealed) => &sealed.file,
                };
                match chunks.poll_next(file, bytes_max, context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(chunk)) => {
                        let chunk = chunk.unwrap_or_default();
                        let length = chunk.len();
                        (Piece::Chunk(chunk), length, chunks.left() as usize)
                    }
                    Poll::Ready(Err(ended)) => return Poll::Ready(Err(log_failure(ended))),
                }
            }
            RemainingBody::Parted(parted) => match parted.poll_next(bytes_max, context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok((piece, is_last))) => {
                    let length = piece.len();
                    (Piece::Chunk(piece), length, usize::from(!is_last))
                }
                Poll::Ready(Err(ended)) => return Poll::Ready(Err(log_failure(ended))),
            },
            RemainingBody::Growing(pieces) => match pieces.poll_next(bytes_max, context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok((piece, is_last))) => {
                    let length = piece.len();
                    (Piece::Chunk(piece), length, usize::from(!is_last))
                }
                Poll::Ready(Err(ended)) => return Poll::Ready(Err(log_failure(ended))),
            },
            RemainingBody::Archive(archive) => match archive.poll_next(bytes_max, context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(piece)) => {
                    let length = piece.len();
                    (
                        Piece::Chunk(piece),
                        length,
                        usize::from(archive.left() != 0),
                    )
                }
                Poll::Ready(Err(ended)) => return Poll::Ready(Err(log_failure(ended))),
            },
        };
        self.told.answered.body_bytes += bytes as u64;
        Poll::Ready(Ok(Part {
            piece,
            bytes,
            is_last: left == 0,
        }))
    }
}

fn log_failure(ended: Ended) -> Ended {
    match &ended {
        Ended::File(err) => tracing::error!(%err, "file cannot be read; stream reset"),
        // The other end that chunks can have.
        ended => tracing::warn!(?ended, "original shrank while it was sent; stream reset"),
    }
    ended
}
