//! Figures of all parts of the service at one moment, for the operator's dashboard.

use conversion::flight::FlightStats;
use conversion::metrics::Metrics as ConversionMetrics;
use conversion::transcode::TranscodeStats;
use variants::cache::VariantStats;
use variants::shared_index::SharedIndexStats;

use crate::metrics::ResponseTotals;
use crate::service::Service;
use crate::settings::Settings;

/// Figures of all parts of the service at one moment. Totals count since the start of the process.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Numbers of responses, summed over all cores.
    pub responses: ResponseTotals,
    /// Statistics of the cache of variants.
    pub variants: VariantStats,
    /// Statistics of the queue of conversions.
    pub conversions: FlightStats,
    /// Statistics of the queue of transcodes.
    pub transcodes: TranscodeStats,
    /// Statistics of the sandboxes (cells) for conversions and transcodes.
    pub cells: sandbox::Stats,
    /// Statistics of the shared index, the index of variants in a store; `None` if no store is
    /// configured.
    pub store: Option<SharedIndexStats>,
    /// Connections of all cores.
    pub connections: ConnectionTotals,
    /// Total bytes of responses in memory that clients have not read. Only responses that the limit
    /// `limits.mount_responses_bytes` covers are counted.
    pub response_bytes: u64,
}

/// Connections of all cores. Totals count since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionTotals {
    /// Connections that are open now.
    pub open: u64,
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that were refused because a limit was reached.
    pub shed: u64,
    /// Connections without a request that were closed to make room.
    pub evicted: u64,
    /// Connections that a timeout closed.
    pub timeouts: u64,
    /// Number of response bytes that wait in memory until their sockets accept them, as last
    /// measured by each core.
    pub queued_bytes: u64,
}

impl Service {
    /// Returns the current figures of the service. Takes the locks of the queues and of the index
    /// briefly, but takes no lock that a cache hit needs.
    #[must_use]
    pub fn figures(&self) -> Figures {
        Figures {
            responses: self.metrics.totals(),
            variants: self.variants().stats(),
            conversions: self.flights.stats(),
            transcodes: self.transcoder.stats(),
            cells: self.flights.converter().pool.stats(),
            store: self.shared_index().map(|shared_index| shared_index.stats()),
            connections: ConnectionTotals::of(self.cores()),
            response_bytes: self.response_memory.held_bytes() as u64,
        }
    }

    /// Returns the counters of conversions.
    #[must_use]
    pub fn conversions(&self) -> &ConversionMetrics {
        &self.flights.converter().metrics
    }

    /// Returns the number of originals in quarantine.
    #[must_use]
    pub fn quarantined(&self) -> u64 {
        self.flights.converter().quarantine.count()
    }

    /// Returns the settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

impl ConnectionTotals {
    fn of(cores: &[reactor::Counters]) -> ConnectionTotals {
        let sum = |pick: &dyn Fn(&reactor::Counters) -> u64| cores.iter().map(pick).sum();
        ConnectionTotals {
            open: sum(&reactor::Counters::open),
            accepted: sum(&reactor::Counters::accepted),
            shed: sum(&|core| core.shed() + core.shed_by_address()),
            evicted: sum(&reactor::Counters::evicted),
            timeouts: sum(&|core| {
                let waits = reactor::Wait::ALL.into_iter();
                waits.map(|wait| core.timed_out(wait)).sum()
            }),
            queued_bytes: sum(&reactor::Counters::queued_bytes),
        }
    }
}
