//! Table of all settings, which `pelton check` prints.

use std::io::{self, Write};

use crate::{KEYS, Resolved};

/// Writes the table of all settings to `out`.
pub fn write_table(resolved: &Resolved, out: &mut impl Write) -> io::Result<()> {
    let mut rows = vec![["key", "value", "unit", "from"].map(str::to_owned)];
    rows.extend(KEYS.iter().map(|key| {
        let value = match (key.show_public)(&resolved.config) {
            value if value.is_empty() => "-".to_owned(),
            value => value,
        };
        [
            key.name.to_owned(),
            value,
            key.unit.to_owned(),
            resolved.source(key).to_string(),
        ]
    }));
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().expect("the table has at least its header row")
    };
    let [key_width, value_width, unit_width] = [0, 1, 2].map(width);
    for [key, value, unit, from] in &rows {
        writeln!(
            out,
            "{key:key_width$}  {value:value_width$}  {unit:unit_width$}  {from}"
        )?;
    }
    Ok(())
}
