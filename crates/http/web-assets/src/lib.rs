//! Web page of Pelton: the files of `web/dist`, embedded both uncompressed and compressed. One of
//! these files is the shell, the HTML document that loads the other files.
//!
//! Principal types: [`Assets`], all files, and [`Asset`], one file. The crate neither parses
//! requests nor knows routes. The server that sends a file chooses the compressed or uncompressed
//! form.
//!
//! All files share one version, a hash over all of them. The version is part of each file's path,
//! so browsers may cache files for ever and never combine files of different versions.

#![forbid(unsafe_code)]

mod assets;

pub use assets::{Asset, Assets, Links};
