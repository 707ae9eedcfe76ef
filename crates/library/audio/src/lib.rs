//! Music files to Opus in Ogg: decoders, a resampler and an encoder behind one call. No files, no threads; bytes come from
//! whatever can be read and sought in, and go to whatever can be written.
//!
//! Principal entry: [`transcode`].
//!
//! ```text
//! file ─ decoder ─► frames ─ skip ─► mix ─► resample ─► 48 kHz ─ libopus ─► packets ─► Ogg pages
//!         claxon · nanomp3 · lewton · libopus · hound · aifc · alac      one or two channels
//! ```
//!
//! Only `worker` links this crate, inside a cell: what parses strangers' music must not find a server around it. All of it
//! works on one block at a time, so memory does not grow with a track's length, but for the table of packets of an MP4.
//!
//! Units and limits: a frame is one sample of each channel; samples are `f32` with 1.0 for full scale. At most
//! [`CHANNELS_MAX`] channels and [`RATE_HZ_MAX`]; a table of packets at most [`MOOV_BYTES_MAX`].
//!
//! Errors by fault: the media's ([`ErrorKind::Undecodable`], [`ErrorKind::Unsupported`], [`ErrorKind::TooLarge`]), ours
//! ([`ErrorKind::Failed`]). Damage behind the first block ends the track there and is no error: [`Made::remarks`].
//!
//! Threads: none started. The same plan and original give the same bytes. Sources: RFC 7845 (Opus in Ogg), ISO 14496-12
//! (MP4), the headers of libopus 1.6 (what calls promise), Oppenheim and Schafer (windows).

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
pub use transcode::{Made, transcode, warm_up};

/// Channels of an original.
pub const CHANNELS_MAX: u8 = 8;
/// Least sample rate of an original.
pub const RATE_HZ_MIN: u32 = 4_000;
/// Highest sample rate of an original.
pub const RATE_HZ_MAX: u32 = 768_000;

#[cfg(test)]
mod tests;
