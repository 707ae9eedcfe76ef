//! Response whose body is queued for writing in parts.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use conversion::chunks::Chunks;
use conversion::growing::Pieces;
use reactor::Ended;
use variants::sealed::Sealed;

use super::completed_stream::CompletedStream;
use super::outgoing::Piece;
use crate::archive::Archive;
use crate::parted::Parted;
use crate::response::Payload;

/// Response whose head is queued and whose body is not complete yet.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) stream: u32,
    pub(super) completed: CompletedStream,
    left: RemainingBody,
}

/// Part of a body that is not queued for writing yet.
#[derive(Debug)]
enum RemainingBody {
    Memory(Arc<[u8]>, Range<usize>),
    /// Body in memory that only this stream uses. Until all of it is in the connection's queue of
    /// output, the stream counts towards the limit `running_max` of responses in preparation.
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

/// Part of a body, to be queued for writing.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) piece: Piece,
    pub(super) bytes: usize,
    /// True for the last part of the body.
    pub(super) is_last: bool,
}

impl Sending {
    /// Creates the state that sends `payload`. Returns `None` if there is no body.
    #[expect(
        clippy::result_large_err,
        reason = "a box would cost each response without a body an allocation"
    )]
    pub(super) fn new(
        stream: u32,
        completed: CompletedStream,
        payload: Payload,
    ) -> Result<Sending, CompletedStream> {
        let left = match payload {
            Payload::None => return Err(completed),
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
        Ok(Sending {
            stream,
            completed,
            left,
        })
    }

    /// Returns whether the body is in memory that only this stream uses.
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

    /// Returns the next part, of at most `bytes_max` bytes, which must be positive.
    ///
    /// # Errors
    /// If the file cannot be read, or has shrunk. The failure is logged here.
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
        self.completed.record.body_bytes += bytes as u64;
        Poll::Ready(Ok(Part {
            piece,
            bytes,
            is_last: left == 0,
        }))
    }
}

fn log_failure(ended: Ended) -> Ended {
    match &ended {
        Ended::File(err) => tracing::error!(%err, "a file cannot be read; the stream was reset"),
        // Any other failure to read a chunk means that the file is shorter than before.
        ended => tracing::warn!(
            ?ended,
            "the original shrank while it was sent; the stream was reset"
        ),
    }
    ended
}
