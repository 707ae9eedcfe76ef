//! Positioned reads: the input of every reader of pictures and music. Opens no files.
//!
//! Principal type: [`ReadAt`]. A reader of metadata needs a few bytes at the start, at the end and
//! between, whether they come from a file, memory, or an object behind HTTP.
//!
//! Units: offsets and lengths are bytes. Errors: the source's I/O errors, always the host's fault.
//! Threads: reads borrow the source, so that its owner decides.

#![forbid(unsafe_code)]

mod read_at;

pub use read_at::ReadAt;
