//! Tests of whole jobs: files in, files out, compared by the distance of their pixels.

mod answer;
mod colour;
mod compare;
mod formats;
mod geometry;
mod orders;
mod pictures;
