//! `pelton serve`: the library over HTTP until a signal ends it.

use std::rc::Rc;
use std::sync::Arc;

use origin::Core;
use reactor::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::config::{Config, Resolved};
use crate::house;
use crate::https;
use crate::log;
use crate::report::{self, EXIT_OK, Error};

/// What a connection gets that there is no room for.
const SHED: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 5\r\nconnection: close\r\n\r\n";

/// Serves until SIGTERM or SIGINT, then lets what is under way finish.
pub(crate) fn run(resolved: &Resolved) -> Result<u8, Vec<Error>> {
    let config = &resolved.config;
    report::notes(&resolved.notes);
    log::start(config.log_level.0);
    serve(config).map_err(|err| vec![err])
}

fn serve(config: &Config) -> Result<u8, Error> {
    house::readable(&config.root)?;
    // Every connection and every large answer kept ready takes a descriptor.
    reactor::raise_descriptors_max().map_err(reactor_error)?;
    let limits = house::reactor_limits(config);
    let cores = house::cores(config)?;
    let loaded = https::load(config)?;
    let tls = loaded.as_ref().map(|loaded| Arc::clone(&loaded.tls));
    let addresses = https::addresses(config, tls.as_ref());
    let listeners = reactor::bind(&addresses, &cores, &limits)
        .map_err(reactor_error)?
        .exempt(config.proxies.0.clone());
    let schemes = https::schemes(config, tls, listeners.addresses());
    let service = house::service(config, listeners.counters())?;
    let stop = Stop::new();
    stop_on_signal(&stop)?;
    if let Some(loaded) = loaded {
        https::warn(&loaded.concerns);
        https::watch(loaded.tls, config.tls.check_time.0)?;
    }
    for (address, scheme) in listeners.addresses().iter().zip(&*schemes) {
        let (root, scheme) = (config.root.display(), https::prefix(scheme));
        tracing::info!(cores = cores.len(), cells = %service.backend(), "serving {root} at {scheme}://{address}/");
    }
    let drained = reactor::run(listeners, &limits, SHED, &stop, |core| {
        let core = Rc::new(Core::new(
            Arc::clone(&service),
            core.clone(),
            Arc::clone(&schemes),
        ));
        move |conn| origin::serve(Rc::clone(&core), conn)
    });
    let drained = drained.map_err(reactor_error)?;
    service.variants().persist_uses(0);
    tracing::info!(dropped = drained.dropped, "stopped");
    // Nobody waits for the improvements under way, which may take minutes; cells end with this process, and what it
    // leaves half written is told by its name.
    std::mem::forget(service);
    Ok(EXIT_OK)
}

pub(crate) fn reactor_error(err: reactor::Error) -> Error {
    let error = Error::host(err.to_string());
    match err.hint() {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

pub(crate) fn stop_on_signal(stop: &Stop) -> Result<(), Error> {
    let failed = |err: std::io::Error| Error::host(format!("wait for signals: {err}"));
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
    let stop = stop.clone();
    let wait = move || {
        let mut asked = signals.forever();
        if let Some(signal) = asked.next() {
            tracing::info!(
                signal,
                "stopping: no new connections, those open may finish"
            );
            stop.trigger();
        }
        // Who asks twice does not want to wait.
        if asked.next().is_some() {
            std::process::exit(i32::from(EXIT_OK));
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)
        .map_err(failed)?;
    Ok(())
}
