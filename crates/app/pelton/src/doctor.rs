//! `pelton doctor`: reports which properties of the host and of a running server cost performance
//! or safety. Only reads.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use config::Config;
use host::{Roots, Subject};
use host_checks::{Rows, Style, write_report};
use report::{EXIT_FINDINGS, EXIT_OK, Error, print};

use crate::flags::Doctor;

/// Prints the report. The exit code says if there are findings.
pub(crate) fn run(typed: &Doctor, config: &Config) -> Result<u8, Vec<Error>> {
    let roots = Roots::default();
    let subject = subject(typed, config, &roots).map_err(|err| vec![err])?;
    let server = subject.server();
    let report = host_checks::judge(&host::gather(&roots, subject));
    if typed.json {
        let document = ops::host_report(&report, server);
        print(|out| writeln!(out, "{document:#}"))?;
    } else {
        let rows = match typed.all {
            true => Rows::All,
            false => Rows::Findings,
        };
        let style = style_of_stdout();
        print(|out| write_report(out, &report, server, rows, style))?;
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

/// Uses colours only on a terminal, and not if `NO_COLOR` is set (no-color.org).
fn style_of_stdout() -> Style {
    let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match io::stdout().is_terminal() && !is_refused {
        true => Style::Coloured,
        false => Style::Plain,
    }
}
