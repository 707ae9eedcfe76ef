//! Gathers all facts.

use std::time::{Duration, Instant};

use host_checks::{Fact, Facts, Unread};

use crate::files::{Roots, fact};
use crate::server::MetricsSource;
use crate::{audit, interfaces, kernel, network, process, server};

/// Time after which no further requests are sent to the kernel or the server. Facts that are
/// missing by then are unknown.
const GATHER_MAX: Duration = Duration::from_millis(800);

/// Process whose facts are gathered.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Running server, with the token of its admin if it needs one for its metrics.
    Server {
        /// Process id.
        pid: u32,
        /// Token for `Authorization: Bearer`, as [`token`](crate::token) reads it.
        token: Option<Fact<String>>,
    },
    /// The calling process, which is the server.
    Own {
        /// Text of the server's metrics.
        metrics: String,
    },
    /// The calling process, because no server was found. The fact states why none was found.
    Caller(Fact<u32>),
}

impl Subject {
    /// Returns the process id of the server, if there is one.
    #[must_use]
    pub fn server(&self) -> Option<u32> {
        match self {
            Subject::Server { pid, .. } => Some(*pid),
            Subject::Own { .. } => Some(std::process::id()),
            Subject::Caller(_) => None,
        }
    }
}

/// Reads all facts. Opens nothing for writing, and ends within a second.
#[must_use]
pub fn gather(roots: &Roots, subject: Subject) -> Facts {
    let deadline = Instant::now() + GATHER_MAX;
    let (interfaces, unread_interfaces) = interfaces::interfaces(roots, deadline);
    let mut facts = Facts {
        kernel: kernel::kernel(roots, deadline),
        cpu: kernel::processors(roots),
        memory: kernel::memory(roots),
        network: network::network(roots, deadline),
        interfaces,
        unread_interfaces,
        built_for: built_for(),
        ..Facts::default()
    };
    facts.kernel.audit = fact("netlink AUDIT_GET", audit::audit(deadline), |audit| {
        let exemption = match audit.exempts_processes {
            true => ", never,task",
            false => "",
        };
        format!(
            "enabled {}, {} rules{exemption}",
            audit.enabled, audit.rules
        )
    });
    match subject {
        Subject::Server { pid, token } => {
            facts.process = process::process(roots, &pid.to_string(), deadline);
            let counters = MetricsSource::Http(token.as_ref());
            facts.server = server::server(roots, pid, &counters, deadline);
        }
        Subject::Own { metrics } => {
            let pid = std::process::id();
            facts.process = process::process(roots, &pid.to_string(), deadline);
            let counters = MetricsSource::Text(&metrics);
            facts.server = server::server(roots, pid, &counters, deadline);
        }
        Subject::Caller(missing) => {
            facts.process = process::process(roots, "self", deadline);
            let why = missing.value.err().unwrap_or(Unread::NoServer);
            let unknown = || missing.source.clone();
            facts.server.listeners = Fact::unknown(unknown(), why);
            facts.server.connections = Fact::unknown(unknown(), why);
            facts.server.metrics = Fact::unknown(unknown(), why);
            facts.server.pid = Fact::unknown(unknown(), why);
        }
    }
    facts
}

/// Returns the processor features that the compiler may use everywhere in this program.
fn built_for() -> Fact<Vec<String>> {
    let known = [
        ("sse4.2", cfg!(target_feature = "sse4.2")),
        ("avx2", cfg!(target_feature = "avx2")),
        ("avx512f", cfg!(target_feature = "avx512f")),
        ("neon", cfg!(target_feature = "neon")),
    ];
    let features = known.iter().filter(|(_, is_on)| *is_on);
    let features: Vec<String> = features.map(|(name, _)| (*name).to_owned()).collect();
    let text = match features.is_empty() {
        true => format!("baseline of {}", std::env::consts::ARCH),
        false => features.join(" "),
    };
    Fact::known(
        "processor features that Pelton was compiled for",
        text,
        features,
    )
}
