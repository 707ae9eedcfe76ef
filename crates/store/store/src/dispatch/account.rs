//! Records statistics about a command that ran: counters, the slow log and the latency monitor.

use bytes::Bytes;
use keyspace::{Command, Flags};

use crate::client::Client;
use crate::config::Config;
use crate::redact::redacted;
use crate::slowlog::{self, SlowCommand};
use crate::statistics::Statistics;

/// A command that ran.
pub(super) struct FinishedCommand<'a> {
    pub(super) command: &'static Command,
    pub(super) args: &'a [Bytes],
    pub(super) took_us: u64,
    pub(super) failed: bool,
}

/// Counts a command that ran, and logs it if it was slow.
#[inline]
pub(super) fn account(
    stats: &mut Statistics,
    config: &Config,
    client: &Client,
    now_ms: u64,
    ran: FinishedCommand<'_>,
) {
    let took_us = ran.took_us;
    let calls = stats.ran(ran.command, took_us, ran.failed);
    if config.latency_tracking {
        calls.track(took_us);
    }
    let slower_than = config.slowlog_log_slower_than.0;
    if 0 <= slower_than && slower_than as u64 <= took_us {
        note_slow(stats, config, client, now_ms, &ran);
    }
    let threshold_ms = config.latency_monitor_threshold.0 as u64;
    if 0 < threshold_ms && threshold_ms <= took_us / 1000 {
        let event = match ran.command.flags.has(Flags::FAST) {
            true => "fast-command",
            false => "command",
        };
        stats.delayed(event, now_ms, took_us / 1000);
    }
}

#[cold]
fn note_slow(
    stats: &mut Statistics,
    config: &Config,
    client: &Client,
    now_ms: u64,
    ran: &FinishedCommand<'_>,
) {
    if config.slowlog_max_len.0 == 0 || ran.command.flags.has(Flags::SKIP_SLOWLOG) {
        return;
    }
    let slow = SlowCommand {
        id: 0,
        unix_secs: now_ms / 1000,
        took_us: ran.took_us,
        args: slowlog::shorten(&redacted(ran.args)),
        peer: client.peer.address.clone(),
        name: client.name.clone(),
    };
    stats.slowlog.add(slow, config.slowlog_max_len.0 as usize);
}
