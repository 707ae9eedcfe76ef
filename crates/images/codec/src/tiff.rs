//! TIFF: one page, decoded strip by strip or tile by tile.
//!
//! ```text
//! chunk ─ Stream ─► row of samples ─ unpack ─► samples of 8 bits ─ Canvas ─► picture
//!       └ JPEG ───► pixels ────────────────────┘
//! ```
//! A chunk that is damaged leaves its part of the picture black. Only JPEG needs memory for a whole
//! chunk. Source: TIFF 6.0 and Adobe's TIFF Technical Note 2.

mod canvas;
mod row;
mod stream;
mod values;

use std::borrow::Cow;

use image_plan::{Size, TiffColour, TiffCompression, TiffPage, tiff_page};

use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer, jpeg};
use canvas::{Canvas, Place};
use row::{accumulate, unpack};
use stream::Stream;
use values::{part, value};

/// Maximum number of pixels of a JPEG inside of a page that is smaller. Tiles have 65,536 pixels as
/// a rule.
const JPEG_PIXELS_MAX: u64 = 16 << 20;

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let page = tiff_page(bytes, options.page)
        .map_err(|err| Error::new(ErrorKind::Undecodable, format!("tiff: {}", err.detail)))?;
    options.limits.admit("tiff", page.size, options.stored)?;
    if let Some(unsupported) = page.unsupported {
        let detail = format!("tiff: {unsupported}");
        return Err(Error::new(ErrorKind::Unsupported, detail));
    }
    let profile = match &page.profile {
        None => None,
        Some(profile) => {
            let len_bytes = usize::try_from(profile.len_bytes()).unwrap_or(usize::MAX);
            options.limits.check_profile("tiff", len_bytes)?;
            part(bytes, profile).map(buffer::copy).transpose()?
        }
    };
    let mut canvas = Canvas::new(bytes, &page)?;
    let grid = Grid::of(&page, options)?;
    let (mut has_rows, mut is_complete) = (false, true);
    let mut reader = ChunkReader::new(bytes, &page, options)?;
    for index in 0..grid.planes * grid.across * grid.down {
        let place = grid.place(&page, index);
        let read = reader.read(index, &place, &mut canvas)?;
        has_rows |= read != ChunkRows::None;
        is_complete &= read == ChunkRows::All;
    }
    if !has_rows {
        return Err(Error::new(
            ErrorKind::Undecodable,
            "tiff: no row of the page can be decoded",
        ));
    }
    Ok(Decoded {
        raster: canvas.into_raster(&page)?,
        profile,
        damaged: !is_complete,
    })
}

/// Division of a page into chunks.
struct Grid {
    across: u64,
    down: u64,
    /// Number of planes, each of which has all chunks.
    planes: u64,
}

impl Grid {
    fn of(page: &TiffPage, options: &DecodeOptions) -> Result<Grid, Error> {
        let side_px_max = options.limits.side_px_max;
        if side_px_max < page.chunk.width_px.max(page.chunk.height_px) {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "tiff: the sides of a tile exceed the limit",
            ));
        }
        let chunks = |length: u32, chunk: u32| u64::from(length.div_ceil(chunk.max(1)));
        Ok(Grid {
            across: chunks(page.size.width_px, page.chunk.width_px),
            down: chunks(page.size.height_px, page.chunk.height_px),
            planes: if page.is_planar {
                page.samples.into()
            } else {
                1
            },
        })
    }

    /// Returns the part of the page that the chunk with this index covers.
    fn place(&self, page: &TiffPage, index: u64) -> Place {
        let in_plane = index % (self.across * self.down);
        // The coordinates are below the sides of the page, which have 32 bits.
        let x = (in_plane % self.across) as u32 * page.chunk.width_px;
        let y = (in_plane / self.across) as u32 * page.chunk.height_px;
        Place {
            x,
            y,
            size: Size::new(
                page.chunk.width_px.min(page.size.width_px - x),
                page.chunk.height_px.min(page.size.height_px - y),
            ),
            plane: page
                .is_planar
                .then_some((index / (self.across * self.down)) as usize),
        }
    }
}

/// Rows of a chunk that could be decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChunkRows {
    None,
    /// The chunk is damaged, so that a part of its rows is missing or wrong.
    Some,
    All,
}

/// Reader of the chunks of a page.
struct ChunkReader<'a> {
    bytes: &'a [u8],
    page: &'a TiffPage,
    options: &'a DecodeOptions,
    /// Row as stored.
    row: Vec<u8>,
    /// Row as samples of 8 bits.
    samples: Vec<u8>,
}

impl<'a> ChunkReader<'a> {
    fn new(
        bytes: &'a [u8],
        page: &'a TiffPage,
        options: &'a DecodeOptions,
    ) -> Result<ChunkReader<'a>, Error> {
        let samples = page.chunk.width_px as usize * samples_per_chunk_pixel(page);
        Ok(ChunkReader {
            bytes,
            page,
            options,
            row: buffer::zeroed((samples * usize::from(page.sample_bits)).div_ceil(8))?,
            samples: buffer::zeroed(samples)?,
        })
    }

    /// Reads one chunk into `canvas`.
    fn read(&mut self, index: u64, place: &Place, canvas: &mut Canvas) -> Result<ChunkRows, Error> {
        let Some(chunk) = self.chunk(index) else {
            return Ok(ChunkRows::None);
        };
        if self.page.compression == TiffCompression::Jpeg {
            return self.read_jpeg(chunk, place, canvas);
        }
        if !canvas.shows(place.plane) {
            return Ok(ChunkRows::All);
        }
        let mut stream = Stream::new(self.page.compression, chunk);
        for y in 0..place.size.height_px {
            if !stream.fill(&mut self.row) {
                return Ok(match y {
                    0 => ChunkRows::None,
                    _ => ChunkRows::Some,
                });
            }
            if self.page.is_predicted {
                accumulate(&mut self.row, self.page, samples_per_chunk_pixel(self.page));
            }
            unpack(&self.row, self.page, &mut self.samples);
            canvas.put_row(place, y, &self.samples);
        }
        Ok(ChunkRows::All)
    }

    /// Returns the bytes of a chunk, or those that the file contains.
    fn chunk(&self, index: u64) -> Option<&'a [u8]> {
        let (bytes, page) = (self.bytes, self.page);
        let offset = usize::try_from(value(bytes, page, &page.offsets, index)?).ok()?;
        let len = usize::try_from(value(bytes, page, &page.byte_counts, index)?).ok()?;
        let rest = bytes.get(offset..)?;
        Some(&rest[..len.min(rest.len())])
    }

    fn read_jpeg(
        &mut self,
        chunk: &[u8],
        place: &Place,
        canvas: &mut Canvas,
    ) -> Result<ChunkRows, Error> {
        let tables = self.page.jpeg_tables.as_ref();
        let tables = tables.and_then(|tables| part(self.bytes, tables));
        let Some(file) = jpeg_file(self.page.colour, tables, chunk)? else {
            return Ok(ChunkRows::None);
        };
        // The last strip may be shorter than the others, and tiles have the full size.
        let chunk = self.page.chunk;
        let pixels_max = self.page.size.pixels().max(JPEG_PIXELS_MAX);
        let fits = |size: Size| {
            size.width_px == chunk.width_px
                && (place.size.height_px..=chunk.height_px).contains(&size.height_px)
                && size.pixels() <= pixels_max
        };
        let channels = match self.page.colour {
            TiffColour::Cmyk => image_plan::Layout::Cmyk,
            _ => image_plan::Layout::Rgb,
        };
        let decoded = jpeg::decode_pixels(&file, channels, &self.options.limits, fits);
        let (decoded, is_damaged) = match decoded {
            Ok(decoded) => decoded,
            // One damaged chunk does not make the others useless.
            Err(err) if err.kind == ErrorKind::Undecodable => return Ok(ChunkRows::None),
            Err(err) => return Err(err),
        };
        let stride = channels.channels() * chunk.width_px as usize;
        let rows = decoded.data.chunks_exact(stride);
        for (y, row) in (0..place.size.height_px).zip(rows) {
            canvas.put_pixels(place, y, row, channels.channels());
        }
        Ok(match is_damaged {
            true => ChunkRows::Some,
            false => ChunkRows::All,
        })
    }
}

/// Returns the number of samples per pixel inside of a chunk.
fn samples_per_chunk_pixel(page: &TiffPage) -> usize {
    if page.is_planar {
        1
    } else {
        page.samples.into()
    }
}

/// Returns the chunk as a file that a JPEG decoder understands: with the shared tables, and with a
/// marker that states whether the components are luma and chroma, since decoders would guess.
/// Returns `None` if the chunk is not a JPEG.
fn jpeg_file<'a>(
    colour: TiffColour,
    tables: Option<&[u8]>,
    chunk: &'a [u8],
) -> Result<Option<Cow<'a, [u8]>>, Error> {
    const START: &[u8] = &[0xff, 0xd8];
    const END: &[u8] = &[0xff, 0xd9];
    // ITU-T T.872 §6.5.3: length, "Adobe", version, two words of flags, transform.
    const ADOBE: &[u8] = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0";
    let Some(scan) = chunk.strip_prefix(START) else {
        return Ok(None);
    };
    let tables = tables.and_then(|tables| tables.strip_prefix(START));
    let tables = tables.map(|tables| tables.strip_suffix(END).unwrap_or(tables));
    let mut file = Vec::new();
    buffer::reserve(
        &mut file,
        START.len() + ADOBE.len() + 1 + tables.map_or(0, <[u8]>::len) + scan.len(),
    )?;
    file.extend(START);
    if colour.samples() != 1 {
        file.extend(ADOBE);
        file.push((colour == TiffColour::Ycc).into());
    }
    file.extend(tables.unwrap_or_default());
    file.extend(scan);
    Ok(Some(Cow::Owned(file)))
}

#[cfg(test)]
mod tests;
