//! Page of Pelton: the files of `web/dist`, embedded both uncompressed and compressed. One of these
//! files is the shell, the HTML document that loads the others.
//!
//! Principal types: [`Assets`], and [`Asset`], one file. The crate neither parses requests nor
//! knows routes; the server that sends the files chooses their form by the request.
//!
//! All files share a version, the hash of all of them. It is part of their path, so that browsers
//! may cache them for ever, and one version never mixes with another.

#![forbid(unsafe_code)]

mod assets;

pub use assets::{Asset, Assets, Links};
