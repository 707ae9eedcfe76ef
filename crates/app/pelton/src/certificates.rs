//! Renewal of certificates while the server runs.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use report::Error;
use server::tls::{self, CertificateWarning, Reload, Tls};

/// Starts the thread that polls for renewed certificates. It runs until the process ends.
pub(crate) fn watch(tls: Arc<Tls>, check_time: Duration) -> Result<(), Error> {
    let watching = move || {
        loop {
            thread::sleep(check_time);
            match tls.reload_if_changed() {
                Ok(Reload::Unchanged) => {}
                Ok(Reload::Changed(concerns)) => log_renewed(&concerns),
                Err(err) => log_not_renewed(&err),
            }
        }
    };
    let started = thread::Builder::new()
        .name("certificates".to_owned())
        .spawn(watching);
    started
        .map(drop)
        .map_err(|err| Error::host(format!("tls: cannot start a thread: {err}")))
}

/// Reads the certificates again, even if their files have not changed.
pub(crate) fn reload(tls: &Tls) {
    match tls.reload() {
        Ok(concerns) => log_renewed(&concerns),
        Err(err) => log_not_renewed(&err),
    }
}

/// Logs that new certificates are in use.
fn log_renewed(concerns: &[CertificateWarning]) {
    tracing::info!("certificates renewed");
    warn(concerns);
}

/// Logs that the old certificates stay in use.
fn log_not_renewed(err: &tls::Error) {
    tracing::error!(
        %err,
        hint = err.hint(),
        "cannot load the renewed certificates: the old certificates stay in use"
    );
}

/// Logs a warning for each problem of the certificates. Clients may refuse a certificate with such
/// a problem.
pub(crate) fn warn(concerns: &[CertificateWarning]) {
    for concern in concerns {
        tracing::warn!("{concern}");
    }
}
