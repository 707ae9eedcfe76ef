//! Pictures without pixels or I/O: formats and how to tell them apart, what a request asks for, what a worker is to do,
//! and which encoder settings give the same quality.

#![forbid(unsafe_code)]

mod format;
mod plan;
mod raster;

pub use format::{Format, Orientation};
pub use plan::{Encoding, Plan, Rect, Stage, Target};
pub use raster::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
