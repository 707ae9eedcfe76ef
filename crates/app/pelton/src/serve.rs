//! `pelton serve`: serves the library over HTTP until a signal ends the server.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use config::https::{self, Loaded};
use config::{Config, Resolved, components, folders};
use functions::Programs;
use library_mounts::{Music, Quarantine, page};
use ops::{Ops, Sources};
use reactor::{DirLock, Listeners, Predecessor, Program, Sharing, Stop, notify};
use report::log;
use report::{EXIT_OK, Error};
use server::gate::Gate;
use server::{Live, LiveCore};
use web_assets::Assets;

use crate::certificates;
use crate::flags::SettingFlags;
use crate::life::{Life, Upgrade};
use crate::reload::Configured;
use crate::shared_store::SharedStore;
use crate::wiring::{self, Handlers};
use crate::worker;

/// Response to a connection that exceeds the maximum number of connections.
const SHED: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 5\r\nconnection: close\r\n\r\n";

/// Serves until SIGTERM or SIGINT, then finishes open requests. `typed` holds the flags from which
/// `resolved` was made.
pub(crate) fn run(typed: SettingFlags, resolved: &Resolved) -> Result<u8, Vec<Error>> {
    let config = &resolved.config;
    report::notes(&resolved.notes);
    log::start(config.log_level.0);
    log::begin().map_err(|err| vec![err])?;
    serve(typed, config).map_err(|err| vec![err])
}

fn serve(typed: SettingFlags, config: &Config) -> Result<u8, Error> {
    let (predecessor, mut inherited) = inherited()?;
    folders::require_readable(&config.root)?;
    let _held = hold(config, predecessor.is_some())?;
    let loaded = https::load(config)?;
    let record = SharedStore::open(config, &mut inherited)?;
    let listeners = listen(config, loaded.as_ref(), predecessor.is_none(), inherited)?;
    // Every connection uses a file descriptor, and so does every large response that is cached.
    reactor::raise_descriptors_max().map_err(reactor_error)?;
    let limits = components::reactor_limits(config);
    let pool = wiring::conversions(config)?;
    let music = Music::start(config)?;
    let ops = Ops::new(config);
    let handlers = handlers(config, &pool, &music, &ops)?;
    let counters = listeners.counters();
    let service = wiring::service(config, pool, counters, handlers.mounts(), record.store())?;
    music.attach(&service);
    let tls = loaded.as_ref().map(|loaded| Arc::clone(&loaded.tls));
    let schemes = https::schemes(config, tls.clone(), listeners.addresses());
    if let Some(loaded) = loaded {
        certificates::warn(&loaded.concerns);
        certificates::watch(loaded.tls, config.tls.check_time.0)?;
    }
    let posture = service.posture();
    tracing::info!(around = %posture.line(), "cells");
    let origins = https::origins(listeners.addresses(), &schemes);
    let (stop, live) = (Stop::new(), Live::new(service, schemes));
    let patience = config.limits.upgrade_timeout.0;
    let mut sockets = listeners.sockets().map_err(reactor_error)?;
    sockets.extend(record.sockets()?);
    let record = record.run()?;
    ops.start(Sources::new(&live, music.indexer(), tls.as_ref()))?;
    let life = Life {
        stop: stop.clone(),
        live: Arc::clone(&live),
        configured: Configured::new(typed, config, handlers),
        tls,
        upgrade: Upgrade::new(Program::own().map_err(reactor_error)?, sockets, patience),
    };
    life.begin()?;
    // The handler of signals was started before the origins are logged, because a program that
    // reads the log may react with a signal.
    let cores = listeners.counters().len();
    announce(config, origins, cores, &posture);
    let not_ready = AtomicUsize::new(cores);
    let drained = reactor::run(listeners, &limits, SHED, &stop, |core| {
        let live = LiveCore::new(&live, core.clone());
        if not_ready.fetch_sub(1, Ordering::AcqRel) == 1 {
            notify::ready();
            predecessor.as_ref().inspect(|old| old.dismiss());
        }
        move |conn| server::serve(live.get(), conn)
    });
    let drained = drained.map_err(reactor_error)?;
    music.stop();
    ops.stop();
    let service = live.current();
    service.variants().persist_uses(0);
    if let Some(access) = service.access_log() {
        access.finish();
    }
    record.stop();
    tracing::info!(dropped = drained.dropped, "stopped");
    // Leaks the service. Dropping it would wait for running background conversions, which may take
    // minutes, although no client waits for them. The cells end with this process. The next process
    // recognises partially written files by their names.
    std::mem::forget((service, live));
    Ok(EXIT_OK)
}

/// Starts the operator's programs, and returns the handlers of all paths outside the library.
fn handlers(
    config: &Config,
    pool: &Arc<sandbox::Pool>,
    music: &Music,
    ops: &Arc<Ops>,
) -> Result<Handlers, Error> {
    let assets = page_assets(config)?;
    Ok(Handlers {
        programs: Programs::start(config, Arc::clone(pool), worker::ELF)?,
        others: [
            music.mounts(config, &assets),
            page::mounts(assets),
            vec![Quarantine::mount(config)],
            ops::mounts(ops, vec![worker::known()]),
        ]
        .concat(),
        users: music.users(),
    })
}

/// Returns the files of the web page: those built into the program, or those in the configured
/// folder.
fn page_assets(config: &Config) -> Result<Assets, Error> {
    let Some(folder) = &config.page_dir.0 else {
        return Ok(Assets::default());
    };
    let assets = Assets::in_folder(folder.clone());
    if assets.find("app.js").is_none() {
        let what = format!("page_dir: {} has no app.js", folder.display());
        return Err(Error::usage(what).hint(
            "build the web page with cargo xtask web, then set page_dir to the folder web/dist",
        ));
    }
    Ok(assets)
}

/// Logs each origin at which the library is served.
fn announce(config: &Config, origins: Vec<String>, cores: usize, posture: &sandbox::Posture) {
    let (root, pid) = (config.root.display(), std::process::id());
    for origin in origins {
        tracing::info!(cores, cells = %posture.backend, pid, "serving {root} at {origin}");
    }
}

/// Locks the data directory. The lock is shared if an external store is configured, because several
/// servers may use one such store; otherwise it is exclusive. After an upgrade, a thread takes the
/// lock once the predecessor has ended.
fn hold(config: &Config, has_predecessor: bool) -> Result<Option<DirLock>, Error> {
    const WHAT: &str = "pelton serve";
    let sharing = match config.store.url.0 {
        Some(_) => Sharing::Shared,
        None => Sharing::Alone,
    };
    if has_predecessor {
        wiring::hold_after_predecessor(config.data.clone(), sharing, WHAT);
        return Ok(None);
    }
    let mut held = wiring::hold(&config.data, sharing, "serve: data directory")?;
    held.iter_mut().for_each(|lock| lock.sign(WHAT));
    Ok(held)
}

/// Logs a warning if other machines can reach parts of the server without a login.
fn warn_of_openness(gate: &Gate, addresses: &[SocketAddr]) {
    let public = addresses.len() - usize::from(gate.has_admin_listener);
    let (public, admin) = addresses.split_at(public);
    let beyond = |addresses: &[SocketAddr]| {
        let mut addresses = addresses.iter();
        let address = addresses.find(|it| !it.ip().to_canonical().is_loopback());
        address.copied()
    };
    let open = [
        (beyond(public), gate.open_parts()),
        (beyond(admin), Gate::ADMIN_PARTS.to_vec()),
    ];
    let open = open.into_iter().filter(|(_, parts)| !parts.is_empty());
    for (address, parts) in open {
        let Some(address) = address else { continue };
        let open = parts.join(", ");
        tracing::warn!(
            %address,
            open,
            "everyone who can reach this address can read the listed parts without a login: set \
             require_login, admin_listen or admin_token_file to protect them"
        );
    }
}

/// Returns the process that this one replaces, if any, and the listening sockets of that process or
/// of a service manager.
fn inherited() -> Result<(Option<Predecessor>, Vec<TcpListener>), Error> {
    match reactor::predecessor().map_err(reactor_error)? {
        Some((predecessor, sockets)) => Ok((Some(predecessor), sockets)),
        None => {
            let sockets = reactor::listeners_from_manager().map_err(reactor_error)?;
            Ok((None, sockets))
        }
    }
}

/// Returns the listeners: the inherited sockets, and new ones for addresses without an inherited
/// socket. If `all` is set, each inherited socket must belong to a configured address.
fn listen(
    config: &Config,
    loaded: Option<&Loaded>,
    all: bool,
    mut inherited: Vec<TcpListener>,
) -> Result<Listeners, Error> {
    let (limits, cores) = (
        components::reactor_limits(config),
        components::cores(config)?,
    );
    let addresses = https::addresses(config, loaded);
    let listeners = reactor::adopt(&addresses, &cores, &limits, &mut inherited)
        .map_err(reactor_error)?
        .steer(config.steering.0)
        .map_err(reactor_error)?
        .exempt(config.proxies.0.clone());
    warn_of_openness(&components::gate(config)?, listeners.addresses());
    match inherited.first().map(TcpListener::local_addr) {
        // A socket of a service manager is an error if no setting uses its address. An unused
        // socket of a predecessor is allowed: the new configuration may lack its address. Both
        // processes then close their copies of the socket.
        Some(Ok(unasked)) if all => {
            let what = format!(
                "LISTEN_FDS passes a socket for {unasked}, but no setting uses that address"
            );
            Err(Error::usage(what).hint(format!("set listen = \"{unasked}\"")))
        }
        _ => Ok(listeners),
    }
}

pub(crate) fn reactor_error(err: reactor::Error) -> Error {
    let error = Error::host(err.to_string());
    match err.hint() {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
