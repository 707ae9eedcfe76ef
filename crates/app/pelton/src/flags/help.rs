//! `pelton help`: help for a command, the list of all settings, completions and manual pages.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use config::{Config, KEYS, Key};
use report::Error;

use super::typed::{HELP_COLUMNS, Parsed, definition, parse};

/// Name of the program, as users type it.
const PROGRAM: &str = "pelton";

/// Explain a command, or list all settings.
///
/// Without a topic, lists the commands.
#[derive(Args)]
#[command(after_help = "Examples:
  pelton help settings | less
  pelton help user add
  pelton help completions bash > /etc/bash_completion.d/pelton
  pelton help man serve > pelton-serve.1")]
pub(crate) struct Help {
    #[command(subcommand)]
    pub(crate) topic: Option<Topic>,
}

/// Topic of `pelton help`.
#[derive(Subcommand)]
pub(crate) enum Topic {
    /// Explain every setting, with its name in the configuration file, its variable, its flag and
    /// its default
    Settings,
    /// Print a script with which a shell completes commands and flags
    Completions {
        /// Shell for which the script is written
        #[arg(value_name = "SHELL", id = "SHELL")]
        shell: Shell,
    },
    /// Print the manual page of the program, or of one command, in the format roff, which man reads
    Man {
        /// Command, such as serve or user add; without it, the page of the program is printed
        #[arg(value_name = "COMMAND", id = "COMMAND")]
        command: Vec<String>,
    },
    /// Command to explain
    #[command(external_subcommand)]
    Command(Vec<String>),
}

/// Returns the text that `pelton help` prints for a topic.
pub(super) fn text(help: &Help) -> Result<String, Error> {
    match &help.topic {
        None => explain(&[]),
        Some(Topic::Command(words)) => explain(words),
        Some(Topic::Settings) => Ok(settings()),
        Some(Topic::Completions { shell }) => {
            let mut out = Vec::new();
            clap_complete::generate(
                *shell,
                &mut with_all_settings(definition()),
                PROGRAM,
                &mut out,
            );
            Ok(as_text(out))
        }
        Some(Topic::Man { command }) => manual(command),
    }
}

/// Returns the text that the command `words` prints for `--help`.
fn explain(words: &[String]) -> Result<String, Error> {
    let words = [PROGRAM]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    match parse(words.chain(["--help"]).map(OsString::from))? {
        Parsed::Text(text) => Ok(text),
        // `pelton store` parses all words after its name as directives, even `--help`.
        Parsed::Command(_) => explain(&["store".to_owned()]),
    }
}

fn manual(words: &[String]) -> Result<String, Error> {
    let command = find(with_all_settings(definition()), words)?;
    let mut out = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut out)
        .expect("writing to memory cannot fail");
    Ok(as_text(out))
}

fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the names and the help of all flags are UTF-8")
}

/// Returns the subcommand of `whole` to which the names in `words` lead.
fn find(mut whole: clap::Command, words: &[String]) -> Result<clap::Command, Error> {
    whole.build();
    let mut found = &whole;
    for word in words {
        found = found.find_subcommand(word).ok_or_else(|| {
            Error::usage(format!("help: there is no command {}", words.join(" "))).hint(
                "`pelton --help` lists the commands, `pelton help settings` lists the settings",
            )
        })?;
    }
    Ok(found.clone())
}

/// Returns `command` with all settings visible, including those that `--help` hides.
fn with_all_settings(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| argument.hide(false))
        .mut_subcommands(with_all_settings)
}

/// Returns the list of all settings.
fn settings() -> String {
    let defaults = Config::default();
    let mut out = format!(
        "Each of the {} settings can be set in the configuration file, by a variable or by a flag.\n\
         A flag overrides a variable, and a variable overrides the file. In the file, a.b is the\n\
         key b in the table [a]. pelton check shows the values and where each comes from.\n\n\
         A time has a unit: ms, s, min, h or d, as in 500ms. A size without a unit is in bytes;\n\
         1KiB is 1024 bytes, and 1kB is 1000 bytes. In a flag or variable, commas separate the\n\
         items of a list. In the file, a list is an array, such as [\"avif\", \"webp\"], and pairs\n\
         such as name=query are a table, such as {{ name = \"query\" }}.\n",
        KEYS.len()
    );
    for key in KEYS {
        out.push_str(&setting(key, &defaults));
    }
    out
}

fn setting(key: &Key, defaults: &Config) -> String {
    let default = match (key.show)(defaults) {
        default if default.is_empty() => "empty".to_owned(),
        default => default,
    };
    let (name, variable, flag, unit) = (key.name, key.variable(), key.flag(), key.unit);
    let meaning = wrapped(key.doc.trim(), "    ");
    format!("\n{name}\n    {variable}, --{flag}\n{meaning}    Value: {unit}. Default: {default}\n")
}

/// Breaks `text` into indented lines of at most [`HELP_COLUMNS`] columns.
fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let columns = indent.len() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && HELP_COLUMNS < columns {
            out.push_str(&format!("{indent}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(&format!("{indent}{line}\n"));
    out
}
