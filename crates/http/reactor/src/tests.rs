//! Tests of the reactor over real sockets of the loopback interface.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use expect_test::expect;
use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::Semaphore;

use crate::{
    Conn, Core, CoreId, Counters, Drained, Ended, Error, ErrorKind, FileRange, Limits, Stop, Wait,
    bind, run, usable_cores,
};

mod interleavings;

const BUSY: &[u8] = b"busy\n";

/// Reactor on a separate thread.
struct Running {
    address: SocketAddr,
    counters: Arc<[Counters]>,
    stop: Stop,
    thread: JoinHandle<Result<Drained, Error>>,
}

impl Running {
    fn start<S, H, F>(cores: usize, limits: Limits, start: S) -> Running
    where
        S: Fn(&Core) -> H + Send + Sync + 'static,
        H: Fn(Conn) -> F,
        F: Future<Output = ()> + 'static,
    {
        let listeners = bind(&[loopback()], &some_cores(cores), &limits).expect("a free port");
        let (address, counters) = (listeners.addresses()[0], listeners.counters());
        let stop = Stop::new();
        let stopped = stop.clone();
        Running {
            address,
            counters,
            stop,
            thread: thread::spawn(move || run(listeners, &limits, BUSY, &stopped, start)),
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).expect("the reactor listens")
    }

    fn sum(&self, count: impl Fn(&Counters) -> u64) -> u64 {
        self.counters.iter().map(count).sum()
    }

    /// Stops the reactor, and returns how many connections the drain dropped.
    fn stop(self) -> usize {
        self.stop.trigger();
        let drained = self.thread.join().expect("no panic").expect("it started");
        assert_eq!(self.counters.iter().map(Counters::open).sum::<u64>(), 0);
        drained.dropped
    }
}

/// Reactor that echoes each line that a client sends, and reports events to the test.
struct Echo {
    server: Running,
    /// Permits from the test. Each lets one connection echo the line `work`.
    permits: Arc<Semaphore>,
    /// Events: `work` when a connection has received the line `work`, and the reason why each
    /// connection ended.
    events: mpsc::Receiver<String>,
}

impl Echo {
    fn start(cores: usize, limits: Limits) -> Echo {
        let permits = Arc::new(Semaphore::new(0));
        let (tell, events) = mpsc::channel();
        let shared_permits = Arc::clone(&permits);
        let server = Running::start(cores, limits, move |_| {
            let (tell, permits) = (tell.clone(), Arc::clone(&shared_permits));
            move |conn| {
                let (tell, permits) = (tell.clone(), Arc::clone(&permits));
                async move {
                    let ended = echo(conn, &permits, &tell).await;
                    tell.send(format!("{ended:?}")).expect("the test listens");
                }
            }
        });
        Echo {
            server,
            permits,
            events,
        }
    }

    fn connect(&self) -> TcpStream {
        self.server.connect()
    }

    fn event(&self) -> String {
        self.events.recv().expect("the server runs")
    }

    /// Opens a connection that is busy until the test adds a permit.
    fn busy(&self) -> TcpStream {
        let mut client = self.connect();
        client.write_all(b"work\n").expect("the server reads");
        assert_eq!(self.event(), "work");
        client
    }

    /// Opens a connection that has received a response and waits for its next request.
    fn idle(&self) -> TcpStream {
        let mut client = self.connect();
        ask(&mut client, "hello\n");
        client
    }
}

/// Echoes each line. Before it echoes the line `work`, it waits for a permit from the test.
async fn echo(
    mut conn: Conn,
    permits: &Semaphore,
    tell: &mpsc::Sender<String>,
) -> Result<(), Ended> {
    let mut buffer = [0; 1024];
    loop {
        let read = conn.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        if buffer.starts_with(b"work") {
            conn.deadline.disarm();
            tell.send("work".to_owned()).expect("the test listens");
            permits.acquire().await.expect("never closed").forget();
        }
        conn.write_all(&mut [IoSlice::new(&buffer[..read])]).await?;
    }
}

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

/// Returns `count` cores. If fewer processors are available, some of the cores share a processor.
fn some_cores(count: usize) -> Vec<CoreId> {
    let usable = usable_cores(&Limits::default()).expect("the kernel answers");
    usable.into_iter().cycle().take(count).collect()
}

fn ask(client: &mut TcpStream, line: &str) {
    client.write_all(line.as_bytes()).expect("the server reads");
    let mut response = vec![0; line.len()];
    client
        .read_exact(&mut response)
        .expect("the server answers");
    assert_eq!(response, line.as_bytes());
}

/// Reads until the server closes the connection, and returns the received text.
fn rest(client: &mut TcpStream) -> String {
    let mut rest = String::new();
    client.read_to_string(&mut rest).expect("an orderly end");
    rest
}

#[test]
fn connections_are_spread_over_all_cores() {
    let echo = Echo::start(4, Limits::default());
    let mut clients: Vec<_> = (0..200).map(|_| echo.connect()).collect();
    for round in 0..3 {
        for (index, client) in clients.iter_mut().enumerate() {
            ask(client, &format!("line {round} of client {index}\n"));
        }
    }
    assert_eq!(echo.server.sum(Counters::accepted), 200);
    assert_eq!(echo.server.sum(Counters::open), 200);
    // With 200 connections hashed over 4 cores, the probability that a core gets 20 or fewer is
    // below one in a million.
    let smallest = echo.server.counters.iter().map(Counters::accepted).min();
    assert!(Some(20) < smallest, "a core has {smallest:?} of 200");
    assert_eq!(echo.server.stop(), 0);
}

#[test]
fn a_core_is_a_pinned_named_thread_that_owns_its_state() {
    let (seen, cores) = mpsc::channel();
    let server = Running::start(2, Limits::default(), move |core| {
        let thread = thread::current().name().map(str::to_owned);
        let processors = rustix::thread::sched_getaffinity(None).expect("the kernel answers");
        let own = processors.is_set(core.id().0);
        seen.send((core.index(), thread, processors.count(), own))
            .expect("the test listens");
        // `Rc` is not `Send`: the counter is shared by all connections of this core only.
        let served = Rc::new(Cell::new(0u8));
        move |conn: Conn| {
            served.set(served.get() + 1);
            let served = Rc::clone(&served);
            async move {
                let count = [served.get()];
                conn.write_all(&mut [IoSlice::new(&count)])
                    .await
                    .expect("the client reads");
            }
        }
    });
    let mut seen: Vec<_> = cores.iter().take(2).collect();
    seen.sort();
    let expected = |index: usize| (index, Some(format!("core-{index}")), 1, true);
    assert_eq!(seen, [expected(0), expected(1)]);
    let served: usize = (0..20).map(|_| rest(&mut server.connect()).len()).sum();
    assert_eq!(served, 20);
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_single_core_is_not_pinned() {
    let (seen, cores) = mpsc::channel();
    let server = Running::start(1, Limits::default(), move |_| {
        let processors = rustix::thread::sched_getaffinity(None).expect("the kernel answers");
        seen.send(processors.count()).expect("the test listens");
        |_: Conn| async {}
    });
    let usable = rustix::thread::sched_getaffinity(None).expect("the kernel answers");
    assert_eq!(cores.recv(), Ok(usable.count()));
    assert_eq!(server.stop(), 0);
}

#[test]
fn accepted_sockets_do_not_wait_to_fill_packets() {
    let (seen, nodelay) = mpsc::channel();
    let server = Running::start(1, Limits::default(), move |_| {
        let seen = seen.clone();
        move |conn: Conn| {
            seen.send(conn.stream.nodelay().expect("the kernel answers"))
                .expect("the test listens");
            async {}
        }
    });
    assert_eq!(rest(&mut server.connect()), "");
    assert_eq!(nodelay.recv(), Ok(true));
    server.stop();
}

#[test]
fn every_address_is_served() {
    let limits = Limits::default();
    let asked = [loopback(), loopback(), loopback()];
    let listeners = bind(&asked, &some_cores(2), &limits).expect("free ports");
    let addresses = listeners.addresses().to_vec();
    let stop = Stop::new();
    let stopper = stop.clone();
    let server = thread::spawn(move || {
        run(listeners, &limits, BUSY, &stop, |_| {
            |conn: Conn| async move {
                conn.write_all(&mut [IoSlice::new(b"hello")])
                    .await
                    .expect("the client reads");
            }
        })
    });
    for address in addresses {
        assert_ne!(address.port(), 0);
        let mut client = TcpStream::connect(address).expect("it listens");
        assert_eq!(rest(&mut client), "hello");
    }
    stopper.trigger();
    let drained = server.join().expect("no panic").expect("it started");
    assert_eq!(drained, Drained { dropped: 0 });
}

#[test]
fn an_address_in_use_is_refused_even_to_the_same_user() {
    let limits = Limits::default();
    let first = bind(&[loopback()], &some_cores(2), &limits).expect("a free port");
    let second = bind(first.addresses(), &some_cores(2), &limits).expect_err("it is in use");
    assert_eq!(second.kind(), ErrorKind::AddressInUse);
    let port = first.addresses()[0].port().to_string();
    let reported = format!("{second}\nhint: {}", second.hint().expect("there is one"));
    expect![[r#"
        cannot listen on 127.0.0.1:PORT: Address already in use (os error 98)
        hint: `ss -ltnp 'sport = :PORT'` shows the process that listens on this port; stop the process or choose another port"#]]
    .assert_eq(&reported.replace(&port, "PORT"));
}

#[test]
fn an_address_of_another_host_is_refused() {
    // RFC 5737: TEST-NET-1 is assigned to no host.
    let address = "192.0.2.1:80".parse().expect("an address");
    let refused = bind(&[address], &some_cores(1), &Limits::default()).expect_err("not ours");
    assert_eq!(refused.kind(), ErrorKind::AddressRefused);
    expect![[r#"
        cannot listen on 192.0.2.1:80: Cannot assign requested address (os error 99)
        hint: `ip -brief address` lists this host's addresses"#]]
    .assert_eq(&format!(
        "{refused}\nhint: {}",
        refused.hint().expect("there is one")
    ));
}

#[test]
fn a_limit_of_zero_is_named() {
    assert_eq!(Limits::default().check(), Ok(()));
    let limits = Limits {
        sendfile_slice_bytes: 0,
        ..Limits::default()
    };
    assert_eq!(limits.check(), Err("sendfile_slice_bytes"));
}

#[test]
fn a_core_that_cannot_start_stops_the_others() {
    let mut cores = some_cores(1);
    // Processor 1023 is the highest that a CPU set can name, and no test machine has that many.
    cores.push(CoreId(1023));
    let limits = Limits::default();
    let listeners = bind(&[loopback()], &cores, &limits).expect("a free port");
    let failed = run(listeners, &limits, BUSY, &Stop::new(), |_| |_| async {})
        .expect_err("there is no such processor");
    assert_eq!(failed.kind(), ErrorKind::Host);
    expect!["cannot pin the thread of core-1 on processor 1023: Invalid argument (os error 22)"]
        .assert_eq(&failed.to_string());
}

#[test]
fn drain_ends_idle_connections_and_lets_busy_ones_finish() {
    let echo = Echo::start(2, Limits::default());
    let (mut idle, mut busy) = (echo.idle(), echo.busy());
    echo.server.stop.trigger();
    assert_eq!(rest(&mut idle), "");
    assert_eq!(echo.event(), "Err(Drained)");
    echo.permits.add_permits(1);
    assert_eq!(rest(&mut busy), "work\n");
    assert_eq!(echo.event(), "Err(Drained)");
    let address = echo.server.address;
    assert_eq!(echo.server.stop(), 0);
    let refused = TcpStream::connect(address).expect_err("nobody listens");
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn drain_serves_what_the_backlog_holds() {
    let limits = Limits::default();
    let listeners = bind(&[loopback()], &some_cores(2), &limits).expect("a free port");
    let mut clients: Vec<_> = (0..300)
        .map(|_| TcpStream::connect(listeners.addresses()[0]).expect("it listens"))
        .collect();
    let stop = Stop::new();
    stop.trigger();
    run(listeners, &limits, BUSY, &stop, |_| {
        |conn: Conn| async move {
            conn.write_all(&mut [IoSlice::new(b"hello")])
                .await
                .expect("the client reads");
        }
    })
    .expect("it starts");
    for client in &mut clients {
        assert_eq!(rest(client), "hello");
    }
}

#[test]
fn drain_drops_what_is_busy_at_its_deadline() {
    let limits = Limits {
        drain_ms_max: 10,
        ..Limits::default()
    };
    let echo = Echo::start(2, limits);
    let mut busy: Vec<_> = (0..3).map(|_| echo.busy()).collect();
    assert_eq!(echo.server.stop(), 3);
    for client in &mut busy {
        assert_eq!(rest(client), "");
    }
}

#[test]
fn a_panic_in_a_connection_ends_the_reactor() {
    let server = Running::start(2, Limits::default(), |_| {
        |_: Conn| async { panic!("a bug") }
    });
    let client = server.connect();
    let panic = server.thread.join().expect_err("the bug is not hidden");
    assert_eq!(panic.downcast_ref(), Some(&"a bug"));
    drop(client);
}

#[test]
fn beyond_the_cap_a_new_connection_is_answered_and_closed() {
    let limits = Limits {
        connections_max: 2,
        ..Limits::default()
    };
    let echo = Echo::start(1, limits);
    let busy = [echo.busy(), echo.busy()];
    for _ in 0..10 {
        let mut shed = echo.connect();
        assert_eq!(rest(&mut shed), "busy\n");
    }
    assert_eq!(echo.server.sum(Counters::shed), 10);
    assert_eq!(echo.server.sum(Counters::accepted), 2);
    echo.permits.add_permits(2);
    for mut client in busy {
        let mut response = [0; 5];
        client.read_exact(&mut response).expect("it is served");
        assert_eq!(&response, b"work\n");
    }
    echo.server.stop();
}

#[test]
fn beyond_the_cap_an_idle_connection_makes_room() {
    let limits = Limits {
        connections_max: 2,
        ..Limits::default()
    };
    let echo = Echo::start(1, limits);
    let (mut idle, mut busy) = (echo.idle(), echo.busy());
    let mut new = echo.idle();
    assert_eq!(rest(&mut idle), "");
    assert_eq!(echo.event(), "Err(Evicted)");
    echo.permits.add_permits(1);
    let mut response = [0; 5];
    busy.read_exact(&mut response).expect("it is still served");
    ask(&mut new, "hello again\n");
    assert_eq!(echo.server.sum(Counters::evicted), 1);
    assert_eq!(echo.server.sum(Counters::shed), 0);
    echo.server.stop();
}

#[test]
fn a_silent_connection_is_ended_and_counted() {
    let limits = Limits {
        first_byte_ms: 0,
        ..Limits::default()
    };
    let echo = Echo::start(1, limits);
    let mut silent = echo.connect();
    assert_eq!(rest(&mut silent), "");
    assert_eq!(echo.event(), "Err(TimedOut(FirstByte))");
    assert_eq!(echo.server.sum(|core| core.timed_out(Wait::FirstByte)), 1);
    echo.server.stop();
}

/// Returns bytes that differ at short and long distances, so that a shift by any length is
/// detected.
fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// Returns an anonymous file that contains `bytes`.
fn file_of(bytes: &[u8]) -> File {
    let memory = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(memory.expect("the kernel gives memory"));
    file.write_all(bytes).expect("there is room");
    file
}

/// Serves one client with `handler`. Returns the bytes that the client received, and the reason why
/// the connection ended. The client's receive window is small, so the server has to wait for room
/// many times.
fn to_slow_reader<H, F>(limits: Limits, handler: H) -> (Vec<u8>, String)
where
    H: Fn(Conn) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(), Ended>> + 'static,
{
    let (tell, ends) = mpsc::channel();
    let server = Running::start(1, limits, move |_| {
        let (tell, handler) = (tell.clone(), handler.clone());
        move |conn| {
            let (tell, answered) = (tell.clone(), handler(conn));
            async move {
                let ended = format!("{:?}", answered.await);
                tell.send(ended).expect("the test listens");
            }
        }
    });
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .expect("a descriptor is left");
    sockopt::set_socket_recv_buffer_size(&socket, 4096).expect("a small window is allowed");
    rustix::net::connect(&socket, &server.address).expect("the reactor listens");
    let mut client = TcpStream::from(socket);
    let mut got = Vec::new();
    let mut piece = [0; 1000];
    loop {
        match client.read(&mut piece).expect("an orderly end") {
            0 => break,
            read => got.extend_from_slice(&piece[..read]),
        }
    }
    let ended = ends.recv().expect("the connection ends");
    server.stop();
    (got, ended)
}

#[test]
fn a_file_reaches_a_slow_reader_whole() {
    let bytes = pattern(10_000_000);
    let file = Arc::new(file_of(&bytes));
    let limits = Limits::default();
    let odd_slices = Limits {
        sendfile_slice_bytes: 10_007,
        ..limits
    };
    // Columns: limits of the reactor, offset of the range in the file, length of the range.
    let parts = [
        (limits, 0, 10_000_000),
        (odd_slices, 4_097, 5_000_001),
        (limits, 9_999_999, 1),
        (limits, 17, 0),
    ];
    for (limits, offset, len) in parts {
        let file = Arc::clone(&file);
        let (got, ended) = to_slow_reader(limits, move |conn| {
            let file = Arc::clone(&file);
            async move {
                let range = FileRange {
                    file: &file,
                    offset,
                    len,
                };
                conn.write_file(b"head: ", range).await
            }
        });
        assert_eq!(ended, "Ok(())");
        assert_eq!(got.len() as u64, 6 + len, "from {offset}");
        assert_eq!(got[..6], *b"head: ");
        let wanted = offset as usize..(offset + len) as usize;
        assert!(
            got[6..] == bytes[wanted],
            "{len} bytes from {offset} differ"
        );
    }
}

#[test]
fn a_head_without_a_body_is_not_held_back() {
    let server = Running::start(1, Limits::default(), |_| {
        |mut conn: Conn| async move {
            let file = file_of(b"");
            let nothing = FileRange {
                file: &file,
                offset: 0,
                len: 0,
            };
            while let Ok(1..) = conn.read(&mut [0; 16]).await {
                conn.write_file(b"head!", nothing)
                    .await
                    .expect("the client reads");
            }
        }
    });
    let mut client = server.connect();
    let start = std::time::Instant::now();
    for _ in 0..20 {
        client.write_all(b"again").expect("the server reads");
        client.read_exact(&mut [0; 5]).expect("a response");
    }
    // If the head were sent with the flag that announces a body (`MSG_MORE`), the kernel would hold
    // each head back for 200 ms, and 20 heads would take 4 s.
    let taken = start.elapsed();
    assert!(taken.as_millis() < 2_000, "20 heads took {taken:?}");
    server.stop();
}

#[test]
fn an_answer_survives_a_request_that_was_not_read() {
    let server = Running::start(1, Limits::default(), |_| {
        |mut conn: Conn| async move {
            let read = conn.read(&mut [0; 5]).await;
            assert_eq!(read.expect("a request"), 5);
            conn.write_all(&mut [IoSlice::new(b"too long\n")])
                .await
                .expect("the client reads");
            conn.linger().await.expect("the client ends in time");
        }
    });
    for _ in 0..50 {
        let mut client = server.connect();
        client
            .write_all(&[b'x'; 60_000])
            .expect("the server takes it");
        assert_eq!(rest(&mut client), "too long\n");
    }
    server.stop();
}

#[test]
fn a_short_file_is_an_error_and_never_padded() {
    let bytes = pattern(3_000_000);
    let file = Arc::new(file_of(&bytes));
    let (got, ended) = to_slow_reader(Limits::default(), move |conn| {
        let file = Arc::clone(&file);
        async move {
            let range = FileRange {
                file: &file,
                offset: 1_000_000,
                len: 2_000_123,
            };
            conn.write_file(b"head: ", range).await
        }
    });
    assert_eq!(ended, "Err(ShortFile { missing_bytes: 123 })");
    assert!(got[6..] == bytes[1_000_000..], "what there is was sent");
}

#[test]
fn parts_reach_a_slow_reader_whole_and_in_order() {
    let bytes = Arc::new(pattern(3_000_000));
    let sent = Arc::clone(&bytes);
    let (got, ended) = to_slow_reader(Limits::default(), move |conn| {
        let bytes = Arc::clone(&sent);
        async move {
            let (head, body) = bytes.split_at(333);
            let (near, far) = body.split_at(1_234_567);
            let parts = [b"", head, b"", near, far, b""];
            conn.write_all(&mut parts.map(IoSlice::new)).await
        }
    });
    assert_eq!(ended, "Ok(())");
    assert!(got == *bytes, "{} bytes of 3,000,000", got.len());
}

#[test]
fn a_reader_that_stalls_is_ended() {
    let limits = Limits {
        write_stall_ms: 0,
        ..Limits::default()
    };
    let (tell, ends) = mpsc::channel();
    let server = Running::start(1, limits, move |_| {
        let tell = tell.clone();
        move |conn: Conn| {
            let tell = tell.clone();
            async move {
                let bytes = vec![0; 16 << 20];
                let ended = conn.write_all(&mut [IoSlice::new(&bytes)]).await;
                tell.send(format!("{ended:?}")).expect("the test listens");
            }
        }
    });
    let stalled = server.connect();
    assert_eq!(ends.recv(), Ok("Err(TimedOut(Write))".to_owned()));
    assert_eq!(server.sum(|core| core.timed_out(Wait::Write)), 1);
    drop(stalled);
    server.stop();
}

/// Environment variable that marks the child process of the next test. That process has a low limit
/// on descriptors, which must not affect other tests.
const CHILD: &str = "REACTOR_TEST_DESCRIPTORS";

#[test]
fn without_descriptors_connections_are_shed_and_accept_does_not_spin() {
    if std::env::var_os(CHILD).is_some() {
        return serve_with_few_descriptors();
    }
    let test = "tests::without_descriptors_connections_are_shed_and_accept_does_not_spin";
    let mut child = Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test runs itself");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut reported = |key: &str| loop {
        let line = lines.next().expect("the child tells").expect("text");
        if let Some((_, value)) = line.split_once(key) {
            return value.to_owned();
        }
    };
    let address: SocketAddr = reported("address=").parse().expect("an address");
    let connect = || {
        let mut client = TcpStream::connect(address).expect("the backlog has room");
        client.write_all(b"work\n").expect("the server is there");
        client
    };
    let mut clients: Vec<_> = (0..40).map(|_| connect()).collect();
    let mut shed = 0;
    let mut is_served = |client: &mut TcpStream| {
        let mut response = [0; 5];
        client.read_exact(&mut response).expect("a response");
        shed += usize::from(response == *BUSY);
        response == *b"work\n"
    };
    clients.retain_mut(&mut is_served);
    // At least one client was served, and some were evicted to make room for later clients.
    assert!((1..40).contains(&clients.len()), "{} served", clients.len());
    // After the server has noticed that these clients disconnected, it has room again.
    drop(clients);
    while !is_served(&mut connect()) {}
    drop(child.stdin.take());
    assert_eq!(reported("shed="), shed.to_string());
    let mut count = |key| reported(key).parse::<usize>().expect("a number");
    let (accepted, failures) = (count("accepted="), count("accept_failed="));
    // accept fails once per shed connection, for lack of a descriptor. It also fails when it finds
    // the backlog empty, at most once per connection.
    let most = 2 * shed + accepted;
    assert!(
        failures <= most,
        "{failures} failures of accept, not {most}"
    );
    assert!(child.wait().expect("the child ends").success());
}

/// Runs the server of the child process until standard input ends. A low limit on descriptors
/// leaves room for about nine connections.
fn serve_with_few_descriptors() {
    let (tell, started) = mpsc::channel();
    let server = Running::start(1, Limits::default(), move |_| {
        tell.send(()).expect("the test listens");
        |mut conn: Conn| async move {
            let mut request = [0; 16];
            let read = conn.read(&mut request).await.expect("a request");
            let response = IoSlice::new(&request[..read]);
            conn.write_all(&mut [response])
                .await
                .expect("the client reads");
            // The connection stays open until the client closes it or the server evicts it.
            let end = conn.read(&mut request).await;
            assert!(matches!(end, Ok(0) | Err(Ended::Evicted)), "{end:?}");
        }
    });
    // Once the core has started, it opens descriptors only for connections.
    started.recv().expect("the core starts");
    let open = std::fs::read_dir("/proc/self/fd").expect("/proc is there");
    let few = Rlimit {
        current: Some(open.count() as u64 + 8),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, few).expect("lowering is allowed");
    println!("\naddress={}", server.address);
    std::io::stdin()
        .read_line(&mut String::new())
        .expect("the parent lives");
    println!("\nshed={}", server.sum(Counters::shed));
    println!("accepted={}", server.sum(Counters::accepted));
    println!("accept_failed={}", server.sum(Counters::accept_failed));
    server.stop();
}
