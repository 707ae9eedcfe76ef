//! Tests of received and sent frames. Each row names the clause of RFC 9113 that it tests.

mod frames;
mod prop;
mod rules;
mod sending;
