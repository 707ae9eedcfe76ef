//! The log, on stderr or in a file: text where someone watches, a JSON object a line otherwise.
//!
//! No thread but the log's own waits for a line to be written, and none ends because it cannot be.

mod outlet;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use outlet::{Handover, Outlet};
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::set_global_default;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::reload;

use crate::report::Error;

/// Sets the level of the log that was started.
static SET_LEVEL: OnceLock<Box<dyn Fn(Level) + Send + Sync>> = OnceLock::new();

/// Where the lines of this process go.
static OUTLET: Outlet = Outlet::new();

/// Form of the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

/// Starts the log of this process; events less severe than `level` are not written. Lines wait until [`begin`].
///
/// # Panics
/// When called twice.
pub(crate) fn start(level: Level) {
    let form = if io::stderr().is_terminal() {
        Form::Text
    } else {
        Form::Json
    };
    install(form, level);
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
    OUTLET.set_sink(Box::new(move || match append(&file) {
        Ok(file) => Box::new(file),
        Err(_) => Box::new(io::stderr()),
    }));
    install(Form::Json, level);
    Ok(())
}

fn install(form: Form, level: Level) {
    let lines = subscriber(form, level, || Handover(&OUTLET));
    set_global_default(lines).expect("`main` starts the log once");
}

/// Starts the thread that writes lines. A process that forks does so before.
///
/// # Errors
/// The host gives no thread.
pub(crate) fn begin() -> Result<(), Error> {
    let begun = OUTLET.begin();
    begun.map_err(|err| Error::host(format!("start the log's thread: {err}")))
}

/// Drops lines that wait, since the other side of a fork writes them.
pub(crate) fn forget() {
    OUTLET.forget();
}

/// Adds a line as it is, for people.
pub(crate) fn say(line: &dyn Display) {
    OUTLET.push(format!("{line}\n").as_bytes());
}

/// Waits until all lines are written; for a second where nobody reads them. Called at the end of the process.
pub(crate) fn finish() {
    OUTLET.finish();
}

/// From here on events less severe than `level` are not written.
pub(crate) fn set_level(level: Level) {
    let set = SET_LEVEL.get().expect("`main` has started the log");
    set(level);
}

fn append(file: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(file)
}

fn subscriber<W>(form: Form, level: Level, out: W) -> Box<dyn tracing::Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        // It would tell of a failed write on stderr, and panic where that fails too.
        .log_internal_errors(false)
        .with_writer(out);
    match form {
        Form::Text => limited(lines.with_target(false).with_ansi(false).finish(), level),
        Form::Json => limited(lines.json().flatten_event(true).finish(), level),
    }
}

/// The same lines, without those that are not to be written.
fn limited<S>(lines: S, level: Level) -> Box<dyn tracing::Subscriber + Send + Sync>
where
    S: tracing::Subscriber + Send + Sync + 'static,
{
    let ours = filter_fn(move |event| Level::DEBUG <= level || !is_of_wire(event.target()));
    let (least, handle) = reload::Layer::new(LevelFilter::from_level(level));
    // Tests have subscribers of their own; the first is the process's.
    SET_LEVEL.get_or_init(|| {
        Box::new(move |level| {
            let set = handle.modify(|least| *least = LevelFilter::from_level(level));
            set.expect("the log is there until the process ends");
        })
    });
    Box::new(lines.with(least).with(ours))
}

/// Whether the event tells what a client did on the wire. The library warns of that, and clients would fill the log.
fn is_of_wire(target: &str) -> bool {
    target.split("::").next() == Some("rustls")
}
