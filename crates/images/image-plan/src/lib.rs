//! Pictures without pixels or I/O: formats and how to tell them apart, what a request asks for, what a worker is to do,
//! and which encoder settings give the same quality.
//!
//! Principal type: [`Plan`], the one description of a conversion. Every branch of a conversion is taken here, before a
//! byte of the picture is decoded; a worker only walks the plan.
//!
//! ```text
//! header ── probe ──► Facts ─────────┐
//!                                    ├─ candidates ─► targets, original? ─┐
//! query ─ parse_query ─► Ask{Recipe} ┤                                    ├─ plan ─► Plan ─ to_bytes ─► worker
//!                                    └────────────────────────────────────┘          └─ cost ─► admission
//! ```
//!
//! Units and limits: sizes in pixels, qualities on the JPEG scale of 1…100, offsets and lengths in bytes. A probe reads at
//! most [`PROBE_BYTES_MAX`] bytes in [`PROBE_READS_MAX`] reads; [`Limits`] bounds what is planned; a plan has
//! [`PLAN_BYTES`] bytes. Errors: [`QueryError`] is the client's fault; [`ProbeError`] the picture's, except when reading
//! failed; [`Refusal`] the picture's, or the client's for an answer too large. Threads: none; all types are plain data.
//!
//! An [`Order`] is several plans of one decode, and the picture's [`Look`] besides: a colour and two tiny pictures.
//!
//! [`Raster`] and its parts are what `codec`, `pixel` and `worker` hand to each other. Sources stand in each module.

#![forbid(unsafe_code)]

mod format;
mod raster;

mod probe;

mod recipe;

mod query;

mod fit;

mod candidates;
mod plan;

mod look;
mod order;

/// One quality for all formats.
pub mod quality;

pub use candidates::{Accepts, Candidates, candidates};
pub use format::{Format, Orientation, SNIFF_BYTES, untouched};
pub use look::{BASE_83, BLURHASH_BYTES_MAX, LOOK_BYTES, Look, THUMBHASH_BYTES_MAX};
pub use order::{ORDER_PLANS_MAX, Order, join_answers, lengths_bytes, split_answers};
pub use plan::{
    Cost, Encoding, Limits, MalformedPlan, PLAN_BYTES, Plan, Rect, Refusal, Stage, Target, plan,
};
pub use probe::{
    Colour, Facts, PROBE_BYTES_MAX, PROBE_READ_BYTES_MAX, PROBE_READS_MAX, ProbeError,
    ProbeErrorKind, ReadAt, Unsupported, heif_size, probe,
};
pub use query::{Ask, Grammar, QueryError, QueryErrorKind, parse_query};
pub use raster::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
pub use recipe::{ASKED_SIDE_PX_MAX, Fit, Recipe};
