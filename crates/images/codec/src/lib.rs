//! C codecs behind safe Rust: bytes of a picture file in, pixels out, and back. No files, no threads, no colour
//! conversion, no scaling but JPEG's own.
//!
//! Principal entries: [`decode`] and [`encode`]. Pixels travel as [`image_plan::Raster`], in the form the codec has them in:
//!
//! ```text
//! file ─► decode ─► Raster (planes or pixels) + ICC profile ─► pixel's kernels ─► encode ─► file
//!           │ libjpeg-turbo · libwebp · dav1d in libavif                            │ libjpeg-turbo · libwebp
//!           │ png · gif · image's BMP (Rust)                                        │ libaom in libavif · png (Rust)
//! ```
//!
//! Only `worker` links this crate, inside a cell: a codec that is broken into must not find a server around it. That
//! does not make the boundary here a loose one. Every length that C is told comes from a vector's own, every raster is
//! checked whole before C walks it (`encode::check`), every handle has one owner that frees it.
//!
//! Units and limits: sizes in pixels, lengths in bytes; [`Limits`] bounds pixels, sides, profiles, scratch memory and
//! scans. A file must state the size that the caller expects ([`DecodeOptions::stored`]), since memory was admitted for
//! that one. What a decoder allocates beside its result: a progressive JPEG 2 bytes a sample, AVIF one more picture.
//!
//! Errors by fault: the media's ([`ErrorKind::Undecodable`], [`ErrorKind::Unsupported`], [`ErrorKind::TooLarge`]), the
//! host's ([`ErrorKind::OutOfMemory`]), ours ([`ErrorKind::Failed`]). Damage that leaves a picture is no error:
//! [`Decoded::damaged`].
//!
//! Threads: none started; calls may run on any thread at once. [`warm_up`] fills the codecs' tables before a fork.
//!
//! Sources: ITU-T T.81 and T.872 (JPEG), PNG third edition, GIF 89a, RFC 9649 (WebP), AVIF 1.1, ITU-T H.273 (what the
//! numbers of colours mean); the headers of turbojpeg 3.1, libwebp 1.6 and libavif 1.0 (what calls promise).

mod avif;
mod bmp;
mod buffer;
mod cicp;
mod decode;
mod encode;
mod error;
mod gif;
mod jpeg;
mod options;
mod png;
mod warm_up;
mod webp;

pub use decode::{Decoded, decode};
pub use encode::encode;
pub use error::{Error, ErrorKind};
pub use options::{DecodeOptions, Limits, Shrink};
pub use warm_up::warm_up;

#[cfg(test)]
mod tests;
