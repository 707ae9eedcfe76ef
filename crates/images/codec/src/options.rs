//! What a decoder is told, and how much it may use.

use image_plan::Size;

use crate::{Error, ErrorKind};

/// What [`decode`](crate::decode) is told beside the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Size that the file is expected to state, before orientation. A file that states another one is refused: work
    /// and memory were admitted for this one.
    pub stored: Size,
    /// How far a JPEG is made smaller while it is decoded; other formats are decoded whole.
    pub shrink: Shrink,
    /// Bounds on what the file may make the decoder do.
    pub limits: Limits,
}

impl DecodeOptions {
    /// The whole picture of `stored` size within the default limits.
    #[must_use]
    pub const fn whole(stored: Size) -> DecodeOptions {
        DecodeOptions {
            stored,
            shrink: Shrink::Whole,
            limits: Limits::DEFAULT,
        }
    }
}

/// Scaling inside JPEG's inverse DCT: cheap, and box-filtered, so leave a good filter some pixels to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Shrink {
    /// As stored.
    #[default]
    Whole = 1,
    /// Half of each side.
    Half = 2,
    /// A quarter of each side.
    Quarter = 4,
    /// An eighth of each side: one sample a DCT block.
    Eighth = 8,
}

impl Shrink {
    /// Every factor, from none to the strongest.
    pub const ALL: [Shrink; 4] = [Shrink::Whole, Shrink::Half, Shrink::Quarter, Shrink::Eighth];

    /// By what each side is divided.
    #[must_use]
    pub const fn divisor(self) -> u32 {
        self as u32
    }

    /// Size of the decoded picture: each side is rounded up.
    #[must_use]
    pub const fn apply(self, stored: Size) -> Size {
        Size {
            width_px: stored.width_px.div_ceil(self.divisor()),
            height_px: stored.height_px.div_ceil(self.divisor()),
        }
    }
}

/// Bounds on what one file may make a decoder do. Each is a refusal, never a silent cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Pixels of the stored picture.
    pub pixels_max: u32,
    /// Pixels along either side of the stored picture.
    pub side_px_max: u32,
    /// Bytes of an ICC profile, unpacked.
    pub profile_bytes_max: usize,
    /// Bytes a decoder may allocate beside the picture it returns, as far as its library can be told.
    pub scratch_bytes_max: usize,
    /// Scans of a progressive JPEG: each is a pass over the whole picture.
    pub jpeg_scans_max: u32,
}

impl Limits {
    /// Room for the largest cameras' pictures.
    pub const DEFAULT: Limits = Limits {
        pixels_max: 160 << 20,
        side_px_max: 65_535,
        profile_bytes_max: 4 << 20,
        scratch_bytes_max: 1 << 30,
        // libjpeg writes 10, optimisers up to 20.
        jpeg_scans_max: 100,
    };

    /// Refuses a picture of `stated` size where `expected` was admitted, or that is beyond the limits.
    pub(crate) fn admit(&self, codec: &str, stated: Size, expected: Size) -> Result<(), Error> {
        let Size {
            width_px,
            height_px,
        } = stated;
        if width_px == 0 || height_px == 0 {
            let detail = format!("{codec}: empty picture of {width_px} × {height_px}");
            return Err(Error::new(ErrorKind::Undecodable, detail));
        }
        if stated.pixels() > u64::from(self.pixels_max)
            || width_px.max(height_px) > self.side_px_max
        {
            let detail = format!("{codec}: {width_px} × {height_px} pixels");
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        if stated != expected {
            let detail = format!(
                "{codec}: states {width_px} × {height_px}, probed as {} × {}",
                expected.width_px, expected.height_px
            );
            return Err(Error::new(ErrorKind::Undecodable, detail));
        }
        Ok(())
    }

    /// Refuses a profile beyond the limit.
    pub(crate) fn admit_profile(&self, codec: &str, profile_bytes: usize) -> Result<(), Error> {
        if profile_bytes > self.profile_bytes_max {
            let detail = format!("{codec}: ICC profile of {profile_bytes} bytes");
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
