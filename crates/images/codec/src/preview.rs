//! HEIC, HEIF and camera raw: the largest embedded JPEG preview.

use image_plan::Format;

use crate::{DecodeOptions, Decoded, Error, ErrorKind, jpeg};

pub(crate) fn decode(
    format: Format,
    bytes: &[u8],
    options: &DecodeOptions,
) -> Result<Decoded, Error> {
    let preview = image_plan::preview(bytes, format).map_err(|err| {
        let detail = format!("{}: {}", format.extension(), err.detail);
        Error::new(ErrorKind::Undecodable, detail)
    })?;
    // The probe returns only previews inside the file.
    let (start, len) = (preview.offset as usize, preview.len_bytes as usize);
    jpeg::decode(&bytes[start..start + len], options)
}
