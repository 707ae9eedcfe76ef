//! `CONFIG REWRITE`: writes the configuration file on another thread. The clients that sent the
//! command wait until the file is written.

pub(crate) mod task;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::rc::Rc;

use tokio::sync::Notify;

use crate::client::ClientKey;
use crate::config::Config;
use crate::persist::sync_parent;

/// Clients that wait for a `CONFIG REWRITE` that they requested.
#[derive(Debug, Default)]
pub(crate) struct RewriteWaiters {
    /// Clients that wait for a write of the configuration file that has not started.
    waiting: Vec<ClientKey>,
    /// Clients that wait for the write of the configuration file that is in progress.
    served: Vec<ClientKey>,
    wake: Rc<Notify>,
}

impl RewriteWaiters {
    /// Removes a disconnected client from the clients that wait for the file.
    pub(crate) fn forget(&mut self, key: ClientKey) {
        self.waiting.retain(|client| *client != key);
        self.served.retain(|client| *client != key);
    }

    /// Requests that the configuration file be written, on behalf of a client that waits for it.
    pub(crate) fn add(&mut self, key: ClientKey) {
        self.waiting.push(key);
        self.wake.notify_one();
    }
}

/// Replaces the configuration file atomically and keeps the file's permissions. A new file is
/// readable only by its owner.
fn write(path: &Path, config: &Config) -> io::Result<()> {
    let old = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        old => old?,
    };
    let mut temporary_path = path.as_os_str().to_owned();
    temporary_path.push(format!(".{}.tmp", std::process::id()));
    let written = (|| {
        // Only the owner may read the temporary file, because it may contain a password.
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary_path)?;
        if let Ok(found) = fs::metadata(path) {
            file.set_permissions(found.permissions())?;
        }
        file.write_all(config.rewrite(&old).as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary_path, path)?;
        sync_parent(path)
    })();
    if written.is_err() {
        // The temporary file, if it exists, is removed.
        drop(fs::remove_file(&temporary_path));
    }
    written
}
