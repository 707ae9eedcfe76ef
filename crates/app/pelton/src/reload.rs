//! Reload on SIGHUP: the configuration is read again, and the settings that can change while
//! requests are served take effect.

use std::env;

use config::{Config, KEYS, Raw, components};
use report::Error;
use server::{Live, Settings};

use crate::flags::{self, SettingFlags};
use crate::wiring::Beside;

/// Settings that take effect with the next request or connection. All others are fixed at the start
/// of a process.
const LIVE: &[&str] = &[
    "quality",
    "formats",
    "allowed_types",
    "only_types",
    "active_types",
    "headers",
    "cors_origins",
    "resource_policy",
    "queries",
    "strict_query",
    "improve",
    "programs",
    "limits.program_queue_max",
    "require_login",
    "hosts",
    "origins",
    "admin_token_file",
    "max_age",
    "max_age_quick",
    "limits.hot_bytes_max",
    "limits.memory_body_bytes_max",
    "limits.coded_bytes_max",
    "limits.gallery_entries_max",
    "limits.trust_time",
    "limits.original_bytes_max",
    "limits.source_pixels_max",
    "limits.target_pixels_max",
    "limits.profile_bytes_max",
    "limits.connection_requests_max",
    "limits.queued_bytes_max",
    "limits.head_bytes_max",
    "limits.fields_max",
    "limits.target_bytes_max",
    "limits.body_bytes_max",
    "limits.request_body_bytes",
    "limits.request_bodies_bytes",
    "limits.mount_answers_bytes",
    "limits.chunk_line_bytes_max",
    "limits.trailer_bytes_max",
    "limits.tls_buffer_bytes_max",
    "limits.h2_streams_max",
    "limits.h2_buffer_bytes_max",
    "limits.h2_making_max",
    "limits.h2_idle_bytes_max",
    "limits.h2_resets_max",
];

/// Flags of the command line, and the configuration in force.
pub(crate) struct Configured {
    typed: SettingFlags,
    config: Config,
    beside: Beside,
}

/// Configuration that was read again.
struct Reread {
    config: Config,
    settings: Settings,
    /// Keys whose new values take effect.
    changed: Vec<&'static str>,
    /// Keys whose new values are ignored until a restart.
    kept: Vec<&'static str>,
}

impl Configured {
    pub(crate) fn new(typed: SettingFlags, config: &Config, beside: Beside) -> Configured {
        Configured {
            typed,
            beside,
            config: config.clone(),
        }
    }

    /// Reads the file and the variables again, and applies them to the service. If they have
    /// errors, logs them and keeps the old configuration.
    pub(crate) fn reload(&mut self, live: &Live) {
        match self.reread() {
            Ok(reread) => {
                let mounts = self.beside.mounts();
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
                tracing::error!("configuration not reloaded: the old one stays in force");
            }
        }
    }

    fn reread(&self) -> Result<Reread, Vec<Error>> {
        let resolved = flags::settle(self.typed.clone(), env::vars_os().collect())?;
        let mut config = resolved.config;
        let differing = KEYS
            .iter()
            .filter(|key| (key.show)(&self.config) != (key.show)(&config));
        let (changed, kept): (Vec<_>, Vec<_>) = differing.partition(|key| LIVE.contains(&key.name));
        for key in &kept {
            let old = Raw::Word((key.show)(&self.config).into());
            (key.set)(&mut config, &old).expect("a displayed value can be parsed");
        }
        let concurrency = components::concurrency(&config).map_err(|err| vec![err])?;
        let settings = components::settings(&config, concurrency).map_err(|err| vec![err])?;
        self.beside.reload(&config).map_err(|err| vec![err])?;
        let names = |keys: Vec<&config::Key>| keys.iter().map(|key| key.name).collect();
        Ok(Reread {
            config,
            settings,
            changed: names(changed),
            kept: names(kept),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LIVE;
    use config::Key;

    #[test]
    fn what_changes_live_is_known() {
        for name in LIVE {
            assert!(Key::named(name).is_some(), "{name}");
        }
    }
}
