//! Pixels in memory: the form in which `codec`, `pixel` and `worker` hand pictures to each other.

/// Width and height of a picture or plane, in pixels; both at least 1 once a picture was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    /// Columns.
    pub width_px: u32,
    /// Rows.
    pub height_px: u32,
}

impl Size {
    /// A size of `width_px` × `height_px`.
    #[must_use]
    pub const fn new(width_px: u32, height_px: u32) -> Size {
        Size {
            width_px,
            height_px,
        }
    }

    /// Number of pixels; cannot overflow, as both factors are 32 bit.
    #[must_use]
    pub const fn pixels(self) -> u64 {
        self.width_px as u64 * self.height_px as u64
    }

    /// The size after exchanging rows and columns.
    #[must_use]
    pub const fn transposed(self) -> Size {
        Size {
            width_px: self.height_px,
            height_px: self.width_px,
        }
    }
}

/// How many luma samples share one chroma sample, by the names of JPEG and AV1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subsampling {
    /// Chroma at full resolution.
    S444,
    /// Chroma halved horizontally.
    S422,
    /// Chroma halved both ways.
    S420,
    /// Chroma halved vertically.
    S440,
    /// Chroma quartered horizontally.
    S411,
    /// Luma only: a grey picture.
    S400,
}

impl Subsampling {
    /// Horizontal and vertical divisors of the chroma planes.
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

    /// Size of a chroma plane beside luma of `luma`: each side is rounded up.
    #[must_use]
    pub const fn chroma(self, luma: Size) -> Size {
        let (x, y) = self.divisors();
        Size {
            width_px: luma.width_px.div_ceil(x),
            height_px: luma.height_px.div_ceil(y),
        }
    }
}

/// Which part of 0…255 the samples use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Range {
    /// 0…255, as in JPEG.
    Full,
    /// 16…235 for luma and 16…240 for chroma, as in VP8.
    Limited,
}

/// Coefficients between RGB and YCbCr, by the names of ITU-T H.273.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// BT.601: JPEG, WebP, and AVIF with matrix 5 or 6.
    Bt601,
    /// BT.709: AVIF with matrix 1.
    Bt709,
    /// BT.2020 with non-constant luminance: AVIF with matrix 9.
    Bt2020,
}

/// One component of a picture, 8 bits a sample, row after row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Samples a row and rows.
    pub size: Size,
    /// Bytes from one row's start to the next; at least `size.width_px`.
    pub stride: usize,
    /// `stride × size.height_px` bytes.
    pub data: Vec<u8>,
}

impl Plane {
    /// A plane without padding in which every sample is `value`.
    #[must_use]
    pub fn filled(size: Size, value: u8) -> Plane {
        let stride = size.width_px as usize;
        Plane {
            size,
            stride,
            data: vec![value; stride * size.height_px as usize],
        }
    }

    /// The samples of row `y`, without padding.
    ///
    /// # Panics
    /// When `y` is not below the plane's height.
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

/// A picture as luma and chroma planes, with an optional plane of straight alpha at luma's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yuv {
    /// Size of the picture and of its luma plane.
    pub size: Size,
    /// Relation of the chroma planes to luma.
    pub subsampling: Subsampling,
    /// Range of luma and chroma; alpha is always 0…255.
    pub range: Range,
    /// Coefficients that lead back to RGB.
    pub matrix: Matrix,
    /// Y.
    pub luma: Plane,
    /// Cb and Cr; `None` exactly for [`Subsampling::S400`].
    pub chroma: Option<[Plane; 2]>,
    /// Straight (not premultiplied) alpha.
    pub alpha: Option<Plane>,
}

/// A picture as interleaved samples without row padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Size of the picture.
    pub size: Size,
    /// What the samples of a pixel are.
    pub layout: Layout,
    /// `layout.channels() × size.pixels()` bytes.
    pub data: Vec<u8>,
}

/// The samples of one interleaved pixel, 8 bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Red, green, blue.
    Rgb,
    /// Red, green, blue, straight alpha.
    Rgba,
    /// Cyan, magenta, yellow, black; 0 is no ink.
    Cmyk,
}

impl Layout {
    /// Bytes a pixel.
    #[must_use]
    pub const fn channels(self) -> usize {
        match self {
            Layout::Rgb => 3,
            Layout::Rgba | Layout::Cmyk => 4,
        }
    }
}

/// A decoded picture in the form its codec had it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raster {
    /// Planes: JPEG, WebP and AVIF.
    Yuv(Yuv),
    /// Interleaved: PNG, GIF, BMP, CMYK JPEG, and whatever was through colour conversion.
    Packed(Packed),
}

impl Raster {
    /// Size of the picture.
    #[must_use]
    pub fn size(&self) -> Size {
        match self {
            Raster::Yuv(yuv) => yuv.size,
            Raster::Packed(packed) => packed.size,
        }
    }

    /// Whether some pixel may be transparent.
    #[must_use]
    pub fn has_alpha(&self) -> bool {
        match self {
            Raster::Yuv(yuv) => yuv.alpha.is_some(),
            Raster::Packed(packed) => packed.layout == Layout::Rgba,
        }
    }
}
