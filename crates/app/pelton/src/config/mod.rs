//! The configuration: all settings, their syntax, and the resolution of all inputs into one
//! [`Config`].
//!
//! Principal type: [`Resolved`], which [`resolve`] makes from [`Inputs`]; `settings` lists every
//! key once. Errors are the user's fault. All of them are reported at once, and each names its file
//! and line, its variable or its flag.

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
pub(crate) use source::{Assignment, Source};
pub(crate) use value::{PerCore, Raw, Redirect, Timeout, Types};
