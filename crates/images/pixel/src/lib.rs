//! Kernels for decoded pictures: crop and scale, orient, pad, and conversion between planes, RGB
//! and colour spaces. The crate reads no files, contains no codecs, and makes no decisions:
//! `worker` executes a plan and calls these kernels.
//!
//! Principal function: [`scale_by`]. It scales any part of a picture to any size and chroma
//! subsampling in one pass over each plane. The later steps (colour, orientation, effects, padding,
//! encoding) then work on the small picture:
//!
//! ```text
//! decoded ─ scale_by(kernel, area, size, chroma) ► colour::Converter ► orient ► effects ► frame
//!         ► to_planes | to_packed
//! ```
//!
//! Before that, [`without_borders`] finds the part of a picture that remains if borders of one
//! colour are removed. In addition, [`shrink_for_placeholder`] and [`placeholder`] compute a
//! picture's placeholder.
//!
//! - **Gamma.** Filters work on the encoded (non-linear) samples, as in libvips, imgproxy and
//!   browsers. Filtering in linear light would be more accurate for thin bright lines. But the
//!   responses would then differ from those of all comparable programs, and from the original as
//!   scaled by a browser. Planes would also have to be converted to RGB. The effects that mix
//!   distant pixels ([`blur`], [`pixelate`]) do work in linear light, because there the difference
//!   is easily visible.
//! - **Filter.** Lanczos3 for every change of size, unless the plan has another kernel; for
//!   reductions, its support grows with the factor of the reduction. If only the chroma subsampling
//!   changes, chroma is reduced by means and enlarged by linear interpolation, as in JPEG decoders.
//! - **Siting.** A chroma sample lies at the centre of its luma samples, as in JPEG and WebP. If
//!   cropping or mirroring moves the chroma grid by a fraction of a sample, chroma is resampled to
//!   the new grid. So luma and chroma never drift apart.
//! - **Alpha** is straight in memory. Filters premultiply, and chroma means are weighted by alpha,
//!   so that colours of transparent pixels never bleed into visible ones.
//! - **Rounding** is to nearest, except in the conversion from full to limited range, which dithers
//!   with a fixed pattern. The same input gives the same bytes.
//!
//! Units and limits: sizes in pixels, 8 bits per sample; a blur uses 16 bits per sample internally.
//! Each step holds its input and its output in memory; scaling RGBA also holds a premultiplied
//! copy. The caller bounds the sizes; empty sizes and areas outside the picture are bugs of the
//! caller and panic. Errors: a malformed colour profile is a fault of the file
//! ([`colour::ProfileAction::Malformed`]); there are no others. Threads: none; all functions are
//! pure.

mod alpha;
pub mod colour;
mod effects;
mod orient;
mod pad;
mod placeholder;
mod range;
mod rgb;
mod scale;
mod subsample;
#[cfg(test)]
mod tests;
mod trim;

pub use alpha::flatten;
pub use effects::{blend_over, blur, frame, pixelate, rotate, round_corners, tone, unsharp};
pub use orient::{orient, stored, upright};
pub use placeholder::{placeholder, shrink_for_placeholder};
pub use rgb::{cmyk_to_rgb, to_packed, to_planes};
pub use scale::{Area, scale, scale_by};
pub use trim::without_borders;
