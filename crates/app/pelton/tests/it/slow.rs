//! Clients that are slow on purpose. The server disconnects them, and they do not delay other
//! clients.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::harness::{Home, Metrics, Server, eventually, media};

/// Number of attackers per test, which exceeds the server's limit on connections.
const ATTACKERS: usize = 150;
/// Interval between two bytes of an attacker.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts a server with at most 100 connections and short timeouts.
fn served() -> (Home, Server) {
    let home = Home::with(&[
        ("p.jpg", &media::photo(200, 150, 1)),
        ("large.bin", &vec![7; 12 << 20]),
    ]);
    let flags = [
        ["--limits-connections-max", "100"],
        ["--limits-first-byte-timeout", "500ms"],
        ["--limits-head-timeout", "500ms"],
        ["--limits-body-timeout", "500ms"],
        ["--limits-body-rate-min", "1KiB"],
        ["--limits-write-timeout", "500ms"],
        ["--limits-write-rate-min", "16KiB"],
        ["--limits-linger-timeout", "500ms"],
        ["--allowed-types", "bin"],
    ];
    let server = Server::plain(&home, &flags.concat());
    (home, server)
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("the server listens");
    stream
        .set_nonblocking(true)
        .expect("a socket can be asked without waiting");
    stream
}

/// Returns whether the server keeps the connection, given the result of a read or write on it.
fn is_kept(worked: std::io::Result<usize>) -> bool {
    match worked {
        Ok(0) => false,
        Ok(_) => true,
        Err(err) => err.kind() == ErrorKind::WouldBlock,
    }
}

/// Repeats `work` on each attacker's connection until the server has closed all these connections.
/// Checks that the server meanwhile serves other clients.
fn attack(server: &Server, wait: &str, begin: &[u8], work: impl Fn(&mut TcpStream) -> bool) {
    let attacker = || {
        let mut stream = connect(server);
        // The write fails if the server has closed the connection at once, because too many
        // connections were open.
        let sent = stream.write(begin);
        sent.is_ok().then_some(stream)
    };
    let mut attackers: Vec<Option<TcpStream>> = (0..ATTACKERS).map(|_| attacker()).collect();
    let metrics = eventually("the attackers are ended", || {
        for one in &mut attackers {
            if !one.as_mut().is_some_and(&work) {
                *one = None;
            }
        }
        thread::park_timeout(PAUSE);
        let response = server.get("/-/metrics");
        let hit = server.get("/p.jpg");
        if [response.status, hit.status].contains(&503) {
            // The attackers use all connections, until their timeouts expire.
            return None;
        }
        assert_eq!((response.status, hit.status), (200, 200));
        let metrics = Metrics::parse(response.text());
        // The only open connection is the one of the request for metrics. The attackers'
        // connections are closed.
        (metrics.get("pelton_connections") == 1).then_some(metrics)
    });
    let ended = metrics.get(&format!("pelton_timeouts_total{{wait=\"{wait}\"}}"));
    let shed = metrics.get("pelton_connections_shed_total");
    let evicted = metrics.get("pelton_connections_evicted_total");
    assert!(0 < ended, "{wait}");
    assert!(ATTACKERS as u64 <= ended + shed + evicted, "{wait}");
}

/// Sends one more byte, and returns whether the server still waits.
fn drip(stream: &mut TcpStream) -> bool {
    is_kept(stream.write(b"x")) && !is_answered(stream)
}

/// Returns whether the server has responded, or closed the connection.
fn is_answered(stream: &mut TcpStream) -> bool {
    match stream.peek(&mut [0]) {
        Ok(_) => true,
        Err(err) => err.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn silence_ends() {
    let (home, server) = served();
    attack(&server, "first_byte", b"", |stream| !is_answered(stream));
    server.stop();
    drop(home);
}

#[test]
fn slow_heads_end() {
    let (home, server) = served();
    attack(
        &server,
        "head",
        b"GET /p.jpg HTTP/1.1\r\nhost: h\r\nx: ",
        drip,
    );
    server.stop();
    drop(home);
}

#[test]
fn slow_bodies_end() {
    let (home, server) = served();
    let begin = b"POST /p.jpg HTTP/1.1\r\nhost: h\r\ncontent-length: 60000\r\n\r\n";
    attack(&server, "body", begin, drip);
    server.stop();
    drop(home);
}

/// RFC 9110 §15.5.9: a request that arrives too slowly gets 408.
#[test]
fn slow_requests_get_408() {
    let (home, server) = served();
    for begin in [
        "GET /p.jpg HTTP/1.1\r\nhost: h\r\nx: ",
        "POST /p.jpg HTTP/1.1\r\nhost: h\r\ncontent-length: 60000\r\n\r\nx",
        "POST /rest/ping HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n5\r\nx",
    ] {
        let mut client = server.connect();
        client.send(begin);
        let response = client.response();
        let status_and_connection = (response.status, response.or_dash("connection"));
        assert_eq!(status_and_connection, (408, "close"), "{begin}");
        assert!(client.is_ended(), "{begin}");
    }
    server.stop();
    drop(home);
}

#[test]
fn slow_readers_end() {
    let (home, server) = served();
    let begin = b"GET /large.bin HTTP/1.1\r\nhost: h\r\n\r\n";
    attack(&server, "write", begin, |stream| {
        is_kept(stream.read(&mut [0]))
    });
    server.stop();
    drop(home);
}

/// When the server closes the connection of a client that does not read, the kernel drops the
/// unsent bytes of the response.
#[test]
fn unsent_bytes_are_dropped_with_the_connection() {
    let (home, server) = served();
    let mut reader = connect(&server);
    reader
        .write_all(b"GET /large.bin HTTP/1.1\r\nhost: h\r\n\r\n")
        .expect("a request fits");
    eventually("the reader is ended", || {
        let ended = server
            .metrics()
            .get("pelton_timeouts_total{wait=\"write\"}");
        (ended == 1).then_some(())
    });
    // The client can still read the bytes that have arrived. The next read reports that the
    // connection was reset. After an orderly end, the client would have received the unsent bytes,
    // too.
    let mut piece = vec![0; 64 << 10];
    let ended = eventually("the connection is over", || {
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return Some(None),
                Ok(_) => {}
                Err(err) if err.kind() == ErrorKind::WouldBlock => return None,
                Err(err) => return Some(Some(err.kind())),
            }
        }
    });
    assert_eq!(ended, Some(ErrorKind::ConnectionReset));
    server.stop();
    drop(home);
}

#[test]
fn clients_that_keep_the_pace_are_served_to_the_end() {
    let (home, server) = served();
    let mut client = connect(&server);
    client
        .write_all(b"GET /large.bin HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        .expect("a request fits");
    // Read at about ten times the lowest permitted rate, for several times the write timeout.
    let mut piece = vec![0; 96 << 10];
    let mut got = 0;
    eventually("all has come", || {
        thread::park_timeout(PAUSE);
        match client.read(&mut piece) {
            Ok(0) => Some(()),
            Ok(read) => {
                got += read;
                None
            }
            Err(err) => {
                assert_eq!(err.kind(), ErrorKind::WouldBlock);
                None
            }
        }
    });
    assert!(12 << 20 < got, "{got} bytes with the head");
    assert_eq!(
        server
            .metrics()
            .get("pelton_timeouts_total{wait=\"write\"}"),
        0
    );
    // Send a body at a permitted rate. Sending the whole body takes much longer than the timeout.
    let mut client = server.connect();
    client.send("POST /p.jpg HTTP/1.1\r\nhost: h\r\ncontent-length: 30000\r\n\r\n");
    for _ in 0..100 {
        client.send([b'x'; 300]);
        thread::park_timeout(PAUSE);
    }
    assert_eq!(client.response().status, 405);
    server.stop();
    drop(home);
}
