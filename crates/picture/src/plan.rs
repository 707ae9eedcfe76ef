//! What a worker is to do with one picture, decided before a pixel is read.

use crate::{Format, Orientation, Size};

/// Formats that Pelton writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// AV1 still picture (AVIF 1.1).
    Avif,
    /// WebP (RFC 9649).
    Webp,
    /// JPEG (ITU-T T.81).
    Jpeg,
    /// PNG (third edition).
    Png,
}

/// How hard the encoder tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// While a client waits: WebP method 2, AVIF speed 9.
    Quick,
    /// When cores are idle: WebP method 4, AVIF speed 6.
    Better,
}

/// An encoder's own settings; nothing is left for the worker to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// libjpeg-turbo, baseline with its own Huffman tables, 4:2:0 unless the picture is grey.
    Jpeg {
        /// 1…100.
        quality: u8,
    },
    /// Lossless.
    Png,
    /// libwebp.
    Webp {
        /// 0…100; unused when lossless.
        quality: u8,
        /// 0…6.
        method: u8,
        /// VP8L instead of VP8.
        lossless: bool,
    },
    /// libaom, all-intra, 8 bit.
    Avif {
        /// 0…100, as libavif counts it.
        quality: u8,
        /// 0…10, libaom's `cpu-used`.
        speed: u8,
        /// 4:4:4 with the identity matrix and quantiser 0.
        lossless: bool,
    },
}

impl Encoding {
    /// The format this encoding produces.
    #[must_use]
    pub const fn target(self) -> Target {
        match self {
            Encoding::Jpeg { .. } => Target::Jpeg,
            Encoding::Png => Target::Png,
            Encoding::Webp { .. } => Target::Webp,
            Encoding::Avif { .. } => Target::Avif,
        }
    }
}

/// A rectangle inside a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Distance from the left edge.
    pub x: u32,
    /// Distance from the top edge.
    pub y: u32,
    /// Extent; never empty.
    pub size: Size,
}

/// One job's picture work, in the order it is done: decode, orient, crop, scale, pad, encode.
///
/// ```text
/// stored ─ orientation ─► oriented ─ crop ─► region ─ scale ─► inner ─ pad ─► target ─► encoding
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// Format of the original, by its magic bytes.
    pub source: Format,
    /// Size as the file states it, before orientation.
    pub stored: Size,
    /// Turns and mirrors that make the picture upright.
    pub orientation: Orientation,
    /// Part of the upright picture that is kept.
    pub crop: Rect,
    /// Size after scaling; equal to `crop.size` when nothing is scaled.
    pub inner: Size,
    /// Size of the answer. Larger than `inner` only for `fit=contain`, which centres the picture on white, or on
    /// transparency where the picture has any.
    pub target: Size,
    /// Format and settings of the answer.
    pub encoding: Encoding,
}
