//! Operations on the pixels of a picture that has its final scale: colours, filters, rotation and
//! frame.

mod blur;
mod frame;
mod light;
mod pixelate;
mod rotate;
mod tone;
mod unsharp;

pub use blur::blur;
pub use frame::{blend_over, frame, round_corners};
pub use pixelate::pixelate;
pub use rotate::rotate;
pub use tone::tone;
pub use unsharp::unsharp;
