//! Records of the benchmarks, as maps of values.
//!
//! Our own tools write all records. A value that is missing or has the wrong type is therefore a
//! bug, either of the tool that wrote the record or of the code that reads the value. Reading such
//! a value panics. The message names the missing member, or shows the value of the wrong type.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use toml::Value;
use toolkit::stop::{Stop, at};

/// Folder of the records, relative to the checkout.
const FOLDER: &str = "lab/record";

/// Record of one run of a benchmark.
pub(crate) struct Record {
    /// Name of the file, without its extension.
    pub(crate) name: String,
    /// Content of the file.
    pub(crate) value: Value,
}

/// All records of the benchmarks.
pub(crate) struct Records {
    /// Records from the newest to the oldest.
    newest_first: Vec<Record>,
    /// Names of the records that a table cites.
    cited: RefCell<BTreeSet<String>>,
}

/// Row of a table, with the record that it comes from.
pub(crate) struct Row<'a> {
    pub(crate) record: &'a str,
    pub(crate) value: &'a Value,
}

impl Records {
    /// Reads every record in the checkout at `root`.
    ///
    /// # Errors
    /// When a file cannot be read, or is not TOML.
    pub(crate) fn read(root: &Path) -> Result<Records, Stop> {
        let folder = &root.join(FOLDER);
        let mut newest_first = Vec::new();
        for entry in fs::read_dir(folder).map_err(at(folder))? {
            let path = entry.map_err(at(folder))?.path();
            let text = fs::read_to_string(&path).map_err(at(&path))?;
            let value = text.parse::<toml::Table>();
            let value = value
                .map_err(|err| Stop::findings(format!("{}: {err}", path.display())))?
                .into();
            let name = path.file_stem().expect("a file has a name");
            let name = name.to_string_lossy().into_owned();
            newest_first.push(Record { name, value });
        }
        // The name of a record begins with its date.
        newest_first.sort_by(|one, other| other.name.cmp(&one.name));
        Ok(Records {
            newest_first,
            cited: RefCell::default(),
        })
    }

    /// Returns the value called `part` from the newest record of the benchmark `lab` that has such
    /// a value.
    pub(crate) fn newest(&self, lab: &str, part: &str) -> Row<'_> {
        let row = self.all(lab, part).into_iter().next();
        let row = row.unwrap_or_else(|| panic!("no record of {lab} has {part}"));
        self.cited.borrow_mut().insert(row.record.to_owned());
        row
    }

    /// Returns the value called `part` from the newest record of the benchmark `lab` in which the
    /// list `part` has a row that satisfies `is_wanted`; `None` if there is no such record.
    pub(crate) fn newest_with(
        &self,
        lab: &str,
        part: &str,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Option<Row<'_>> {
        let mut rows = self.all(lab, part).into_iter();
        let row = rows.find(|row| list(row.value).iter().any(&is_wanted))?;
        self.cited.borrow_mut().insert(row.record.to_owned());
        Some(row)
    }

    /// Returns the value called `part` of the record called `name`, if the record has it.
    pub(crate) fn part(&self, name: &str, part: &str) -> Option<&Value> {
        let mut records = self.newest_first.iter();
        records.find(|record| record.name == name)?.value.get(part)
    }

    /// Returns the rows of the list `part` in the records of the benchmark `lab`. The record with
    /// the most rows decides which rows are returned, and in which order. Each row is taken from
    /// the newest record that has the row. `key` names the value that distinguishes the rows.
    pub(crate) fn rows(&self, lab: &str, part: &str, key: &str) -> Vec<Row<'_>> {
        let all = self.all(lab, part);
        let most = all.iter().map(|record| list(record.value).len()).max();
        let whole = all.iter().find(|it| Some(list(it.value).len()) == most);
        let whole = whole.unwrap_or_else(|| panic!("no record of {lab} has {part}"));
        let rows = list(whole.value).iter().map(|row| {
            let newest = all.iter().find_map(|record| {
                let mut rows = list(record.value).iter();
                let value = rows.find(|other| other.get(key) == row.get(key))?;
                let record = record.record;
                Some(Row { record, value })
            });
            let newest = newest.expect("the whole record has the row");
            self.cited.borrow_mut().insert(newest.record.to_owned());
            newest
        });
        rows.collect()
    }

    /// Returns the records that a table has cited so far, the oldest first.
    pub(crate) fn cited(&self) -> Vec<&Record> {
        let cited = self.cited.borrow();
        let records = self.newest_first.iter().rev();
        records
            .filter(|record| cited.contains(&record.name))
            .collect()
    }

    fn all(&self, lab: &str, part: &str) -> Vec<Row<'_>> {
        let of_lab = self.newest_first.iter();
        let of_lab = of_lab.filter(|it| text(&it.value, "benchmark") == lab);
        let rows = of_lab.filter_map(|record| {
            let value = record.value.get(part)?;
            let record = &record.name;
            Some(Row { record, value })
        });
        rows.collect()
    }
}

/// Returns the member `name`, which may be a path of names with dots in between.
pub(crate) fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    name.split('.').fold(value, |value, name| {
        value
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {value:?}"))
    })
}

/// Returns the elements of a list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("not a list: {value:?}"))
}

/// Returns the number in the member `name` of each row for which `is_wanted` returns true.
pub(crate) fn numbers(rows: &Value, name: &str, is_wanted: impl Fn(&Value) -> bool) -> Vec<f64> {
    let rows = list(rows).iter().filter(|row| is_wanted(row));
    rows.map(|row| number(row, name)).collect()
}

/// Returns the number in the member `name`.
pub(crate) fn number(value: &Value, name: &str) -> f64 {
    let value = member(value, name);
    let integer = value.as_integer().map(|integer| integer as f64);
    value
        .as_float()
        .or(integer)
        .unwrap_or_else(|| panic!("not a number: {value:?}"))
}

/// Returns the text in the member `name`.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    let value = member(value, name);
    value
        .as_str()
        .unwrap_or_else(|| panic!("not a text: {value:?}"))
}

/// Returns whether the text or boolean in the member `name` is `expected`.
pub(crate) fn is(value: &Value, name: &str, expected: impl Into<Value>) -> bool {
    member(value, name) == &expected.into()
}
