//! The data directory: unreachable, full, too small, or changed by another program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::harness::{Home, Server, eventually, media};

fn home() -> Home {
    Home::with(&[("p.jpg", &media::photo(400, 300, 1))])
}

#[test]
fn without_a_data_directory_pictures_are_served_uncached() {
    let home = home();
    fs::write(home.directory().join("file"), b"").expect("the home can be written");
    let data = home.directory().join("file/data");
    let data = data.to_str().expect("paths of tests are text");
    let server = Server::start(&home, &["--data", data]);
    for round in 1..=3 {
        let response = server.get_as("/p.jpg?w=200", "image/webp");
        assert_eq!((response.status, response.size()), (200, (200, 150)));
        assert_eq!(response.field("cache-status"), Some("Pelton; fwd=uri-miss"));
        let metrics = server.metrics();
        let errors = metrics.get("pelton_variants_write_errors_total");
        assert!(round <= errors, "{errors} errors in round {round}");
    }
    assert_eq!(server.get("/p.jpg").body, media::photo(400, 300, 1));
    let warning =
        "variants cannot be written to the disk; the server continues without storing them";
    assert_eq!(
        server.logged("WARN", warning),
        1,
        "logged once, not each time"
    );
    server.stop();
}

#[test]
fn on_a_full_disk_pictures_are_served_uncached() {
    let home = home();
    let server = Server::plain(&home, &[]);
    // The next files that the server writes are links to a device that is always full.
    let scratch = home.data().join("variants/tmp");
    fs::create_dir_all(&scratch).expect("the home can be written");
    for number in 0..3 {
        let name = format!("{}-{number}", server.pid());
        symlink("/dev/full", scratch.join(name)).expect("links can be made");
    }
    for _ in 0..3 {
        let response = server.get_as("/p.jpg?w=200", "image/avif");
        assert_eq!((response.status, response.size()), (200, (200, 150)));
        assert_eq!(response.field("cache-status"), Some("Pelton; fwd=uri-miss"));
        assert_eq!(home.variants().len(), 0);
    }
    let metrics = server.metrics();
    assert_eq!(metrics.get("pelton_variants_write_errors_total"), 3);
    assert_eq!(metrics.get("pelton_variants"), 0);
    // The links are used up, so writes succeed again.
    let made = server.get_as("/p.jpg?w=200", "image/avif");
    assert_eq!(
        made.field("cache-status"),
        Some("Pelton; fwd=uri-miss; stored")
    );
    let kept = server.get_as("/p.jpg?w=200", "image/avif");
    assert_eq!(kept.field("cache-status"), Some("Pelton; hit"));
    assert_eq!(
        server.logged("INFO", "variants can be written to the disk again"),
        1
    );
    server.stop();
}

/// Returns the total size of all variants, as counted for `limits.variants_bytes_max`: each variant
/// counts 512 bytes more than its file has.
fn charged(home: &Home) -> u64 {
    let variants = home.variants();
    let bytes = variants.iter().map(|path| bytes(path) + 512);
    bytes.sum()
}

fn bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |meta| meta.len())
}

/// Waits for more than a second, so that later uses of variants are recorded with a later time: the
/// recorded times have a resolution of one second.
fn tick() {
    let now = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.expect("the clock is past 1970").as_secs()
    };
    let begun = now();
    eventually("time passes", || (begun + 2 <= now()).then_some(()));
}

/// Creates more variants than the disk budget permits, and checks that the least recently used
/// variants are evicted. `revalidate_after` is the time for which the server uses a cached response
/// without checking its original.
fn check_order_of_eviction(revalidate_after: &str) {
    const BUDGET: u64 = 32 << 10;
    let home = home();
    let flags = [
        "--limits-variants-bytes-max",
        "32KiB",
        "--limits-revalidate-after",
        revalidate_after,
    ];
    let server = Server::plain(&home, &flags);
    let get = |width: u32| -> String {
        let response = server.get_as(&format!("/p.jpg?w={width}"), "image/webp");
        assert_eq!((response.status, response.size().0), (200, width));
        response.etag().trim_matches('"').to_owned()
    };
    let is_kept = |key: &String| {
        let variants = home.variants();
        variants
            .iter()
            .any(|path| path.to_string_lossy().contains(key))
    };
    let [favourite, second, other, another] = [300, 301, 302, 303].map(get);
    tick();
    assert_eq!([300, 301].map(get), [&favourite[..], &second]);
    tick();
    assert_eq!([300, 301].map(get), [&favourite[..], &second]);
    let mut newest = (309, String::new());
    while server.metrics().get("pelton_variants_evicted_total") < 2 {
        newest = (newest.0 + 1, get(newest.0 + 1));
        assert!(server.metrics().get("pelton_variants_bytes") <= BUDGET);
        assert!(charged(&home) <= BUDGET, "at {newest:?}");
    }
    let used = [&favourite, &second, &newest.1];
    assert_eq!(used.map(is_kept), [true; 3], "they were used since");
    assert_eq!([&other, &another].map(is_kept), [false; 2], "they were not");
    let kept = server.metrics().get("pelton_variants");
    assert_eq!(home.variants().len() as u64, kept);
    server.stop();
}

#[test]
fn the_least_recently_used_leave_when_the_budget_is_spent() {
    check_order_of_eviction("1h");
}

#[test]
fn uses_count_also_when_each_is_looked_up_again() {
    check_order_of_eviction("1ms");
}

#[test]
fn a_smaller_budget_holds_from_the_next_start() {
    let home = home();
    let server = Server::plain(&home, &[]);
    for width in 300..310 {
        let response = server.get_as(&format!("/p.jpg?w={width}"), "image/webp");
        assert_eq!(response.status, 200);
    }
    server.stop();
    assert!(16 << 10 < charged(&home));
    let flags = ["--limits-variants-bytes-max", "16KiB"];
    let server = Server::plain(&home, &flags);
    eventually("the budget holds", || {
        (charged(&home) <= 16 << 10).then_some(())
    });
    server.stop();
}

#[test]
fn what_is_larger_than_the_whole_budget_is_served_all_the_same() {
    let home = home();
    let flags = ["--limits-variants-bytes-max", "1KiB"];
    let server = Server::plain(&home, &flags);
    for _ in 0..3 {
        let response = server.get_as("/p.jpg?w=390", "image/webp");
        assert_eq!((response.status, response.size()), (200, (390, 293)));
        assert!(charged(&home) <= 1 << 10);
    }
    server.stop();
}

#[test]
fn variants_may_be_deleted_at_any_time() {
    let home = home();
    for flags in [&[][..], &["--limits-memory-body-bytes-max", "1"]] {
        let server = Server::plain(&home, flags);
        let made = server.get_as("/p.jpg?w=200", "image/webp");
        fs::remove_dir_all(home.data().join("variants")).expect("the home can be written");
        for target in ["/p.jpg?w=200", "/p.jpg?w=201"] {
            let response = server.get_as(target, "image/webp");
            assert_eq!(response.status, 200, "{target}");
        }
        let again = server.get_as("/p.jpg?w=200", "image/webp");
        assert_eq!(again.body, made.body);
        server.stop();
    }
    fs::remove_dir_all(home.data()).expect("the home can be written");
    let server = Server::plain(&home, &[]);
    assert_eq!(server.get_as("/p.jpg?w=200", "image/webp").status, 200);
    server.stop();
}

#[test]
fn broken_variants_are_made_anew() {
    let home = home();
    let server = Server::plain(&home, &[]);
    let targets = ["/p.jpg?w=200", "/p.jpg?w=210", "/p.jpg?w=220"];
    let made = targets.map(|target| server.get_as(target, "image/avif"));
    server.stop();
    // Leave files as a power cut may leave them: one variant truncated, one empty, and an
    // unfinished temporary file. Add stray files of another program.
    let variants = home.variants();
    assert_eq!(variants.len(), 3);
    for (path, bytes_left) in variants.iter().zip([100, 0]) {
        let bytes = fs::read(path).expect("a variant can be read");
        fs::write(path, &bytes[..bytes_left]).expect("the home can be written");
    }
    for lost in ["tmp/1-1", "stray", "00/stray", "00/00/stray"] {
        let path = home.data().join("variants").join(lost);
        let folder = path.parent().expect("it lies in a folder");
        fs::create_dir_all(folder).expect("the home can be written");
        fs::write(&path, b"half").expect("the home can be written");
    }
    let server = Server::plain(&home, &[]);
    for (target, made) in targets.iter().zip(&made) {
        let response = server.get_as(target, "image/avif");
        assert_eq!((response.status, &response.body), (200, &made.body));
    }
    assert_eq!(server.metrics().conversions(), 2);
    eventually("what was half written is gone", || {
        home.temporaries().is_empty().then_some(())
    });
    let kept = home.variants().into_iter().filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "avif")
    });
    assert_eq!(
        kept.map(|path| bytes(&path))
            .filter(|bytes| *bytes <= 100)
            .count(),
        0
    );
    server.stop();
}
