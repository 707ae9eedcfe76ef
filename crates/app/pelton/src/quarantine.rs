//! `pelton quarantine`: lists and lifts the quarantine of originals that crashed cells.

use std::io::Write as _;

use config::Config;
use conversion::quarantine::{self, Quarantined};
use report::{EXIT_OK, Error, print};

use crate::flags::QuarantineCommand;

/// Lists the originals in quarantine, or lifts the quarantine of one, whether or not a server runs.
pub(crate) fn run(does: &QuarantineCommand, config: &Config) -> Result<u8, Vec<Error>> {
    match does {
        QuarantineCommand::List(_) => {
            let entries = quarantine::list(&config.data).map_err(|err| {
                vec![Error::host(format!(
                    "quarantine: cannot list {}: {err}",
                    config.data.display()
                ))]
            })?;
            print(|out| {
                entries.iter().try_for_each(|entry| {
                    let Quarantined {
                        hash,
                        path,
                        bytes,
                        since_unix_s,
                        cause,
                    } = entry;
                    writeln!(out, "{hash}\t{bytes}\t{since_unix_s}\t{path}\t{cause}")
                })
            })
        }
        QuarantineCommand::Lift(typed) => {
            let lifted = quarantine::lift(&config.data, &typed.original).map_err(|err| {
                vec![Error::host(format!(
                    "quarantine: cannot lift {}: {err}",
                    typed.original
                ))]
            })?;
            if lifted.is_empty() {
                let what = format!("quarantine: {} is not in quarantine", typed.original);
                let hint = "pelton quarantine list, with the same --data, shows the originals in quarantine";
                return Err(vec![Error::usage(what).hint(hint)]);
            }
            for entry in lifted {
                report::line(format_args!("lifted {} {}", entry.hash, entry.path));
            }
            Ok(EXIT_OK)
        }
    }
}
