//! Dashboard: purges and prefetches of operators.

use serde_json::Value;

use crate::harness::{Home, Response, Server, eventually, media};
use crate::players::user;

const WEBP: &str = "accept: image/webp\r\n";
/// Origin of the server's own page.
const OWN: &str = "origin: http://pelton\r\n";

fn json(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_str(response.text()).expect("JSON")
}

/// Returns a library with pictures in two folders.
fn home() -> Home {
    Home::with(&[
        ("a/1.jpg", &media::photo(480, 320, 1)),
        ("a/deep/2.jpg", &media::photo(480, 320, 2)),
        ("b/3.jpg", &media::photo(480, 320, 3)),
    ])
}

/// Adds an admin, and returns the fields of a change that the admin makes on the server's page.
fn admin(home: &Home) -> String {
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

/// Starts a server that checks responses in memory at once.
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
    assert_eq!((&begun["folder"], &begun["of"]), (&"a".into(), &2.into()));
    let ended = eventually("the prefetch ends", || {
        let now = state("GET", "");
        (now["isRunning"] == false).then_some(now)
    });
    assert_eq!((&ended["done"], &ended["failed"]), (&2.into(), &0.into()));
    assert!(Some(0) < ended["made"].as_u64(), "{ended}");
    assert_eq!(ended["isCancelled"], false);
    assert!(is_hit(&server, "/a/1.jpg", "h=240"));
    assert!(is_hit(&server, "/a/deep/2.jpg", "h=240"));
    assert!(!is_hit(&server, "/b/3.jpg", "h=240"));
    // A second prefetch finds what the first has made.
    state("POST", "?folder=a");
    let again = eventually("the second prefetch ends", || {
        let now = state("GET", "");
        (now["isRunning"] == false).then_some(now)
    });
    assert_eq!(again["made"], 0, "{again}");
    assert_eq!(state("DELETE", "")["isCancelled"], false, "it has ended");
    let missing = server.send("POST", "/-/api/prefetch?folder=none", &ann);
    assert_eq!(missing.status, 404);
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
