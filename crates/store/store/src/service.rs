//! The server as a whole: sockets opened, data loaded, one core that owns all, and the end.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyspace::Keyspace;
use reactor::{Conn, Core, CoreId, Stop};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{spawn_local, yield_now};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, sleep_until};

use crate::client::Peer;
use crate::clock::Clock;
use crate::config::{Config, Hertz, LogLevel};
use crate::connection::{Shared, serve};
use crate::local::{self, Handle, Requests};
use crate::pace::Pace;
use crate::persist::{self, Loss, Persist};
use crate::rewrite::keep_config;
use crate::state::State;
use crate::{Error, Limits, settings};

/// Never, for the deadlines of HTTP that a reactor keeps and this protocol does not have: a year.
const NEVER_MS: u64 = 365 * 24 * 3600 * 1000;
/// What a connection gets for which there is no descriptor.
const SHED: &[u8] = b"-ERR max number of clients reached\r\n";

/// How often work that waits for a snapshot to end looks whether it has.
const SNAPSHOT_POLL: Duration = Duration::from_millis(100);

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
    /// Opens the sockets on `core`, but takes those of `inherited` that listen where one is wanted.
    ///
    /// # Errors
    /// An address or the socket's path cannot be had.
    pub fn bind(
        config: Config,
        limits: Limits,
        core: CoreId,
        inherited: &mut Vec<TcpListener>,
    ) -> Result<Server, Error> {
        let reactor_limits = reactor::Limits {
            backlog: config.tcp_backlog.0 as u32,
            // `maxclients` is kept here, with Redis's answer, and may be changed; connections beyond it only wait for that.
            connections_max: usize::MAX,
            address_connections_max: usize::MAX,
            first_byte_ms: NEVER_MS,
            head_ms: NEVER_MS,
            idle_ms: NEVER_MS,
            // What waits for a client is bounded by its class; more in the kernel saves wakeups with large values.
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
                    .map_err(|error| Error::host(format!("listen on {path}: {error}")))?,
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

    /// Has `CONFIG SET loglevel` change the log of this process, whose owner knows how. Without it the level is fixed.
    pub fn on_log_level(&mut self, set: fn(LogLevel)) {
        self.set_log_level = Some(set);
    }

    /// A client in this process.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Its TCP sockets, once more, for a process that is to take over.
    ///
    /// # Errors
    /// The host gives no more descriptors.
    pub fn sockets(&self) -> Result<Vec<TcpListener>, Error> {
        let sockets = self.listeners.sockets();
        sockets.map_err(|error| Error::host(error.to_string()))
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listeners.addresses()
    }

    /// Loads the data, then serves until `stop` is triggered or a client asks for the end; a snapshot is written first
    /// where there are save points.
    ///
    /// # Errors
    /// The data cannot be loaded, or the core not be started.
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
        // Those in other hands are enough, and the end of all of them ends nothing here.
        drop(handle);
        let pidfile = config.pid_file().and_then(PidFile::write);
        let now_ms = Clock::new().unix_ms();
        let mut keyspace = Keyspace::new(settings::keyspace_limits(&config), Clock::seed());
        let opened = persist::open(&config, &mut keyspace, now_ms)?;
        // The core builds what it owns of this, once.
        let loaded = Mutex::new(Some((keyspace, opened, unix, requests)));
        // The reactor stops only after the last snapshot.
        let drained = Stop::new();
        let failed = Mutex::new(None);
        let loss = Arc::new(Loss::default());
        let counters = listeners.counters();
        let start = |core: &Core| {
            let loaded = loaded.lock().expect("nobody panics with it").take();
            let (keyspace, opened, unix, requests) = loaded.expect("there is one core");
            let persist = Persist::new(&config, opened, now_ms, &loss);
            let persist = persist.unwrap_or_else(|error| {
                let error = Error::host(format!("start the journal's thread: {error}"));
                *failed.lock().expect("nobody panics with it") = Some(error);
                drained.trigger();
                Persist::without_journal(now_ms)
            });
            let mut state = State::new(config.clone(), limits, keyspace, persist, drained.clone());
            state.accepting = Some(Arc::clone(&counters));
            state.set_log_level = set_log_level;
            let shared = Rc::new(Shared::new(state));
            spawn_local(keep_house(Rc::clone(&shared)));
            spawn_local(persist::keep_files(Rc::clone(&shared)));
            spawn_local(persist::keep_journal(Rc::clone(&shared)));
            spawn_local(keep_config(Rc::clone(&shared)));
            spawn_local(keep_compact(Rc::clone(&shared)));
            spawn_local(shut_down_with(stop.clone(), Rc::clone(&shared)));
            spawn_local(end_with(core.clone(), Rc::clone(&shared)));
            spawn_local(local::serve(Rc::clone(&shared), requests));
            if let Some(listener) = unix {
                spawn_local(accept_unix(listener, core.clone(), Rc::clone(&shared)));
            }
            move |conn| serve_tcp(Rc::clone(&shared), conn)
        };
        let ended = reactor::run(listeners, &reactor_limits, SHED, &drained, start);
        if !config.unixsocket.is_empty() {
            // Who starts next finds nothing in the way; a path that is gone already is as good.
            drop(fs::remove_file(&config.unixsocket));
        }
        drop(pidfile);
        ended.map_err(|error| Error::host(error.to_string()))?;
        if let Some(error) = failed.into_inner().expect("nobody panics with it") {
            return Err(error);
        }
        let loss = loss.lock().expect("nobody panics with it").take();
        match loss {
            Some(fault) => Err(Error::host(format!(
                "the journal lacks the last changes: {fault}"
            ))),
            None => Ok(()),
        }
    }
}

/// The file that tells others this process's number, as long as it runs.
struct PidFile<'a>(&'a Path);

impl<'a> PidFile<'a> {
    /// Where it cannot be written the store serves all the same, as Redis does.
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
        // Who has removed it already wanted nothing else.
        drop(fs::remove_file(self.0));
    }
}

/// Begins the end when whoever started the server asks for it.
async fn shut_down_with(stop: Stop, shared: Rc<Shared>) {
    stop.triggered().await;
    let mut state = shared.state.borrow_mut();
    let save = state.saves_at_end();
    state.shut_down(save);
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
    // The deadline stays with the reactor's table until the connection is over, so that it counts there.
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
        Err(error) => return tracing::error!(%error, "nobody is served on the Unix socket"),
    };
    let path: Rc<str> = shared.state.borrow().config.unixsocket.as_str().into();
    loop {
        tokio::select! {
            () = core.drain_begun() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    spawn_local(serve_unix(Rc::clone(&shared), stream, Rc::clone(&path)));
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection could be accepted on the Unix socket");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Ends every connection when the reactor stops.
async fn end_with(core: Core, shared: Rc<Shared>) {
    core.drain_begun().await;
    shared.state.borrow_mut().close_all();
}

/// What time brings: ticks, deadlines of blocked clients, the end of a pause.
pub(crate) async fn keep_house(shared: Rc<Shared>) {
    let (mut hz, changed) = {
        let state = shared.state.borrow();
        (state.config.hz, Rc::clone(&state.deadline_changed))
    };
    let mut ticks = ticks_of(hz);
    loop {
        let told = shared.state.borrow().config.hz;
        if told != hz {
            hz = told;
            ticks = ticks_of(hz);
        }
        let due = {
            let state = shared.state.borrow();
            state.next_due_ms().map(|due_ms| state.clock.until(due_ms))
        };
        tokio::select! {
            _ = ticks.tick() => {
                {
                    let mut state = shared.state.borrow_mut();
                    state.clock.begin_turn();
                    state.tick();
                }
                while turn(&shared) {
                    yield_now().await;
                }
            }
            () = changed.notified() => {}
            () = async { sleep_until(due.expect("asked for when there is one")).await }, if due.is_some() => {
                let mut state = shared.state.borrow_mut();
                state.clock.begin_turn();
                state.do_due();
            }
        }
    }
}

fn ticks_of(hz: Hertz) -> Interval {
    let mut ticks = interval(Duration::from_millis(1000 / hz.0 as u64));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Removes what is due, as far as one turn goes; whether there is more.
fn turn(shared: &Shared) -> bool {
    let mut state = shared.state.borrow_mut();
    state.clock.begin_turn();
    state.turn()
}

/// Moves data together when that was asked for.
async fn keep_compact(shared: Rc<Shared>) {
    let wanted = Rc::clone(&shared.state.borrow().defrag_wanted);
    loop {
        wanted.notified().await;
        let mut pace = Pace::default();
        while pace.work(&shared, State::defrag_turn) {
            if shared.state.borrow().keyspace.has_snapshot() {
                sleep(SNAPSHOT_POLL).await;
            }
            pace.rest(&shared).await;
        }
    }
}

/// The addresses to listen on: those named, without what this host lacks and may lack.
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
            Ok(_) => return Err(Error::host(format!("bind {host}: it has no address"))),
            Err(error) => return Err(Error::host(format!("bind {host}: {error}"))),
        }
    }
    match addresses.is_empty() {
        true => Err(Error::host(
            "bind: no address is left to listen on".to_owned(),
        )),
        false => Ok(addresses),
    }
}

/// Whether this host has the address, so that an optional one that it lacks is left out.
fn can_bind(address: SocketAddr) -> bool {
    let any_port = SocketAddr::new(address.ip(), 0);
    std::net::TcpListener::bind(any_port).is_ok()
}

fn bind_unix(path: &Path, mode: u32) -> io::Result<std::os::unix::net::UnixListener> {
    // A socket that nobody listens on any more is what a killed server leaves behind.
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
