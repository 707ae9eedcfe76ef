//! Tests of the single flight and of the queue.

mod single_flight;
