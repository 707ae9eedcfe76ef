//! The log, on stderr: text where someone watches, a JSON object a line otherwise.

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal};

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
