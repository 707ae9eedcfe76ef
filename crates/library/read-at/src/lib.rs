//! Positioned reads: the input of every reader of pictures and music. The crate opens no files.
//!
//! Principal type: [`ReadAt`], a source of bytes: a file, memory, or an object behind HTTP. Readers
//! of metadata need only a few bytes at the start, in the middle and at the end of a source.
//!
//! Units: offsets and lengths are bytes. Errors: the I/O errors of the source, never a fault in the
//! content of the file. Threads: a read borrows its source, so threads can share a source if its
//! type is `Sync`.

#![forbid(unsafe_code)]

mod read_at;

pub use read_at::ReadAt;
