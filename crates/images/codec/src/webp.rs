//! WebP, decoded and encoded by libwebp.

mod container;
mod decode;
mod encode;

pub(crate) use decode::decode;
pub(crate) use encode::{Effort, encode};

#[cfg(test)]
mod tests;
