//! The command line, in two stages: what was typed, then what it means.
//!
//! The first, `typed`, is clap's: it knows spelling and help. The second, `meaning`, resolves the configuration and
//! yields what a command runs on; nothing behind it looks at flags, variables or files of settings.

mod meaning;
mod settings;
#[cfg(test)]
mod tests;
mod typed;

pub(crate) use meaning::{
    REQUIRE_LOGIN, answer_file, settle, target, with_backend, with_root, with_store,
};
pub(crate) use settings::SettingFlags;
pub(crate) use typed::{
    Cell, Command, Convert, Parsed, QuarantineDoes, Run, Scan, UserDoes, parse,
};
