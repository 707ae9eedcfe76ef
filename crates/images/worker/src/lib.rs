//! Runs one job: executes a plan on an original and returns the output. Runs inside a sandbox, and
//! is the only user of `codec` and `audio`. `image_plan::plan` and `audio_plan::decide` have
//! decided everything before, except two properties. The worker itself chooses the pixel layout for
//! an encoder, and a higher quality for an output that falls below the quality floor.
//!
//! Principal functions: [`convert`], and [`convert_batch`], which makes several sizes and a
//! placeholder from one decoded picture.
//!
//! ```text
//! original ─ decode ─► raster ─ scale ─► small ─ colour ─► sRGB ─ orient ─► upright ─ pad ─┐
//!                                                                                          ▼
//!                                              output ◄─ floor ◄─ encode ◄─ form ◄─────────┘
//!
//! decode   JPEG is also shrunk in its DCT       form    planes or pixels, subsampling and range
//! scale    crop, located in the stored picture  floor   encodes again if the quality is too low
//! ```
//!
//! [`compare`] computes the quality of a variant. Audio plans are executed by `audio`; this crate
//! only connects its input and output.
//!
//! A plan describes the steps in this order: orient, trim, crop, scale, pad. The worker gets the
//! same result in another order: it locates the borders and the crop in the stored picture and
//! scales the crop there, so that only the small picture is converted and oriented.
//!
//! - **Forms.** Planes are not converted to RGB if the encoder accepts planes: a 4:2:0 JPEG becomes
//!   a full-range AVIF without changing a sample, and becomes a WebP by a change of range alone.
//! - **Subsampling.** Lossy outputs are 4:2:0 for every source, as in comparable programs: at usual
//!   qualities the bytes of full chroma are better spent on luma. Exceptions: grey stays grey if
//!   the format supports it; JPEG is 4:4:4 from quality 90 on; and a picture that would fall below
//!   the quality floor through subsampling alone gets full chroma.
//! - **Floor.** A sample of each lossy output is decoded and measured by SSIMULACRA2. An output
//!   below the floor is encoded again at higher quality. docs/SPEC.md promises a score of at least
//!   60.
//! - **Animations.** The frames of an animation pass through the same steps one by one. Their
//!   quality is not measured.
//! - **Metadata.** EXIF and XMP are never copied. A colour profile is dropped if it is sRGB, and
//!   embedded if it is small and simple. For any other profile, the pixels are converted to sRGB
//!   (`pixel::colour`). CMYK without a usable profile is converted as in viewers without colour
//!   management.
//!
//! Units and limits: those of the plan, set by the server; a decoder refuses a file whose header
//! states another size than the plan. The sandbox bounds the memory. Errors: [`ErrorKind`], mostly
//! a fault of the file; `Unencodable` and `Failed` are bugs. Threads: none; the same plan and
//! original give the same bytes.

#![forbid(unsafe_code)]

mod animation;
mod compare;
mod convert;
mod effects;
mod error;
mod floor;
mod form;
mod job;
mod reduction;
mod similarity;

pub use compare::compare;
pub use convert::{BatchOutput, ConvertedPicture, convert, convert_batch};
pub use error::{Error, ErrorKind};
pub use job::{run_job, warm_up};

#[cfg(test)]
mod tests;
