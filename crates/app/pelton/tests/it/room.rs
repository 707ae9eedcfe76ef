//! Limits on connections, requests per connection and descriptors; memory per connection; and the
//! distribution of connections over cores.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;

use rustix::net::{AddressFamily, SocketType};

use crate::harness::{Client, Home, Response, Server, eventually, media, pelton};

/// Connects from this address of the loopback interface.
fn connect_from(address: Ipv4Addr, server: &Server) -> Client {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None);
    let socket = socket.expect("a descriptor is left");
    let from = SocketAddr::new(address.into(), 0);
    rustix::net::bind(&socket, &from).expect("all of 127.0.0.0/8 is this host's");
    rustix::net::connect(&socket, &server.address()).expect("the server listens");
    Client::over(TcpStream::from(socket))
}

fn ask(client: &mut Client) -> Response {
    client.request("GET", "/p.jpg", "");
    client.response()
}

#[test]
fn no_address_takes_all_places() {
    const MOST: usize = 4;
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let most = ["--limits-address-connections-max", "4"];
    let flags = [&most[..], &["--proxies", "127.0.0.9,::1"]].concat();
    let server = Server::plain(&home, &flags);
    let (one, other, proxy) = (
        Ipv4Addr::new(127, 0, 0, 1),
        Ipv4Addr::new(127, 0, 0, 2),
        Ipv4Addr::new(127, 0, 0, 9),
    );
    let mut kept: Vec<_> = (0..MOST).map(|_| connect_from(one, &server)).collect();
    for client in &mut kept {
        assert_eq!(ask(client).status, 200);
    }
    let mut refused = connect_from(one, &server);
    assert_eq!(refused.response().status, 503);
    assert!(refused.is_ended());
    for _ in 0..2 * MOST {
        let mut client = connect_from(proxy, &server);
        assert_eq!(ask(&mut client).status, 200);
        kept.push(client);
    }
    let mut client = connect_from(other, &server);
    assert_eq!(ask(&mut client).status, 200);
    client.request("GET", "/-/metrics", "");
    let metrics = crate::harness::Metrics::parse(client.response().text());
    let shed = metrics.get("pelton_connections_shed_by_address_total");
    assert_eq!(shed, 1);
    drop(kept);
    eventually("the places are free again", || {
        let mut client = connect_from(one, &server);
        (ask(&mut client).status == 200).then_some(())
    });
    server.stop();
}

#[test]
fn a_connection_has_so_many_requests() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = Server::plain(&home, &["--limits-connection-requests-max", "3"]);
    let mut client = server.connect();
    // More requests than are permitted are pipelined: all responses up to the limit arrive.
    for _ in 0..8 {
        client.request("GET", "/p.jpg", "");
    }
    let answers: Vec<_> = (0..3).map(|_| client.response()).collect();
    let connection_fields = answers.iter().map(|response| response.field("connection"));
    assert_eq!(
        connection_fields.collect::<Vec<_>>(),
        [None, None, Some("close")]
    );
    assert!(client.is_ended());
    server.stop();
}

#[test]
fn without_descriptors_the_server_sheds_and_recovers() {
    const DESCRIPTORS: usize = 100;
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let mut command = Command::new("sh");
    let words = ["serve", "--listen", "127.0.0.1:0", "--improve", "false"];
    let inner = pelton(&home, words);
    // `ulimit -n` sets the soft and the hard limit, since the server raises the soft limit to the
    // hard one.
    command
        .args([
            "-c",
            &format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\""),
        ])
        .arg(inner.get_program())
        .args(inner.get_args())
        .arg(home.library())
        .arg("--data")
        .arg(home.data())
        .current_dir(home.directory())
        .env_clear();
    let server = Server::run(&mut command);
    let mut kept = Vec::new();
    // A reset may arrive before the response.
    let (mut shed_count, mut ended) = (0, 0);
    for _ in 0..3 * DESCRIPTORS {
        let mut client = server.connect();
        // Send an incomplete head, so that the server cannot evict the connection as idle.
        client.send("GET /p.jpg HTTP/1.1\r\nhost: h\r\n");
        kept.push(client);
    }
    for client in &mut kept {
        eventually("each connection stays, or gets 503", || {
            if client.has_begun() {
                match client.response().status {
                    503 => shed_count += 1,
                    // The server accepted this connection, and later closed it because its head was
                    // not completed in time.
                    status => {
                        assert_eq!(status, 408);
                        ended += 1;
                    }
                }
                return Some(());
            }
            if client.has_ended() {
                ended += 1;
                return Some(());
            }
            (2 * DESCRIPTORS <= shed_count + ended).then_some(())
        });
    }
    assert!(
        0 < shed_count && DESCRIPTORS <= shed_count + ended,
        "{shed_count} got 503, {ended} ended"
    );
    let busy = server.cpu_ticks();
    let mut answered = server.connect();
    answered.send("\r\n");
    // Waiting uses no CPU: the server does not retry `accept` in a loop.
    let idle = server.cpu_ticks() - busy;
    assert!(idle < 50, "{idle} ticks of CPU while nothing happens");
    drop((kept, answered));
    eventually("there is room again", || {
        (server.get("/p.jpg").status == 200).then_some(())
    });
    server.stop();
}

/// Returns the number of response bytes that the kernel buffers for slow clients, from the kernel's
/// table of sockets.
fn kernel_bytes(server: &Server) -> u64 {
    let sockets = fs::read_to_string("/proc/net/tcp").expect("the kernel tells");
    let port = format!(":{:04X}", server.address().port());
    // Columns: number, local address, remote address, state, bytes to send and to read, …
    let of_server = sockets.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().filter(|own| own.ends_with(&port))?;
        let (to_send, _) = words.nth(2)?.split_once(':')?;
        u64::from_str_radix(to_send, 16).ok()
    });
    of_server.sum()
}

/// Opens `count` connections. Returns the resident memory that each connection takes, and the
/// connections.
fn bytes_each(
    server: &Server,
    count: usize,
    connection: impl Fn() -> Client,
) -> (u64, Vec<Client>) {
    // The first connections allocate memory that later ones reuse.
    let mut clients: Vec<_> = (0..count / 4).map(|_| connection()).collect();
    let before = server.memory("VmRSS");
    clients.extend((0..count).map(|_| connection()));
    let grown = server.memory("VmRSS").saturating_sub(before);
    (grown / count as u64, clients)
}

#[test]
fn an_idle_connection_holds_hardly_anything() {
    raise_descriptors_max();
    // An idle connection must not keep an output buffer. The file is small enough to be copied into
    // such a buffer. A buffer of this size would exceed the limit of 8 KiB below.
    let home = Home::with(&[("p.txt", &[b'x'; 15 << 10])]);
    let server = Server::plain(&home, &["--allowed-types", "txt"]);
    let (bytes, clients) = bytes_each(&server, 10_000, || {
        let mut client = server.connect();
        client.request("GET", "/p.txt", "");
        assert_eq!(client.response().status, 200);
        client
    });
    assert!(bytes <= 8 << 10, "{bytes} bytes for an idle connection");
    drop(clients);
    server.stop();
}

/// A connection needs at most 8 KiB of memory while the server waits for its first byte, or for the
/// rest of a head or of a body.
#[test]
fn a_connection_that_waits_for_bytes_needs_little_memory() {
    raise_descriptors_max();
    let home = Home::new();
    let flags = [
        "--cores=1",
        "--limits-first-byte-timeout=1h",
        "--limits-head-timeout=1h",
        "--limits-body-timeout=1h",
    ];
    let server = Server::plain(&home, &flags);
    for begun in [
        "",
        "GET /p.txt HTTP/1.1\r\nhost: h\r\nx: ",
        "POST /p.txt HTTP/1.1\r\nhost: h\r\ncontent-length: 9999\r\n\r\nx",
        "POST /rest/ping HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n99\r\nx",
    ] {
        let wait = |count: usize| {
            let clients = (0..count).map(|_| {
                let mut client = server.connect();
                client.send(begun);
                client
            });
            clients.collect::<Vec<_>>()
        };
        let taken = |count: usize| {
            // The connection of the metrics request is counted as well.
            let is_there = || server.metrics().get("pelton_connections") == count as u64 + 1;
            eventually("the server has them all", || {
                is_there().then(|| server.memory("VmRSS"))
            })
        };
        // The first connections allocate memory that later ones reuse.
        let first = wait(1_000);
        let before = taken(1_000);
        let rest = wait(4_000);
        let bytes = taken(5_000).saturating_sub(before) / 4_000;
        assert!(
            bytes <= 8 << 10,
            "{bytes} bytes each while waiting behind {begun:?}"
        );
        drop((first, rest));
        taken(0);
    }
    server.stop();
}

#[test]
fn a_slow_reader_holds_little_beside_what_all_share() {
    raise_descriptors_max();
    let home = Home::with(&[
        ("p.txt", &[b'x'; 200 << 10]),
        ("small.txt", &[b'x'; 60 << 10]),
        ("tiny.txt", &[b'x'; 14 << 10]),
    ]);
    let server = Server::plain(&home, &["--allowed-types", "txt"]);
    // One row per way to send a body: from the file, from memory, or through the output buffer. A
    // row holds the target, the requests per reader and the number of readers. Each reader requests
    // more bytes than the kernel buffers at once.
    let kinds = [
        ("/p.txt", 64, 1_000),
        ("/small.txt", 200, 200),
        ("/tiny.txt", 400, 200),
    ];
    for (target, requests, readers) in kinds {
        let request = format!("GET {target} HTTP/1.1\r\nhost: h\r\n\r\n");
        let (bytes, clients) = bytes_each(&server, readers, || {
            let mut client = server.connect();
            client.send(request.repeat(requests));
            eventually("it is answered", || client.has_begun().then_some(()));
            client
        });
        assert!(bytes <= 64 << 10, "{bytes} bytes for a reader of {target}");
        let kept = kernel_bytes(&server) / clients.len() as u64;
        // The kernel's buffers hold unsent bytes and bytes in flight; the client's receive window
        // allows half of 512 KiB to be in flight.
        assert!(kept <= 512 << 10, "the kernel keeps {kept} for {target}");
        drop(clients);
    }
    server.stop();
}

/// Raises the limit on descriptors, since a test holds both ends of many connections.
fn raise_descriptors_max() {
    reactor::raise_descriptors_max().expect("the soft limit may be raised to the hard one");
}

#[test]
fn connections_are_served_however_they_are_steered() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    for mode in ["auto", "hash", "incoming-cpu", "cbpf"] {
        let server = Server::plain(&home, &["--steering", mode]);
        let mut clients: Vec<_> = (0..64).map(|_| server.connect()).collect();
        for client in &mut clients {
            assert_eq!(ask(client).status, 200);
        }
        let metrics = server.metrics();
        let located = metrics.get("pelton_connections_located_total");
        let local = metrics.get("pelton_connections_local_total");
        assert!(
            8 <= located && local <= located,
            "{mode}: {local} of {located}"
        );
        assert_eq!(metrics.sum("pelton_core_connections"), 65, "{mode}");
        let cores = metrics.sum("pelton_core_steering");
        let asked = match mode {
            "auto" => "hash",
            other => other,
        };
        let steered = metrics.get(&format!("pelton_core_steering{{mode=\"{asked}\"}}"));
        assert_eq!(steered, cores, "{mode}");
        server.stop();
    }
}
