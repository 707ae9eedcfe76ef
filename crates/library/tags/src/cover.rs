use crate::comments::decode_base64;
use crate::input::Input;
use crate::{Error, Limits, Picture, ReadAt, Stored, id3v2, ogg};

/// Bytes of a picture that are read at a time; must not exceed the window of an `Input`.
const STEP_BYTES: u64 = 64 << 10;

/// Reason why a picture could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CoverError {
    /// The picture has more bytes than the caller allows.
    #[error("picture has more bytes than allowed")]
    TooLarge,
    /// The file has changed since the picture was located.
    #[error("file has changed since the picture was located")]
    Changed(#[source] Error),
}

/// Reads a picture that [`crate::Reader`] located in the same file, which has `len` bytes.
///
/// # Errors
/// The picture is larger than `bytes_max`, or the file no longer contains the picture.
pub fn read_cover(
    source: &(impl ReadAt + ?Sized),
    len: u64,
    picture: &Picture,
    bytes_max: u64,
) -> Result<Vec<u8>, CoverError> {
    if bytes_max < picture.bytes {
        return Err(CoverError::TooLarge);
    }
    let limits = Limits {
        reads_max: u32::MAX,
        read_bytes_max: u64::MAX,
        ..Limits::default()
    };
    let mut window = Vec::new();
    let mut input = Input::new(&source, len, &mut window, &limits);
    read(&mut input, picture).map_err(CoverError::Changed)
}

fn read(input: &mut Input<'_>, picture: &Picture) -> Result<Vec<u8>, Error> {
    let runs = match picture.stored {
        Stored::OggBase64 => ogg::runs(input, picture.offset, picture.bytes)?,
        _ => vec![(picture.offset, picture.bytes)],
    };
    let mut stored = Vec::new();
    for (at, bytes) in runs {
        let mut done = 0;
        while done < bytes {
            let step = (bytes - done).min(STEP_BYTES);
            stored.extend_from_slice(input.bytes(at + done, step as usize)?);
            done += step;
        }
    }
    let mut plain = match picture.stored {
        Stored::Plain => stored,
        Stored::Base64 | Stored::OggBase64 => decode_base64(&stored),
        Stored::Unsynchronised => {
            let mut plain = Vec::with_capacity(stored.len());
            id3v2::undo(&stored, &mut false, &mut plain);
            plain
        }
    };
    let skip = picture.skip as usize;
    if plain.len() < skip {
        return Err(Error::malformed(
            "the offset of the picture lies beyond the end of the data of the tag",
        ));
    }
    plain.drain(..skip);
    Ok(plain)
}
