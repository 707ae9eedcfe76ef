//! Writer of TIFF and BigTIFF.

use super::{HEIGHT, WIDTH};

/// File of several pages.
#[derive(Clone, Debug, Default)]
pub struct Tiff {
    /// Byte order of all numbers.
    pub is_big_endian: bool,
    /// True for BigTIFF.
    pub is_big: bool,
    /// Pages in their order.
    pub pages: Vec<Page>,
}

/// Directory of a page, and its chunks.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Tags with their values. The offsets and lengths of the chunks are added.
    pub tags: Vec<(u16, Values)>,
    /// Encoded strips or tiles.
    pub chunks: Vec<Vec<u8>>,
    /// True if the chunks are tiles.
    pub is_tiled: bool,
}

/// Values of a tag.
#[derive(Clone, Debug)]
pub enum Values {
    /// Values of type BYTE.
    Bytes(Vec<u8>),
    /// Values of type SHORT.
    Shorts(Vec<u16>),
    /// Values of type LONG.
    Longs(Vec<u32>),
}

impl Page {
    /// Returns a page of `width` × `height` pixels. Each pixel has one sample per element of
    /// `bits`, which is the sample's width in bits. `photometric` and `compression` are the codes
    /// of TIFF for the colour space and the compression.
    #[must_use]
    pub fn new(
        (width, height): (u32, u32),
        bits: &[u16],
        photometric: u16,
        compression: u16,
        chunks: Vec<Vec<u8>>,
    ) -> Page {
        let short = |tag, value| (tag, Values::Shorts(vec![value]));
        Page {
            tags: vec![
                (256, Values::Longs(vec![width])),
                (257, Values::Longs(vec![height])),
                (258, Values::Shorts(bits.to_vec())),
                short(259, compression),
                short(262, photometric),
                short(277, bits.len() as u16),
            ],
            chunks,
            is_tiled: false,
        }
    }

    /// Adds a tag with values of type SHORT.
    #[must_use]
    pub fn with(mut self, tag: u16, values: &[u16]) -> Page {
        self.tags.push((tag, Values::Shorts(values.to_vec())));
        self
    }

    /// Adds a tag with values of type BYTE.
    #[must_use]
    pub fn with_bytes(mut self, tag: u16, values: &[u8]) -> Page {
        self.tags.push((tag, Values::Bytes(values.to_vec())));
        self
    }

    /// Turns the chunks into tiles of this size.
    #[must_use]
    pub fn tiled(mut self, width: u16, height: u16) -> Page {
        self.is_tiled = true;
        self.with(322, &[width]).with(323, &[height])
    }
}

impl Tiff {
    /// Returns a little-endian TIFF of one page.
    #[must_use]
    pub fn of(page: Page) -> Tiff {
        Tiff {
            pages: vec![page],
            ..Tiff::default()
        }
    }

    /// Returns the bytes of the file: the header, then each page's chunks, values and directory.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file = if self.is_big_endian { b"MM" } else { b"II" }.to_vec();
        file.extend(match self.is_big {
            true => [self.number(43, 2), self.number(8, 2), self.number(0, 2)].concat(),
            false => self.number(42, 2),
        });
        let mut link_at = file.len();
        file.extend(self.offset(0));
        for page in &self.pages {
            let directory = self.page(&mut file, page);
            let at = self.offset(file.len());
            file[link_at..link_at + at.len()].copy_from_slice(&at);
            file.extend(directory);
            link_at = file.len();
            file.extend(self.offset(0));
        }
        file
    }

    /// Appends the chunks and long values of a page, and returns its directory without the link.
    fn page(&self, file: &mut Vec<u8>, page: &Page) -> Vec<u8> {
        let mut tags = page.tags.clone();
        let (offsets_tag, lengths_tag) = if page.is_tiled {
            (324, 325)
        } else {
            (273, 279)
        };
        let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
        for chunk in &page.chunks {
            offsets.push(file.len() as u32);
            lengths.push(chunk.len() as u32);
            file.extend(chunk);
        }
        tags.push((offsets_tag, Values::Longs(offsets)));
        tags.push((lengths_tag, Values::Longs(lengths)));
        tags.sort_by_key(|(tag, _)| *tag);
        let mut directory = self.number(tags.len() as u64, if self.is_big { 8 } else { 2 });
        for (tag, values) in &tags {
            let (kind, count, mut bytes) = match values {
                Values::Bytes(values) => (1, values.len(), values.clone()),
                Values::Shorts(values) => (3, values.len(), self.numbers(values, 2)),
                Values::Longs(values) => (4, values.len(), self.numbers(values, 4)),
            };
            directory.extend(self.number(u64::from(*tag), 2));
            directory.extend(self.number(kind, 2));
            directory.extend(self.offset(count));
            let inline_bytes = self.offset(0).len();
            if inline_bytes < bytes.len() {
                let at = self.offset(file.len());
                file.extend(bytes);
                bytes = at;
            }
            bytes.resize(inline_bytes, 0);
            directory.extend(bytes);
        }
        directory
    }

    fn numbers<T: Copy + Into<u64>>(&self, values: &[T], len: usize) -> Vec<u8> {
        let values = values.iter();
        values
            .flat_map(|value| self.number((*value).into(), len))
            .collect()
    }

    fn offset(&self, value: usize) -> Vec<u8> {
        self.number(value as u64, if self.is_big { 8 } else { 4 })
    }

    /// Returns the lowest `len` bytes of a number in the byte order of the file.
    fn number(&self, value: u64, len: usize) -> Vec<u8> {
        match self.is_big_endian {
            true => value.to_be_bytes()[8 - len..].to_vec(),
            false => value.to_le_bytes()[..len].to_vec(),
        }
    }
}

/// Returns files with strips and tiles, in both byte orders, with one page and with two.
pub(super) fn samples(rgb: &[u8], grey: &[u8]) -> Vec<Vec<u8>> {
    let size = (WIDTH, HEIGHT);
    let strips: Vec<Vec<u8>> = rgb
        .chunks(3 * WIDTH as usize * 4)
        .map(<[u8]>::to_vec)
        .collect();
    let colour = Page::new(size, &[8; 3], 2, 1, strips).with(278, &[4]);
    let packed = grey.chunks(WIDTH as usize).flat_map(|row| {
        let head = [row.len() as u8 - 1];
        [&head[..], row].concat()
    });
    let level = Page::new(size, &[8], 1, 32_773, vec![packed.collect()]);
    let tile = |x: u32, y: u32| {
        let rows = (y..y + 16).flat_map(|y| (x..x + 16).map(move |x| (x, y)));
        let sample = |(x, y)| {
            let is_inside = x < WIDTH && y < HEIGHT;
            grey.get((y * WIDTH + x) as usize)
                .filter(|_| is_inside)
                .copied()
        };
        rows.map(|at| sample(at).unwrap_or(0)).collect()
    };
    let tiled = Page::new(size, &[8], 1, 1, vec![tile(0, 0), tile(16, 0)]).tiled(16, 16);
    vec![
        Tiff::of(colour.clone()).to_bytes(),
        Tiff {
            is_big_endian: true,
            pages: vec![colour.clone().with(274, &[6]), level.clone()],
            ..Tiff::default()
        }
        .to_bytes(),
        Tiff {
            is_big: true,
            pages: vec![tiled.clone()],
            ..Tiff::default()
        }
        .to_bytes(),
        Tiff::of(level).to_bytes(),
        Tiff::of(tiled).to_bytes(),
    ]
}
