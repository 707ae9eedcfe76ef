//! Reload on SIGHUP: the configuration is read again, and the settings that can change while
//! requests are served take effect.

use std::env;

use config::{Config, KEYS, Raw, components};
use report::Error;
use server::{Live, Settings};

use crate::flags::{self, SettingFlags};
use crate::wiring::Handlers;

/// Flags of the command line, and the configuration in force.
pub(crate) struct Configured {
    typed: SettingFlags,
    config: Config,
    handlers: Handlers,
}

/// Result of reading the configuration again.
struct Reread {
    config: Config,
    settings: Settings,
    /// Keys whose new values take effect.
    changed: Vec<&'static str>,
    /// Keys whose new values are ignored until a restart.
    kept: Vec<&'static str>,
}

impl Configured {
    pub(crate) fn new(typed: SettingFlags, config: &Config, handlers: Handlers) -> Configured {
        Configured {
            typed,
            handlers,
            config: config.clone(),
        }
    }

    /// Reads the configuration file again, adds the environment variables, and applies the result
    /// to the service. If there are errors, logs them and keeps the old configuration.
    pub(crate) fn reload(&mut self, live: &Live) {
        match self.reread() {
            Ok(reread) => {
                let mounts = self.handlers.mounts();
                live.replace(live.current().with(reread.settings, mounts));
                self.config = reread.config;
                let changed = reread.changed.join(" ");
                tracing::info!(changed, "configuration reloaded");
                if !reread.kept.is_empty() {
                    let kept = reread.kept.join(" ");
                    tracing::warn!(
                        kept,
                        "these settings need a restart; SIGUSR2 restarts without downtime"
                    );
                }
            }
            Err(errors) => {
                for error in errors {
                    tracing::error!("{error}");
                }
                tracing::error!(
                    "the configuration was not reloaded: the old configuration stays in force"
                );
            }
        }
    }

    fn reread(&self) -> Result<Reread, Vec<Error>> {
        let resolved = flags::resolve(self.typed.clone(), env::vars_os().collect())?;
        let mut config = resolved.config;
        let differing = KEYS
            .iter()
            .filter(|key| (key.show)(&self.config) != (key.show)(&config));
        let (changed, kept): (Vec<_>, Vec<_>) = differing.partition(|key| key.is_live());
        for key in &kept {
            let old = Raw::Word((key.show)(&self.config).into());
            (key.set)(&mut config, &old).expect("a displayed value can be parsed");
        }
        let concurrency = components::concurrency(&config).map_err(|err| vec![err])?;
        let settings = components::settings(&config, concurrency).map_err(|err| vec![err])?;
        self.handlers.reload(&config).map_err(|err| vec![err])?;
        let names = |keys: Vec<&config::Key>| keys.iter().map(|key| key.name).collect();
        Ok(Reread {
            config,
            settings,
            changed: names(changed),
            kept: names(kept),
        })
    }
}
