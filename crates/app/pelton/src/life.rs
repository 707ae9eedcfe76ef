//! Handling of signals.
//!
//! | signal | effect |
//! |---|---|
//! | TERM, INT | finishes open requests, then ends; a second signal ends the process at once |
//! | HUP | reads the configuration and the certificates again, and reopens the access log |
//! | USR1 | reopens the access log |
//! | USR2 | upgrades: starts a new process that takes over the listening sockets |

use parking_lot::Mutex;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reactor::{Program, Stop, notify};
use report::log;
use report::{EXIT_OK, Error};
use server::Live;
use server::tls::Tls;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::certificates;
use crate::reload::Configured;

/// Components of the server that are stopped, reloaded or upgraded by signals.
pub(crate) struct Life {
    pub(crate) stop: Stop,
    pub(crate) live: Arc<Live>,
    pub(crate) configured: Configured,
    /// Certificates, if HTTPS is enabled.
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) upgrade: Arc<Upgrade>,
}

/// State of upgrades, and the resources that an upgrade passes to the new process.
pub(crate) struct Upgrade {
    program: Program,
    /// Listening sockets for the new process. Empty while a new process is being started, and after
    /// this process has begun to stop.
    sockets: Mutex<Vec<TcpListener>>,
    patience: Duration,
    is_running: AtomicBool,
}

impl Upgrade {
    pub(crate) fn new(
        program: Program,
        sockets: Vec<TcpListener>,
        patience: Duration,
    ) -> Arc<Upgrade> {
        Arc::new(Upgrade {
            program,
            sockets: Mutex::new(sockets),
            patience,
            is_running: AtomicBool::new(false),
        })
    }

    /// Removes and returns the listening sockets. The caller must close the sockets before the
    /// cores stop. Otherwise the kernel would queue further connections, which no core would
    /// accept.
    fn take(&self) -> Vec<TcpListener> {
        std::mem::take(&mut *self.sockets.lock())
    }

    /// Starts a new process, and stops this one once the new one serves.
    fn run(&self, stop: &Stop) {
        let sockets = self.take();
        match self.program.take_over(&sockets, self.patience) {
            Ok(pid) => {
                tracing::info!(
                    pid,
                    "a new process has taken over: this process finishes its open requests"
                );
                drop(sockets);
                stop.trigger();
            }
            Err(err) => {
                tracing::error!(%err, "the new process did not take over: this process continues");
                if !stop.is_triggered() {
                    *self.sockets.lock() = sockets;
                }
                self.is_running.store(false, Ordering::Relaxed);
            }
        }
    }
}

impl Life {
    /// Starts the thread that handles signals.
    pub(crate) fn begin(self) -> Result<(), Error> {
        let failed = |err: io::Error| Error::host(format!("cannot wait for signals: {err}"));
        let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2];
        let signals = Signals::new(signals).map_err(failed)?;
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(|| self.heed(signals))
            .map_err(failed)?;
        Ok(())
    }

    fn heed(mut self, mut signals: Signals) {
        for signal in signals.forever() {
            match signal {
                SIGHUP => {
                    self.reload();
                    self.reopen();
                }
                SIGUSR1 => self.reopen(),
                SIGUSR2 => self.upgrade(),
                // A second TERM or INT ends the process at once: its sender does not want to wait.
                _ if self.stop.is_triggered() => end_at_once(),
                _ => self.end(signal),
            }
        }
    }

    fn end(&self, signal: i32) {
        tracing::info!(
            signal,
            "stopping: no new connections are accepted, but open requests may finish"
        );
        notify::stopping();
        drop(self.upgrade.take());
        self.stop.trigger();
    }

    fn reload(&mut self) {
        notify::reloading();
        self.configured.reload(&self.live);
        if let Some(tls) = &self.tls {
            certificates::reload(tls);
        }
        notify::ready();
    }

    fn reopen(&self) {
        if let Some(access) = self.live.current().access_log() {
            access.reopen();
        }
    }

    /// Starts an upgrade on a thread of its own. The new process may take long to start, and this
    /// thread must handle other signals meanwhile.
    fn upgrade(&self) {
        if self.stop.is_triggered() || self.upgrade.is_running.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "SIGUSR2 ignored: an upgrade is already running, or this process is stopping"
            );
            return;
        }
        let (upgrade, stop) = (Arc::clone(&self.upgrade), self.stop.clone());
        let started = std::thread::Builder::new()
            .name("upgrade".to_owned())
            .spawn(move || upgrade.run(&stop));
        if let Err(err) = started {
            tracing::error!(%err, "cannot start an upgrade");
            self.upgrade.is_running.store(false, Ordering::Relaxed);
        }
    }
}

fn end_at_once() -> ! {
    log::finish();
    std::process::exit(i32::from(EXIT_OK))
}

/// Handles only TERM and INT, for a process that supports neither reloads nor upgrades.
pub(crate) fn stop_on_signal(stop: &Stop) -> Result<(), Error> {
    let failed = |err: std::io::Error| Error::host(format!("cannot wait for signals: {err}"));
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
    let stop = stop.clone();
    let wait = move || {
        let mut stop_signals = signals.forever();
        if let Some(signal) = stop_signals.next() {
            tracing::info!(
                signal,
                "stopping: no new connections are accepted, but open requests may finish"
            );
            stop.trigger();
        }
        // A second signal ends the process at once: its sender does not want to wait for open
        // requests.
        if stop_signals.next().is_some() {
            end_at_once();
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)
        .map_err(failed)?;
    Ok(())
}
