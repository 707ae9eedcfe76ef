//! One job: a plan and an original in, the answer out. Runs inside a cell, and is the only user of `codec` and `audio`. No
//! decisions beyond the form an encoder takes: `image_plan::plan` and `audio_plan::decide` made them.
//!
//! Principal functions: [`convert`], and [`convert_all`] for several sizes, and a look, from one decode.
//!
//! ```text
//! original ─ decode ─► raster ─ scale ─► small ─ colour ─► sRGB ─ orient ─► upright ─ pad ─► form ─ encode ─► answer
//!             JPEG by DCT too   area of the stored picture                   planes or pixels, range, subsampling
//! ```
//!
//! A plan of sound is `audio`'s to do; nothing is added here but where its bytes come from and go.
//!
//! A plan speaks of the upright picture: orient, crop, scale, pad. The work is done in another order with the same
//! result: the crop is found in the stored picture and scaled there, and only the small picture is converted and turned.
//!
//! - **Forms.** What comes as planes stays planes where the encoder takes planes: a 4:2:0 JPEG becomes a full-range AVIF
//!   without any sample touched, and a WebP by a change of range alone.
//! - **Subsampling.** Lossy answers are 4:2:0 whatever the source was, as peers' are: at the qualities asked of us the
//!   bytes of full chroma are better spent on luma. Exceptions: grey stays grey where the format can, JPEG is 4:4:4
//!   from quality 90 on, and so is what halved chroma alone would take below the floor.
//! - **Floor.** A sample of each lossy answer is decoded and measured by SSIMULACRA2; an answer below 60 is made again.
//! - **Metadata.** EXIF and XMP are never copied. A colour profile is dropped when it says sRGB, carried when it is
//!   small and simple, and otherwise the pixels are converted (`pixel::colour`). Ink without a usable profile is
//!   converted as viewers do.
//!
//! Units and limits: the plan's, which the server set; a decoder refuses a file that states another size than the plan.
//! Memory is bounded by the cell. Errors: [`ErrorKind`], by fault of the media, except for `Failed`, which is a bug.
//! Threads: none; the same plan and original give the same bytes.

#![forbid(unsafe_code)]

mod answer;
mod convert;
mod error;
mod floor;
mod form;

pub use answer::{answer, warm_up};
pub use convert::{Answer, Answers, convert, convert_all};
pub use error::{Error, ErrorKind};

#[cfg(test)]
mod tests;
