//! QOI. Source: The Quite OK Image Format, version 1.0.

use image_plan::Size;

use crate::samples::{self, Channels};
use crate::{DecodeOptions, Decoded, Error, ErrorKind};

const HEADER_BYTES: usize = 14;

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let undecodable = |detail| Error::new(ErrorKind::Undecodable, detail);
    let header = bytes.first_chunk::<HEADER_BYTES>();
    let Some(
        [
            b'q',
            b'o',
            b'i',
            b'f',
            w0,
            w1,
            w2,
            w3,
            h0,
            h1,
            h2,
            h3,
            channels,
            _,
        ],
    ) = header
    else {
        return Err(undecodable("qoi: the header is missing or malformed"));
    };
    let size = Size::new(
        u32::from_be_bytes([*w0, *w1, *w2, *w3]),
        u32::from_be_bytes([*h0, *h1, *h2, *h3]),
    );
    options.limits.admit("qoi", size, options.stored)?;
    let channels = match channels {
        3 => Channels::Rgb,
        4 => Channels::Rgba,
        _ => {
            return Err(undecodable(
                "qoi: the header states neither 3 nor 4 channels",
            ));
        }
    };
    let mut samples = channels.samples(size)?;
    let mut pixels = Pixels::new(&bytes[HEADER_BYTES..]);
    let mut is_complete = true;
    for (index, pixel) in samples.chunks_exact_mut(channels.count()).enumerate() {
        match pixels.next() {
            Some(rgba) => pixel.copy_from_slice(&rgba[..channels.count()]),
            None if index == 0 => return Err(undecodable("qoi: the file has no pixels")),
            None => {
                is_complete = false;
                break;
            }
        }
    }
    Ok(Decoded {
        raster: samples::raster(channels, size, samples)?,
        profile: None,
        damaged: !is_complete,
    })
}

/// Decoder of the pixels, each of which refers to an earlier one or differs little from the
/// previous one.
struct Pixels<'a> {
    rest: &'a [u8],
    previous: [u8; 4],
    /// Pixels that occurred before, at the index that their samples hash to.
    seen: [[u8; 4]; 64],
    /// Number of further repetitions of `previous`.
    repeats: u8,
}

impl<'a> Pixels<'a> {
    fn new(rest: &'a [u8]) -> Pixels<'a> {
        Pixels {
            rest,
            previous: [0, 0, 0, 255],
            seen: [[0; 4]; 64],
            repeats: 0,
        }
    }

    /// Returns the next pixel, or `None` at the end of the file.
    fn next(&mut self) -> Option<[u8; 4]> {
        if self.repeats != 0 {
            self.repeats -= 1;
            return Some(self.previous);
        }
        let [red, green, blue, alpha] = self.previous;
        let (pixel, rest) = match *self.rest {
            [0xfe, red, green, blue, ref rest @ ..] => ([red, green, blue, alpha], rest),
            [0xff, red, green, blue, alpha, ref rest @ ..] => ([red, green, blue, alpha], rest),
            [0xfe | 0xff, ..] | [] => return None,
            [code, ref rest @ ..] => match (code >> 6, code & 0x3f) {
                (0, index) => (self.seen[usize::from(index)], rest),
                (1, differences) => {
                    let add = |sample: u8, shift: u8| {
                        let difference = differences >> shift & 3;
                        sample.wrapping_add(difference).wrapping_sub(2)
                    };
                    ([add(red, 4), add(green, 2), add(blue, 0), alpha], rest)
                }
                (2, difference) => {
                    let (second, rest) = rest.split_first()?;
                    let green_by = difference.wrapping_sub(32);
                    let add = |sample: u8, nibble: u8| {
                        sample
                            .wrapping_add(green_by)
                            .wrapping_add(nibble)
                            .wrapping_sub(8)
                    };
                    let pixel = [
                        add(red, second >> 4),
                        green.wrapping_add(green_by),
                        add(blue, second & 15),
                        alpha,
                    ];
                    (pixel, rest)
                }
                (_, repeats) => {
                    self.repeats = repeats;
                    (self.previous, rest)
                }
            },
        };
        self.rest = rest;
        self.previous = pixel;
        let [red, green, blue, alpha] = pixel.map(usize::from);
        self.seen[(red * 3 + green * 5 + blue * 7 + alpha * 11) % 64] = pixel;
        Some(pixel)
    }
}

#[cfg(test)]
mod tests;
