//! Conversion of a job's end to a failure, whose kind names the party at fault.

use crate::error::{Failure, FailureKind};
use crate::exit::ExitOutcome;
use crate::stats::Counters;
use sandbox_protocol::{JobLimits, Reply, Status};

/// Returns the failure that a valid reply reports, or `None` if the status is [`Status::Done`].
pub(crate) fn refusal(reply: &Reply) -> Option<Failure> {
    let kind = match reply.status {
        Status::Done => return None,
        Status::Undecodable => FailureKind::Undecodable,
        Status::Unsupported => FailureKind::Unsupported,
        Status::TooLarge => FailureKind::TooLarge,
        Status::Unencodable => FailureKind::Unencodable,
        Status::Failed => FailureKind::Crashed,
        Status::TimedOut => FailureKind::TimedOut,
    };
    Some(Failure::new(kind, reply.detail.clone()))
}

/// Returns the failure for a child that ended without a reply and that the server did not kill.
pub(crate) fn death(outcome: ExitOutcome, limits: &JobLimits, counters: &Counters) -> Failure {
    let ExitOutcome::Reaped(exit_report) = outcome else {
        counters.crashes.add(1);
        return Failure::new(
            FailureKind::Crashed,
            "the cell died together with its zygote",
        );
    };
    if !libc::WIFSIGNALED(exit_report.status) {
        counters.crashes.add(1);
        let code = libc::WEXITSTATUS(exit_report.status);
        let detail = format!("the cell exited without a reply, exit code {code}");
        return Failure::new(FailureKind::Crashed, detail);
    }
    let signal = libc::WTERMSIG(exit_report.status);
    let cpu_ms = exit_report.cpu_us / 1_000;
    let out_of_cpu = u64::from(limits.cpu_ms_max) <= cpu_ms;
    match signal {
        libc::SIGPROF | libc::SIGXCPU => {}
        libc::SIGKILL if out_of_cpu => {}
        libc::SIGKILL => {
            counters.kills_memory.add(1);
            let detail = "the kernel killed the cell: the host is out of memory";
            return Failure::new(FailureKind::Host, detail);
        }
        libc::SIGXFSZ => {
            counters.kills_memory.add(1);
            return Failure::new(FailureKind::TooLarge, "the output exceeded its size limit");
        }
        libc::SIGSYS => {
            counters.kills_filter.add(1);
            return Failure::new(
                FailureKind::Crashed,
                "the kernel killed the cell for a denied system call",
            );
        }
        _ => {
            counters.crashes.add(1);
            return Failure::new(FailureKind::Crashed, format!("died by signal {signal}"));
        }
    }
    counters.kills_cpu.add(1);
    let detail = format!("the job exceeded its CPU time after {cpu_ms} ms");
    Failure::new(FailureKind::TimedOut, detail)
}
