//! Transcoding of music files to Opus in Ogg: decoders, a resampler and an encoder behind one
//! function. The crate opens no files and starts no threads. Input comes from any `Read + Seek`,
//! and output goes to any `Write`.
//!
//! Principal entry: [`transcode`].
//!
//! ```text
//! file ─ decoder ─► frames ─ skip ─► mix ─► resample ─► 48 kHz ─ libopus ─► packets ─► Ogg pages
//!         claxon · nanomp3 · lewton · libopus · hound · aifc · alac      one or two channels
//! ```
//!
//! Only `worker` links this crate. `worker` runs in a sandbox, because parsers of untrusted music
//! must not share a process with the server. All stages work on one block at a time, so memory does
//! not grow with the length of a track, except for the table of packets of an MP4 file.
//!
//! Units and limits: a frame is one sample per channel; samples are `f32` with full scale at 1.0.
//! An original may have at most [`CHANNELS_MAX`] channels and a sample rate of at most
//! [`RATE_HZ_MAX`]. The table of packets of an MP4 file may have at most [`MOOV_BYTES_MAX`] bytes.
//!
//! Errors: the file is at fault for [`ErrorKind::Undecodable`], [`ErrorKind::Unsupported`] and
//! [`ErrorKind::TooLarge`], and the program for [`ErrorKind::Failed`]. Damage after the first block
//! is not an error: the output is complete up to the damage, and [`Transcoded::remarks`] reports
//! it.
//!
//! Threads: none started. The same plan and original give the same bytes. Sources: RFC 7845 (Opus
//! in Ogg), ISO 14496-12 (MP4), the headers of libopus 1.6 (contracts of its functions), Oppenheim
//! and Schafer (window functions).

mod decode;
mod encode;
mod error;
mod mix;
mod mp4;
mod opus;
mod resample;
mod transcode;

pub use error::{Error, ErrorKind};
pub use mp4::MOOV_BYTES_MAX;
pub use transcode::{Transcoded, transcode, warm_up};

/// Maximum number of channels of an original.
pub const CHANNELS_MAX: u8 = 8;
/// Minimum sample rate of an original in Hz.
pub const RATE_HZ_MIN: u32 = 4_000;
/// Maximum sample rate of an original in Hz.
pub const RATE_HZ_MAX: u32 = 768_000;

#[cfg(test)]
mod tests;
