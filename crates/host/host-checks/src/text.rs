//! Text of the report for people.

use std::io::{self, Write};

use crate::check::{Finding, Report, Standing};

/// Colours of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colours.
    Plain,
    /// Colours of ECMA-48.
    Coloured,
}

/// Rows that are written in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All rows.
    All,
    /// Findings; the others in short.
    Findings,
}

impl Style {
    /// Returns the name of an outcome in its colour.
    fn standing(self, standing: Standing) -> String {
        let (name, code) = match standing {
            Standing::Problem => ("problem", 31),
            Standing::Gain => ("gain", 33),
            Standing::Tradeoff => ("trade-off", 36),
            Standing::Unknown => ("unknown", 35),
            Standing::Fine => ("fine", 32),
            Standing::NotApplicable => ("not applicable", 2),
        };
        match self {
            Style::Plain => name.to_owned(),
            Style::Coloured => format!("\x1b[{code}m{name}\x1b[0m"),
        }
    }
}

/// Writes the report for people: findings in full, trade-offs and unknown rows in a line each, and
/// the rest as a list of names; or all rows in full.
///
/// # Errors
/// The output cannot be written.
pub fn write_report(
    out: &mut impl Write,
    report: &Report,
    server: Option<u32>,
    rows: Rows,
    style: Style,
) -> io::Result<()> {
    let is_full = rows == Rows::All;
    let count = |standing| report.count(standing);
    writeln!(
        out,
        "problems: {}, gains: {}, trade-offs: {}, unknown: {}, fine: {}, not applicable: {}",
        count(Standing::Problem),
        count(Standing::Gain),
        count(Standing::Tradeoff),
        count(Standing::Unknown),
        count(Standing::Fine),
        count(Standing::NotApplicable)
    )?;
    match server {
        Some(pid) => writeln!(out, "server: process {pid}")?,
        None => writeln!(
            out,
            "server: no running server was found; give --data or --pid to name a server"
        )?,
    }
    for standing in Standing::ALL {
        let rows = report.0.iter();
        let rows: Vec<&Finding> = rows
            .filter(|row| row.judgement.standing == standing)
            .collect();
        if rows.is_empty() {
            continue;
        }
        if is_full || standing.is_finding() {
            for row in rows {
                writeln!(out)?;
                write_row(out, row, style)?;
            }
            continue;
        }
        let name = style.standing(standing);
        if matches!(standing, Standing::Fine | Standing::NotApplicable) {
            let ids: Vec<&str> = rows.iter().map(|row| row.check.id).collect();
            writeln!(out, "\n{name}: {}", ids.join(" "))?;
            continue;
        }
        writeln!(out, "\n{name}:")?;
        for row in rows {
            writeln!(out, "  {:<18} {}", row.check.id, row.judgement.state)?;
        }
    }
    writeln!(
        out,
        "\nThe libreactor article is \"Extreme HTTP Performance Tuning\" by Marc Richards (2021), \
         which measured a gain per step."
    )?;
    if !is_full {
        writeln!(
            out,
            "\npelton doctor --all shows every row in full; docs/doctor.md explains the rows"
        )?;
    }
    Ok(())
}

fn write_row(out: &mut impl Write, row: &Finding, style: Style) -> io::Result<()> {
    let (check, judgement) = (row.check, &row.judgement);
    let standing = style.standing(judgement.standing);
    writeln!(out, "{standing}  {}: {}", check.id, check.title)?;
    writeln!(out, "  found     {}", judgement.state)?;
    for evidence in &judgement.evidence {
        writeln!(out, "  evidence  {}: {}", evidence.source, evidence.value)?;
    }
    writeln!(out, "  gain      {}", check.gain)?;
    writeln!(out, "  for       {}", check.sizes)?;
    writeln!(out, "  risk      {}", check.risk)?;
    writeln!(
        out,
        "  change    {} (class {})",
        row.change(),
        check.class.letter()
    )?;
    writeln!(out, "  undo      {}", check.undo)
}
