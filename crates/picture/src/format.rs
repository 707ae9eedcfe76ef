//! The picture formats Pelton reads, and the orientations of EXIF.

/// A format of originals, told by magic bytes and never by the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// JPEG (ITU-T T.81).
    Jpeg,
    /// PNG (third edition), APNG included.
    Png,
    /// GIF 87a and 89a.
    Gif,
    /// WebP (RFC 9649).
    Webp,
    /// AVIF 1.1.
    Avif,
    /// Windows bitmap.
    Bmp,
    /// SVG, served untouched and never decoded.
    Svg,
}

/// How a stored picture is to be turned to be upright: the values of EXIF's tag 0x0112.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Orientation {
    /// 1: as stored.
    #[default]
    Upright = 1,
    /// 2: mirrored left to right.
    Mirror = 2,
    /// 3: turned by 180°.
    Turn180 = 3,
    /// 4: mirrored top to bottom.
    Flip = 4,
    /// 5: mirrored along the main diagonal.
    Transpose = 5,
    /// 6: to be turned by 90° clockwise.
    Turn90 = 6,
    /// 7: mirrored along the other diagonal.
    Transverse = 7,
    /// 8: to be turned by 270° clockwise.
    Turn270 = 8,
}

impl Orientation {
    /// The orientation of an EXIF value; `None` outside 1…8.
    #[must_use]
    pub const fn from_exif(value: u16) -> Option<Orientation> {
        Some(match value {
            1 => Orientation::Upright,
            2 => Orientation::Mirror,
            3 => Orientation::Turn180,
            4 => Orientation::Flip,
            5 => Orientation::Transpose,
            6 => Orientation::Turn90,
            7 => Orientation::Transverse,
            8 => Orientation::Turn270,
            _ => return None,
        })
    }

    /// Whether rows become columns.
    #[must_use]
    pub const fn transposes(self) -> bool {
        self as u8 >= 5
    }
}
