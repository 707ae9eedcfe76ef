//! What music, picture and playlist files say of themselves: reads exactly the bytes that matter, and seeks over the rest.
//! No files, no clock, no index; pictures are located, not read.
//!
//! Principal types: [`Reader`], which turns a file into [`Media`], and [`Track`], what the tags of one file mean.
//!
//! ```text
//! file ─ ReadAt ─► Reader ─► Media { audio, tags, pictures, essence } ─┐
//!                                                     path ── Splits ──┴─► Track { artists with roles, dates, … }
//! picture ─ ReadAt ─► shot ─► Shot { taken, camera, place }
//! .m3u ─── ReadAt ─► listing ─► Listing { name, entries }
//! ```
//!
//! A parser in direct style asks an `Input` for the bytes at an offset; the input keeps one window, so that what was
//! fetched is not fetched again, and counts reads and bytes. A pull parser that returned each need to its caller would
//! read the same bytes, and be twice the code.
//!
//! Units and limits: offsets and lengths are bytes, times milliseconds. [`Limits`] bounds reads, bytes, values and
//! pictures of a file; every length is held against the file before a byte is reserved, so memory stays below
//! `text_bytes_max` and a window of 128 KiB. Errors: [`Error`] is the file's fault, unless its kind is
//! [`ErrorKind::Io`]; what costs only a part of the tags is a remark in [`Media::issues`]. Threads: none; a reader
//! belongs to one. Sources: RFC 9639 (FLAC), RFC 3533 and 7845 (Ogg, Opus), the Vorbis I specification, id3.org's
//! ID3v2.2 to 2.4, ISO 14496-12 and 14496-14, the APEv2 format, RIFF and AIFF, Microsoft's ASF specification, RFC 8794 and
//! 9559 (Matroska), and EXIF 2.32 with TIFF 6.0.

#![forbid(unsafe_code)]

mod media;
mod monkey;

mod field;
mod values;

mod limits;
mod reader;

mod date;
mod track;

mod splits;

mod from_path;

mod shot;

mod listing;

mod cover;

mod error;
mod input;

mod adts;
mod aiff;
mod ape;
mod asf;
mod comments;
mod dsf;
mod flac;
mod genres;
mod id3v1;
mod id3v2;
mod matroska;
mod mp4;
mod mpeg;
mod musepack;
mod ogg;
mod place;
mod text;
mod wav;
mod wavpack;

#[cfg(test)]
mod tests;

pub use cover::{CoverError, read_cover};
pub use date::Date;
pub use error::{Error, ErrorKind};
pub use field::Field;
pub use input::ReadAt;
pub use limits::Limits;
pub use listing::{Listed, Listing, listing, percent_decoded};
pub use media::{Audio, Codec, Container, Essence, Media, Mime, Picture, PictureKind, Stored};
pub use mp4::has_video;
pub use reader::{Reader, Spent};
pub use shot::{Place, Shot, shot};
pub use splits::Splits;
pub use track::{Person, Role, Track};
pub use values::Tags;
