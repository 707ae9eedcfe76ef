//! HTTPS: certificates, sessions, handshakes, and redirects from HTTP to HTTPS.

use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::sync::Arc;

use expect_test::expect;
use rustix::process::Signal;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind};

use crate::harness::{
    Certificate, Client, Home, Http2, Secure, Server, eventually, media, pelton, signal, trusting,
};

/// Starts a server with a new certificate.
fn served(flags: &[&str]) -> (Home, Certificate, Server) {
    let home = Home::with(&[
        ("p.jpg", &media::photo(200, 150, 1)),
        ("digits.txt", b"0123456789"),
        ("large.txt", &large()),
    ]);
    let certificate = Certificate::issue(&home, "localhost", &["localhost", "127.0.0.1"]);
    let server = serving(&home, &[&certificate], flags);
    (home, certificate, server)
}

fn serving(home: &Home, certificates: &[&Certificate], flags: &[&str]) -> Server {
    let tls = Certificate::flags(certificates);
    let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
    Server::plain(
        home,
        &[&["--allowed-types", "txt"], &tls[..], flags].concat(),
    )
}

fn large() -> Vec<u8> {
    (0..300_000_u32)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

fn connect(server: &Server, config: &Arc<ClientConfig>) -> Client<Secure> {
    let client = Client::secure(server.secure_address(), config, "localhost");
    client.expect("the server is trusted")
}

#[test]
fn both_protocols_and_versions_are_spoken_and_no_byte_differs() {
    let (_home, certificate, server) = served(&[]);
    let (digits, large) = (server.get("/digits.txt"), server.get("/large.txt"));
    for version in [&TLS12, &TLS13] {
        for protocols in [&["http/1.1"][..], &[]] {
            let config = trusting(&[&certificate], protocols, &[version]);
            let mut client = connect(&server, &config);
            for _ in 0..2 {
                client.request("GET", "/large.txt", "");
                assert_eq!(client.response().body, large.body);
                client.request("GET", "/digits.txt", "range: bytes=1-2\r\n");
                assert_eq!(client.response().body, b"12");
                client.request("HEAD", "/p.jpg", "");
                assert_eq!(client.head().status, 200);
            }
            // The client sends two requests in one write. The second one closes the connection.
            client.send(
                "GET /digits.txt HTTP/1.1\r\nhost: h\r\n\r\n\
                 GET /digits.txt HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n",
            );
            assert_eq!(client.response().body, digits.body);
            assert_eq!(client.response().body, digits.body);
            // The server ends the connection with close_notify, so the end is not a truncation.
            assert_eq!(client.rest(), b"");
        }
        let config = trusting(&[&certificate], &["h2", "http/1.1"], &[version]);
        let mut client = Http2::secure(server.secure_address(), &config);
        let asked: Vec<_> = (0..20)
            .map(|_| client.ask("GET", "/large.txt", "", b""))
            .collect();
        for asked in asked {
            let response = client.response(asked).expect("the stream is answered");
            assert_eq!(response.body, large.body);
        }
    }
    let metrics = server.metrics();
    let full = metrics.get("pelton_tls_handshakes_total{how=\"full\"}");
    assert_eq!(
        (
            full,
            metrics.get("pelton_http_version_responses_total{version=\"2\"}")
        ),
        (6, 40)
    );
}

/// A client that sends the whole body before it reads gets the response, with TLS as without.
#[test]
fn answers_to_bodies_that_are_not_read_arrive() {
    const BODY_BYTES: usize = 4 << 20;
    let (_home, certificate, server) = served(&[]);
    let config = trusting(&[&certificate], &["http/1.1"], &[&TLS13]);
    for (target, status) in [("/p.jpg", 405), ("/rest/ping", 413)] {
        let mut client = connect(&server, &config);
        client.request("POST", target, &format!("content-length: {BODY_BYTES}\r\n"));
        client.send(vec![b'x'; BODY_BYTES]);
        assert_eq!(client.response().status, status, "{target}");
    }
    server.stop();
}

#[test]
fn the_name_asked_for_picks_the_certificate() {
    let home = Home::with(&[("digits.txt", b"0123456789")]);
    let first = Certificate::issue(&home, "first", &["first.example"]);
    let second = Certificate::issue(&home, "second", &["second.example", "127.0.0.1"]);
    let wild = Certificate::issue(&home, "wild", &["*.wild.example"]);
    let server = serving(&home, &[&first, &second, &wild], &[]);
    let config = trusting(&[&first, &second, &wild], &[], &[&TLS13]);
    let presented = |name| {
        let connected = Client::secure(server.secure_address(), &config, name);
        connected.map(|client| client.certificate())
    };
    for (name, certificate) in [
        ("first.example", &first),
        ("FIRST.example", &first),
        ("second.example", &second),
        ("a.wild.example", &wild),
    ] {
        assert_eq!(presented(name).expect("the name is known"), certificate.der);
    }
    // For all other names, the server presents the first certificate. The clients reject this
    // certificate.
    for name in ["wild.example", "a.b.wild.example", "127.0.0.1"] {
        let refused = presented(name).expect_err("the certificate is another's");
        assert!(
            refused.to_string().contains("not valid for name"),
            "{refused}"
        );
    }
}

#[test]
fn sessions_are_resumed() {
    let (_home, certificate, server) = served(&[]);
    for version in [&TLS12, &TLS13] {
        let config = trusting(&[&certificate], &["http/1.1"], &[version]);
        for expected in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut client = connect(&server, &config);
            // Read a response, because the session tickets arrive with it.
            client.request("GET", "/digits.txt", "");
            assert_eq!(client.response().body, b"0123456789");
            assert_eq!(client.handshake(), Some(expected), "{version:?}");
        }
    }
    let metrics = server.metrics();
    for how in ["full", "resumed"] {
        let name = format!("pelton_tls_handshakes_total{{how=\"{how}\"}}");
        assert_eq!(metrics.get(&name), 2);
    }
}

#[test]
fn renewed_certificates_are_used_without_a_restart() {
    let (home, old, server) = served(&["--tls-check-time", "20ms"]);
    let trusts_old = trusting(&[&old], &[], &[&TLS13]);
    let mut before = connect(&server, &trusts_old);
    let new = Certificate::issue(&home, "localhost", &["localhost"]);
    let trusts_new = trusting(&[&new], &[], &[&TLS13]);
    let mut after = eventually("the new certificate is presented", || {
        Client::secure(server.secure_address(), &trusts_new, "localhost").ok()
    });
    for client in [&mut before, &mut after] {
        client.request("GET", "/digits.txt", "");
        assert_eq!(client.response().body, b"0123456789");
    }
    // A certificate with an invalid key is refused, and the old certificate and key stay in use.
    fs::write(home.directory().join("localhost.key"), "").expect("the home can be written");
    server.logged(
        "ERROR",
        "cannot load the renewed certificates: the old certificates stay in use",
    );
    let mut client = connect(&server, &trusts_new);
    client.request("GET", "/digits.txt", "");
    assert_eq!(client.response().body, b"0123456789");
}

#[test]
fn a_signal_has_certificates_read_again() {
    let (home, old, server) = served(&["--tls-check-time", "1d"]);
    let mut before = connect(&server, &trusting(&[&old], &[], &[&TLS13]));
    let new = Certificate::issue(&home, "localhost", &["localhost"]);
    let trusts_new = trusting(&[&new], &[], &[&TLS13]);
    signal(server.pid(), Signal::HUP);
    server.logged("INFO", "certificates renewed");
    let mut after = connect(&server, &trusts_new);
    for client in [&mut before, &mut after] {
        client.request("GET", "/digits.txt", "");
        assert_eq!(client.response().body, b"0123456789");
    }
    // A certificate with an invalid key is refused, and the old certificate and key stay in use.
    fs::write(home.directory().join("localhost.key"), "").expect("the home can be written");
    signal(server.pid(), Signal::HUP);
    server.logged(
        "ERROR",
        "cannot load the renewed certificates: the old certificates stay in use",
    );
    let mut client = connect(&server, &trusts_new);
    client.request("GET", "/digits.txt", "");
    assert_eq!(client.response().body, b"0123456789");
}

#[test]
fn a_new_process_takes_over_what_is_spoken_where() {
    let (_home, certificate, mut server) = served(&["--tls-redirect", "true"]);
    let (plain, secure) = (server.address(), server.secure_address());
    let http1 = trusting(&[&certificate], &["http/1.1"], &[&TLS13]);
    let http2 = trusting(&[&certificate], &["h2"], &[&TLS13]);
    for _ in 0..2 {
        let mut open = Http2::secure(secure, &http2);
        assert_eq!(open.send("GET", "/digits.txt", "").body, b"0123456789");
        let mut client = Client::secure(secure, &http1, "localhost").expect("trusted");
        client.request("GET", "/large.txt", "");
        assert_eq!(client.response().body, large());
        let mut client = Client::connect(plain);
        client.send("GET /digits.txt HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let location = format!("https://localhost:{}/digits.txt", secure.port());
        assert_eq!(client.response().field("location"), Some(&*location));
        server.upgrade();
        assert_eq!(server.event("INFO", "stopped")["dropped"], 0);
    }
    let mut client = Client::secure(secure, &http1, "localhost").expect("trusted");
    client.request("GET", "/digits.txt", "connection: close\r\n");
    assert_eq!(client.response().body, b"0123456789");
    server.stop();
}

#[test]
fn http_leads_to_https_for_hosts_it_is_for() {
    let home = Home::with(&[("digits.txt", b"0123456789")]);
    let names = ["localhost", "127.0.0.1", "*.wild.example"];
    let certificate = Certificate::issue(&home, "localhost", &names);
    let server = serving(&home, &[&certificate], &["--tls-redirect", "true"]);
    let port = server.secure_address().port();
    let ask = |host: &str| {
        let mut client = server.connect();
        client.send(format!("GET /a%20b?w=1 HTTP/1.1\r\nhost: {host}\r\n\r\n"));
        client.response()
    };
    for (host, name) in [
        ("localhost", "localhost"),
        ("LocalHost:8080", "LocalHost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("a.wild.example", "a.wild.example"),
    ] {
        let response = ask(host);
        let location = format!("https://{name}:{port}/a%20b?w=1");
        assert_eq!(
            (response.status, response.field("location")),
            (308, Some(&*location))
        );
    }
    for host in ["evil.example", "wild.example", "127.0.0.2", "[::1]:80"] {
        let response = ask(host);
        assert_eq!(
            (response.status, response.field("location")),
            (421, None),
            "{host}"
        );
    }
    let mut http2 = Http2::connect(server.address());
    assert_eq!(http2.send("GET", "/digits.txt", "").status, 421);
    // Health checks may use any host name.
    for probe in ["/healthz", "/-/live", "/-/ready"] {
        assert_eq!(server.get(probe).status, 200);
    }
    let config = trusting(&[&certificate], &[], &[&TLS13]);
    let mut client = connect(&server, &config);
    client.request("GET", "/digits.txt", "");
    assert_eq!(client.response().body, b"0123456789");
}

#[test]
fn the_port_led_to_may_be_another() {
    let home = Home::with(&[]);
    let certificate = Certificate::issue(&home, "localhost", &["pelton"]);
    let server = serving(&home, &[&certificate], &["--tls-redirect", "443"]);
    let response = server.get("/");
    assert_eq!(response.field("location"), Some("https://pelton/"));
}

#[test]
fn handshakes_that_take_too_long_are_ended() {
    let (_home, certificate, server) = served(&["--limits-handshake-timeout", "1s"]);
    let mut silent = TcpStream::connect(server.secure_address()).expect("the server listens");
    assert_eq!(silent.read(&mut [0]).expect("an end"), 0);
    let config = trusting(&[&certificate], &[], &[&TLS13]);
    let mut client = connect(&server, &config);
    // The client may see the end of its connection before the core has counted it.
    eventually("the handshake is counted", || {
        client.request("GET", "/-/metrics", "");
        let metrics = crate::harness::Metrics::parse(client.response().text());
        let counts = [
            "timeouts_total{wait=\"handshake\"}",
            "tls_handshakes_total{how=\"failed\"}",
        ]
        .map(|name| metrics.get(&format!("pelton_{name}")));
        (counts == [1, 1]).then_some(())
    });
}

#[test]
fn handshakes_that_do_not_go_on_give_way() {
    let (_home, certificate, server) = served(&["--limits-handshakes-max", "4", "--cores", "1"]);
    let mut silent: Vec<_> = (0..12)
        .map(|_| TcpStream::connect(server.secure_address()).expect("the server listens"))
        .collect();
    for ended in &mut silent[..8] {
        assert_eq!(ended.read(&mut [0]).expect("an end"), 0);
    }
    let config = trusting(&[&certificate], &[], &[&TLS13]);
    let mut client = connect(&server, &config);
    client.request("GET", "/digits.txt", "");
    assert_eq!(client.response().body, b"0123456789");
}

#[test]
fn what_is_no_tls_is_ended() {
    let (_home, certificate, server) = served(&[]);
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: h\r\n\r\n"[..],
        &[0x16, 3, 1, 255, 255],
        &[0; 600],
    ] {
        let mut client = Client::connect(server.secure_address());
        client.send(bytes);
        client.end_sending();
        let rest = client.rest();
        // The server sends nothing, or an alert.
        assert!(rest.is_empty() || rest[0] == 0x15, "{rest:?}");
    }
    let config = trusting(&[&certificate], &["imap"], &[&TLS13]);
    let refused = Client::secure(server.secure_address(), &config, "localhost");
    assert!(refused.is_err(), "a protocol that is not spoken");
}

#[test]
fn slow_readers_cost_little_beyond_the_shared_body() {
    const CLIENTS: u64 = 100;
    let (_home, certificate, server) = served(&[]);
    let config = trusting(&[&certificate], &[], &[&TLS13]);
    let ask = || {
        let mut client = connect(&server, &config);
        client.request("GET", "/large.txt", "");
        client.head();
        client
    };
    let warm: Vec<_> = (0..10).map(|_| ask()).collect();
    let before = server.memory("VmRSS");
    let clients: Vec<_> = (0..CLIENTS).map(|_| ask()).collect();
    let each = server.memory("VmRSS").saturating_sub(before) / CLIENTS;
    // The server may hold at most 32 KiB of encrypted data per connection, in addition to the
    // memory of an idle connection.
    assert!(each <= 64 << 10, "{each} bytes each");
    drop((warm, clients));
}

#[test]
fn idle_connections_cost_hardly_anything() {
    const CLIENTS: u64 = 400;
    let (_home, certificate, server) = served(&[]);
    let config = trusting(&[&certificate], &[], &[&TLS13]);
    let ask = || {
        let mut client = connect(&server, &config);
        client.request("GET", "/digits.txt", "");
        assert_eq!(client.response().status, 200);
        client
    };
    // The first connections allocate memory that later ones reuse.
    let warm: Vec<_> = (0..CLIENTS / 4).map(|_| ask()).collect();
    let before = server.memory("VmRSS");
    let clients: Vec<_> = (0..CLIENTS).map(|_| ask()).collect();
    let each = server.memory("VmRSS").saturating_sub(before) / CLIENTS;
    // The memory of each connection includes rustls's read buffer of 4 KiB, which rustls keeps.
    assert!(each <= 13 << 10, "{each} bytes each");
    drop((warm, clients));
}

#[test]
fn unusable_certificates_are_reported_before_serving() {
    let home = Home::with(&[]);
    let good = Certificate::issue(&home, "good", &["localhost"]);
    Certificate::issue(&home, "other", &["localhost"]);
    Certificate::issue_until(&home, "old", &["localhost"], 2020);
    drop(good);
    let printed = |words: &str| {
        let mut command = pelton(&home, words.split(' '));
        let output = command.output().expect("the program starts");
        let stderr_text = String::from_utf8(output.stderr).expect("errors are text");
        format!(
            "{stderr_text}{}\n",
            output.status.code().expect("not killed")
        )
    };
    expect![[r#"
        pelton: tls: 1 certificates, but 0 keys
        hint:   give --tls-cert and --tls-key the same number of files, in the same order
        2
    "#]]
    .assert_eq(&printed("serve --tls-cert good.pem"));
    expect![[r#"
        pelton: tls: missing.key: the file cannot be read: No such file or directory (os error 2)
        hint:   the certificate and the key must be readable by the user that pelton runs as
        2
    "#]]
    .assert_eq(&printed("serve --tls-cert good.pem --tls-key missing.key"));
    expect![[r#"
        pelton: tls: other.key: the key does not belong to the certificate
        hint:   give certificates and keys in the same order; each file begins with the server's own certificate
        2
    "#]]
    .assert_eq(&printed("check --tls-cert good.pem --tls-key other.key"));
    expect![[r#"
        pelton: tls: old.pem: the certificate expired on Wed, 01 Jan 2020 00:00:00 GMT
        1
    "#]]
    .assert_eq(&printed("check --tls-cert old.pem --tls-key old.key"));
    expect![[r#"
        pelton: tls.redirect: HTTPS is off, because no certificate is configured
        hint:   give --tls-cert and --tls-key
        2
    "#]]
    .assert_eq(&printed("serve --tls-redirect true"));
}

#[test]
fn system_calls_are_counted_as_without_tls() {
    const CONNECTIONS: u64 = 20;
    let (_home, certificate, server) = served(&[]);
    for alpn in ["http/1.1", "h2"] {
        let config = trusting(&[&certificate], &[alpn], &[&TLS13]);
        let count = || {
            let metrics = server.metrics();
            ["read", "write"]
                .map(|call| metrics.get(&format!("pelton_syscalls_total{{call=\"{call}\"}}")))
        };
        let before = count();
        for _ in 0..CONNECTIONS {
            let client = Client::secure(server.secure_address(), &config, "localhost");
            drop(client.expect("a handshake"));
        }
        let after = count();
        // The difference includes the system calls of the requests that read the counters. Those
        // make fewer than `CONNECTIONS` calls, so a difference of at least `CONNECTIONS` shows that
        // handshakes are counted.
        let counted = [0, 1].map(|call| after[call] - before[call]);
        assert!(
            counted.iter().all(|count| CONNECTIONS <= *count),
            "{alpn}: {counted:?}"
        );
    }
}
