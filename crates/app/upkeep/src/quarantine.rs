//! `pelton quarantine`: lists and lifts the quarantine of originals that crashed cells, whether or
//! not a server runs.

use std::io::Write as _;

use config::Config;
use conversion::quarantine::{self, Quarantined};
use report::{EXIT_OK, Error, print};

/// Prints one line per original in quarantine.
pub fn list(config: &Config) -> Result<u8, Vec<Error>> {
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

/// Lifts the quarantine of `original`, which is a path in the library or the BLAKE3 hash of a file.
pub fn lift(config: &Config, original: &str) -> Result<u8, Vec<Error>> {
    let lifted = quarantine::lift(&config.data, original).map_err(|err| {
        vec![Error::host(format!(
            "quarantine: cannot lift the quarantine of {original}: {err}"
        ))]
    })?;
    if lifted.is_empty() {
        let what = format!("quarantine: {original} is not in quarantine");
        let hint =
            "pelton quarantine list, with the same --data, shows the originals in quarantine";
        return Err(vec![Error::usage(what).hint(hint)]);
    }
    for entry in lifted {
        report::line(format_args!("lifted {} {}", entry.hash, entry.path));
    }
    Ok(EXIT_OK)
}
