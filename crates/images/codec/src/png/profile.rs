//! Reads the ICC profile from a PNG's `iCCP` chunk (PNG third edition §11.3.2.3).

use fdeflate::BoundedDecompressionError;

use crate::{Error, Limits};

/// Content of the `iCCP` chunk.
pub(super) enum Embedded {
    Nothing,
    Profile(Vec<u8>),
    /// The chunk cannot be decompressed. Browsers show such files as sRGB.
    Invalid,
}

/// Reads the profile from the first `iCCP` chunk that precedes the pixels. The other chunks are
/// validated by the `png` crate.
pub(super) fn read(file: &[u8], limits: &Limits) -> Result<Embedded, Error> {
    let Some(payload) = find(file) else {
        return Ok(Embedded::Nothing);
    };
    // Payload: a name of up to 79 bytes, a zero byte, the compression method (always 0), and a zlib
    // stream.
    let name_bytes = payload.iter().take(80).position(|byte| *byte == 0);
    let Some([_, 0, stream @ ..]) = name_bytes.and_then(|end| payload.get(end..)) else {
        return Ok(Embedded::Invalid);
    };
    match fdeflate::decompress_to_vec_bounded(stream, limits.profile_bytes_max) {
        Ok(profile) => Ok(Embedded::Profile(profile)),
        Err(BoundedDecompressionError::DecompressionError { .. }) => Ok(Embedded::Invalid),
        Err(BoundedDecompressionError::OutputTooLarge { partial_output }) => {
            limits.check_profile("png", partial_output.len() + 1)?;
            Ok(Embedded::Invalid)
        }
    }
}

fn find(file: &[u8]) -> Option<&[u8]> {
    let mut rest = file.get(8..)?;
    loop {
        let (len, after) = rest.split_first_chunk::<4>()?;
        let (name, after) = after.split_first_chunk::<4>()?;
        let payload = after.get(..u32::from_be_bytes(*len) as usize)?;
        match name {
            b"iCCP" => return Some(payload),
            b"IDAT" => return None,
            // The payload is followed by a checksum of 4 bytes.
            _ => rest = after.get(payload.len() + 4..)?,
        }
    }
}
