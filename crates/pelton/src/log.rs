//! The log, on stderr or in a file: text where someone watches, a JSON object a line otherwise.

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use tracing::Level;
use tracing::subscriber::set_global_default;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

/// Form of the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

/// Starts the log of this process; events less severe than `level` are not written.
///
/// # Panics
/// When called twice.
pub(crate) fn start(level: Level) {
    let form = if io::stderr().is_terminal() {
        Form::Text
    } else {
        Form::Json
    };
    set_global_default(subscriber(form, level, io::stderr)).expect("`main` starts the log once");
}

/// The same, with the lines appended to `file`, which is opened for each of them so that it can be moved away.
///
/// # Errors
/// The file cannot be written.
///
/// # Panics
/// When called twice.
pub(crate) fn start_in(level: Level, file: PathBuf) -> io::Result<()> {
    append(&file)?;
    let out = move || -> Box<dyn io::Write> {
        match append(&file) {
            Ok(file) => Box::new(file),
            Err(_) => Box::new(io::stderr()),
        }
    };
    set_global_default(subscriber(Form::Json, level, out)).expect("`main` starts the log once");
    Ok(())
}

fn append(file: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(file)
}

fn subscriber<W>(form: Form, level: Level, out: W) -> Box<dyn tracing::Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(out);
    let ours = filter_fn(move |event| Level::DEBUG <= level || !is_of_wire(event.target()));
    match form {
        Form::Text => Box::new(
            lines
                .with_target(false)
                .with_ansi(false)
                .finish()
                .with(ours),
        ),
        Form::Json => Box::new(lines.json().flatten_event(true).finish().with(ours)),
    }
}

/// Whether the event tells what a client did on the wire. The library warns of that, and clients would fill the log.
fn is_of_wire(target: &str) -> bool {
    target.split("::").next() == Some("rustls")
}
