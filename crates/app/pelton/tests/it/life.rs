//! Start, stop, reload and replacement of a server in use.

use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::UNIX_EPOCH;

use rustix::process::Signal;

use crate::harness::frames::{GOAWAY, HEADERS, request};
use crate::harness::{
    Caller, Frames, Home, Http2, Reply, Server, eventually, media, pelton, repetitions, signal,
};

#[test]
fn what_is_open_is_finished_and_nothing_else_waited_for() {
    let home = Home::with(&[("large.jpg", &media::photo(2000, 1500, 1))]);
    let mut server = Server::plain(&home, &["--limits-drain-timeout", "1d"]);
    let idle = server.connect();
    let mut kept = server.connect();
    kept.request("GET", "/healthz", "");
    assert_eq!(kept.response().status, 200);
    let mut busy = server.connect();
    busy.request("GET", "/large.jpg?format=png", "");
    eventually("the conversion has begun", || {
        let metrics = server.metrics();
        let begun = metrics.get("pelton_conversions_running") + metrics.conversions();
        (begun != 0).then_some(())
    });
    server.ask_to_stop();
    assert_eq!(busy.response().status, 200);
    assert!(kept.is_ended());
    assert_eq!(server.ended().code(), Some(0));
    assert_eq!(server.logged("INFO", "stopped"), 1);
    drop(idle);
}

/// Sends requests until `ends` is set, over connections that are reused as long as the server
/// permits, and returns the number of failures.
fn load(address: std::net::SocketAddr, ends: &AtomicBool, answered: &AtomicUsize) -> usize {
    let ask = |caller: &mut Caller| -> std::io::Result<Reply> {
        caller.send(b"GET /p.jpg HTTP/1.1\r\nhost: h\r\naccept: image/webp\r\n\r\n")?;
        caller.reply()
    };
    let mut failed = 0;
    let mut kept = None;
    while !ends.load(Ordering::Relaxed) {
        let connected = kept.take().map_or_else(|| Caller::connect(address), Ok);
        let replied = connected.and_then(|mut caller| Ok((ask(&mut caller)?, caller)));
        match replied {
            Ok((reply, caller)) if reply.status == 200 => {
                answered.fetch_add(1, Ordering::Relaxed);
                kept = Some(caller).filter(|_| !reply.closes);
            }
            Ok((reply, _)) => {
                eprintln!("status {}", reply.status);
                failed += 1;
            }
            Err(err) => {
                eprintln!("{err}");
                failed += 1;
            }
        }
    }
    failed
}

/// `cargo xtask conform upgrade` repeats this test's handover a hundred times.
#[test]
fn new_processes_take_over_and_no_request_fails() {
    let home = Home::with(&[("p.jpg", &media::photo(400, 300, 1))]);
    let mut server = Server::plain(&home, &[]);
    let body = server.get_as("/p.jpg", "image/webp").body;
    let (ends, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let address = server.address();
    let failed: usize = thread::scope(|scope| {
        let load = || load(address, &ends, &answered);
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(load)).collect();
        for _ in 0..repetitions(5) {
            server.upgrade();
            let before = answered.load(Ordering::Relaxed);
            eventually("the new process is used", || {
                (before + 50 <= answered.load(Ordering::Relaxed)).then_some(())
            });
        }
        ends.store(true, Ordering::Relaxed);
        let failed = clients.into_iter().map(|client| client.join());
        failed.map(|failed| failed.expect("no panic")).sum()
    });
    let answered = answered.into_inner();
    println!("{answered} answered, {failed} failed");
    assert_eq!(failed, 0, "of {answered}");
    assert_eq!(server.get_as("/p.jpg", "image/webp").body, body);
    server.stop();
}

/// Starts a server with `text` as its configuration file.
fn configured(home: &Home, text: &str) -> Server {
    fs::write(home.directory().join("pelton.toml"), text).expect("the home can be written");
    Server::plain(home, &[])
}

fn rewrite(home: &Home, text: &str) {
    fs::write(home.directory().join("pelton.toml"), text).expect("the home can be written");
}

#[test]
fn a_new_process_that_cannot_start_leaves_the_old_one_serving() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let server = configured(&home, "quality = 80\n");
    let mut kept = server.connect();
    rewrite(&home, "qualty = 80\n");
    for failures in 1..3 {
        signal(server.pid(), Signal::USR2);
        eventually("the log has it", || {
            let message = "the new process did not take over: this process continues";
            (server.logged("ERROR", message) == failures).then_some(())
        });
        kept.request("GET", "/p.jpg", "");
        let response = kept.response();
        assert_eq!((response.status, response.field("connection")), (200, None));
        assert_eq!(server.get("/p.jpg").status, 200);
    }
    server.stop();
}

#[test]
fn the_start_of_the_process_is_a_metric_that_a_reload_does_not_change() {
    let unix_s = || UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    let home = Home::new();
    let before = unix_s();
    let server = configured(&home, "quality = 80\n");
    let line = || {
        let metrics = server.get("/-/metrics");
        let mut lines = metrics.text().lines();
        let found = lines.find(|line| line.starts_with("process_start_time_seconds "));
        found.expect("a sample").to_owned()
    };
    let first = line();
    let started = server.metrics().get("process_start_time_seconds");
    assert!((before..=unix_s()).contains(&started), "{started}");
    rewrite(&home, "quality = 70\n");
    signal(server.pid(), Signal::HUP);
    assert_eq!(server.logged("INFO", "configuration reloaded"), 1);
    assert_eq!(line(), first);
    server.stop();
}

#[test]
fn a_changed_configuration_holds_for_the_next_request() {
    let home = Home::with(&[
        ("p.jpg", &media::photo(400, 300, 1)),
        ("t.txt", b"text"),
        ("v.mp4", b"video"),
    ]);
    let mut server = configured(&home, "quality = 90\nallowed_types = [\"webm\"]\n");
    let mut kept = server.connect();
    let accept = "accept: image/webp\r\n";
    kept.request("GET", "/p.jpg", accept);
    let before = kept.response();
    assert_eq!(server.get("/t.txt").status, 404);
    assert!(!server.get("/-/api/folders").text().contains("v.mp4"));
    rewrite(
        &home,
        "quality = 10\nallowed_types = [\"mp4\", \"txt\"]\ncores = 1\n[tls]\nlisten = \"127.0.0.1:1\"\n",
    );
    signal(server.pid(), Signal::HUP);
    server.logged("INFO", "configuration reloaded");
    let message = "these settings need a restart; SIGUSR2 restarts without downtime";
    assert_eq!(server.logged("WARN", message), 1);
    assert_eq!(server.event("WARN", message)["kept"], "cores tls.listen");
    // An open connection gets one more response under the old configuration, and is then closed.
    kept.request("GET", "/p.jpg", accept);
    let last = kept.response();
    assert_eq!(last.field("connection"), Some("close"));
    assert!(kept.is_ended());
    let after = server.get_as("/p.jpg", "image/webp");
    assert!(after.body.len() < before.body.len() / 2);
    assert_eq!(server.get("/t.txt").status, 200);
    assert!(server.get("/-/api/folders").text().contains("v.mp4"));
    // An invalid configuration is reported and changes nothing.
    rewrite(&home, "quality = 50\n[limits]\nque_max = 1\n");
    signal(server.pid(), Signal::HUP);
    let message = "the configuration was not reloaded: the old configuration stays in force";
    assert_eq!(server.logged("ERROR", message), 1);
    assert!(server.has_logged("pelton.toml:3: unknown key: limits.que_max"));
    assert_eq!(server.get_as("/p.jpg", "image/webp").body, after.body);
    // An upgrade also applies the settings that need a new process.
    rewrite(&home, "quality = 10\ncores = 1\n");
    server.upgrade();
    assert_eq!(server.get("/t.txt").status, 404);
    assert_eq!(server.get_as("/p.jpg", "image/webp").body, after.body);
    server.stop();
}

#[test]
fn connections_of_http2_are_asked_to_reconnect() {
    let home = Home::with(&[("t.txt", b"text")]);
    let server = configured(&home, "");
    let mut kept = Frames::connect(server.address(), &[]);
    let mut ask = |stream| {
        let sent = kept.send(&request(stream, "/t.txt"));
        sent.expect("the server listens");
        let next = || kept.next().expect("the connection goes on");
        let frames: Vec<_> = std::iter::repeat_with(next)
            .filter(|frame| [HEADERS, GOAWAY].contains(&frame.kind))
            .take(if stream == 1 { 1 } else { 2 })
            .collect();
        frames
    };
    // RFC 7541 appendix A: 404 is entry 13 of the static table.
    let is_404 = |frame: &crate::harness::frames::Frame| frame.payload[0] == 0x8d;
    assert!(ask(1).iter().all(is_404));
    rewrite(&home, "allowed_types = [\"txt\"]\n");
    signal(server.pid(), Signal::HUP);
    server.logged("INFO", "configuration reloaded");
    // The server sends one more response under the old configuration, and GOAWAY, in either order.
    let (goaways, answers): (Vec<_>, Vec<_>) =
        ask(3).into_iter().partition(|frame| frame.kind == GOAWAY);
    assert_eq!((goaways.len(), answers.len()), (1, 1));
    assert!(answers.iter().all(is_404));
    let mut anew = Http2::connect(server.address());
    assert_eq!(anew.send("GET", "/t.txt", "").body, b"text");
    server.stop();
}

/// Returns a command that starts the server in the way of a service manager: `sh` passes `socket`
/// to the server.
fn activated(home: &Home, socket: &TcpListener, listen: &str) -> Command {
    let inner = pelton(home, ["serve", "--listen", listen]);
    let mut command = Command::new("sh");
    // The socket is passed twice, because a service manager may pass several sockets. The shell
    // copies its stdin to descriptors 3 and 4.
    let script =
        "export LISTEN_PID=$$ LISTEN_FDS=2; exec 3<&0 4<&0 0</dev/null; exec \"$0\" \"$@\"";
    let passed = socket.try_clone().expect("a descriptor is left");
    command
        .args(["-c", script])
        .arg(inner.get_program())
        .args(inner.get_args())
        .arg(home.library())
        .arg("--data")
        .arg(home.data())
        .current_dir(home.directory())
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(passed)));
    command
}

#[test]
fn a_service_manager_opens_the_socket_and_is_notified() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("bound");
    // The notification socket has an abstract name instead of a path. systemd may use either kind
    // of socket.
    let name = format!("pelton-test-{}", std::process::id());
    let manager = SocketAddr::from_abstract_name(&name).expect("a short name");
    let manager = UnixDatagram::bind_addr(&manager).expect("nobody else has it");
    let notification = || {
        let mut bytes = [0; 200];
        let read = manager.recv(&mut bytes).expect("the server tells");
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    };
    // A client can connect before the server starts, because the socket already listens. The server
    // answers the request after its start.
    let mut early = crate::harness::Client::connect(address);
    early.request("GET", "/p.jpg", "");
    let mut command = activated(&home, &socket, &address.to_string());
    command.env("NOTIFY_SOCKET", format!("@{name}"));
    let mut server = Server::spawn(&mut command);
    assert_eq!(server.address(), address);
    assert_eq!(early.response().status, 200);
    let ready = |server: &Server| format!("MAINPID={}\nREADY=1", server.pid());
    assert_eq!(notification(), ready(&server));
    signal(server.pid(), Signal::HUP);
    let reloading = notification();
    assert!(
        reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{reloading}"
    );
    assert_eq!(notification(), ready(&server));
    server.upgrade();
    assert_eq!(notification(), ready(&server));
    server.stop();
    assert_eq!(notification(), "STOPPING=1");
}

#[test]
fn a_socket_for_another_address_is_refused() {
    let home = Home::new();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("bound");
    let output = activated(&home, &socket, "127.0.0.2:0").output();
    let output = output.expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("errors are text");
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(
        stderr,
        format!(
            "pelton: LISTEN_FDS passes a socket for {address}, but no setting uses that address\n\
             hint:   set listen = \"{address}\"\n"
        )
    );
}
