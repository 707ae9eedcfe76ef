//! The command line in two stages: syntax, then meaning.
//!
//! In the first stage, `typed`, clap parses the words into a command and its flags, and prints
//! help. In the second stage, `meaning`, the configuration of the command is resolved. After these
//! stages, no code reads flags, variables or configuration files.

mod help;
mod meaning;
mod scope;
mod settings;
#[cfg(test)]
mod tests;
mod typed;

pub(crate) use meaning::{resolve, with_backend, with_key, with_root, with_store};
pub(crate) use settings::SettingFlags;
pub(crate) use typed::{
    Cell, Command, Doctor, Parsed, QuarantineCommand, Run, TuneChoice, TuneCommand, parse,
};
