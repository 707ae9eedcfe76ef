use super::*;

const HEALTHY: Facts = Facts {
    disk: Some(Disk {
        total_bytes: 100 * GIB,
        free_bytes: 50 * GIB,
    }),
    variants: 1_000,
    evicted: 0,
    write_errors: 0,
    fell_back: None,
    is_wiped: true,
    wipe_leaks: 0,
    certificates: Vec::new(),
    unknown_hosts: 0,
    refused: 0,
    shed: 0,
    store_unreachable: false,
    quarantined: 0,
    scan_failed: None,
    polling: None,
    unreadable: 0,
};

fn ids(facts: &Facts) -> Vec<String> {
    let found = findings(facts);
    let found = found.as_array().expect("it is a list").iter();
    found
        .map(|finding| {
            let text = |name: &str| finding[name].as_str().expect("it is a text").to_owned();
            format!("{} {}", text("severity"), text("id"))
        })
        .collect()
}

#[test]
fn a_healthy_server_has_none() {
    assert_eq!(ids(&HEALTHY), [""; 0]);
}

#[test]
fn the_worst_come_first() {
    let facts = Facts {
        evicted: 1_000,
        quarantined: 1,
        wipe_leaks: 1,
        unknown_hosts: 3,
        ..HEALTHY
    };
    assert_eq!(
        ids(&facts),
        [
            "error wipeLeaks",
            "warning cacheSmall",
            "note quarantine",
            "note unknownHosts"
        ]
    );
}

#[test]
fn disks_are_judged_by_free_space() {
    let of = |total_bytes, free_bytes| {
        let disk = Some(Disk {
            total_bytes,
            free_bytes,
        });
        ids(&Facts { disk, ..HEALTHY })
    };
    assert_eq!(of(100 * GIB, GIB / 8), ["error diskFull"]);
    assert_eq!(of(100 * GIB, 4 * GIB), ["warning diskFull"]);
    assert_eq!(
        of(1_000 * GIB, 40 * GIB),
        [""; 0],
        "4 percent of much is enough"
    );
    assert_eq!(of(0, 0), ["error diskFull"]);
}

#[test]
fn a_cancelled_scan_is_no_problem() {
    let of = |why: &str| {
        ids(&Facts {
            scan_failed: Some(why.to_owned()),
            ..HEALTHY
        })
    };
    assert_eq!(of("cancelled"), [""; 0]);
    assert_eq!(of("cannot list a: permission denied"), ["error scanFailed"]);
}

#[test]
fn the_page_has_a_message_for_every_finding() {
    let messages = include_str!("../../../../../web/src/i18n/ops/en.json");
    let messages: Value = serde_json::from_str(messages).expect("the catalogue is JSON");
    let everything_is_wrong = Facts {
        disk: None,
        variants: 1,
        evicted: 1,
        write_errors: 1,
        fell_back: Some(String::new()),
        is_wiped: false,
        wipe_leaks: 1,
        certificates: vec![String::new()],
        unknown_hosts: 1,
        refused: 1,
        shed: 1,
        store_unreachable: true,
        quarantined: 1,
        scan_failed: Some(String::new()),
        polling: Some(String::new()),
        unreadable: 1,
    };
    let ids = ids(&everything_is_wrong);
    assert_eq!(ids.len(), 14);
    for id in ids {
        let (_, id) = id.split_once(' ').expect("a severity comes first");
        let has = |suffix: &str| messages[format!("ops.finding.{id}{suffix}")].is_string();
        assert!(has("") || has(".other"), "no message for {id}");
    }
}
