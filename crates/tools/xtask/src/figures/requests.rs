//! Tables of the results of `lab http`, `lab hit` and `lab image`.

use super::markdown::{Markdown, ratio};
use crate::numbers::{short, spread};
use crate::record::{Records, is, list, member, number, numbers, text};

/// Renders the costs of requests.
pub(super) fn requests(records: &Records) -> Markdown {
    const PEERS: [&str; 5] = ["nginx", "h2o", "hyper", "libreactor", "pelton again"];
    let mut table = Markdown::new(&[
        "request",
        "nginx",
        "h2o",
        "hyper",
        "libreactor",
        "control (Pelton against itself)",
        "record",
    ]);
    for row in records.rows("http", "costs", "row") {
        let mut cells = vec![text(row.value, "row").to_owned()];
        cells.extend(PEERS.map(|peer| {
            let mut ratios = list(member(row.value, "ours_over")).iter();
            let found = ratios.find(|it| is(it, "contender", peer));
            found.map_or_else(|| "–".to_owned(), |it| ratio(member(it, "ratio")))
        }));
        cells.push(row.record.to_owned());
        table.row(&cells);
    }
    table
}

/// Renders the costs of cache hits.
pub(super) fn hits(records: &Records) -> Markdown {
    let mut table = Markdown::new(&[
        "body",
        "nginx",
        "WebP Server Go",
        "control (Pelton against itself)",
        "record",
    ]);
    for row in records.rows("hit", "cost", "body_bytes") {
        let kilobytes = number(row.value, "body_bytes") / 1e3;
        table.row(&[
            format!("{} KB", short(kilobytes)),
            ratio(member(row.value, "ours_over_nginx")),
            row.value
                .get("ours_over_webp_server_go")
                .map_or_else(|| "–".to_owned(), ratio),
            ratio(member(row.value, "ours_over_ours")),
            row.record.to_owned(),
        ]);
    }
    table
}

/// Renders the latency of cache hits, the time from the server's start to its first hit, and the
/// memory during concurrent misses.
pub(super) fn latency_start_and_memory(records: &Records) -> Markdown {
    let mut table = Markdown::new(&["figure", "value", "record"]);
    let latency = records.newest("hit", "latency");
    for (state, is_loaded) in [
        ("while idle", false),
        ("while conversions use every core", true),
    ] {
        for (name, member) in [("median", "p50_us"), ("p99", "p99_us")] {
            let samples = numbers(latency.value, member, |row| is(row, "loaded", is_loaded));
            table.row(&[
                &format!("{name} latency of hits {state}"),
                &format!("{} ms", spread(samples, 1e3)),
                latency.record,
            ]);
        }
    }
    let start = records.newest("hit", "start");
    let samples = numbers(start.value, "wall_us", |_| true);
    table.row(&[
        "time from the start of the process to the first hit, with 200 variants",
        &format!("{} ms", spread(samples, 1e3)),
        start.record,
    ]);
    let pressure = records.newest("hit", "pressure");
    for row in list(pressure.value) {
        let [idle, peak] = ["idle_bytes", "peak_bytes"].map(|name| number(row, name) / 1e6);
        table.row(&[
            &format!("peak memory, conversions to {}", text(row, "accept")),
            &format!("{} MB; idle {} MB", short(peak), short(idle)),
            pressure.record,
        ]);
    }
    table
}

/// Renders cost, size and quality of conversions.
pub(super) fn conversions(records: &Records) -> Markdown {
    let mut table = Markdown::new(&[
        "conversion",
        "program",
        "CPU s per megapixel",
        "CPU of `pelton quick`, divided by that of this program",
        "bytes",
        "mean SSIMULACRA2",
        "record",
    ]);
    let summaries = records.newest("image", "summaries");
    let looks = records.newest("image", "looks");
    for row in list(summaries.value) {
        let (race, contender) = (text(row, "race"), text(row, "contender"));
        let mut looks = list(looks.value).iter();
        let look = looks.find(|it| is(it, "race", race) && is(it, "contender", contender));
        let seconds = ["median", "min", "max"]
            .map(|name| format!("{:.3}", number(row, &format!("cpu_s_per_mp.{name}"))));
        let [median, low, high] = seconds;
        table.row(&[
            race.to_owned(),
            contender.to_owned(),
            format!("{median} ({low}…{high})"),
            ratio(member(row, "quick_over_this")),
            look.map_or_else(String::new, |look| short(number(look, "bytes"))),
            look.map_or_else(String::new, |look| {
                format!("{:.2}", number(look, "ssim2_mean"))
            }),
            summaries.record.to_owned(),
        ]);
    }
    table
}
