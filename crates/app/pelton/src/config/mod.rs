//! The configuration: what can be set, how it is written, and how the many ways to give it become one [`Config`].
//!
//! Principal type: [`Resolved`], made by [`resolve`] out of [`Inputs`]; `settings` lists every key once.
//! Errors are the user's, all of them are told at once, and each names the file and line, the variable or the flag.

mod file;
mod nearest;
mod programs;
mod resolve;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod value;
mod wsg;

pub(crate) use programs::{Entry, OnError};
pub(crate) use resolve::{Inputs, Resolved, resolve, variable};
pub(crate) use settings::{Config, KEYS, Key};
pub(crate) use source::{Assignment, Note, Source};
pub(crate) use value::{PerCore, Raw, Redirect, Timeout, Types};
