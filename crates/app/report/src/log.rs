//! The log, on stderr or in a file: text on a terminal, one JSON object per line otherwise.
//!
//! Only the log's own thread waits for a line to be written, and no thread ends because a line
//! cannot be written.

mod outlet;
mod recent;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use outlet::{Handover, Outlet};
use recent::Recent;
pub use recent::{LogEntry, Problems};
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::set_global_default;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::reload;

use crate::Error;

/// Function that sets the level of the log. It exists once the log is started.
static SET_LEVEL: OnceLock<Box<dyn Fn(Level) + Send + Sync>> = OnceLock::new();

/// Output of all lines of this process.
static OUTLET: Outlet = Outlet::new();

/// Form of the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

/// Starts the log of this process. Events less severe than `level` are not written. Lines wait in
/// memory until [`begin`] is called.
///
/// # Panics
/// If called twice.
pub fn start(level: Level) {
    let form = if io::stderr().is_terminal() {
        Form::Text
    } else {
        Form::Json
    };
    install(form, level);
}

/// Starts the log of this process, with the lines appended to `file`. The file is opened for each
/// write, so that it can be moved away.
///
/// # Errors
/// The file cannot be written.
///
/// # Panics
/// If called twice.
pub fn start_in(level: Level, file: PathBuf) -> io::Result<()> {
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

/// Starts the log's thread, which writes the lines. A process that forks must fork before this
/// call: the child would have no copy of the thread.
pub fn begin() -> Result<(), Error> {
    let begun = OUTLET.begin();
    begun.map_err(|err| {
        Error::host(format!(
            "cannot start the thread that writes the log: {err}"
        ))
    })
}

/// Drops the lines that wait to be written. After a fork, both processes have a copy of these
/// lines. One process calls this function, and the other process writes the lines.
pub fn forget() {
    OUTLET.forget();
}

/// Queues a line for people to read, without a timestamp or a level.
pub fn say(line: &dyn Display) {
    OUTLET.push(format!("{line}\n").as_bytes());
}

/// Waits until all lines are written, or until the output has accepted nothing for a second. Called
/// at the end of the process.
pub fn finish() {
    OUTLET.finish();
}

/// Waits until the log's thread has written all lines, at most `limit`. Returns at once if that
/// thread does not run. May be called on any thread in any state, even during a panic of the log's
/// thread.
pub(crate) fn finish_within(limit: Duration) {
    OUTLET.finish_within(limit);
}

/// Changes the level of the log. After this call, events less severe than `level` are not written.
pub fn set_level(level: Level) {
    let set = SET_LEVEL.get().expect("`main` has started the log");
    set(level);
}

/// Returns the last warnings and errors of this process, at most 100, the newest first.
#[must_use]
pub fn recent() -> Vec<LogEntry> {
    recent::KEPT.entries()
}

/// Returns the number of warnings and errors of this process so far.
#[must_use]
pub fn problems() -> Problems {
    recent::KEPT.problems()
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
        // With `true`, the default, `tracing_subscriber` would report a failed write on stderr, and
        // panic if that write fails too.
        .log_internal_errors(false)
        .with_writer(out);
    match form {
        Form::Text => limited(lines.with_target(false).with_ansi(false).finish(), level),
        Form::Json => limited(lines.json().flatten_event(true).finish(), level),
    }
}

/// Adds two filters to the subscriber: one by level, and one that drops the events of
/// [`is_from_tls`] unless `level` is at least DEBUG.
fn limited<S>(lines: S, level: Level) -> Box<dyn tracing::Subscriber + Send + Sync>
where
    S: tracing::Subscriber + Send + Sync + 'static,
{
    let ours = filter_fn(move |event| Level::DEBUG <= level || !is_from_tls(event.target()));
    let (least, handle) = reload::Layer::new(LevelFilter::from_level(level));
    // Tests create several subscribers; [`set_level`] acts on the first one of a process.
    SET_LEVEL.get_or_init(|| {
        Box::new(move |level| {
            let set = handle.modify(|least| *least = LevelFilter::from_level(level));
            set.expect("the subscriber lives until the process ends");
        })
    });
    Box::new(lines.with(least).with(ours).with(Recent(&recent::KEPT)))
}

/// Returns whether the event comes from the TLS library. That library warns about the behaviour of
/// clients, which could thus fill the log.
fn is_from_tls(target: &str) -> bool {
    target.split("::").next() == Some("rustls")
}
