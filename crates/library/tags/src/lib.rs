//! Metadata of music, picture and playlist files. The crate reads only the bytes that it needs, and
//! seeks over all others. It opens no files, reads no clock and stores no index. Pictures inside
//! music files are located, not read.
//!
//! Principal types: [`Reader`], which turns a file into [`Media`], and [`Track`], the interpreted
//! tags of one file.
//!
//! ```text
//! file ─ ReadAt ─► Reader ─► Media { audio, tags, pictures, … } ─┐
//!                                               path ── Splits ──┴─► Track { people, dates, … }
//! picture ─ ReadAt ─► read_photo_metadata ─► PhotoMetadata { taken, camera, places, … }
//! picture ─ ReadAt ─► read_motion ─► range of the video of a motion photo
//! .m3u ─── ReadAt ─► listing ─► Listing { name, entries }
//! ```
//!
//! Parsers are straight-line code that requests the bytes at an offset from an `Input`. The input
//! keeps one buffer, so that no bytes are fetched twice, and counts reads and bytes. A pull parser
//! that returned each request to its caller would read the same bytes with twice the code.
//!
//! Units and limits: offsets and lengths are in bytes, times in milliseconds. [`Limits`] bounds
//! reads, bytes, values and pictures per file. Every length is checked against the file before
//! memory is reserved, so memory stays below `text_bytes_max` plus a buffer of 128 KiB. Errors: an
//! [`Error`] is a fault of the file, unless its kind is [`ErrorKind::Io`]; a fault that loses only
//! some of the tags is recorded in [`Media::issues`]. Threads: none; a reader belongs to one
//! thread. Sources: RFC 9639 (FLAC), RFC 3533 and 7845 (Ogg, Opus), the Vorbis I specification,
//! id3.org's ID3v2.2 to 2.4, ISO 14496-12 and 14496-14, the APEv2 format, RIFF and AIFF,
//! Microsoft's ASF specification, RFC 8794 and 9559 (Matroska), EXIF 2.32 with TIFF
//! 6.0, ISO 16684-1 and 16684-3 (XMP), the IPTC Photo Metadata Standard 2023.2, IPTC-IIM 4.2,
//! Adobe's image resources of Photoshop, and the Android motion photo format 1.0.

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

mod motion;
mod photo_metadata;
mod xmp;

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
mod numbering;
mod ogg;
mod text;
mod wav;
mod wavpack;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;

pub use cover::{CoverError, read_cover};
pub use date::Date;
pub use error::{Error, ErrorKind};
pub use field::Field;
pub use limits::Limits;
pub use listing::{Listed, Listing, listing, percent_decoded};
pub use media::{Audio, AudioHash, Codec, Container, Media, Mime, Picture, PictureKind, Stored};
pub use motion::read_motion;
pub use mp4::has_video;
pub use photo_metadata::{Exposure, PhotoMetadata, Place, Position, read_photo_metadata};
pub use read_at::ReadAt;
pub use reader::{ReadStats, Reader};
pub use splits::Splits;
pub use track::{Person, Role, Track};
pub use values::Tags;
