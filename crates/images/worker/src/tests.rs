//! Tests of whole jobs. Most of them convert a file and compare the pixels of the output with the
//! expected pixels.

mod animation;
mod batches;
mod colour;
mod compare;
mod effects;
mod formats;
mod geometry;
mod job;
mod pictures;
mod reduction;
mod score;
mod trim;
