//! Decompression of a chunk, as many bytes at a time as a row has.

use std::io::Read;

use flate2::read::ZlibDecoder;
use image_plan::TiffCompression;
use weezl::decode::Decoder as LzwDecoder;
use weezl::{BitOrder, LzwStatus};

use crate::packbits::PackBits;

/// Decoder of one chunk.
pub(super) enum Stream<'a> {
    Plain(&'a [u8]),
    Packed(PackBits<'a>),
    Lzw(Box<LzwDecoder>, &'a [u8]),
    Deflate(Box<ZlibDecoder<&'a [u8]>>),
}

impl<'a> Stream<'a> {
    /// Creates a decoder of `chunk`.
    ///
    /// # Panics
    /// If `compression` is JPEG, which is not decoded by rows: a bug of the caller.
    pub(super) fn new(compression: TiffCompression, chunk: &'a [u8]) -> Stream<'a> {
        match compression {
            TiffCompression::Plain => Stream::Plain(chunk),
            TiffCompression::PackBits => Stream::Packed(PackBits::new(chunk)),
            TiffCompression::Lzw => {
                // TIFF widens its codes one code earlier than GIF (TIFF 6.0, section 13).
                let decoder = LzwDecoder::with_tiff_size_switch(BitOrder::Msb, 8);
                Stream::Lzw(Box::new(decoder), chunk)
            }
            TiffCompression::Deflate => Stream::Deflate(Box::new(ZlibDecoder::new(chunk))),
            TiffCompression::Jpeg => unreachable!("jpeg is decoded as a whole"),
        }
    }

    /// Decodes the next bytes into `row`. Returns whether there were enough bytes.
    pub(super) fn fill(&mut self, row: &mut [u8]) -> bool {
        match self {
            Stream::Plain(rest) => {
                let Some((bytes, after)) = rest.split_at_checked(row.len()) else {
                    return false;
                };
                row.copy_from_slice(bytes);
                *rest = after;
                true
            }
            Stream::Packed(decoder) => decoder.fill(row),
            Stream::Lzw(decoder, rest) => fill_lzw(decoder, rest, row),
            Stream::Deflate(decoder) => decoder.read_exact(row).is_ok(),
        }
    }
}

fn fill_lzw(decoder: &mut LzwDecoder, rest: &mut &[u8], row: &mut [u8]) -> bool {
    let mut filled = 0;
    while filled < row.len() {
        let step = decoder.decode_bytes(rest, &mut row[filled..]);
        filled += step.consumed_out;
        *rest = rest.get(step.consumed_in..).unwrap_or_default();
        let has_moved = step.consumed_in != 0 || step.consumed_out != 0;
        if !has_moved || !matches!(step.status, Ok(LzwStatus::Ok)) {
            break;
        }
    }
    filled == row.len()
}
