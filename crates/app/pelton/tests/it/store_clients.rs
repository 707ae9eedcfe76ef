//! `pelton store` with many clients from one address.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use crate::harness::eventually;
use crate::store::{Dir, Store, free_port};

/// Number of clients: more than the default limit on HTTP connections per address (512), and fewer
/// than the usual limit on descriptors per process (1,024).
const CLIENTS_MAX: usize = 560;
const REFUSAL: &str = "-ERR max number of clients reached\r\n";

fn line(client: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    client.read_line(&mut line).expect("a response or the end");
    line
}

fn ask(client: &mut BufReader<TcpStream>, command: &str) -> String {
    let sent = client.get_mut().write_all(command.as_bytes());
    sent.expect("it reads");
    line(client)
}

/// Returns a field of INFO.
fn info(client: &mut BufReader<TcpStream>, name: &str) -> String {
    let head = ask(client, "INFO everything\r\n");
    let bytes: usize = head[1..].trim_end().parse().expect("a length");
    let mut body = vec![0; bytes + 2];
    client.read_exact(&mut body).expect("a response");
    let text = String::from_utf8(body).expect("text");
    let field = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.to_owned());
    text.lines().find_map(field).expect("a field of INFO")
}

#[test]
fn one_address_has_as_many_clients_as_the_store() {
    let dir = Dir::new("clients");
    let port = free_port();
    let words = [
        "--port",
        &port,
        "--save",
        "",
        "--maxclients",
        &CLIENTS_MAX.to_string(),
    ];
    let _store = Store::start(&dir.0, &words);
    let connect = || {
        let stream = TcpStream::connect(format!("127.0.0.1:{port}"));
        BufReader::new(stream.expect("it listens"))
    };
    let mut clients = vec![connect()];
    // `Store::start` has connected to the Unix socket to detect the start. Waits until the store
    // has closed that connection, because an open connection counts as a client.
    eventually("nobody else is connected", || {
        (info(&mut clients[0], "connected_clients") == "1").then_some(())
    });
    clients.extend((1..CLIENTS_MAX).map(|_| connect()));
    for client in &mut clients {
        assert_eq!(ask(client, "PING\r\n"), "+PONG\r\n");
    }
    assert_eq!(line(&mut connect()), REFUSAL);
    assert_eq!(info(&mut clients[0], "rejected_connections"), "1");

    // The limit can be raised while the store runs.
    let raised = format!("CONFIG SET maxclients {}\r\n", CLIENTS_MAX + 100);
    assert_eq!(ask(&mut clients[0], &raised), "+OK\r\n");
    let mut more = connect();
    assert_eq!(ask(&mut more, "PING\r\n"), "+PONG\r\n");
}
