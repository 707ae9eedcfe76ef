//! Positioned reads: the input of every reader of pictures and music. Opens no files.
//!
//! Principal type: [`ReadAt`]. A reader of metadata needs a few bytes at the start, at the end and
//! between, whether they come from a file, memory, or an object behind HTTP.
//!
//! Units: offsets and lengths are bytes. Errors: the I/O errors of the source, never a fault in the
//! content of the file. Threads: a read borrows its source, so threads can share a source if its
//! type is `Sync`.

#![forbid(unsafe_code)]

mod read_at;

pub use read_at::ReadAt;
