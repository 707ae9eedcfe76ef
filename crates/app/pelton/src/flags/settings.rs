//! The flag `--config`, and the flags of settings, one for each setting that a command uses.

use std::ffi::OsString;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use config::{Assignment, Config, KEYS, Key, Raw, Source};

use super::scope::Scope;

/// Settings on a command line.
#[derive(Clone, Default)]
pub(crate) struct SettingFlags {
    /// Value of `--config FILE`.
    pub(crate) config: Option<PathBuf>,
    /// Settings that were given, in the order of [`KEYS`].
    pub(crate) assignments: Vec<Assignment>,
}

/// Settings on the command line of a command that accepts the flags of the scope `S`.
pub(crate) struct SettingsOf<S>(SettingFlags, PhantomData<S>);

impl<S> Deref for SettingsOf<S> {
    type Target = SettingFlags;

    fn deref(&self) -> &SettingFlags {
        &self.0
    }
}

impl<S: Scope> clap::Args for SettingsOf<S> {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help(
                "Configuration file in TOML, or a config.json of WebP Server Go. The variable \
                 PELTON_CONFIG can name the file, too [default: pelton.toml, if it exists]",
            );
        let defaults = Config::default();
        let accepted = KEYS.iter().filter(|key| S::accepts(key.name));
        command
            .arg(file)
            .next_help_heading("Settings")
            .args(accepted.map(|key| flag(key, &defaults).hide(!S::SHOWN.contains(&key.name))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn flag(key: &'static Key, defaults: &Config) -> Arg {
    let mut help = key.doc.trim().trim_end_matches('.').to_owned();
    let default = (key.show)(defaults);
    if !default.is_empty() {
        help.push_str(&format!(" [default: {default}]"));
    }
    Arg::new(key.name)
        .long(key.flag())
        .value_name(key.unit.to_ascii_uppercase())
        .value_parser(value_parser!(OsString))
        .help(help)
}

impl<S: Scope> clap::FromArgMatches for SettingsOf<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingsOf<S>, clap::Error> {
        let given = |key: &'static Key| {
            let value: &OsString = matches.get_one(key.name)?;
            Some(Assignment {
                key,
                raw: Raw::Word(value.clone()),
                source: Source::Flag(format!("--{}", key.flag())),
            })
        };
        let accepted = KEYS.iter().filter(|key| S::accepts(key.name));
        let flags = SettingFlags {
            config: matches.get_one("config").cloned(),
            assignments: accepted.filter_map(given).collect(),
        };
        Ok(SettingsOf(flags, PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
