//! The server as a whole: opens sockets, loads data, starts the core that owns all state, and shuts
//! down.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use keyspace::Keyspace;
use parking_lot::Mutex;
use reactor::{Conn, Core, CoreId, Stop};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_local;
use tokio::time::sleep;

use crate::client::Peer;
use crate::clock::Clock;
use crate::config::{Config, LogLevel};
use crate::connection::serve;
use crate::housekeeping::{defragment_on_request, run_housekeeping};
use crate::local::{self, Handle, Requests};
use crate::persist::{self, Loss, Persist, jobs};
use crate::rewrite::task::rewrite_config_on_request;
use crate::script_task::run_busy_scripts;
use crate::shared::Shared;
use crate::state::State;
use crate::{Error, Limits, settings};

/// One year in milliseconds. The store's protocol has no deadlines like those of HTTP. So the
/// reactor's deadlines for HTTP are set to this value, and never fire.
const NEVER_MS: u64 = 365 * 24 * 3600 * 1000;
/// Reply to a connection that is refused for lack of a descriptor.
const REFUSAL_REPLY: &[u8] = b"-ERR max number of clients reached\r\n";

/// A server whose sockets are open.
#[derive(Debug)]
pub struct Server {
    config: Config,
    limits: Limits,
    listeners: reactor::Listeners,
    reactor_limits: reactor::Limits,
    unix: Option<std::os::unix::net::UnixListener>,
    handle: Handle,
    requests: Requests,
    set_log_level: Option<fn(LogLevel)>,
}

impl Server {
    /// Opens the sockets of a server that will run on `core`. If a listener in `inherited` has a
    /// configured address, this listener is used instead of a new socket.
    ///
    /// # Errors
    /// A TCP address or the path of the Unix socket cannot be bound.
    pub fn bind(
        config: Config,
        limits: Limits,
        core: CoreId,
        inherited: &mut Vec<TcpListener>,
    ) -> Result<Server, Error> {
        let reactor_limits = reactor::Limits {
            backlog: config.tcp_backlog.0 as u32,
            // `maxclients` is enforced in `Clients::admit`, with Redis's error, and may change at
            // run time. The reactor must accept connections beyond that limit, so that their
            // clients get the error.
            connections_max: usize::MAX,
            address_connections_max: usize::MAX,
            first_byte_ms: NEVER_MS,
            head_ms: NEVER_MS,
            idle_ms: NEVER_MS,
            // The store limits waiting output per class of clients, so this limit of the reactor
            // may be high. A large kernel buffer saves wakeups when large values are sent.
            unsent_bytes_max: 4 << 20,
            ..reactor::Limits::default()
        };
        let addresses = addresses(&config)?;
        let listeners = reactor::adopt(&addresses, &[core], &reactor_limits, inherited)
            .map_err(|error| Error::host(error.to_string()))?;
        let unix = match config.unixsocket.as_str() {
            "" => None,
            path => Some(
                bind_unix(Path::new(path), config.unixsocketperm.0)
                    .map_err(|error| Error::host(format!("cannot listen on {path}: {error}")))?,
            ),
        };
        let (handle, requests) = local::channel(limits.local_requests_max);
        Ok(Server {
            config,
            limits,
            listeners,
            reactor_limits,
            unix,
            handle,
            requests,
            set_log_level: None,
        })
    }

    /// Sets the function by which `CONFIG SET loglevel` changes the level of this process's log. If
    /// no function is set, the level is fixed.
    pub fn on_log_level(&mut self, set: fn(LogLevel)) {
        self.set_log_level = Some(set);
    }

    /// Returns a handle with which other threads of this process can run commands.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns duplicates of the TCP listeners, for a handover to another process.
    ///
    /// # Errors
    /// The host has no more descriptors.
    pub fn sockets(&self) -> Result<Vec<TcpListener>, Error> {
        let sockets = self.listeners.sockets();
        sockets.map_err(|error| Error::host(error.to_string()))
    }

    /// Returns the TCP addresses that the server listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listeners.addresses()
    }

    /// Loads the data, then serves until `stop` is triggered or a client shuts the server down. If
    /// the configuration has save points, a snapshot is written before the server stops.
    ///
    /// # Errors
    /// The data cannot be loaded, the core cannot be started, or the last changes could not be
    /// written to the AOF.
    pub fn run(self, stop: &Stop) -> Result<(), Error> {
        let Server {
            config,
            limits,
            listeners,
            reactor_limits,
            unix,
            handle,
            requests,
            set_log_level,
        } = self;
        // The server itself needs no handle. Other code may have clones of the handle; the server
        // continues to run even after the last clone is dropped.
        drop(handle);
        let pidfile = config.pid_file().and_then(PidFile::write);
        let now_ms = Clock::new().unix_ms();
        let mut keyspace = Keyspace::new(settings::keyspace_limits(&config), Clock::seed());
        let opened = persist::open(&config, &mut keyspace, now_ms)?;
        // The core takes these values when it starts, and builds its state from them.
        let loaded = Mutex::new(Some((keyspace, opened, unix, requests)));
        // Triggered after the last snapshot is written. Only then does the reactor stop.
        let drained = Stop::new();
        let failed = Mutex::new(None);
        let loss = Arc::new(Loss::default());
        let counters = listeners.counters();
        let start = |core: &Core| {
            let loaded = loaded.lock().take();
            let (keyspace, opened, unix, requests) = loaded.expect("the store runs on one core");
            let persist = Persist::new(&config, opened, now_ms, &loss, drained.clone());
            let persist = persist.unwrap_or_else(|error| {
                let error = Error::host(format!(
                    "cannot start the thread that writes the AOF: {error}"
                ));
                *failed.lock() = Some(error);
                drained.trigger();
                Persist::without_journal(now_ms, drained.clone())
            });
            let mut state = State::new(config.clone(), limits, keyspace, persist);
            state.clients.set_listeners(Arc::clone(&counters));
            state.set_log_level = set_log_level;
            let shared = Rc::new(Shared::new(state));
            spawn_tasks(&shared);
            spawn_local(shut_down_with(stop.clone(), Rc::clone(&shared)));
            spawn_local(end_with(core.clone(), Rc::clone(&shared)));
            spawn_local(local::serve(Rc::clone(&shared), requests));
            if let Some(listener) = unix {
                spawn_local(accept_unix(listener, core.clone(), Rc::clone(&shared)));
            }
            move |conn| serve_tcp(Rc::clone(&shared), conn)
        };
        let ended = reactor::run(listeners, &reactor_limits, REFUSAL_REPLY, &drained, start);
        if !config.unixsocket.is_empty() {
            // A failure is harmless: the next server removes a socket on which nothing listens.
            drop(fs::remove_file(&config.unixsocket));
        }
        drop(pidfile);
        ended.map_err(|error| Error::host(error.to_string()))?;
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        let loss = loss.lock().take();
        match loss {
            Some(fault) => Err(Error::host(format!(
                "the AOF lacks the last changes: {fault}"
            ))),
            None => Ok(()),
        }
    }
}

/// Starts the core's own tasks.
fn spawn_tasks(shared: &Rc<Shared>) {
    spawn_local(run_housekeeping(Rc::clone(shared)));
    spawn_local(jobs::run_jobs(Rc::clone(shared)));
    spawn_local(jobs::write_batches(Rc::clone(shared)));
    spawn_local(rewrite_config_on_request(Rc::clone(shared)));
    spawn_local(defragment_on_request(Rc::clone(shared)));
    spawn_local(run_busy_scripts(Rc::clone(shared)));
}

/// File that contains this process's id. It exists while the process runs.
struct PidFile<'a>(&'a Path);

impl<'a> PidFile<'a> {
    /// Writes the pidfile. If this fails, the store continues to serve, as Redis does.
    fn write(path: &'a Path) -> Option<PidFile<'a>> {
        match fs::write(path, format!("{}\n", std::process::id())) {
            Ok(()) => Some(PidFile(path)),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the pidfile could not be written");
                None
            }
        }
    }
}

impl Drop for PidFile<'_> {
    fn drop(&mut self) {
        // Errors are ignored, since the file may have been removed already.
        drop(fs::remove_file(self.0));
    }
}

/// Starts the shutdown when `stop` is triggered.
async fn shut_down_with(stop: Stop, shared: Rc<Shared>) {
    stop.triggered().await;
    let mut state = shared.state.borrow_mut();
    // The data between two commands of a script is not saved.
    if !state.scripts.stop_afterwards() {
        let save = state.config.saves_at_end();
        state.shut_down(save);
    }
}

async fn serve_tcp(shared: Rc<Shared>, conn: Conn) {
    let peer = Peer {
        address: conn.peer.to_string(),
        local: conn
            .stream
            .local_addr()
            .map_or(String::new(), |local| local.to_string()),
        descriptor: conn.stream.as_raw_fd(),
        is_local: conn.peer.ip().is_loopback(),
        is_unix: false,
    };
    // The reactor's metrics count a connection until its `deadline` is dropped. So the deadline is
    // kept until the connection ends.
    let Conn {
        stream, deadline, ..
    } = conn;
    serve(shared, stream, peer).await;
    drop(deadline);
}

async fn serve_unix(shared: Rc<Shared>, stream: UnixStream, path: Rc<str>) {
    let peer = Peer {
        address: format!("{path}:0"),
        local: format!("{path}:0"),
        descriptor: stream.as_raw_fd(),
        is_local: true,
        is_unix: true,
    };
    serve(shared, stream, peer).await;
}

async fn accept_unix(listener: std::os::unix::net::UnixListener, core: Core, shared: Rc<Shared>) {
    let listener = match UnixListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            return tracing::error!(%error, "cannot accept connections on the Unix socket");
        }
    };
    let path: Rc<str> = shared.state.borrow().config.unixsocket.as_str().into();
    loop {
        tokio::select! {
            () = core.drain_started() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    spawn_local(serve_unix(Rc::clone(&shared), stream, Rc::clone(&path)));
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection on the Unix socket");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Closes every connection when the reactor starts to drain.
async fn end_with(core: Core, shared: Rc<Shared>) {
    core.drain_started().await;
    shared.state.borrow_mut().clients.close_all();
}

/// Returns the addresses to listen on: the addresses of `bind`, without the optional addresses
/// (prefix `-`) that do not belong to this host.
fn addresses(config: &Config) -> Result<Vec<SocketAddr>, Error> {
    let port = config.port.0 as u16;
    if port == 0 {
        return Ok(Vec::new());
    }
    let mut addresses = Vec::new();
    for name in &config.bind.0 {
        let (optional, host) = match name.strip_prefix('-') {
            Some(host) => (true, host),
            None => (false, name.as_str()),
        };
        let host = match host {
            "*" => "0.0.0.0",
            "::*" => "::",
            host => host,
        };
        let resolved = (host, port).to_socket_addrs().map(|mut all| all.next());
        match resolved {
            Ok(Some(address)) if !optional || can_bind(address) => addresses.push(address),
            Ok(_) | Err(_) if optional => {}
            Ok(_) => {
                return Err(Error::host(format!(
                    "cannot bind {host}: no address was found for the name"
                )));
            }
            Err(error) => return Err(Error::host(format!("cannot bind {host}: {error}"))),
        }
    }
    match addresses.is_empty() {
        true => Err(Error::host(
            "cannot listen: this host has none of the addresses in the setting bind".to_owned(),
        )),
        false => Ok(addresses),
    }
}

/// Returns whether `address` belongs to this host.
fn can_bind(address: SocketAddr) -> bool {
    let any_port = SocketAddr::new(address.ip(), 0);
    std::net::TcpListener::bind(any_port).is_ok()
}

fn bind_unix(path: &Path, mode: u32) -> io::Result<std::os::unix::net::UnixListener> {
    // If no process listens on the socket's file, a killed server has left it, so it is removed.
    if std::os::unix::net::UnixStream::connect(path)
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        fs::remove_file(path)?;
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    if mode != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    listener.set_nonblocking(true)?;
    Ok(listener)
}
