//! The command line in two stages: syntax, then meaning.
//!
//! The first stage, `typed`, is clap's: it knows spelling and help. The second stage, `meaning`,
//! resolves the configuration of a command; the code behind it reads no flags, variables or
//! configuration files.

mod help;
mod meaning;
mod scope;
mod settings;
#[cfg(test)]
mod tests;
mod typed;

pub(crate) use meaning::{settle, target, with_backend, with_root, with_store};
pub(crate) use settings::SettingFlags;
pub(crate) use typed::{
    Cell, Command, Convert, Parsed, QuarantineDoes, Run, Scan, UserDoes, parse,
};
