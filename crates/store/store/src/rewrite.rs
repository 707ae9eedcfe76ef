//! The configuration file written anew: off the core, while those who asked for it wait.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::mem;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::rc::Rc;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::client::ClientKey;
use crate::config::Config;
use crate::connection::Shared;
use crate::persist::sync_parent;
use crate::state::State;

/// Those who asked for the file to be written, and wait.
#[derive(Debug, Default)]
pub(crate) struct Rewriters {
    /// For whom it is still to be written.
    waiting: Vec<ClientKey>,
    /// For whom it is being written.
    served: Vec<ClientKey>,
    wake: Rc<Notify>,
}

impl Rewriters {
    /// Forgets a client that is gone.
    pub(crate) fn forget(&mut self, key: ClientKey) {
        self.waiting.retain(|client| *client != key);
        self.served.retain(|client| *client != key);
    }
}

impl State {
    /// Has the file written and the client wait for it.
    pub(crate) fn rewrite_config_for(&mut self, key: ClientKey) {
        self.rewriters.waiting.push(key);
        self.rewriters.wake.notify_one();
        self.park_without_keys(key);
    }

    fn config_rewritten(&mut self, written: &io::Result<()>) {
        if let Err(error) = written {
            tracing::warn!(%error, "the configuration file could not be written");
        }
        for key in mem::take(&mut self.rewriters.served) {
            if self.unpark(key).is_some() {
                let out = &mut self.clients[key].out;
                match written {
                    Ok(()) => out.ok(),
                    Err(error) => out.error(format!("ERR Rewriting config file: {error}")),
                }
            }
        }
    }
}

/// Writes the file whenever somebody asks.
pub(crate) async fn keep_config(shared: Rc<Shared>) {
    let wake = Rc::clone(&shared.state.borrow().rewriters.wake);
    loop {
        wake.notified().await;
        let config = {
            let mut state = shared.state.borrow_mut();
            state.rewriters.served = mem::take(&mut state.rewriters.waiting);
            state.config.clone()
        };
        let written = spawn_blocking(move || {
            let path = config.file.as_deref().expect("looked at before");
            write(path, &config)
        });
        let written = written.await;
        let written = written.unwrap_or_else(|error| Err(io::Error::other(error)));
        shared.state.borrow_mut().config_rewritten(&written);
    }
}

/// Replaces the file as a whole, with the rights it had; one that is gone is made, for its owner alone.
fn write(path: &Path, config: &Config) -> io::Result<()> {
    let old = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        old => old?,
    };
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let written = (|| {
        // It may hold a password.
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside)?;
        if let Ok(found) = fs::metadata(path) {
            file.set_permissions(found.permissions())?;
        }
        file.write_all(config.rewrite(&old).as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        sync_parent(path)
    })();
    if written.is_err() {
        // What is left of it is of no use; there may be nothing.
        drop(fs::remove_file(&beside));
    }
    written
}
