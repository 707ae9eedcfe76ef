//! Tests of received and sent frames; each row names its clause of RFC 9113.

mod frames;
mod prop;
mod rules;
mod sending;
