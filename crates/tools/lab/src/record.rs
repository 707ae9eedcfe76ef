//! Records: dated files of raw samples, with the context needed to interpret them.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::iter;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;
use toolkit::stop::{Stop, at};
use wall_clock::since_1970;

use crate::corpus::{self, Photograph};
use crate::host::{self, Host};
use crate::peer::PeerProgram;

/// Context and samples of one run of a benchmark.
#[derive(Serialize)]
pub(crate) struct Record {
    benchmark: &'static str,
    /// Start of the run, in UTC.
    date: String,
    pelton: String,
    host: Host,
    versions: BTreeMap<String, String>,
    corpus: Vec<corpus::Entry>,
    /// Definition of the benchmark, without its `analysis` text.
    definition: toml::Table,
    #[serde(flatten)]
    tables: toml::Table,
}

impl Record {
    /// Starts a record with the facts that are known before the first sample, such as the load of
    /// the machine.
    pub(crate) fn begin(
        benchmark: &'static str,
        definition: &toml::Table,
        peers: &[&[&str]],
        photographs: &[Photograph],
    ) -> Record {
        let mut definition = definition.clone();
        definition.remove("analysis");
        Record {
            benchmark,
            date: date(SystemTime::now()),
            pelton: host::commit(Path::new(".")),
            host: Host::read(),
            versions: host::versions(peers),
            corpus: photographs.iter().map(Photograph::entry).collect(),
            definition,
            tables: toml::Table::new(),
        }
    }

    /// Adds the versions of the peers that were built elsewhere.
    pub(crate) fn add_versions(&mut self, peers: &[PeerProgram]) {
        self.versions.extend(peers.iter().map(PeerProgram::version));
    }

    /// Adds samples, or a summary of samples, under a name.
    ///
    /// # Panics
    /// Panics if the rows are not structs of plain values, which is a bug.
    pub(crate) fn add(&mut self, name: &str, rows: &impl Serialize) {
        let value = toml::Value::try_from(rows).expect("rows are structs of numbers and words");
        self.tables.insert(name.to_owned(), value);
    }

    /// Writes the record to a file named after its date and benchmark, plus a number if a record of
    /// the same minute exists.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Stop> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let name = format!("{}-{}", self.date.replace(':', ""), self.benchmark);
        let text = toml::to_string(self).expect("tables come last, and keys are words");
        let names = iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
        let path = names
            .map(|name| folder.join(name + ".toml"))
            .find(|path| !path.exists());
        let path = path.expect("numbers for the names do not run out");
        let mut file = fs::File::create_new(&path).map_err(at(&path))?;
        file.write_all(text.as_bytes()).map_err(at(&path))?;
        eprintln!("lab: the record is in {}", path.display());
        Ok(())
    }
}

/// Formats a time as ISO 8601, to the minute.
fn date(moment: SystemTime) -> String {
    let minutes = since_1970(moment).as_secs() / 60;
    let (days, minute) = (minutes / 1440, minutes % 1440);
    let (year, month, day) = civil(days);
    format!(
        "{year}-{month:02}-{day:02}T{:02}:{:02}Z",
        minute / 60,
        minute % 60
    )
}

/// Converts a count of days since 1970-01-01 to year, month and day of the Gregorian calendar.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while 365 + u64::from(leap(year)) <= days {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}
