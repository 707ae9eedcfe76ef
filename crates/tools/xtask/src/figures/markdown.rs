//! Tables in Markdown, and functions that format the numbers in them.

use toml::Value;

use crate::record::{Records, member, number, text};

/// Table under construction.
pub(super) struct Markdown {
    lines: Vec<String>,
}

impl Markdown {
    /// Starts a table with `heads` as its column headings.
    pub(super) fn new(heads: &[&str]) -> Markdown {
        let mut table = Markdown { lines: Vec::new() };
        table.row(heads);
        table.lines.push("|---".repeat(heads.len()) + "|");
        table
    }

    /// Appends a row.
    pub(super) fn row<Cell: AsRef<str>>(&mut self, cells: &[Cell]) {
        let cells: Vec<_> = cells.iter().map(AsRef::as_ref).collect();
        self.lines.push(format!("| {} |", cells.join(" | ")));
    }

    /// Returns the lines of the table, between two empty lines.
    pub(super) fn text(&self) -> String {
        format!("\n{}\n\n", self.lines.join("\n"))
    }
}

/// Renders the table of the records from which the tables before it were rendered.
pub(super) fn records(records: &Records) -> Markdown {
    let mut table = Markdown::new(&[
        "record",
        "processor, cores, kernel",
        "load average before the run",
        "Pelton",
        "programs",
    ]);
    for record in records.cited() {
        let host = member(&record.value, "host");
        let versions = member(&record.value, "versions").as_table();
        let versions = versions.into_iter().flatten().map(|(name, value)| {
            let printed = value.as_str().unwrap_or_default();
            format!("{name} {}", version(printed).unwrap_or(printed))
        });
        table.row(&[
            record.name.clone(),
            format!(
                "{}, {}, {}",
                text(host, "cpu"),
                number(host, "cores"),
                text(host, "kernel")
            ),
            text(host, "load").to_owned(),
            text(&record.value, "pelton").to_owned(),
            versions.collect::<Vec<_>>().join(", "),
        ]);
    }
    table
}

/// Returns the version number in `printed`, the line with which a program states its version. The
/// number is in the first word that has a digit before a dot. Text in front of the number is cut
/// off: `nginx/1.26.0` gives `1.26.0`.
pub(crate) fn version(printed: &str) -> Option<&str> {
    let mut words = printed.split_whitespace();
    let word = words.find(|word| {
        let mut dots = word.match_indices('.');
        dots.any(|(at, _)| word[..at].ends_with(|char: char| char.is_ascii_digit()))
    })?;
    let word = word.rsplit(['/', '=']).next()?;
    let start = word.find(|char: char| char.is_ascii_digit())?;
    Some(&word[start..])
}

/// Formats a ratio with its 95 % confidence interval.
pub(super) fn ratio(value: &Value) -> String {
    let [median, low, high] = ["median", "low", "high"].map(|name| number(value, name));
    format!("{median:.2}× ({low:.2}…{high:.2})")
}
