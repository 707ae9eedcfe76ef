//! PNG, decoded and encoded by the `png` crate.

mod decode;
mod encode;
mod profile;

pub(crate) use decode::decode;
pub(crate) use encode::encode;

use crate::{Error, ErrorKind};

fn failed(err: png::EncodingError) -> Error {
    Error::new(ErrorKind::Failed, format!("png: {err}"))
}

#[cfg(test)]
mod tests;
