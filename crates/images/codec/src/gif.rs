//! GIF, decoded by the `gif` crate. [`decode`] returns the first frame, painted on a canvas;
//! [`open_frames`] returns a decoder of all frames. The canvas is the file's logical screen,
//! enlarged if the first frame extends beyond the screen.

mod frames;

pub(crate) use frames::{Frames, open_frames};

use std::io::Cursor;

use gif::{DecodeOptions as GifOptions, Decoder, DecodingError, Frame, MemoryLimit};
use image_plan::{Layout, Packed, Raster, Size};

use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer};

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let (mut decoder, frame, size) = open(bytes, options)?;
    let colours = colours(&decoder, &frame)?;
    let mut canvas = buffer::packed(size, Layout::Rgba)?;
    let left_top = (frame.left.into(), frame.top.into());
    let damaged = !paint(&mut decoder, &frame, &colours, left_top, &mut canvas)?;
    let profile = decoder.icc_profile().map(buffer::copy).transpose()?;
    Ok(Decoded {
        raster: Raster::Packed(buffer::without_opaque_alpha(canvas)),
        profile,
        damaged,
    })
}

/// Decoder, first frame without its pixels, and size of the canvas.
type FirstFrame<'a> = (Decoder<Cursor<&'a [u8]>>, Frame<'static>, Size);

/// Reads the header of the file and of its first frame.
fn open<'a>(bytes: &'a [u8], options: &DecodeOptions) -> Result<FirstFrame<'a>, Error> {
    let mut reader = GifOptions::new();
    // Limits the memory that the `gif` crate allocates for metadata, of which this program uses
    // only the profile. The limit does not apply to rows: they are read into a buffer of this
    // program.
    let metadata_bytes_max = (options.limits.profile_bytes_max as u64).max(1);
    let metadata_bytes_max = metadata_bytes_max.try_into().expect("at least 1");
    reader.set_memory_limit(MemoryLimit::Bytes(metadata_bytes_max));
    let mut decoder = reader.read_info(Cursor::new(bytes)).map_err(error)?;
    let screen = Size::new(decoder.width().into(), decoder.height().into());
    let Some(frame) = decoder.next_frame_info().map_err(error)?.cloned() else {
        return Err(Error::new(
            ErrorKind::Undecodable,
            "gif: the file has no frame",
        ));
    };
    let end = |start: u16, length: u16| u32::from(start) + u32::from(length);
    let size = Size::new(
        screen.width_px.max(end(frame.left, frame.width)),
        screen.height_px.max(end(frame.top, frame.height)),
    );
    options.limits.admit("gif", size, options.stored)?;
    Ok((decoder, frame, size))
}

/// Returns the colours of `frame`, three bytes per colour. The decoder must have reached this
/// frame.
fn colours(decoder: &Decoder<Cursor<&[u8]>>, frame: &Frame<'_>) -> Result<Vec<u8>, Error> {
    match &frame.palette {
        Some(local) => Ok(local.clone()),
        None => Ok(decoder.palette().map_err(error)?.to_vec()),
    }
}

/// Paints the rows of a frame up to the end of the valid data. `(left, top)` are the frame's
/// distances from the edges of the canvas. Returns whether all rows were painted.
fn paint(
    decoder: &mut Decoder<Cursor<&[u8]>>,
    frame: &Frame<'_>,
    colours: &[u8],
    (left, top): (usize, usize),
    canvas: &mut Packed,
) -> Result<bool, Error> {
    let mut indexes = buffer::zeroed(frame.width.into())?;
    for (painted, y) in row_order(frame.height, frame.interlaced).enumerate() {
        match decoder.fill_buffer(&mut indexes) {
            Ok(true) => {}
            Err(err) if painted == 0 => return Err(error(err)),
            Ok(false) | Err(_) => return Ok(false),
        }
        let y = top + usize::from(y);
        let row_start = (y * canvas.size.width_px as usize + left) * 4;
        let (pixels, _) = canvas.data[row_start..].as_chunks_mut::<4>();
        for (pixel, index) in pixels.iter_mut().zip(&indexes) {
            let start = usize::from(*index) * 3;
            if frame.transparent != Some(*index)
                && let Some([red, green, blue]) = colours.get(start..start + 3)
            {
                *pixel = [*red, *green, *blue, 255];
            }
        }
    }
    Ok(true)
}

/// Returns the row numbers of a frame in the order in which the file stores the rows (GIF 89a,
/// appendix E).
fn row_order(height: u16, interlaced: bool) -> impl Iterator<Item = u16> {
    let passes: &[(u16, usize)] = if interlaced {
        &[(0, 8), (4, 8), (2, 4), (1, 2)]
    } else {
        &[(0, 1)]
    };
    passes
        .iter()
        .flat_map(move |(first, step)| (*first..height).step_by(*step))
}

fn error(err: DecodingError) -> Error {
    let kind = match &err {
        DecodingError::OutOfMemory => ErrorKind::OutOfMemory,
        DecodingError::MemoryLimit => ErrorKind::TooLarge,
        _ => ErrorKind::Undecodable,
    };
    Error::new(kind, format!("gif: {err}"))
}

#[cfg(test)]
mod tests;
