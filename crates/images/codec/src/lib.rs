//! Safe Rust interface to C codecs: decodes the bytes of a picture file to pixels and encodes
//! pixels to a file. The crate accesses no files, starts no threads, converts no colours, and
//! scales only with JPEG's own scaling.
//!
//! Principal functions: [`decode`] and [`encode`]; for animations, [`AnimationReader`] and
//! [`AnimationEncoder`], which hold one frame at a time. Pixels are passed as
//! [`image_plan::Raster`], in the memory layout of the codec:
//!
//! ```text
//! file ─► decode ─► Raster (planes or pixels) + ICC profile ─► `pixel` kernels ─► encode ─► file
//!
//! decoders: libjpeg-turbo · libwebp · dav1d in libavif · png, gif, image's BMP and ICO (Rust)
//!           jxl-oxide: JPEG XL; resvg: SVG and SVGZ; JPEGs embedded in HEIC and camera raw
//!           own: TIFF around weezl, flate2 and libjpeg-turbo; TGA, QOI, PNM, Radiance HDR, PSD
//! encoders: libjpeg-turbo · libwebp · libaom in libavif · png (Rust)
//! ```
//!
//! Only `worker` links this crate, and runs it inside a sandbox: an attacker who takes over a codec
//! must not be inside the server. The boundary to C is strict nevertheless. Every length passed to
//! C is the length of a Rust vector, every raster is checked completely before C reads it
//! (`encode::check`), and every handle has one owner that frees it.
//!
//! Units and limits: sizes in pixels, lengths in bytes; [`Limits`] bounds pixels, sides, profiles,
//! scratch memory and scans. A file must state the size that the caller expects
//! ([`DecodeOptions::stored`]), because the caller reserved memory for that size. In addition to
//! its result, a decoder allocates 2 bytes per sample for a progressive JPEG, one more picture for
//! AVIF and for grey with alpha, and one chunk for a TIFF with JPEG inside.
//!
//! Errors mean a fault of the file ([`ErrorKind::Undecodable`], [`ErrorKind::Unsupported`],
//! [`ErrorKind::TooLarge`]), a lack of memory on the host ([`ErrorKind::OutOfMemory`]), or a bug of
//! this program ([`ErrorKind::Failed`]). Damage that leaves a usable picture is not an error, but
//! is reported by [`Decoded::damaged`].
//!
//! Threads: none started; calls may run on any thread concurrently. [`warm_up`] fills the codecs'
//! tables before a fork.
//!
//! Sources: ITU-T T.81 and T.872 (JPEG), PNG third edition, GIF 89a, RFC 9649 (WebP), AVIF 1.1,
//! ITU-T H.273 (code points of colour spaces); for the contracts of C calls, the headers of
//! turbojpeg 3.1, libwebp 1.6 and libavif 1.0.

mod animation;
mod avif;
mod bmp;
mod buffer;
mod cicp;
mod decode;
mod decoded;
mod encode;
mod error;
mod gif;
mod hdr;
mod ico;
mod jpeg;
mod jxl;
mod options;
mod packbits;
mod png;
mod pnm;
mod preview;
mod psd;
mod qoi;
mod samples;
mod svg;
mod tga;
mod tiff;
mod warm_up;
mod webp;

pub use animation::{AnimationFrame, AnimationReader};
pub use decode::decode;
pub use decoded::Decoded;
pub use encode::encode;
pub use error::{Error, ErrorKind};
pub use options::{DecodeOptions, Limits, Shrink};
pub use warm_up::warm_up;
pub use webp::AnimationEncoder;

#[cfg(test)]
mod tests;
