//! C codecs behind safe Rust.
mod decode;
mod encode;
mod error;
mod options;

pub use decode::{Decoded, decode};
pub use encode::encode;
pub use error::{Error, ErrorKind};
pub use options::{DecodeOptions, Limits, Shrink};
