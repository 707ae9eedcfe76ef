use std::time::Instant;

use report::log::Problems;
use server::figures::{ConnectionTotals, Figures};
use server::metrics::ResponseTotals;

use super::*;
use crate::host::Process;

fn reading() -> Reading {
    Reading {
        figures: Figures {
            responses: ResponseTotals::default(),
            variants: variants::cache::VariantStats {
                entries: 0,
                bytes: 0,
                evicted: 0,
                purged: 0,
                write_errors: 0,
            },
            conversions: conversion::flight::FlightStats {
                waiting: 0,
                running: 0,
                improvements_running: 0,
                improving: 0,
                cancelled: 0,
                memory_bytes: 0,
            },
            transcodes: conversion::transcode::TranscodeStats {
                waiting: 0,
                running: 0,
            },
            cells: sandbox::Stats::default(),
            store: None,
            connections: ConnectionTotals::default(),
            response_bytes: 0,
        },
        conversions: 0,
        conversion_failures: 0,
        conversions_refused: 0,
        conversion_cpu_ms: 0,
        transcodes: 0,
        problems: Problems::default(),
        process: Process::default(),
    }
}

#[test]
fn counters_are_differences_gauges_are_peaks_and_percentiles_are_buckets() {
    let mut now = reading();
    let mut history = History::new(now);
    for second in 1..=60 {
        now.figures.responses.hits += second;
        now.figures.responses.hit_buckets[3] += 1;
        now.figures.connections.open = if second == 4 { 9 } else { 2 };
        history.add(&now);
    }
    now.figures.responses.hit_buckets[20] += 1;
    history.add(&now);
    let all = history.since(0);
    let of = |ring: usize, name: &str| all[ring]["values"][name].clone();
    assert_eq!(all[0]["count"], 61);
    assert_eq!(of(0, "hits")[59], 60);
    assert_eq!(of(0, "hitP99")[60], 20);
    assert_eq!(of(1, "hits")[0], 55);
    assert_eq!(of(1, "connections"), json!([9, 2, 2, 2, 2, 2]));
    assert_eq!(of(1, "hitP50"), json!([3, 3, 3, 3, 3, 3]));
    assert_eq!(of(2, "hits"), json!([1830]));
    assert_eq!(of(2, "missP50"), Value::Null, "no column without a value");
    assert_eq!(all[2]["end"], 60);
    assert_eq!(history.sum("hits", 3_600), 1830);
    let new = history.since(59);
    assert_eq!(new[0]["values"]["hits"], json!([60, 0]));
    assert_eq!((&new[0]["count"], &new[1]["count"]), (&json!(2), &json!(1)));
    assert_eq!(history.since(99)[0]["count"], 0);
}

#[test]
fn an_interval_without_responses_has_no_percentile() {
    let (mut before, mut now) = ([0; 27], [0; 27]);
    assert_eq!(bucket_of(&before, &now, 50), NO_VALUE);
    (before[2], now[2], now[5]) = (7, 106, 1);
    assert_eq!(bucket_of(&before, &now, 50), 2);
    assert_eq!(bucket_of(&before, &now, 99), 2, "99 of 100 are in bucket 2");
    now[5] = 2;
    assert_eq!(bucket_of(&before, &now, 99), 5);
}

#[test]
fn a_day_of_history_takes_less_than_400_kb() {
    let rows: usize = RINGS.iter().map(|(_, rows_max)| rows_max).sum();
    assert!(rows * size_of::<Row>() < 400_000);
    let mut history = History::new(reading());
    let begun = Instant::now();
    for _ in 0..90_000 {
        history.add(&reading());
    }
    let took = begun.elapsed() / 90_000;
    assert!(took.as_micros() < 1_000, "{took:?} per reading");
    let kept: Vec<usize> = history.rings.iter().map(|ring| ring.rows.len()).collect();
    assert_eq!(kept, [300, 360, 1_440]);
    let spare = |ring: &Ring| ring.rows.capacity() < ring.rows_max * 2;
    assert!(history.rings.iter().all(spare), "nothing grew");
    assert_eq!(history.sum("hits", 86_400), 0);
}

#[test]
fn the_documentation_names_every_series() {
    let document = include_str!("../../../../../docs/api.md");
    for series in &SERIES {
        let name = format!("`{}`", series.name);
        assert!(document.contains(&name), "docs/api.md lacks {name}");
    }
}
