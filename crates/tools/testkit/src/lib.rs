//! Test code that several crates use. It is never shipped, and only tests may import it.
//!
//! Principal types: [`fuzz::Target`] is a parser with the properties that hold for any input.
//! [`table::Row`] is one line of a table of inputs and verdicts. [`openapi::Document`] is a
//! description of JSON responses. [`stills::Tiff`] is a picture to write.
//!
//! ```text
//! fuzz/fuzz_targets/* ──┐
//! proptest in crates  ──┼─► fuzz::Target ─► parser, compared with a naive parser
//! fuzz/corpus, replayed ┘
//! crates/http/http1/src/tests/*.txt ─► table::rows ─► http1's tests, `conform`
//! docs/openapi/pelton.json ─► openapi::Document ─► tests of the JSON API
//! ```
//!
//! Errors: none; a failed property panics with a description. Threads: none.

#![forbid(unsafe_code)]

pub mod fuzz;
pub mod openapi;
pub mod stills;
pub mod table;

#[cfg(test)]
mod tests;
