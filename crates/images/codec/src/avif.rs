//! AVIF by libavif, decoded by dav1d and encoded by libaom, with one thread each.

mod alpha;
mod decode;
mod depth;
mod encode;
mod handle;

pub(crate) use decode::decode;
pub(crate) use encode::{Effort, encode};

use libavif_sys as avif;

use crate::{Error, ErrorKind};

fn check(result: avif::avifResult) -> Result<(), Error> {
    let kind = match result {
        avif::AVIF_RESULT_OK => return Ok(()),
        avif::AVIF_RESULT_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        avif::AVIF_RESULT_NOT_IMPLEMENTED
        | avif::AVIF_RESULT_UNSUPPORTED_DEPTH
        // The file contains only a sequence, no still picture.
        | avif::AVIF_RESULT_NO_CONTENT
        | avif::AVIF_RESULT_MISSING_IMAGE_ITEM => ErrorKind::Unsupported,
        avif::AVIF_RESULT_ENCODE_COLOR_FAILED
        | avif::AVIF_RESULT_ENCODE_ALPHA_FAILED
        | avif::AVIF_RESULT_NO_CODEC_AVAILABLE
        | avif::AVIF_RESULT_INVALID_CODEC_SPECIFIC_OPTION
        | avif::AVIF_RESULT_IO_NOT_SET
        | avif::AVIF_RESULT_INVALID_ARGUMENT => ErrorKind::Failed,
        _ => ErrorKind::Undecodable,
    };
    let detail = format!("avif: {}", handle::result_name(result));
    Err(Error::new(kind, detail))
}

#[cfg(test)]
mod tests;
