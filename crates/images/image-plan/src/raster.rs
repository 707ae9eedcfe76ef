//! Pixels in memory: the picture types that `codec`, `pixel` and `worker` exchange.

/// Width and height of a picture or plane in pixels. Both are at least 1 in pictures that a probe
/// accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    /// Number of columns.
    pub width_px: u32,
    /// Number of rows.
    pub height_px: u32,
}

impl Size {
    /// Creates a size of `width_px` × `height_px`.
    #[must_use]
    pub const fn new(width_px: u32, height_px: u32) -> Size {
        Size {
            width_px,
            height_px,
        }
    }

    /// Returns the number of pixels. Cannot overflow, because both factors have 32 bits.
    #[must_use]
    pub const fn pixels(self) -> u64 {
        self.width_px as u64 * self.height_px as u64
    }

    /// Returns the size after exchanging rows and columns.
    #[must_use]
    pub const fn transposed(self) -> Size {
        Size {
            width_px: self.height_px,
            height_px: self.width_px,
        }
    }
}

/// Chroma subsampling, named as in JPEG and AV1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subsampling {
    /// Chroma at full resolution.
    S444,
    /// Chroma halved horizontally.
    S422,
    /// Chroma halved in both directions.
    S420,
    /// Chroma halved vertically.
    S440,
    /// Chroma reduced to a quarter horizontally.
    S411,
    /// Luma only: a grey picture.
    S400,
}

impl Subsampling {
    /// Returns the divisors by which the sides of a chroma plane are smaller than those of the luma
    /// plane: one for the width, one for the height.
    #[must_use]
    pub const fn divisors(self) -> (u32, u32) {
        match self {
            Subsampling::S444 | Subsampling::S400 => (1, 1),
            Subsampling::S422 => (2, 1),
            Subsampling::S420 => (2, 2),
            Subsampling::S440 => (1, 2),
            Subsampling::S411 => (4, 1),
        }
    }

    /// Returns the size of a chroma plane for a luma plane of size `luma`; each side is rounded up.
    #[must_use]
    pub const fn chroma(self, luma: Size) -> Size {
        let (x, y) = self.divisors();
        Size {
            width_px: luma.width_px.div_ceil(x),
            height_px: luma.height_px.div_ceil(y),
        }
    }
}

/// Range of levels within 0…255 that the samples use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Range {
    /// 0…255, as in JPEG.
    Full,
    /// 16…235 for luma and 16…240 for chroma, as in VP8.
    Limited,
}

/// Coefficients of the conversion between RGB and YCbCr, named as in ITU-T H.273.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// BT.601: JPEG, WebP, and AVIF with matrix 5 or 6.
    Bt601,
    /// BT.709: AVIF with matrix 1.
    Bt709,
    /// BT.2020 with non-constant luminance: AVIF with matrix 9.
    Bt2020,
}

/// One component of a picture, 8 bits per sample, stored row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Number of samples per row, and number of rows.
    pub size: Size,
    /// Number of bytes from the start of one row to the start of the next; at least
    /// `size.width_px`.
    pub stride: usize,
    /// Samples and padding: `stride × size.height_px` bytes.
    pub data: Vec<u8>,
}

impl Plane {
    /// Creates a plane without padding in which every sample is `value`.
    #[must_use]
    pub fn filled(size: Size, value: u8) -> Plane {
        let stride = size.width_px as usize;
        Plane {
            size,
            stride,
            data: vec![value; stride * size.height_px as usize],
        }
    }

    /// Returns the samples of row `y`, without padding.
    ///
    /// # Panics
    /// If `y` is not below the plane's height.
    #[must_use]
    pub fn row(&self, y: u32) -> &[u8] {
        assert!(
            y < self.size.height_px,
            "row {y} of {}",
            self.size.height_px
        );
        let start = y as usize * self.stride;
        &self.data[start..start + self.size.width_px as usize]
    }
}

/// Picture of luma and chroma planes, with an optional alpha plane of the luma plane's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yuv {
    /// Size of the picture and of its luma plane.
    pub size: Size,
    /// Resolution of the chroma planes relative to luma.
    pub subsampling: Subsampling,
    /// Range of luma and chroma. Alpha always uses 0…255.
    pub range: Range,
    /// Coefficients of the conversion to RGB.
    pub matrix: Matrix,
    /// Plane of luma (Y).
    pub luma: Plane,
    /// Planes of Cb and Cr. `None` only for [`Subsampling::S400`].
    pub chroma: Option<[Plane; 2]>,
    /// Plane of straight (not premultiplied) alpha, if any.
    pub alpha: Option<Plane>,
}

/// Picture of interleaved samples without row padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Size of the picture.
    pub size: Size,
    /// Meaning and order of the samples of a pixel.
    pub layout: Layout,
    /// Samples: `layout.channels() × size.pixels()` bytes.
    pub data: Vec<u8>,
}

/// Channels of one interleaved pixel, 8 bits each, in their order in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, straight alpha.
    Rgba,
    /// Cyan, magenta, yellow, black; 0 means no ink.
    Cmyk,
}

impl Layout {
    /// Returns the number of bytes per pixel.
    #[must_use]
    pub const fn channels(self) -> usize {
        match self {
            Layout::Rgb => 3,
            Layout::Rgba | Layout::Cmyk => 4,
        }
    }
}

/// Decoded picture, in the memory layout that its codec produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raster {
    /// Planes, as decoded from JPEG, WebP and AVIF.
    Yuv(Yuv),
    /// Interleaved samples, as decoded from PNG, GIF, BMP and CMYK JPEG, and after any colour
    /// conversion.
    Packed(Packed),
}

impl Raster {
    /// Returns the size of the picture.
    #[must_use]
    pub fn size(&self) -> Size {
        match self {
            Raster::Yuv(yuv) => yuv.size,
            Raster::Packed(packed) => packed.size,
        }
    }

    /// Returns whether the picture has an alpha channel.
    #[must_use]
    pub fn has_alpha(&self) -> bool {
        match self {
            Raster::Yuv(yuv) => yuv.alpha.is_some(),
            Raster::Packed(packed) => packed.layout == Layout::Rgba,
        }
    }
}
