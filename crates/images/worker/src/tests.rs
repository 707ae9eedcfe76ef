//! Whole jobs: files in, files out, judged by the distance of their pixels.

mod answer;
mod colour;
mod formats;
mod geometry;
mod orders;
mod pictures;
