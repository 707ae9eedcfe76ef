//! Decisions about pictures, made from file headers and requests, without decoding: detecting
//! formats, parsing requests, planning conversions, and choosing encoder settings of equal quality.
//!
//! Principal type: [`Plan`], the complete description of one conversion. All decisions about a
//! conversion are made here, before a byte of the picture is decoded. A worker only executes the
//! plan.
//!
//! ```text
//! header ─ probe ───────► Facts ──────────────┬─ candidates ─► targets, original?
//! query ── parse_query ─► ImageQuery{Recipe} ─┤                   │ each target
//!                                             └───────── plan ◄───┘
//!                                                          └─► Plan ─┬─ to_bytes ─► worker
//!                                                                    └─ cost ─────► admission
//! ```
//!
//! Units and limits: sizes in pixels, qualities on the JPEG scale of 1…100, offsets and lengths in
//! bytes. A probe reads at most [`PROBE_BYTES_MAX`] bytes in at most [`PROBE_READS_MAX`] reads;
//! [`Limits`] bounds the plans; a plan has [`PLAN_BYTES`] bytes.
//!
//! Errors: [`QueryError`] is the client's fault. [`ProbeError`] is the picture's fault, except when
//! reading failed. [`Refusal`] is the client's fault if the output is too large; otherwise it is
//! the picture's fault. Threads: none; all types are plain data.
//!
//! A [`Batch`] combines several plans that share one decode, and optionally requests the picture's
//! placeholder ([`Placeholder`]). A [`Comparison`] requests the quality of a variant.
//!
//! [`Raster`] and its parts are the pixel formats that `codec`, `pixel` and `worker` exchange. Each
//! module names its own sources.

#![forbid(unsafe_code)]

mod format;
mod raster;

mod probe;

mod effects;
mod recipe;

mod query;
mod rules;

/// URLs in the grammar of imgproxy.
pub mod imgproxy;

/// URLs of the IIIF Image API.
pub mod iiif;

mod fit;

mod candidates;
mod plan;
mod trim;

mod batch;
mod comparison;
mod placeholder;

/// Quality settings of all encoders, translated from one common scale.
pub mod quality;

pub use batch::{BATCH_PLANS_MAX, Batch, join_outputs, length_table_bytes, split_outputs};
pub use candidates::{Accepts, Candidates, candidates, candidates_without_original};
pub use comparison::{COMPARED_PIXELS_MAX, Comparison, SCORE_BYTES};
pub use effects::{Angle, Duotone, Effects, Kernel, Padding, Rgb, Rgba, Tone, Unsharp};
pub use format::{Format, Orientation, SNIFF_BYTES, media_type_of_head, untouched};
pub use placeholder::{
    BASE_83, BLURHASH_BYTES_MAX, PLACEHOLDER_BYTES, Placeholder, THUMBHASH_BYTES_MAX,
};
pub use plan::{
    Cost, Encoding, Limits, MalformedPlan, PLAN_BYTES, Plan, Rect, Refusal, Stage, Target, plan,
};
pub use probe::{
    Colour, Facts, Frames, PAGES_MAX, PROBE_BYTES_MAX, PROBE_READ_BYTES_MAX, PROBE_READS_MAX,
    ProbeError, ProbeErrorKind, ReadAt, Unsupported, heif_size, preview, probe, probe_page,
};
pub use probe::{
    HdrHeader, IcoEntry, PnmCoding, PnmHeader, Preview, PsdColour, PsdHeader, SVG_BYTES_MAX,
    TgaColour, TgaHeader, TiffAlpha, TiffArray, TiffColour, TiffCompression, TiffPage, hdr_header,
    ico_entry, pnm_header, psd_header, tga_header, tiff_page,
};
pub use query::{Grammar, ImageQuery, QueryError, QueryErrorKind, parameter_names, parse_query};
pub use raster::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
pub use recipe::{Crop, FRACTION_ONE, Fit, Focus, REQUESTED_SIDE_PX_MAX, Recipe};
pub use rules::{PRESET_PARAMETERS, RecipeRule, RecipeRules, RecipeViolation, check_preset};
pub use trim::Trim;
