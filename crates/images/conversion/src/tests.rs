//! Tests of the single flight and of the queue.

mod interleavings;
mod single_flight;
