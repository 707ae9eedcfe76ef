//! Tests of whole jobs: files in, files out, compared by the distance of their pixels.

mod batches;
mod colour;
mod compare;
mod formats;
mod geometry;
mod job;
mod pictures;
