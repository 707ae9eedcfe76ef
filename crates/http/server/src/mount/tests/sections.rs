//! Tests of replies by which a mount lets the server send a range of a file as a resource of its
//! own.

use std::pin::Pin;
use std::sync::Arc;

use super::peer::TestServer;
use crate::mount::{FileSection, Mount, MountRequest, Mounts, Reply};

/// Mount that responds with the bytes 10 to 20 of the file that the query names. The tag of the
/// file follows after a comma, and the end of the range after another.
struct Sections;

impl Mount for Sections {
    fn respond<'a>(
        &'a self,
        request: MountRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Reply> + 'a>> {
        let mut parts = request.query.unwrap_or("").split(',');
        let mut part = || parts.next().unwrap_or("").to_owned();
        let (path, etag, end) = (part(), format!("\"{}\"", part()), part());
        Box::pin(async move {
            Reply::Section {
                path,
                section: FileSection {
                    etag,
                    range: 10..end.parse().expect("a number"),
                    media_type: "video/mp4",
                },
                fields: vec![("x-added".into(), "a".into())],
            }
        })
    }
}

/// Returns the value of a field in a response.
fn field<'r>(response: &'r str, name: &str) -> &'r str {
    let found = response.lines().find_map(|line| line.strip_prefix(name));
    found.expect("the field")
}

/// Returns the entity tag of a resource, without its quotes.
fn etag(server: &TestServer, target: &str) -> String {
    let response = server.say(&format!("HEAD {target} HTTP/1.1\r\nhost: h\r\n\r\n"));
    field(&response, "etag: ").trim_matches('"').to_owned()
}

#[test]
fn a_range_of_a_file_has_its_own_validators_and_ranges() {
    let server = TestServer::open(Mounts::new(vec![("/part".to_owned(), Arc::new(Sections))]));
    let digits = "0123456789abcdefghijklmnopqrstuvwxyz";
    // The second file is sent from the disk.
    for (name, repeat) in [("short.txt", 1), ("long.txt", 100_000)] {
        server.write(name, digits.repeat(repeat).as_bytes());
        let etag = etag(&server, &format!("/{name}"));
        let target = format!("/part?/{name},{etag},20");
        let ask = |method: &str, fields: &str| {
            let first = server.ask_http1(method, &target, fields, "");
            assert_eq!(
                first,
                server.ask_http2(method, &target, fields, ""),
                "{name}"
            );
            first
        };
        let response = ask("GET", "");
        assert!(response.starts_with("200\n"), "{response}");
        assert!(response.ends_with("\n\nabcdefghij"), "{response}");
        assert_eq!(field(&response, "content-type: "), "video/mp4");
        assert_eq!(field(&response, "content-length: "), "10");
        assert_eq!(field(&response, "x-added: "), "a");
        let own = self::etag(&server, &target);
        assert_eq!(own, format!("{etag}-10-20"));
        let part = ask("GET", "range: bytes=2-4\r\n");
        assert!(
            part.starts_with("206\n") && part.ends_with("\n\ncde"),
            "{part}"
        );
        assert_eq!(field(&part, "content-range: "), "bytes 2-4/10");
        let beyond = ask("GET", "range: bytes=10-\r\n");
        assert!(beyond.starts_with("416\n"), "{beyond}");
        let same = ask("GET", &format!("if-none-match: \"{own}\"\r\n"));
        assert!(same.starts_with("304\n"), "{same}");
        let other = ask("GET", &format!("if-none-match: \"{etag}\"\r\n"));
        assert!(other.starts_with("200\n"), "{other}");
        // Another version of the file, a range beyond its end, and a file that does not exist.
        let asked = |target: &str| server.ask_http1("GET", target, "", "");
        let changed = asked(&format!("/part?/{name},0{etag},20"));
        assert!(changed.starts_with("503\n"), "{changed}");
        let beyond = asked(&format!("/part?/{name},{etag},99999999"));
        assert!(beyond.starts_with("422\n"), "{beyond}");
        let missing = asked(&format!("/part?/no-{name},{etag},20"));
        assert!(missing.starts_with("404\n"), "{missing}");
    }
    let etag = etag(&server, "/long.txt");
    let target = format!("/part?/long.txt,{etag},3000010");
    let fields = "range: bytes=0-0,2000000-2000000\r\n";
    let parts = server.ask_http1("GET", &target, fields, "");
    assert!(parts.starts_with("206\n"), "{parts}");
    assert!(parts.contains("bytes 0-0/3000000\r\n\r\na\r\n"), "{parts}");
    assert!(
        parts.contains("bytes 2000000-2000000/3000000\r\n\r\nu\r\n"),
        "{parts}"
    );
}
