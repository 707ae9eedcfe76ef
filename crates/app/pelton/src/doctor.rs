//! `pelton doctor`: reports which properties of the host and of a running server cost performance
//! or safety. Only reads.

use std::env;
use std::io::{self, IsTerminal as _, Write};

use config::Config;
use host::{Roots, Subject};
use host_checks::{Finding, Report, Standing};
use report::{EXIT_FINDINGS, EXIT_OK, Error, print};

use crate::flags::Doctor;

/// Prints the report. The exit code says if there are findings.
pub(crate) fn run(typed: &Doctor, config: &Config) -> Result<u8, Vec<Error>> {
    let roots = Roots::default();
    let subject = subject(typed, config, &roots).map_err(|err| vec![err])?;
    let server = match &subject {
        Subject::Server { pid, .. } => Some(*pid),
        Subject::Caller(_) => None,
    };
    let report = host_checks::judge(&host::gather(&roots, subject));
    if typed.json {
        let document = ops::host_report(&report, server);
        print(|out| writeln!(out, "{document:#}"))?;
    } else {
        let style = Style::of_stdout();
        print(|out| write(out, &report, server, typed.all, style))?;
    }
    Ok(match report.has_findings() {
        true => EXIT_FINDINGS,
        false => EXIT_OK,
    })
}

/// Finds the server: by its process id, or by the lock of the data directory.
fn subject(typed: &Doctor, config: &Config, roots: &Roots) -> Result<Subject, Error> {
    let found = host::holder(roots, &config.data);
    let pid = match typed.pid {
        Some(pid) if !roots.proc.join(pid.to_string()).exists() => {
            return Err(Error::usage(format!(
                "--pid {pid}: there is no such process"
            )));
        }
        Some(pid) => pid,
        None => match found.ok() {
            Some(pid) => *pid,
            None => return Ok(Subject::Caller(found)),
        },
    };
    // `--pid` may name a process other than the server of the data directory. Such a process must
    // not receive the server's token.
    let is_holder = found.ok() == Some(&pid);
    let file = config.admin_token_file.0.as_deref();
    let token = file.filter(|_| is_holder).map(host::token);
    Ok(Subject::Server { pid, token })
}

/// Colours of the report.
#[derive(Clone, Copy, Debug)]
enum Style {
    Plain,
    Coloured,
}

impl Style {
    /// Uses colours only on a terminal, and not if `NO_COLOR` is set (no-color.org).
    fn of_stdout() -> Style {
        let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match io::stdout().is_terminal() && !is_refused {
            true => Style::Coloured,
            false => Style::Plain,
        }
    }

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
/// the rest as a list of names. `is_full` writes every row in full.
fn write(
    out: &mut impl Write,
    report: &Report,
    server: Option<u32>,
    is_full: bool,
    style: Style,
) -> io::Result<()> {
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
        None => writeln!(out, "server: none was found; --data or --pid names one")?,
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
    if !is_full {
        writeln!(
            out,
            "\npelton doctor --all shows every row in full; docs/doctor.md explains them"
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

#[cfg(test)]
mod tests;
