//! Plots of pictures and of requests: `lab image`, `lab hit` and `lab http`.

use toml::Value;

use super::lines::{Lines, Series};
use super::plot::{Better, Interval, Plot};
use crate::record::{Records, is, list, member, number, text};

/// Kinds of conversions, in the order of the report.
const RACES: [&str; 5] = [
    "full size to webp",
    "full size to avif",
    "fit 512 to jpeg",
    "fit 512 to webp",
    "fit 512 to avif",
];

/// Returns the plots of conversions: CPU time, then bytes, by kind of conversion.
pub(super) fn conversions(records: &Records) -> (Vec<Plot>, Vec<Plot>) {
    let (mut cpu, mut bytes) = (Vec::new(), Vec::new());
    for race in RACES {
        let in_race = |row: &Value| is(row, "race", race);
        let Some(summaries) = records.newest_with("image", "summaries", in_race) else {
            continue;
        };
        let looks = records.part(summaries.record, "looks");
        let looks = list(looks.expect("a record with summaries has looks"));
        let rows = list(summaries.value).iter().filter(|row| in_race(row));
        let (mut plot, mut sizes) = (
            Plot::new(
                race,
                "ms of CPU per megapixel",
                Better::Less,
                summaries.record,
            ),
            Plot::new(race, "kB, all pictures", Better::Less, summaries.record),
        );
        for row in rows {
            let name = text(row, "contender");
            let seconds = spread(member(row, "cpu_s_per_mp"), 1e-3);
            let ratio = (!is_ours(name)).then(|| ratio(member(row, "quick_over_this")));
            plot = add(plot, name, seconds, ratio);
            let look = looks
                .iter()
                .find(|look| in_race(look) && is(look, "contender", name));
            if let Some(look) = look.filter(|_| !name.ends_with(" again")) {
                let size = Interval::exact(number(look, "bytes") / 1e3);
                let quality = format!("SSIMULACRA2 {:.1}", number(look, "ssim2_mean"));
                sizes = add(sizes, name, size, None).detail(quality);
            }
        }
        cpu.push(plot);
        bytes.push(sizes);
    }
    (cpu, bytes)
}

/// Returns memory and CPU time over time of each server while it converts all photographs, and the
/// plots of its largest memory. Empty if no record has them.
pub(super) fn timelines(records: &Records) -> (Vec<Lines>, Vec<Plot>) {
    let (mut lines, mut peaks) = (Vec::new(), Vec::new());
    for race in RACES {
        let in_race = |row: &Value| is(row, "race", race);
        let Some(timelines) = records.newest_with("image", "timelines", in_race) else {
            continue;
        };
        let graph = |unit| Lines {
            title: race.to_owned(),
            unit,
            series: Vec::new(),
        };
        let (mut cpu, mut memory) = (graph("cores in use"), graph("MB of memory"));
        let mut peak = Plot::new(race, "MB, maximum memory", Better::Less, timelines.record);
        for row in list(timelines.value).iter().filter(|row| in_race(row)) {
            let name = text(row, "contender");
            let series = |points| Series {
                name: name.to_owned(),
                points,
            };
            let moments = list(member(row, "moments"));
            cpu.series.push(series(cores_in_use(moments)));
            let megabytes = moments.iter().map(|moment| {
                let [at, bytes] = ["at_us", "memory_bytes"].map(|it| number(moment, it) / 1e6);
                (at, bytes)
            });
            memory.series.push(series(megabytes.collect()));
            let largest = Interval::exact(number(row, "peak_bytes") / 1e6);
            peak = add(peak, name, largest, None);
        }
        lines.extend([cpu, memory]);
        peaks.push(peak);
    }
    (lines, peaks)
}

/// Returns the number of cores that a server used, on average, between each moment and the one
/// before.
fn cores_in_use(moments: &[Value]) -> Vec<(f64, f64)> {
    let pairs = moments.windows(2).map(|pair| {
        let grown = |name| number(&pair[1], name) - number(&pair[0], name);
        // The time of a child that has just ended may be missing from one sample.
        let cores = (grown("cpu_us") / grown("at_us")).max(0.0);
        (number(&pair[1], "at_us") / 1e6, cores)
    });
    pairs.collect()
}

/// Returns the plots of cache hits: CPU time per hit, by size of the body.
pub(super) fn hits(records: &Records) -> Vec<Plot> {
    let rows = records.rows("hit", "cost", "body_bytes");
    let plots = rows.iter().map(|row| {
        let kilobytes = number(row.value, "body_bytes") / 1e3;
        let title = format!("body of {kilobytes:.1} KB");
        let plot = Plot::new(title, "µs of CPU per hit", Better::Less, row.record);
        per_request(plot, row.value, |name| {
            let key = match name {
                "pelton again" => "ours_over_ours".to_owned(),
                _ => format!("ours_over_{}", name.replace('-', "_")),
            };
            row.value.get(key).map(ratio)
        })
    });
    plots.collect()
}

/// Returns the plots of requests: CPU time per request, by kind of request.
pub(super) fn requests(records: &Records) -> Vec<Plot> {
    let rows = records.rows("http", "costs", "row");
    let plots = rows.iter().map(|row| {
        let title = text(row.value, "row");
        let plot = Plot::new(title, "µs of CPU per request", Better::Less, row.record);
        per_request(plot, row.value, |name| {
            let mut ratios = list(member(row.value, "ours_over")).iter();
            let found = ratios.find(|it| is(it, "contender", name))?;
            Some(ratio(member(found, "ratio")))
        })
    });
    plots.collect()
}

/// Returns the plots of throughput: small requests per second that one core answers.
pub(super) fn throughput(records: &Records) -> Vec<Plot> {
    let rows = records.rows("http", "costs", "row");
    let small = rows
        .iter()
        .filter(|row| text(row.value, "row").starts_with("150 B"));
    let plots = small.map(|row| {
        let title = text(row.value, "row");
        let plot = Plot::new(title, "requests per second", Better::More, row.record);
        contenders(row.value).into_iter().fold(plot, |plot, name| {
            let rate = samples(row.value, name, |sample| number(sample, "rate"));
            add(plot, name, Interval::of(rate, 1.0), None)
        })
    });
    plots.collect()
}

/// Appends to `plot` the CPU time per request of each contender in the samples of `row`.
pub(super) fn per_request(
    plot: Plot,
    row: &Value,
    ratio: impl Fn(&str) -> Option<Interval>,
) -> Plot {
    contenders(row).into_iter().fold(plot, |plot, name| {
        let micros = samples(row, name, |sample| {
            number(sample, "cpu_us") / number(sample, "requests")
        });
        add(plot, name, Interval::of(micros, 1.0), ratio(name))
    })
}

/// Returns the contenders in the samples of `row`, Pelton first.
fn contenders(row: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for sample in list(member(row, "samples")) {
        let name = text(sample, "contender");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| *name != "pelton");
    names
}

fn samples(row: &Value, contender: &str, value: impl Fn(&Value) -> f64) -> Vec<f64> {
    let samples = list(member(row, "samples")).iter();
    let own = samples.filter(|sample| is(sample, "contender", contender));
    own.map(value).collect()
}

/// Appends a bar. Pelton is compared only with its own repetition, which is the control.
fn add(plot: Plot, name: &str, value: Interval, ratio: Option<Interval>) -> Plot {
    match is_ours(name) {
        true => plot.bar(name, value),
        false => plot.compared(name, value, ratio),
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("pelton") && !name.ends_with(" again")
}

/// Returns the ratio in a record, with its 95 % interval.
pub(super) fn ratio(value: &Value) -> Interval {
    let [median, low, high] = ["median", "low", "high"].map(|name| number(value, name));
    Interval { median, low, high }
}

/// Returns the median and range in a record, divided by `unit`.
pub(super) fn spread(value: &Value, unit: f64) -> Interval {
    let [median, low, high] = ["median", "min", "max"].map(|name| number(value, name) / unit);
    Interval { median, low, high }
}
