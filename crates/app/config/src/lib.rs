//! The configuration: all settings, their syntax, and the resolution of all inputs into one
//! [`Config`].
//!
//! Principal type: [`Resolved`], which [`load`] makes from the files, the variables and the flags,
//! and [`resolve`] from their contents. The module `settings` lists every key once. Every error is
//! a mistake in the user's input. All errors are reported together, and each names its file and
//! line, its variable or its flag.
//!
//! [`components`] derives the limits of each component from the settings, and [`folders`] checks
//! the folders that the settings name.
//!
//! The crate reads no command line: its caller passes the flags as [`Assignment`]s.

#![forbid(unsafe_code)]

pub mod components;
mod credentials;
mod file;
pub mod folders;
pub mod https;
pub mod imgproxy;
mod live;
mod load;
mod nearest;
pub mod permissions;
mod programs;
mod resolve;
mod settings;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod wsg;

pub use load::{REQUIRE_LOGIN, answer_file, load};
pub use programs::{Entry, OnError};
pub use resolve::{Inputs, Resolved, resolve};
pub use settings::{Config, KEYS, Key};
pub use source::{Assignment, Note, Source};
pub use table::write_table;
pub use value::{Networks, PerCore, Raw, Redirect, Timeout, Types, parse_time};
