//! Reader of TOML configuration files, which returns assignments with their line numbers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use report::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::credentials::hide_passwords;
use super::nearest::nearest;
use super::settings::{GROUPS, KEYS, Key};
use super::source::{Assignment, Source};
use super::value::Raw;

/// Reads the TOML `text` of the file at `path`. Returns the assignments and errors in the order in
/// which they occur in the file.
pub(crate) fn read(path: &Arc<PathBuf>, text: &str) -> Vec<Result<Assignment, Error>> {
    let mut reader = Reader {
        path,
        text,
        out: Vec::new(),
    };
    match DeTable::parse(text) {
        Ok(table) => reader.table("", table.get_ref()),
        Err(err) => reader.out.push(Err(malformed(path, text, &err))),
    }
    reader.out
}

fn malformed(path: &Path, text: &str, err: &toml::de::Error) -> Error {
    let line = err.span().map_or(1, |span| line_at(text, span.start));
    let message = err.message().replace('\n', ", ");
    Error::usage(format!("{}:{line}: {message}", path.display()))
}

struct Reader<'a> {
    path: &'a Arc<PathBuf>,
    text: &'a str,
    out: Vec<Result<Assignment, Error>>,
}

impl Reader<'_> {
    /// Reads the keys of a table. `prefix` is the name of the table with a dot after it, or empty
    /// for the top level.
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        let mut members: Vec<_> = table.iter().collect();
        members.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in members {
            let full = format!("{prefix}{}", name.get_ref());
            let line = line_at(self.text, name.span().start);
            let is_group = GROUPS.contains(&full.as_str());
            match (Key::named(&full), value.get_ref()) {
                (Some(key), _) => self.out.push(Ok(Assignment {
                    key,
                    raw: raw(value),
                    source: Source::File {
                        path: Arc::clone(self.path),
                        line,
                        name: full,
                    },
                })),
                (None, DeValue::Table(members)) if is_group => {
                    self.table(&format!("{full}."), members);
                }
                (None, _) if is_group => {
                    let what = format!("{full}: expected a table, found {}", raw(value));
                    self.out.push(Err(self.error(line, &what)));
                }
                (None, _) => self.out.push(Err(self.unknown(line, &full))),
            }
        }
    }

    fn unknown(&self, line: usize, full: &str) -> Error {
        let known = KEYS
            .iter()
            .map(|key| key.name)
            .chain(GROUPS.iter().copied());
        let error = self.error(line, &format!("unknown key: {full}"));
        error.hint(match nearest(full, known) {
            Some(near) => format!("the nearest known key is {near}"),
            None => "pelton check lists every key".to_owned(),
        })
    }

    fn error(&self, line: usize, what: &str) -> Error {
        let what = hide_passwords(what);
        Error::usage(format!("{}:{line}: {what}", self.path.display()))
    }
}

/// Converts a TOML value; its position in the file is dropped.
pub(super) fn raw(value: &Spanned<DeValue<'_>>) -> Raw {
    match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Raw::Integer(number),
            Err(_) => Raw::Other(number.to_string()),
        },
        DeValue::Float(number) => Raw::Other(number.to_string()),
        DeValue::Boolean(truth) => Raw::Truth(*truth),
        DeValue::Datetime(time) => Raw::Other(time.to_string()),
        DeValue::Array(elements) => Raw::List(elements.iter().map(raw).collect()),
        DeValue::Table(members) => Raw::Table(
            members
                .iter()
                .map(|(name, value)| (name.get_ref().to_string(), raw(value)))
                .collect(),
        ),
    }
}

/// Returns the number of the line, counted from 1, that contains the byte at `offset`.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
