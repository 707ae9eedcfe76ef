//! Exit report of a child: set by the supervisor, awaited by the thread that ran the child's job.

use crate::sync::{Condvar, Mutex, UNPOISONED};
use sandbox_protocol::control::ExitReport;
use std::time::Duration;

/// Exit report that may not have arrived yet.
#[derive(Debug, Default)]
pub(crate) struct PendingExit {
    outcome: Mutex<Option<ExitOutcome>>,
    changed: Condvar,
}

/// Exit report of a child that ended, or `Unknown` if there is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitOutcome {
    Reaped(ExitReport),
    /// The zygote died before it could report the end of the child.
    Unknown,
}

impl PendingExit {
    pub(crate) fn resolve(&self, outcome: ExitOutcome) {
        *self.outcome.lock().expect(UNPOISONED) = Some(outcome);
        self.changed.notify_all();
    }

    /// Waits at most `time` for the report, which usually arrives within a millisecond of the
    /// child's end.
    pub(crate) fn wait(&self, time: Duration) -> ExitOutcome {
        let outcome = self.outcome.lock().expect(UNPOISONED);
        let (outcome, _) = self
            .changed
            .wait_timeout_while(outcome, time, |outcome| outcome.is_none())
            .expect(UNPOISONED);
        outcome.unwrap_or(ExitOutcome::Unknown)
    }
}
