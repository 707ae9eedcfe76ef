//! WebP, decoded and encoded by libwebp.

mod animation;
mod container;
mod decode;
mod encode;
mod frames;

pub use animation::AnimationEncoder;
pub(crate) use decode::decode;
pub(crate) use encode::{Effort, encode};
pub(crate) use frames::{Frames, open_frames};

#[cfg(test)]
mod tests;
