//! Kernels over decoded pictures: crop and scale, turn, pad, and conversion between planes, RGB and colour spaces. No
//! files, no codecs, no choice of what is to be done: `worker` walks a plan and calls these.
//!
//! Principal function: [`scale`]. It takes any part of a picture to any size and chroma subsampling in one pass over
//! each plane, so that the steps after it (colour, orientation, padding, encoding) work on the small picture:
//!
//! ```text
//! decoded ─ scale(area, size, chroma) ─► colour::Converter ─► orient ─► pad ─► to_planes | to_packed
//! ```
//!
//! Beside it, [`far`] and [`look`] tell what a picture looks like from far away.
//!
//! - **Gamma.** Filters work on the encoded (non-linear) samples, as libvips, imgproxy and browsers do. Filtering in
//!   linear light would be truer for thin bright lines, but would make our answers differ from every peer's and from
//!   what the browser shows when it scales the original itself; and it would need the planes as RGB.
//! - **Filter.** Lanczos3, its support widened by the scale when reducing, for every change of size. A change of
//!   chroma subsampling alone takes means when reducing and linear interpolation when enlarging, as JPEG decoders do.
//! - **Siting.** Chroma lies centred between the luma samples it serves, as in JPEG and WebP. Where a cut or a mirror
//!   moves that grid by part of a sample, chroma is filtered to the new grid; luma and chroma never drift apart.
//! - **Alpha** is straight in memory. Filters premultiply it, and chroma means weigh by it, so colours of transparent
//!   pixels never bleed into the visible ones.
//! - **Rounding** is to nearest throughout; no dithering; the same input gives the same bytes.
//!
//! Units and limits: sizes are pixels, 8 bits a sample. Each step holds what it was given and what it makes; scaling
//! RGBA holds a premultiplied copy too. Bounds on sizes are the caller's; sizes of zero and areas outside the picture are
//! its bugs and panic.
//! Errors: none, except that a colour profile may be malformed ([`colour::Disposition::Malformed`]), by fault of the
//! media. Threads: pure functions, one thread.

mod alpha;
pub mod colour;
mod look;
mod orient;
mod pad;
mod range;
mod rgb;
mod scale;
mod subsample;
#[cfg(test)]
mod tests;

pub use alpha::flatten;
pub use look::{far, look};
pub use orient::{orient, stored};
pub use pad::pad;
pub use rgb::{ink_to_rgb, to_packed, to_planes};
pub use scale::{Area, scale};
