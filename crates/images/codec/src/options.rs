//! Options and resource limits of decoders.

use image_plan::Size;

use crate::{Error, ErrorKind};

/// Options of [`decode`](crate::decode).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Size that the file's header must state, before the orientation is applied. A file that
    /// states another size is refused, because the caller reserved memory and planned the work for
    /// this size.
    pub stored: Size,
    /// Factor by which a JPEG is shrunk while it is decoded. Other formats ignore it.
    pub shrink: Shrink,
    /// Bounds on the resources that a file may use.
    pub limits: Limits,
    /// Number of the page of a TIFF, or of the frame of an animation, counted from 1. Other formats
    /// ignore it.
    pub page: u16,
}

impl DecodeOptions {
    /// Returns options for the whole picture, or first page, of size `stored`, with the default
    /// limits.
    #[must_use]
    pub const fn whole(stored: Size) -> DecodeOptions {
        DecodeOptions {
            stored,
            shrink: Shrink::Whole,
            limits: Limits::DEFAULT,
            page: 1,
        }
    }
}

/// Scaling inside JPEG's inverse DCT. Such scaling is cheap, but its box filter is coarse. So a
/// better filter should do the last part of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Shrink {
    /// Full size, without shrinking.
    #[default]
    Whole = 1,
    /// Half of the width and height.
    Half = 2,
    /// A quarter of the width and height.
    Quarter = 4,
    /// An eighth of the width and height: one sample per DCT block.
    Eighth = 8,
}

impl Shrink {
    /// All factors, from full size to the strongest reduction.
    pub const ALL: [Shrink; 4] = [Shrink::Whole, Shrink::Half, Shrink::Quarter, Shrink::Eighth];

    /// Returns the number by which each side is divided.
    #[must_use]
    pub const fn divisor(self) -> u32 {
        self as u32
    }

    /// Returns the size of the decoded picture; each side is rounded up.
    #[must_use]
    pub const fn apply(self, stored: Size) -> Size {
        Size {
            width_px: stored.width_px.div_ceil(self.divisor()),
            height_px: stored.height_px.div_ceil(self.divisor()),
        }
    }
}

/// Bounds on the resources that one file may use. A file that exceeds a bound is refused, never
/// silently truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of pixels of the decoded picture.
    pub pixels_max: u32,
    /// Maximum length of either side of the stored picture in pixels.
    pub side_px_max: u32,
    /// Maximum size of an ICC profile in bytes, decompressed.
    pub profile_bytes_max: usize,
    /// Maximum bytes that a decoder may allocate in addition to its result. Only some of the
    /// libraries support such a limit.
    pub scratch_bytes_max: usize,
    /// Maximum number of scans of a progressive JPEG. Each scan is a pass over the whole picture.
    pub jpeg_scans_max: u32,
    /// Maximum number of frames of an animation.
    pub frames_max: u32,
}

impl Limits {
    /// Limits sufficient for pictures of the largest cameras.
    pub const DEFAULT: Limits = Limits {
        pixels_max: 160 << 20,
        side_px_max: 65_535,
        profile_bytes_max: 4 << 20,
        scratch_bytes_max: 1 << 30,
        // libjpeg writes 10 scans, optimizers up to 20.
        jpeg_scans_max: 100,
        // Unlimited, because only callers that decode animations set a limit.
        frames_max: u32::MAX,
    };

    /// Fails if a picture of size `stated` exceeds the limits. Also fails if `stated` differs from
    /// `expected`, the size for which the caller reserved memory.
    pub(crate) fn admit(&self, codec: &str, stated: Size, expected: Size) -> Result<(), Error> {
        self.admit_shrunk(codec, stated, Shrink::Whole, expected)
    }

    /// Does the same as [`Limits::admit`] for a picture that is shrunk while it is decoded.
    pub(crate) fn admit_shrunk(
        &self,
        codec: &str,
        stated: Size,
        shrink: Shrink,
        expected: Size,
    ) -> Result<(), Error> {
        let Size {
            width_px,
            height_px,
        } = stated;
        if width_px == 0 || height_px == 0 {
            let detail = format!("{codec}: the picture has no pixels ({width_px} × {height_px})");
            return Err(Error::new(ErrorKind::Undecodable, detail));
        }
        if shrink.apply(stated).pixels() > u64::from(self.pixels_max)
            || width_px.max(height_px) > self.side_px_max
        {
            let detail = format!("{codec}: {width_px} × {height_px} pixels exceed the limit");
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        if stated != expected {
            let detail = format!(
                "{codec}: the header states {width_px} × {height_px} pixels instead of {} × {}",
                expected.width_px, expected.height_px
            );
            return Err(Error::new(ErrorKind::Undecodable, detail));
        }
        Ok(())
    }

    /// Fails if an ICC profile of `profile_bytes` exceeds the limit.
    pub(crate) fn check_profile(&self, codec: &str, profile_bytes: usize) -> Result<(), Error> {
        if profile_bytes > self.profile_bytes_max {
            let detail = format!("{codec}: ICC profile of {profile_bytes} bytes exceeds the limit");
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}
