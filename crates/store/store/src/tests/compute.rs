//! Tests of values that one client computes while the other clients wait. The clients are in this
//! process or connect over RESP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use reactor::Stop;

use crate::{ComputeError, ComputeOptions, Config, Handle, Limits, Server};

const TERMS: ComputeOptions = ComputeOptions {
    build: Duration::from_secs(60),
    keep: None,
};

struct RunningServer {
    handle: Handle,
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl RunningServer {
    fn start() -> RunningServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let directives = format!("bind 127.0.0.1\nport {}\nsave \"\"", address.port());
        let mut config = Config::default();
        config
            .read(&directives, "directives".as_ref())
            .expect("sound");
        config.dir = std::env::temp_dir().display().to_string();
        let cores = reactor::usable_cores(&reactor::Limits::default()).expect("cores");
        let server = Server::bind(config, Limits::default(), cores[0], &mut vec![listener]);
        let server = server.expect("the socket is taken over");
        let handle = server.handle();
        let stop = Stop::new();
        let stopped = stop.clone();
        let thread = thread::spawn(move || server.run(&stopped).expect("it runs"));
        RunningServer {
            handle,
            address,
            stop,
            thread: Some(thread),
        }
    }

    fn client(&self) -> TcpStream {
        TcpStream::connect(self.address).expect("it listens")
    }

    /// Waits until `clients` clients are blocked.
    fn wait_for_blocked(&self, clients: usize) {
        let wanted = format!("blocked_clients:{clients}\r");
        loop {
            let info = vec!["INFO".into(), "clients".into()];
            let replies = self.handle.run(vec![info]).expect("it runs");
            let [resp::Reply::Bulk(text)] = &replies[..] else {
                panic!("{replies:?}");
            };
            if String::from_utf8_lossy(text).contains(&wanted) {
                return;
            }
            thread::yield_now();
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.stop.trigger();
        let thread = self.thread.take().expect("taken once");
        thread.join().expect("it ends well");
    }
}

fn expect_reply(client: &mut TcpStream, expected: &[u8]) {
    let mut received = vec![0; expected.len()];
    client.read_exact(&mut received).expect("a reply");
    assert_eq!(Bytes::from(received), expected);
}

#[test]
fn one_computes_and_the_others_wait() {
    let running = RunningServer::start();
    let key = Bytes::from_static(b"key");
    let computed = AtomicUsize::new(0);
    let mut client = running.client();
    thread::scope(|scope| {
        let (started, started_receiver) = channel();
        let (finish, finish_receiver) = channel::<()>();
        let ask = |work: &dyn Fn() -> Bytes| {
            let value = running.handle.get_or_compute(&key, TERMS, || {
                computed.fetch_add(1, Ordering::Relaxed);
                Ok::<_, String>(work())
            });
            assert_eq!(value.expect("computed"), "value");
        };
        scope.spawn(move || {
            ask(&|| {
                started.send(()).expect("somebody listens");
                finish_receiver.recv().expect("somebody tells");
                Bytes::from_static(b"value")
            });
        });
        started_receiver.recv().expect("it begins");
        for _ in 0..2 {
            scope.spawn(move || ask(&|| panic!("another one computes")));
        }
        let ask = b"GETORLOCK key 60000\r\n";
        client.write_all(ask).expect("it listens");
        running.wait_for_blocked(3);
        finish.send(()).expect("it waits");
    });
    expect_reply(&mut client, b"$5\r\nvalue\r\n");
    assert_eq!(computed.load(Ordering::Relaxed), 1);
}

#[test]
fn a_failed_remote_computation_releases_its_lock() {
    let running = RunningServer::start();
    let key = Bytes::from_static(b"key");
    let mut client = running.client();
    client
        .write_all(b"GETORLOCK key 60000\r\n")
        .expect("it listens");
    expect_reply(&mut client, b"$-1\r\n");
    thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let never = || -> Result<Bytes, String> { panic!("the client computes") };
            running.handle.get_or_compute(&key, TERMS, never)
        });
        running.wait_for_blocked(1);
        client.write_all(b"SET key theirs\r\n").expect("it listens");
        expect_reply(&mut client, b"+OK\r\n");
        let value = asking.join().expect("it does not compute");
        assert_eq!(value.expect("theirs"), "theirs");
    });
    client.write_all(b"DEL key\r\n").expect("it listens");
    expect_reply(&mut client, b":1\r\n");
    let failed = running
        .handle
        .get_or_compute(&key, TERMS, || Err::<Bytes, _>("no luck".to_owned()));
    assert_eq!(failed, Err(ComputeError::Failed("no luck".to_owned())));
    // The lock was released as soon as the computation failed.
    client
        .write_all(b"GETORLOCK key 60000\r\n")
        .expect("it listens");
    expect_reply(&mut client, b"$-1\r\n");
    client
        .write_all(b"RPUSH key element\r\n")
        .expect("it listens");
    expect_reply(&mut client, b":1\r\n");
    let refused = running
        .handle
        .get_or_compute(&key, TERMS, || Ok::<_, String>(Bytes::new()));
    let Err(ComputeError::Refused(text)) = refused else {
        panic!("{refused:?}");
    };
    assert!(text.starts_with("WRONGTYPE"), "{text}");
}

#[test]
fn a_late_failure_does_not_release_another_lock() {
    let running = RunningServer::start();
    let key = Bytes::from_static(b"key");
    let terms = ComputeOptions {
        build: Duration::from_millis(1),
        keep: None,
    };
    let mut client = running.client();
    // Another client acquires the lock before this computation fails.
    let failed = running.handle.get_or_compute(&key, terms, || {
        client
            .write_all(b"GETORLOCK key 60000\r\n")
            .expect("it listens");
        expect_reply(&mut client, b"$-1\r\n");
        Err::<Bytes, _>("no luck".to_owned())
    });
    assert_eq!(failed, Err(ComputeError::Failed("no luck".to_owned())));
    let mut other = running.client();
    other
        .write_all(b"GETORLOCK key 60000\r\n")
        .expect("it listens");
    running.wait_for_blocked(1);
    // Another client sets a value before this computation fails.
    let fast = Bytes::from_static(b"fast");
    let failed = running.handle.get_or_compute(&fast, terms, || {
        client
            .write_all(b"SET fast theirs\r\n")
            .expect("it listens");
        expect_reply(&mut client, b"+OK\r\n");
        Err::<Bytes, _>("no luck".to_owned())
    });
    assert_eq!(failed, Err(ComputeError::Failed("no luck".to_owned())));
    client.write_all(b"GET fast\r\n").expect("it listens");
    expect_reply(&mut client, b"$6\r\ntheirs\r\n");
    client.write_all(b"SET key made\r\n").expect("it listens");
    expect_reply(&mut client, b"+OK\r\n");
    expect_reply(&mut other, b"$4\r\nmade\r\n");
}

#[test]
fn a_large_value_is_returned_without_a_copy() {
    let running = RunningServer::start();
    let key = Bytes::from_static(b"key");
    let terms = ComputeOptions {
        keep: Some(Duration::from_secs(60)),
        ..TERMS
    };
    let make = || Ok::<_, String>(Bytes::from(vec![b'x'; 100_000]));
    let made = running.handle.get_or_compute(&key, terms, make);
    let made = made.expect("computed");
    let never = || -> Result<Bytes, String> { panic!("it is there") };
    let taken = running.handle.get_or_compute(&key, terms, never);
    let taken = taken.expect("it is there");
    assert_eq!(made.as_ptr(), taken.as_ptr());
    let mut client = running.client();
    client.write_all(b"TTL key\r\n").expect("it listens");
    expect_reply(&mut client, b":60\r\n");
}
