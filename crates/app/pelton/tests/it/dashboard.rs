//! Dashboard: its numbers, and the purges and prefetches of operators.

use serde_json::Value;

use crate::harness::{Home, Response, Server, eventually, media};
use crate::players::user;

const WEBP: &str = "accept: image/webp\r\n";
/// Origin field of a request from the server's own page.
const OWN: &str = "origin: http://pelton\r\n";

fn json(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_str(response.text()).expect("JSON")
}

/// Returns a library with pictures in two folders and a subfolder.
fn home() -> Home {
    Home::with(&[
        ("a/1.jpg", &media::photo(480, 320, 1)),
        ("a/deep/2.jpg", &media::photo(480, 320, 2)),
        ("b/3.jpg", &media::photo(480, 320, 3)),
    ])
}

/// Adds an admin, and returns the header fields of a request by which the admin changes something
/// on the server's page.
pub(crate) fn admin(home: &Home) -> String {
    assert_eq!(
        user(home, &["add", "ann", "--admin"], "sesame\n").0,
        Some(0)
    );
    let credentials = "authorization: Basic YW5uOnNlc2FtZQ==\r\n";
    format!("{credentials}{OWN}content-length: 0\r\n")
}

/// Returns whether the response to a request for a picture was in the cache.
fn is_hit(server: &Server, path: &str, size: &str) -> bool {
    let response = server.send("GET", &format!("{path}?{size}"), WEBP);
    assert_eq!(response.status, 200, "{}", response.text());
    response.field("cache-status") == Some("Pelton; hit")
}

/// Starts a server that revalidates responses in memory after a millisecond.
fn start(home: &Home) -> Server {
    Server::plain(home, &["--limits-revalidate-after", "1ms"])
}

#[test]
fn a_purge_removes_the_variants_of_a_file_a_folder_or_all() {
    let home = home();
    let ann = admin(&home);
    let server = start(&home);
    let paths = ["/a/1.jpg", "/a/deep/2.jpg", "/b/3.jpg"];
    let purge = |target: &str| {
        let purged = json(&server.send("DELETE", target, &ann));
        // A core sends a response that it holds in memory until its clock, which is set twice per
        // second, shows that `limits.revalidate_after` has passed.
        std::thread::sleep(std::time::Duration::from_millis(1_200));
        purged["entries"].as_u64().expect("a number")
    };
    let hits = || paths.map(|path| is_hit(&server, path, "w=100"));
    hits();
    assert_eq!(hits(), [true; 3]);
    assert!(0 < purge("/-/api/variants?path=a%2F1.jpg"));
    assert_eq!(hits(), [false, true, true]);
    assert!(0 < purge("/-/api/variants?path=/a/"));
    assert_eq!(hits(), [false, false, true]);
    assert!(0 < purge("/-/api/variants"));
    assert_eq!(hits(), [false; 3]);
    let status = |target| server.send("DELETE", target, &ann).status;
    assert_eq!(status("/-/api/variants?path="), 400);
    assert_eq!(status("/-/api/variants?paht=a"), 400);
    assert_eq!(status("/-/api/variants?path=../etc"), 400);
    assert_eq!(status("/-/api/variants?path=none"), 404);
    assert_eq!(server.send("POST", "/-/api/variants", &ann).status, 405);
    assert_eq!(hits(), [true; 3]);
    assert!(3 <= server.metrics().get("pelton_variants_purged_total"));
    server.stop();
}

#[test]
fn a_prefetch_makes_the_sizes_of_the_page_for_one_folder() {
    let home = home();
    let ann = admin(&home);
    let server = start(&home);
    eventually("the library is indexed", || {
        let listed = json(&server.get("/-/api/pictures"));
        (listed["total"] == 3).then_some(())
    });
    let state = |method: &str, query: &str| {
        let target = format!("/-/api/prefetch{query}");
        json(&server.send(method, &target, &ann))["prefetch"].clone()
    };
    assert_eq!(state("GET", ""), Value::Null);
    let begun = state("POST", "?folder=a");
    assert_eq!(
        (&begun["folder"], &begun["pictures"]),
        (&"a".into(), &2.into())
    );
    let ended = eventually("the prefetch ends", || {
        let now = state("GET", "");
        (now["isRunning"] == false).then_some(now)
    });
    assert_eq!((&ended["done"], &ended["failed"]), (&2.into(), &0.into()));
    assert!(Some(0) < ended["created"].as_u64(), "{ended}");
    assert_eq!(ended["isCancelled"], false);
    assert!(is_hit(&server, "/a/1.jpg", "h=240"));
    assert!(is_hit(&server, "/a/deep/2.jpg", "h=240"));
    assert!(!is_hit(&server, "/b/3.jpg", "h=240"));
    // A second prefetch finds what the first has created.
    state("POST", "?folder=a");
    let again = eventually("the second prefetch ends", || {
        let now = state("GET", "");
        (now["isRunning"] == false).then_some(now)
    });
    assert_eq!(again["created"], 0, "{again}");
    assert_eq!(state("DELETE", "")["isCancelled"], false, "it has ended");
    let status = |query: &str| {
        let target = format!("/-/api/prefetch?{query}");
        server.send("POST", &target, &ann).status
    };
    assert_eq!((status("folder=none"), status("folders=a")), (404, 400));
    server.stop();
}

#[test]
fn only_admins_purge_and_prefetch() {
    let home = home();
    let server = start(&home);
    let changes = [
        ("DELETE", "/-/api/variants"),
        ("POST", "/-/api/prefetch"),
        ("DELETE", "/-/api/prefetch"),
    ];
    let statuses =
        |fields: &str| changes.map(|(method, target)| server.send(method, target, fields).status);
    let guest = "content-length: 0\r\n";
    assert_eq!(statuses(guest), [401; 3], "before a user was added");
    let ann = admin(&home);
    assert_eq!(user(&home, &["add", "bob"], "secret\n").0, Some(0));
    assert_eq!(statuses(guest), [401; 3]);
    let bob = "authorization: Basic Ym9iOnNlY3JldA==\r\ncontent-length: 0\r\n";
    assert_eq!(statuses(bob), [403; 3]);
    let foreign = ann.replace("pelton", "evil.example");
    assert_eq!(statuses(&foreign), [403; 3]);
    assert_eq!(statuses(&ann), [200; 3]);
    server.stop();
}

/// JSON pointers to numbers in the dashboard's document, each with the metric that also reports it.
/// A pointer may be a prefix, which stands for a group of numbers.
const METRICS: &[(&str, &str)] = &[
    ("/uptimeSeconds", "process_start_time_seconds"),
    ("/responses/total", "pelton_http_responses_total"),
    ("/responses/clientErrors", "pelton_http_responses_total"),
    ("/responses/serverErrors", "pelton_http_responses_total"),
    ("/responses/unknownHosts", "pelton_http_responses_total"),
    ("/responses/bodyBytes", "pelton_http_body_bytes_total"),
    ("/responses/", "pelton_served_total"),
    ("/saved/todayBytes", "pelton_saved_today_bytes"),
    ("/saved/everBytes", "pelton_saved_ever_bytes"),
    ("/saved/processBytes", "pelton_saved_bytes_total"),
    ("/latency/", "pelton_served_duration_seconds_bucket"),
    ("/conversions/running", "pelton_conversions_running"),
    ("/conversions/waiting", "pelton_conversions_waiting"),
    (
        "/conversions/improvementsRunning",
        "pelton_improvements_running",
    ),
    (
        "/conversions/improvementsWaiting",
        "pelton_improvements_waiting",
    ),
    (
        "/conversions/improvementsCancelled",
        "pelton_improvements_cancelled_total",
    ),
    ("/conversions/concurrency", "pelton_limit"),
    ("/conversions/done", "pelton_conversions_total"),
    (
        "/conversions/cpuSeconds",
        "pelton_conversion_cpu_seconds_total",
    ),
    ("/conversions/refused", "pelton_conversions_refused_total"),
    ("/conversions/retried", "pelton_conversions_retried_total"),
    (
        "/conversions/quarantinedOriginals",
        "pelton_quarantined_originals",
    ),
    ("/conversions/failures/", "pelton_conversion_failures_total"),
    ("/transcodes/running", "pelton_transcodes_running"),
    ("/transcodes/waiting", "pelton_transcodes_waiting"),
    ("/cells/ready", "pelton_cells_ready"),
    ("/cells/running", "pelton_cells_running"),
    ("/cells/runs", "pelton_cell_runs_total"),
    ("/cells/kills/", "pelton_cell_kills_total"),
    ("/cells/queueTimeouts", "pelton_cell_queue_timeouts_total"),
    ("/cells/renewals", "pelton_cell_zygote_renewals_total"),
    ("/cells/deaths", "pelton_cell_zygote_deaths_total"),
    ("/cells/wipeLeaks", "pelton_cell_wipe_leaks_total"),
    ("/cells/memoryPeakBytes", "pelton_cell_memory_peak_bytes"),
    ("/variants/entries", "pelton_variants"),
    ("/variants/evicted", "pelton_variants_evicted_total"),
    ("/variants/purged", "pelton_variants_purged_total"),
    (
        "/variants/writeErrors",
        "pelton_variants_write_errors_total",
    ),
    ("/scan/files", "pelton_library_files"),
    ("/scan/reading/", "pelton_library_scan_files"),
    ("/scan/scans", "pelton_library_scans_total"),
    ("/scan/unsettledFolders", "pelton_library_unsettled_folders"),
    ("/scan/unreadable", "pelton_library_unreadable_files"),
    ("/scan/brokenTags", "pelton_library_broken_tags"),
    ("/prefetch/done", "pelton_prefetch_done"),
    ("/prefetch/pictures", "pelton_prefetch_pictures"),
    ("/prefetch/created", "pelton_prefetch_created"),
    ("/prefetch/existing", "pelton_prefetch_existing"),
    ("/prefetch/notSmaller", "pelton_prefetch_not_smaller"),
    ("/prefetch/failed", "pelton_prefetch_failed"),
    ("/prefetch/bytes", "pelton_prefetch_bytes"),
    ("/connections/open", "pelton_connections"),
    ("/connections/accepted", "pelton_connections_accepted_total"),
    ("/connections/shed", "pelton_connections_shed_total"),
    ("/connections/evicted", "pelton_connections_evicted_total"),
    ("/connections/timeouts", "pelton_timeouts_total"),
    ("/connections/queuedBytes", "pelton_queued_bytes"),
    ("/connections/http", "pelton_http_version_responses_total"),
    ("/connections/handshakes", "pelton_tls_handshakes_total"),
    ("/budgets/0/used", "pelton_variants_bytes"),
    ("/budgets/1/used", "pelton_data_free_bytes"),
    ("/budgets/2/used", "pelton_resident_bytes"),
    ("/budgets/3/used", "pelton_conversions_memory_bytes"),
    ("/budgets/4/used", "pelton_response_memory_bytes"),
    ("/budgets/5/used", "pelton_connections"),
    ("/budgets/6/used", "pelton_conversions_waiting"),
    ("/budgets/", "pelton_limit"),
    ("/process/residentBytes", "pelton_resident_bytes"),
    ("/process/cpuSeconds", "process_cpu_seconds_total"),
    ("/sampler/", "pelton_dashboard_sample_microseconds"),
];

/// JSON pointers to numbers that are not metrics: timestamps of events, and an estimate.
const NO_METRICS: [&str; 4] = [
    "/saved/sinceMs",
    "/scan/endedMs",
    "/prefetch/endedMs",
    "/prefetch/secondsLeft",
];

#[test]
fn every_number_of_the_dashboard_is_a_metric_too() {
    let home = home();
    let ann = admin(&home);
    let server = start(&home);
    json(&server.send("POST", "/-/api/prefetch", &ann));
    let document = eventually("the prefetch ends", || {
        let document = json(&server.send("GET", "/-/api/ops", &ann));
        (document["now"]["prefetch"]["isRunning"] == false).then_some(document)
    });
    let metrics = server.get("/-/metrics");
    let mut numbers = Vec::new();
    add_numbers("", &document["now"], &mut numbers);
    assert!(60 < numbers.len(), "{numbers:?}");
    for (place, number) in numbers {
        if NO_METRICS.contains(&&place[..]) {
            continue;
        }
        let named = METRICS.iter().find(|(name, _)| place.starts_with(name));
        let (_, name) = named.unwrap_or_else(|| panic!("{place} has no metric"));
        let samples: Vec<_> = metrics
            .text()
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '))
            .filter(|(labels, _)| labels.is_empty() || labels.starts_with('{'))
            .map(|(_, value)| value.parse::<f64>().expect("a number"))
            .collect();
        assert!(!samples.is_empty(), "{place}: no sample of {name}");
        // Requests for the document and for the metrics do not change these numbers.
        if place.starts_with("/prefetch/") || place.starts_with("/variants/") {
            assert_eq!(samples, [number], "{place}");
        }
    }
    server.stop();
}

/// Adds the numbers in `value` to `found`, each with its JSON pointer.
fn add_numbers(place: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => {
            found.push((place.to_owned(), number.as_f64().expect("finite")));
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                add_numbers(&format!("{place}/{index}"), value, found);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                add_numbers(&format!("{place}/{name}"), value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
