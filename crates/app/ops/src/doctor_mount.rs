//! Mount at `/-/api/doctor`, which reports on the host and on this server.

use std::sync::Arc;

use ::host::{Roots, Subject, gather};
use reactor::blocking;
use serde_json::Value;
use server::mount::{MountRequest, Reply};
use tokio::sync::Mutex;

use crate::dashboard_mount::DashboardMount;
use crate::host_report::host_report;
use crate::mount::{json_reply, problem};
use crate::sampler::Ops;

/// Mount of the report on the host.
pub(crate) struct DoctorMount {
    ops: Arc<Ops>,
    /// Lock that a report holds, so that reports are made one after the other. A report takes less
    /// than a second, and a request that waits for its turn occupies no thread.
    turn: Arc<Mutex<()>>,
}

impl DoctorMount {
    pub(crate) const PATH: &str = "/-/api/doctor";

    /// Creates the mount.
    pub(crate) fn new(ops: &Arc<Ops>) -> DoctorMount {
        DoctorMount {
            ops: Arc::clone(ops),
            turn: Arc::default(),
        }
    }
}

/// Returns the report, or `None` while the server is starting. Blocks for up to a second.
fn report(ops: &Ops) -> Option<Value> {
    let running = ops.running()?;
    let metrics = running.sources.live.current().render_metrics();
    let subject = Subject::Own { metrics };
    let server = subject.server();
    let facts = gather(&Roots::default(), subject);
    Some(host_report(&host_checks::judge(&facts), server))
}

impl DashboardMount for DoctorMount {
    const ALLOW: &'static str = "GET, HEAD";

    fn has_path(&self, path: &str) -> bool {
        path == DoctorMount::PATH
    }

    async fn reply(&self, _request: MountRequest<'_>) -> Reply {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let ops = Arc::clone(&self.ops);
        // The report reads many files and asks the kernel, so it is made on the blocking pool.
        let made = blocking(move || {
            let made = report(&ops);
            drop(turn);
            made
        });
        match made.await {
            Some(document) => json_reply(200, "application/json", &document),
            None => problem(503, "the server is starting"),
        }
    }
}
