//! Flags of the settings, one per row of the table of settings, and `--config`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use config::{Assignment, Config, KEYS, Key, Raw, Source};

/// Settings that `-h` lists; `--help` lists all.
const COMMON: [&str; 5] = ["root", "listen", "data", "quality", "formats"];

/// Settings on a command line.
#[derive(Clone, Default)]
pub(crate) struct SettingFlags {
    /// Value of `--config FILE`.
    pub(crate) config: Option<PathBuf>,
    /// Settings that were given, in the order of [`KEYS`].
    pub(crate) assignments: Vec<Assignment>,
}

impl clap::Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help(
                "File of settings: TOML, or WebP Server Go's config.json; also PELTON_CONFIG \
                 [default: pelton.toml, if there]",
            );
        let defaults = Config::default();
        command
            .arg(file)
            .next_help_heading("Settings (each also a key of the file, and a PELTON_ variable)")
            .args(KEYS.iter().map(|key| flag(key, &defaults)))
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
        .hide_short_help(!COMMON.contains(&key.name))
        .help(help)
}

impl clap::FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingFlags, clap::Error> {
        let given = |key: &'static Key| {
            let value: &OsString = matches.get_one(key.name)?;
            Some(Assignment {
                key,
                raw: Raw::Word(value.clone()),
                source: Source::Flag(format!("--{}", key.flag())),
            })
        };
        Ok(SettingFlags {
            config: matches.get_one("config").cloned(),
            assignments: KEYS.iter().filter_map(given).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
