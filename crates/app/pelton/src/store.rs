//! `pelton store`: runs the store alone, for clients that use RESP, until a signal or a client
//! stops it.

use reactor::{Sharing, Side, Stop, notify};
use report::log;
use report::{EXIT_OK, Error};
use store::{Config, ErrorKind, Limits, LogLevel, Server};
use tracing::Level;

use crate::life::stop_on_signal;
use crate::serve::reactor_error;
use crate::wiring;

/// Runs the store with `words`, which are the arguments of redis-server.
pub(crate) fn run(words: &[String]) -> Result<u8, Error> {
    let mut config =
        Config::from_args(words).map_err(|err| Error::usage(format!("store: {err}")))?;
    start_log(&config)?;
    let sharing = match config.keeps_data() {
        true => Sharing::Alone,
        false => Sharing::Shared,
    };
    let mut held = wiring::hold(config.dir(), sharing, "store: directory")?;
    let detaches = config.detaches();
    // Every client uses a file descriptor, so the limit on descriptors also limits the number of
    // clients.
    config.fit_clients(reactor::raise_descriptors_max().map_err(reactor_error)?);
    let cores = reactor::usable_cores(&reactor::Limits::default()).map_err(reactor_error)?;
    let mut server =
        Server::bind(config, Limits::default(), cores[0], &mut Vec::new()).map_err(host_error)?;
    server.on_log_level(|level| log::set_level(least(level)));
    // Detaches only after the sockets are open. The process that started the store can then still
    // report errors about the sockets.
    if detaches && reactor::detach().map_err(reactor_error)? == Side::Starter {
        log::forget();
        return Ok(EXIT_OK);
    }
    log::begin()?;
    held.iter_mut().for_each(|lock| lock.sign("pelton store"));
    if let Err(err) = reactor::return_freed_memory() {
        tracing::warn!(%err, "freed memory is returned to the host only while clients send commands");
    }
    let stop = Stop::new();
    stop_on_signal(&stop)?;
    for address in server.addresses() {
        tracing::info!(%address, pid = std::process::id(), "the store accepts connections");
    }
    // Reports readiness before the data is loaded. Clients can connect from now on; their commands
    // wait until the data is loaded.
    notify::ready();
    let ended = server.run(&stop).map_err(host_error);
    notify::stopping();
    if let Err(err) = &ended
        && detaches
    {
        // The stderr of a detached process has no reader, so the error goes to the log.
        tracing::error!(%err, "ended");
    }
    ended?;
    tracing::info!("stopped");
    Ok(EXIT_OK)
}

/// Converts a log level of redis-server to the least severe level of events that are logged.
fn least(level: LogLevel) -> Level {
    match level {
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Verbose | LogLevel::Notice => Level::INFO,
        LogLevel::Warning => Level::WARN,
    }
}

fn start_log(config: &Config) -> Result<(), Error> {
    let level = least(config.log_level());
    let Some(file) = config.log_file() else {
        log::start(level);
        return Ok(());
    };
    let host_error = |err| {
        Error::host(format!(
            "store: cannot open logfile {}: {err}",
            file.display()
        ))
    };
    if file.parent() == Some(config.dir()) {
        // The log's file is in the store's directory, which the store itself creates only later.
        std::fs::create_dir_all(config.dir()).map_err(host_error)?;
    }
    log::start_in(level, file.clone()).map_err(host_error)
}

fn host_error(err: store::Error) -> Error {
    let error = Error::host(format!("store: {err}"));
    match err.kind() {
        ErrorKind::Host => error,
        ErrorKind::Data => error.hint(
            "restore the damaged file from a copy, or move the file away to start without it",
        ),
    }
}
