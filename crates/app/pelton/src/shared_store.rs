//! The store that holds the shared index of variants: one in this process that Redis clients can
//! read, an external one, or none.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use config::Config;
use reactor::Stop;
use report::Error;
use resp::Reply;
use store::{Handle, Limits, Remote, Server};
use variants::shared_index::Store;

use crate::serve::reactor_error;

/// Store for the shared index of variants, opened from the configuration. [`SharedStore::run`]
/// starts it.
pub(crate) enum SharedStore {
    /// No store.
    Off,
    /// Store in this process.
    Own(Box<Server>),
    /// External store.
    External(Arc<External>),
}

/// Thread of the store in this process, if there is one.
pub(crate) struct Running(Option<(Stop, JoinHandle<()>)>);

/// Implementation of [`Store`] by the store in this process.
#[derive(Debug)]
struct Own(Handle);

/// Implementation of [`Store`] by an external store.
#[derive(Debug)]
pub(crate) struct External(Remote);

impl Store for Own {
    fn run(&self, commands: Vec<Vec<Bytes>>) -> io::Result<Vec<Reply>> {
        self.0.run(commands).map_err(io::Error::other)
    }
}

impl Store for External {
    fn run(&self, commands: Vec<Vec<Bytes>>) -> io::Result<Vec<Reply>> {
        self.0.run(&commands)
    }
}

impl SharedStore {
    /// Opens the configured store. A store in this process opens its listening sockets, or takes
    /// them from `inherited`. An external store is not contacted yet, so it need not be reachable.
    pub(crate) fn open(
        config: &Config,
        inherited: &mut Vec<TcpListener>,
    ) -> Result<SharedStore, Error> {
        match (config.store.listen.0, &config.store.url.0) {
            (Some(_), Some(_)) => {
                let what = "store.listen and store.url cannot both be set";
                Err(Error::usage(what).hint("set store.listen or store.url to off"))
            }
            (Some(address), None) => SharedStore::bind(config, address, inherited),
            (None, Some(url)) => {
                let remote = Remote::new(url.clone(), config.store.timeout.0);
                Ok(SharedStore::External(Arc::new(External(remote))))
            }
            (None, None) => Ok(SharedStore::Off),
        }
    }

    fn bind(
        config: &Config,
        address: SocketAddr,
        inherited: &mut Vec<TcpListener>,
    ) -> Result<SharedStore, Error> {
        let directives = [
            ("bind", address.ip().to_string()),
            ("port", address.port().to_string()),
            // No snapshots, because the store only holds a copy of the index, and the service has
            // the index itself.
            ("save", String::new()),
            ("dir", config.data.join("store").display().to_string()),
            ("maxmemory", config.store.max_memory.0.to_string()),
            ("maxmemory-policy", "allkeys-lru".to_owned()),
        ];
        let words: Vec<_> = directives
            .into_iter()
            .flat_map(|(name, value)| [format!("--{name}"), value])
            .collect();
        let directives = store::Config::from_args(&words);
        let directives = directives.map_err(|err| Error::usage(format!("store.listen: {err}")))?;
        let cores = reactor::usable_cores(&reactor::Limits::default()).map_err(reactor_error)?;
        // The store runs on the last core, because that core has the least other work.
        let core = *cores.last().expect("a process may use at least one core");
        let bound = Server::bind(directives, Limits::default(), core, inherited);
        let server = bound.map_err(|err| Error::host(format!("store.listen: {err}")))?;
        for address in server.addresses() {
            tracing::info!(%address, "Redis clients can read the index of variants");
        }
        Ok(SharedStore::Own(Box::new(server)))
    }

    /// Returns the store as the trait object that the service uses, if there is a store.
    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        match self {
            SharedStore::Off => None,
            SharedStore::Own(server) => Some(Arc::new(Own(server.handle()))),
            SharedStore::External(external) => Some(Arc::clone(external) as Arc<dyn Store>),
        }
    }

    /// Returns the listening sockets of the store in this process, which an upgrade passes to the
    /// new process.
    pub(crate) fn sockets(&self) -> Result<Vec<TcpListener>, Error> {
        match self {
            SharedStore::Own(server) => {
                let sockets = server.sockets();
                sockets.map_err(|err| Error::host(format!("store.listen: {err}")))
            }
            SharedStore::Off | SharedStore::External(_) => Ok(Vec::new()),
        }
    }

    /// Runs the store in this process on a thread of its own. If the store fails while the server
    /// runs, the service continues without it.
    pub(crate) fn run(self) -> Result<Running, Error> {
        let SharedStore::Own(server) = self else {
            return Ok(Running(None));
        };
        let stop = Stop::new();
        let stopped = stop.clone();
        let work = move || match server.run(&stopped) {
            Ok(()) => tracing::info!("the store has stopped"),
            Err(err) => {
                tracing::error!(%err, "the store has failed: the server continues without it");
            }
        };
        let thread = thread::Builder::new().name("store".to_owned()).spawn(work);
        let thread = thread
            .map_err(|err| Error::host(format!("cannot start the thread of the store: {err}")))?;
        Ok(Running(Some((stop, thread))))
    }
}

impl Running {
    /// Stops the store and waits for its thread to end.
    pub(crate) fn stop(self) {
        if let Running(Some((stop, thread))) = self {
            stop.trigger();
            thread.join().expect("a panic aborts the process");
        }
    }
}
