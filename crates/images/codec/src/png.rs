//! PNG, decoded and encoded by the `png` crate.

mod decode;
mod encode;
mod frames;
mod profile;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
pub(crate) use frames::{Frames, open_frames};

use crate::{Error, ErrorKind};

fn failed(err: png::EncodingError) -> Error {
    Error::new(ErrorKind::Failed, format!("png: {err}"))
}

#[cfg(test)]
mod tests;
