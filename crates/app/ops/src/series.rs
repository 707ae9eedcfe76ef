//! Time series of the dashboard's history: their names, and how their values are computed from the
//! counters.

use server::metrics::ResponseTotals;

use crate::reading::Reading;

/// Value of a percentile series in an interval without responses.
pub(crate) const NO_VALUE: u32 = u32::MAX;

/// Way in which the value of an interval is computed.
pub(crate) enum Kind {
    /// Growth of a counter in the interval.
    Counter(fn(&Reading) -> u64),
    /// Largest of the values that were read during the interval, once per second.
    Gauge(fn(&Reading) -> u64),
    /// Percentile of the durations of responses in the interval, as the index of the histogram
    /// bucket that contains it. The fields are the function that returns the histogram, and the
    /// percentage.
    Percentile(fn(&ResponseTotals) -> &[u64; ResponseTotals::BUCKETS], u64),
}

/// One time series of the dashboard's history: its name, and how its values are computed.
pub(crate) struct Series {
    /// Name in the JSON document.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

const fn counter(name: &'static str, read: fn(&Reading) -> u64) -> Series {
    let kind = Kind::Counter(read);
    Series { name, kind }
}

const fn gauge(name: &'static str, read: fn(&Reading) -> u64) -> Series {
    let kind = Kind::Gauge(read);
    Series { name, kind }
}

const fn percentile(
    name: &'static str,
    buckets: fn(&ResponseTotals) -> &[u64; ResponseTotals::BUCKETS],
    percent: u64,
) -> Series {
    let kind = Kind::Percentile(buckets, percent);
    Series { name, kind }
}

/// Number of series.
pub(crate) const COUNT: usize = 44;

/// All series, in the order of a row's values. Byte counts are in KiB.
pub(crate) const SERIES: [Series; COUNT] = [
    counter("hits", |it| it.figures.responses.hits),
    counter("misses", |it| it.figures.responses.misses),
    counter("originals", |it| it.figures.responses.originals),
    counter("others", |it| it.figures.responses.others),
    counter("mounts", |it| it.figures.responses.mounts),
    counter("clientErrors", |it| it.figures.responses.client_errors),
    counter("serverErrors", |it| it.figures.responses.server_errors),
    counter("unknownHosts", |it| it.figures.responses.misdirected),
    counter("bodyKib", |it| it.figures.responses.body_bytes >> 10),
    counter("savedKib", |it| it.figures.responses.saved_bytes >> 10),
    counter("http2", |it| it.figures.responses.http2),
    counter("handshakes", |it| it.figures.responses.handshakes_full),
    counter("handshakesResumed", |it| {
        it.figures.responses.handshakes_resumed
    }),
    counter("handshakesFailed", |it| {
        it.figures.responses.handshakes_failed
    }),
    counter("conversions", |it| it.conversions),
    counter("conversionFailures", |it| it.conversion_failures),
    counter("conversionsRefused", |it| it.conversions_refused),
    counter("conversionCpuMs", |it| it.conversion_cpu_ms),
    counter("transcodes", |it| it.transcodes),
    counter("cellRuns", |it| it.figures.cells.runs),
    counter("cellKills", |it| {
        let cells = &it.figures.cells;
        cells.kills_wall + cells.kills_cpu + cells.kills_memory + cells.kills_filter
    }),
    counter("cellCrashes", |it| {
        it.figures.cells.crashes + it.figures.cells.violations
    }),
    counter("evictedVariants", |it| it.figures.variants.evicted),
    counter("writeErrors", |it| it.figures.variants.write_errors),
    counter("storeErrors", |it| {
        it.figures.store.map_or(0, |store| store.errors)
    }),
    counter("accepted", |it| it.figures.connections.accepted),
    counter("shed", |it| it.figures.connections.shed),
    counter("timeouts", |it| it.figures.connections.timeouts),
    counter("warnings", |it| it.problems.warnings),
    counter("errors", |it| it.problems.errors),
    counter("cpuMs", |it| it.process.cpu_ms),
    gauge("connections", |it| it.figures.connections.open),
    gauge("converting", |it| it.figures.conversions.running),
    gauge("waiting", |it| it.figures.conversions.waiting),
    gauge("improving", |it| it.figures.conversions.improving),
    gauge("transcoding", |it| it.figures.transcodes.running),
    gauge("cellsReady", |it| it.figures.cells.ready),
    gauge("cellsRunning", |it| it.figures.cells.running),
    gauge("variantsKib", |it| it.figures.variants.bytes >> 10),
    gauge("residentKib", |it| it.process.resident_bytes >> 10),
    percentile("hitP50", |it| &it.hit_buckets, 50),
    percentile("hitP99", |it| &it.hit_buckets, 99),
    percentile("missP50", |it| &it.miss_buckets, 50),
    percentile("missP99", |it| &it.miss_buckets, 99),
];

/// Returns the percentile `percent` of the durations of responses between two samples, as the index
/// of a histogram bucket. Returns [`NO_VALUE`] if there were no responses. `before` and `now` are
/// the counts of the buckets in the two samples.
pub(crate) fn bucket_of(before: &[u64], now: &[u64], percent: u64) -> u32 {
    let counts = now
        .iter()
        .zip(before)
        .map(|(now, before)| now.saturating_sub(*before));
    let total: u64 = counts.clone().sum();
    if total == 0 {
        return NO_VALUE;
    }
    // Nearest rank: the smallest duration that `percent` of the responses do not exceed.
    let rank = (total * percent).div_ceil(100).max(1);
    let mut reached = 0;
    let found = counts.enumerate().find(|(_, count)| {
        reached += count;
        rank <= reached
    });
    found.map_or(NO_VALUE, |(bucket, _)| bucket as u32)
}
