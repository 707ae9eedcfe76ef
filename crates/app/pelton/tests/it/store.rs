//! `pelton store`: starts, commands, kills and restarts.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{eventually, repetitions, signal};

/// Store on a Unix socket, killed when dropped.
pub(crate) struct Store {
    pub(crate) child: Child,
    socket: PathBuf,
}

impl Store {
    pub(crate) fn start(dir: &Path, directives: &[&str]) -> Store {
        let program = Command::new(env!("CARGO_BIN_EXE_pelton"));
        Store::start_with(program, dir, directives)
    }

    /// Starts a store and discards its log. `program` is a command that accepts Pelton's arguments.
    pub(crate) fn start_with(mut program: Command, dir: &Path, directives: &[&str]) -> Store {
        program.stderr(Stdio::null());
        Store::start_as(program, dir, directives)
    }

    /// Starts a store like [`Store::start_with`], but does not change the command's standard
    /// streams.
    pub(crate) fn start_as(mut program: Command, dir: &Path, directives: &[&str]) -> Store {
        let socket = dir.join("store.sock");
        let is_served = UnixStream::connect(&socket).is_ok();
        assert!(!is_served, "another store has {}", socket.display());
        let child = program
            .args(["store", "--port", &free_port(), "--dir"])
            .arg(dir)
            .arg("--unixsocket")
            .arg(&socket)
            .args(directives)
            .spawn()
            .expect("the program");
        let store = Store { child, socket };
        eventually("it listens", || UnixStream::connect(&store.socket).ok());
        store
    }

    pub(crate) fn client(&self) -> BufReader<UnixStream> {
        BufReader::new(UnixStream::connect(&self.socket).expect("it listens"))
    }

    /// Kills the store by SIGKILL, and waits for its end.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // An error is ignored: the store may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port().to_string()
}

/// Sends an inline command, and reads a reply of one line.
pub(crate) fn ask(client: &mut BufReader<UnixStream>, line: &str) -> std::io::Result<String> {
    client
        .get_mut()
        .write_all(format!("{line}\r\n").as_bytes())?;
    let mut reply = String::new();
    client.read_line(&mut reply)?;
    Ok(reply.trim_end().to_owned())
}

/// Directory of one test, removed when dropped. Its name contains a unique number, because
/// concurrent tests may pass the same `name`. In a common directory, both tests would connect to
/// the same store.
pub(crate) struct Dir(pub(crate) PathBuf);

impl Dir {
    pub(crate) fn new(name: &str) -> Dir {
        static DIRS: AtomicU32 = AtomicU32::new(0);
        let number = DIRS.fetch_add(1, Ordering::Relaxed);
        let name = format!("pelton-store-{}-{number}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a directory of its own");
        Dir(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn tests_of_one_name_have_stores_of_their_own() {
    let dirs = ["name", "name"].map(Dir::new);
    let stores = dirs.each_ref().map(|dir| Store::start(&dir.0, &[]));
    let [mut first, mut second] = stores.each_ref().map(Store::client);
    assert_eq!(ask(&mut first, "INCR n").expect("a reply"), ":1");
    assert_eq!(ask(&mut second, "INCR n").expect("a reply"), ":1");
}

#[test]
fn kill_loses_no_acknowledged_write() {
    let dir = Dir::new("kill");
    let journal = [
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
        "--save",
        "",
    ];
    let mut acknowledged = 0;
    for round in 0..repetitions(6) {
        let store = Store::start(&dir.0, &journal);
        let mut client = store.client();
        let found = ask(&mut client, "INCRBY n 0").expect("a reply");
        let found: u64 = found[1..].parse().expect("a number");
        assert!(
            acknowledged <= found,
            "round {round}: {acknowledged} acknowledged, {found} found"
        );

        // In odd rounds, the store is killed during a rewrite.
        if round % 2 == 1 {
            ask(&mut client, "BGREWRITEAOF").expect("a reply");
        }
        // Sends many commands at once. When the store is killed, some commands have no reply yet.
        let mut writer = client.get_ref().try_clone().expect("a descriptor");
        let commands = "INCR n\r\n".repeat(5_000);
        let sender = std::thread::spawn(move || drop(writer.write_all(commands.as_bytes())));
        let mut reply = String::new();
        for _ in 0..100 + 700 * (round % 6) {
            reply.clear();
            client.read_line(&mut reply).expect("a reply");
        }
        store.kill();
        // Reads the replies that the store sent before the kill. The increments of these replies
        // also count as acknowledged.
        let mut rest = String::new();
        drop(client.read_to_string(&mut rest));
        let last = rest
            .lines()
            .rfind(|line| line.starts_with(':'))
            .unwrap_or(reply.trim_end());
        acknowledged = last[1..].parse().unwrap_or(acknowledged);
        sender.join().expect("it ends with the connection");
    }
    assert!(0 < acknowledged);
}

/// A killed process loses only the writes that it has not yet passed to the kernel. With
/// `appendfsync everysec`, the store may lose the writes of the last second; usually it loses none.
#[test]
fn kill_loses_a_second_at_most_where_that_was_chosen() {
    const SECOND: Duration = Duration::from_secs(1);
    let dir = Dir::new("everysec");
    let journal = [
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
        "--save",
        "",
    ];
    let mut acknowledged = 0;
    // Run fewer rounds than the test of `appendfsync always`, since each round takes more than a
    // second.
    for round in 0..repetitions(6).div_ceil(10) {
        let store = Store::start(&dir.0, &journal);
        let mut client = store.client();
        // The reply arrives once the store has loaded its AOF.
        ask(&mut client, "PING").expect("a reply");
        let begun = Instant::now();
        let mut answers: Vec<(Instant, u64)> = Vec::new();
        let asked = SECOND + Duration::from_millis(200 + 37 * (round as u64 % 16));
        while begun.elapsed() < asked {
            client
                .get_mut()
                .write_all("INCR n\r\n".repeat(100).as_bytes())
                .expect("it reads");
            let mut reply = String::new();
            for _ in 0..100 {
                reply.clear();
                client.read_line(&mut reply).expect("a reply");
            }
            let number = reply[1..].trim_end().parse().expect("a number");
            answers.push((Instant::now(), number));
        }
        store.kill();
        let killed = Instant::now();
        let old = answers.iter().rfind(|(at, _)| SECOND <= killed - *at);
        acknowledged = old.map_or(acknowledged, |(_, number)| *number);
        let store = Store::start(&dir.0, &journal);
        let found = ask(&mut store.client(), "INCRBY n 0").expect("a reply");
        let found: u64 = found[1..].parse().expect("a number");
        assert!(
            acknowledged <= found,
            "round {round}: {acknowledged} acknowledged a second before, {found} found"
        );
    }
    assert!(0 < acknowledged);
}

#[test]
fn a_rewrite_without_a_journal_begins_none() {
    let dir = Dir::new("base-alone");
    let manifest = dir.0.join("appendonlydir/appendonly.aof.manifest");
    let listed = |files: usize| {
        eventually("the list of files is renewed", || {
            let text = std::fs::read_to_string(&manifest).ok()?;
            (text.lines().count() == files && !text.contains(" type h")).then_some(text)
        })
    };
    let store = Store::start(&dir.0, &["--enable-debug-command", "yes"]);
    let mut client = store.client();
    ask(&mut client, "SET a 1").expect("a reply");
    let refused = ask(&mut client, "DEBUG LOADAOF").expect("a reply");
    assert_eq!(
        refused,
        "-ERR Error trying to load the AOF: the data directory contains no AOF"
    );
    ask(&mut client, "BGREWRITEAOF").expect("a reply");
    assert_eq!(listed(1), "file appendonly.aof.1.base.rdb seq 1 type b\n");
    ask(&mut client, "SET b 1").expect("a reply");
    // `DEBUG LOADAOF` is refused until the rewrite has ended. The rewrite ends a moment after its
    // file is listed in the manifest.
    eventually("the journal is loaded", || {
        (ask(&mut client, "DEBUG LOADAOF").expect("a reply") == "+OK").then_some(())
    });
    assert_eq!(ask(&mut client, "EXISTS a b").expect("a reply"), ":1");
    ask(&mut client, "SET b 1").expect("a reply");
    ask(&mut client, "CONFIG SET appendonly yes").expect("a reply");
    listed(2);
    ask(&mut client, "SET c 1").expect("a reply");
    ask(&mut client, "CONFIG SET appendfsync always").expect("a reply");
    ask(&mut client, "SET d 1").expect("a reply");
    store.kill();
    let store = Store::start(&dir.0, &["--appendonly", "yes"]);
    let found = ask(&mut store.client(), "EXISTS a b c d").expect("a reply");
    assert_eq!(found, ":4");
}

#[test]
fn what_is_in_the_journal_is_what_is_served() {
    let dir = Dir::new("loadaof");
    let journal = ["--appendonly", "yes", "--enable-debug-command", "yes"];
    let store = Store::start(&dir.0, &journal);
    let mut client = store.client();
    for line in ["SET a 1", "EXPIRE a 100", "RPUSH l x y z", "SPOP none"] {
        ask(&mut client, line).expect("a reply");
    }
    let before = ask(&mut client, "DEBUG DIGEST").expect("a reply");
    assert_eq!(ask(&mut client, "DEBUG LOADAOF").expect("a reply"), "+OK");
    assert_eq!(ask(&mut client, "DEBUG DIGEST").expect("a reply"), before);
    assert_eq!(ask(&mut client, "RPOP l").expect("a reply"), "$1");
}

/// Reads a bulk string of this length that consists of one repeated letter, and returns the letter.
fn letter(client: &mut impl Read, bytes: usize) -> u8 {
    let head = format!("${bytes}\r\n");
    let mut reply = vec![0; head.len() + bytes + 2];
    client.read_exact(&mut reply).expect("a response");
    let body = &reply[head.len()..reply.len() - 2];
    assert!(reply.starts_with(head.as_bytes()) && reply.ends_with(b"\r\n"));
    assert!(
        body.iter().all(|byte| *byte == body[0]),
        "two values in one"
    );
    body[0]
}

#[test]
fn slow_readers_get_values_as_they_were() {
    const BYTES: usize = 200_001;
    let dir = Dir::new("lent");
    let port = free_port();
    let store = Store::start(&dir.0, &["--port", &port]);
    let connect = || TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    let mut readers: Vec<_> = (0..4).map(|_| connect()).collect();
    let mut writer = connect();
    for letter in b'a'..=b'z' {
        // Each SET replaces the previous value. Parts of that value may still wait to be sent to
        // slow readers. The store must not reuse the memory of these parts before they are sent.
        let mut set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${BYTES}\r\n").into_bytes();
        set.resize(set.len() + BYTES, letter);
        set.extend_from_slice(b"\r\n");
        // Between the writes, some values are overwritten with the same bytes.
        let change = match letter % 4 {
            0 => format!("SETRANGE k 100000 {}\r\n", char::from(letter)),
            _ => "STRLEN k\r\n".to_owned(),
        };
        set.extend_from_slice(change.as_bytes());
        writer.write_all(&set).expect("it takes a value");
        let mut replies = [0; b"+OK\r\n:200001\r\n".len()];
        writer.read_exact(&mut replies).expect("a response");
        for reader in &mut readers {
            reader.write_all(b"GET k\r\n").expect("it takes a command");
        }
    }
    for reader in &mut readers {
        let letters: Vec<u8> = (0..26).map(|_| letter(reader, BYTES)).collect();
        assert!(letters.is_sorted(), "{letters:?}");
    }
    let mut client = store.client();
    assert_eq!(ask(&mut client, "SAVE").expect("a response"), "+OK");
    store.kill();
    let _store = Store::start(&dir.0, &["--port", &port]);
    let mut reader = connect();
    reader.write_all(b"GET k\r\n").expect("it takes a command");
    assert_eq!(letter(&mut reader, BYTES), b'z');
}

#[test]
fn a_signal_saves_first() {
    let dir = Dir::new("signal");
    let mut store = Store::start(&dir.0, &["--save", "3600 1"]);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "SET a 1").expect("a reply"), "+OK");
    signal(store.child.id(), Signal::TERM);
    let status = store.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    let store = Store::start(&dir.0, &["--save", "3600 1"]);
    assert_eq!(ask(&mut store.client(), "INCR a").expect("a reply"), ":2");
}

#[test]
fn a_client_can_end_it() {
    let dir = Dir::new("shutdown");
    let mut store = Store::start(&dir.0, &["--save", ""]);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "SHUTDOWN").expect("the end"), "");
    assert_eq!(store.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn wrong_settings_are_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_pelton"))
        .args(["store", "--prot", "1"])
        .output()
        .expect("the program");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "pelton: store: --prot: unknown directive 'prot', did you mean 'port'?\n"
    );
}

#[test]
fn its_log_goes_to_the_configured_file() {
    let dir = Dir::new("logfile");
    let file = dir.0.join("store.log");
    let store = Store::start(&dir.0, &["--logfile", "store.log"]);
    let log = || std::fs::read_to_string(&file).ok();
    eventually("it says so", || {
        log().filter(|log| log.contains("accepts connections"))
    });
    // Log rotation moves the file away; the store must create a new one.
    std::fs::rename(&file, dir.0.join("store.log.1")).expect("moved");
    signal(store.child.id(), Signal::TERM);
    eventually("it says so", || log().filter(|log| log.contains("stopped")));
    drop(store);

    let output = Command::new(env!("CARGO_BIN_EXE_pelton"))
        .args(["store", "--logfile", "/does/not/exist/store.log", "--dir"])
        .arg(&dir.0)
        .output()
        .expect("the program");
    assert_eq!(output.status.code(), Some(3));
    let printed = String::from_utf8_lossy(&output.stderr);
    let expected = "pelton: store: cannot open logfile /does/not/exist/store.log: No such file";
    assert!(printed.starts_with(expected), "{printed}");
}

/// Process that is killed when dropped.
struct Detached(u32);

impl Drop for Detached {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.0 as i32).expect("no process has the number 0");
        // An error is ignored: the process may have ended already.
        kill_process(pid, Signal::KILL).ok();
    }
}

#[test]
fn it_goes_on_without_who_started_it() {
    let dir = Dir::new("daemonize");
    let pidfile = dir.0.join("store.pid");
    let start = |port: &str, supervised: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
        command.args(["store", "--daemonize", "yes", "--logfile", "store.log"]);
        command.args(["--port", port, "--supervised", supervised, "--dir"]);
        command.arg(&dir.0).arg("--pidfile").arg(&pidfile);
        command
    };
    // `output` returns only when all copies of the inherited streams are closed. If the daemon kept
    // the streams open, this call would block.
    let output = start("0", "auto")
        .arg("--unixsocket")
        .arg(dir.0.join("store.sock"))
        .env_remove("NOTIFY_SOCKET")
        .output()
        .expect("the program");
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
    let written = || std::fs::read_to_string(&pidfile).ok();
    let pid = eventually("it says who it is", || written()?.trim().parse().ok());
    let detached = Detached(pid);
    let socket = UnixStream::connect(dir.0.join("store.sock")).expect("it listened before");
    let mut client = BufReader::new(socket);
    assert_eq!(ask(&mut client, "SET key value").expect("set"), "+OK");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(") ").expect("a name");
    let session = fields.split(' ').nth(3).expect("a session");
    assert_eq!(session, pid.to_string());
    signal(pid, Signal::TERM);
    eventually("it ends", || written().is_none().then_some(()));
    eventually("it says so", || {
        let log = std::fs::read_to_string(dir.0.join("store.log")).ok()?;
        log.contains("\"stopped\"").then_some(())
    });
    drop(detached);

    // Errors at the start are reported before the command ends, and no process remains.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port().to_string();
    let output = start(&port, "no").output().expect("the program");
    assert_eq!(output.status.code(), Some(3));
    assert!(written().is_none());
}

#[test]
fn what_clients_set_can_be_kept_in_its_file() {
    let dir = Dir::new("rewrite");
    let file = dir.0.join("store.conf");
    let socket = dir.0.join("store.sock");
    let text = format!(
        "# ours\nport 0\nsave \"\"\ndir {}\n# how much\nmaxmemory 1gb\n",
        dir.0.display()
    );
    std::fs::write(&file, &text).expect("written");
    let rights = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(&file, rights).expect("ours");
    let child = Command::new(env!("CARGO_BIN_EXE_pelton"))
        .args(["store", "store.conf", "--unixsocket"])
        .arg(&socket)
        .current_dir(&dir.0)
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    let store = Store { child, socket };
    eventually("it listens", || UnixStream::connect(&store.socket).ok());
    let mut client = store.client();
    for line in ["CONFIG SET maxmemory 2gb hz 20", "CONFIG REWRITE"] {
        assert_eq!(ask(&mut client, line).expect("a reply"), "+OK");
    }
    let expected = format!(
        "{}# Generated by CONFIG REWRITE\nunixsocket {}\nhz 20\n",
        text.replace("1gb", "2147483648"),
        store.socket.display()
    );
    let written = || std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(written(), expected);
    let rights = std::fs::metadata(&file).expect("it is there").permissions();
    assert_eq!(rights.mode() & 0o777, 0o640);

    // CONFIG REWRITE is refused in a transaction: `EXEC` must reply at once, but CONFIG REWRITE
    // replies only after the file is written.
    for (line, reply) in [
        ("MULTI", "+OK"),
        ("CONFIG REWRITE", "+QUEUED"),
        ("EXEC", "*1"),
        ("PING", "-ERR CONFIG REWRITE is not allowed in transactions"),
    ] {
        assert_eq!(ask(&mut client, line).expect("a reply"), reply);
    }
    let mut client = store.client();

    std::fs::remove_file(&file).expect("ours");
    std::fs::create_dir(&file).expect("ours");
    let reply = ask(&mut client, "CONFIG REWRITE").expect("a reply");
    assert!(reply.starts_with("-ERR Rewriting config file: "), "{reply}");
    drop(store);
    let names = std::fs::read_dir(&dir.0).expect("ours").flatten();
    let left = names.filter(|entry| entry.path().to_string_lossy().ends_with(".tmp"));
    assert_eq!(left.count(), 0);

    let store = Store::start(&dir.0, &[]);
    let reply = ask(&mut store.client(), "CONFIG REWRITE").expect("a reply");
    assert_eq!(reply, "-ERR The server is running without a config file");
}

#[test]
fn what_is_logged_can_be_changed_while_it_runs() {
    let dir = Dir::new("loglevel");
    let directives = ["--logfile", "store.log", "--enable-debug-command", "yes"];
    let store = Store::start(&dir.0, &directives);
    let mut client = store.client();
    for line in [
        "DEBUG LOG first",
        "CONFIG SET loglevel warning",
        "DEBUG LOG second",
        "CONFIG SET loglevel notice",
        "DEBUG LOG third",
    ] {
        assert_eq!(ask(&mut client, line).expect("a reply"), "+OK");
    }
    // A thread writes the lines of the log in order, possibly after the replies were sent.
    let log = eventually("the last line is written", || {
        let log = std::fs::read_to_string(dir.0.join("store.log")).expect("it is there");
        log.contains("\"third\"").then_some(log)
    });
    let logged = ["first", "second", "third"].map(|word| log.contains(&format!("\"{word}\"")));
    assert_eq!(logged, [true, false, true], "{log}");
}

#[test]
fn its_version_and_stdin_are_as_with_redis_server() {
    for word in ["-v", "--version"] {
        let output = Command::new(env!("CARGO_BIN_EXE_pelton"))
            .args(["store", word])
            .output()
            .expect("the program");
        assert_eq!(output.status.code(), Some(0));
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.starts_with("Pelton store v=7.2.4 "), "{printed}");
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_pelton"))
        .args(["store", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"port 1\nprot 1\n").expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "pelton: store: stdin:2: unknown directive 'prot', did you mean 'port'?\n"
    );
}

#[test]
fn a_unix_socket_is_enough() {
    let dir = Dir::new("unix");
    let store = Store::start(&dir.0, &["--port", "0"]);
    let mut client = store.client();
    assert_eq!(ask(&mut client, "SET key value").expect("set"), "+OK");
    assert_eq!(ask(&mut client, "STRLEN key").expect("a length"), ":5");
}

/// Waits until all removed values are freed. Returns the number of bytes of data, and the number of
/// bytes that the allocator has allocated.
fn memory(client: &mut BufReader<UnixStream>) -> (f64, f64) {
    let mut info = HashMap::new();
    eventually("all is freed", || {
        client.get_mut().write_all(b"INFO memory\r\n").ok()?;
        let mut line = String::new();
        client.read_line(&mut line).ok()?;
        let mut text = vec![0; line[1..].trim_end().parse::<usize>().ok()? + 2];
        client.read_exact(&mut text).ok()?;
        let text = String::from_utf8(text).ok()?;
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        info = fields
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        (info["lazyfree_pending_objects"] == "0").then_some(())
    });
    let bytes = |name: &str| info[name].parse().expect("a number");
    (bytes("used_memory"), bytes("allocator_allocated"))
}

#[test]
fn memory_is_counted_as_the_allocator_gives_it() {
    let dir = Dir::new("memory");
    let store = Store::start(&dir.0, &["--save", ""]);
    let mut client = store.client();
    // Shape of data: its name, the number of commands that create it, and the command for each
    // number. Each shape takes about 20 MB.
    type Shape = (&'static str, usize, fn(usize) -> String);
    let shapes: [Shape; 11] = [
        ("numbers", 200_000, |n| format!("SET key:{n} {n}")),
        ("short strings", 150_000, |n| {
            format!("SET key:{n} {}", "x".repeat(64))
        }),
        ("long names", 150_000, |n| {
            format!("SET a-name-that-has-more-than-22-bytes:{n} {n}")
        }),
        ("strings of any length", 20_000, |n| {
            format!("SET key:{n} {}", "x".repeat(n % 2_000))
        }),
        ("deadlines", 150_000, |n| {
            format!("SET key:{n} {n} PX {}", 10_000_000 + n)
        }),
        ("small hashes", 50_000, |n| {
            format!("HSET key:{n} name value{n} other {}", "x".repeat(n % 60))
        }),
        ("a hash", 150_000, |n| {
            format!("HSET hash field:{n} {}", "x".repeat(40))
        }),
        ("a set", 600_000, |n| format!("SADD set member:{n}")),
        ("a sorted set", 300_000, |n| {
            format!("ZADD zset {} member:{n}", n * 7_919 % 300_000)
        }),
        ("a list", 1_400_000, |n| format!("RPUSH list element:{n}")),
        ("blobs", 400, |n| {
            format!("SET key:{n} {}", "x".repeat(20_000 + n * 150))
        }),
    ];
    let mut found = String::new();
    for (name, count, command) in shapes {
        ask(&mut client, "FLUSHALL").expect("a reply");
        let before = memory(&mut client);
        for first in (0..count).step_by(1_000) {
            let numbers = first..count.min(first + 1_000);
            // The commands are arrays of bulk strings, as clients usually send them, so that the
            // store reads large strings directly into their final memory.
            let batch: String = numbers
                .clone()
                .map(|number| framed(&command(number)))
                .collect();
            let mut writer = client.get_ref().try_clone().expect("a descriptor");
            let sender = std::thread::spawn(move || writer.write_all(batch.as_bytes()));
            for _ in numbers {
                let mut reply = String::new();
                client.read_line(&mut reply).expect("a reply");
                assert!(!reply.starts_with('-'), "{name}: {reply}");
            }
            sender.join().expect("no panic").expect("it reads");
        }
        let after = memory(&mut client);
        let ratio = (after.0 - before.0) / (after.1 - before.1);
        found += &format!("{name}: {ratio:.3} of {} bytes\n", after.1 - before.1);
        if !(0.95..1.05).contains(&ratio) {
            found += "  that is not within 5 %\n";
        }
    }
    assert!(!found.contains("not within"), "{found}");
}

/// Encodes a line as an array of bulk strings.
fn framed(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let bulks = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), bulks.collect::<String>())
}

/// Sends many inline commands at once. Every command must have a reply of one line.
fn send_all(client: &mut BufReader<UnixStream>, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    for part in lines.chunks(10_000) {
        let commands = part.concat();
        let mut writer = client.get_ref().try_clone().expect("a descriptor");
        let sender = std::thread::spawn(move || writer.write_all(commands.as_bytes()));
        for line in part {
            let mut reply = String::new();
            client.read_line(&mut reply).expect("a reply");
            assert!(reply.starts_with(['+', ':']), "{line}{reply}");
        }
        sender.join().expect("a sender").expect("sent");
    }
}

/// Returns one number of `INFO memory`.
fn memory_field(client: &mut BufReader<UnixStream>, name: &str) -> usize {
    let head = ask(client, "INFO memory").expect("a reply");
    let bytes: usize = head[1..].parse().expect("a length");
    let mut text = vec![0; bytes + 2];
    client.read_exact(&mut text).expect("the text");
    let text = String::from_utf8(text).expect("text");
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.expect("the field").parse().expect("a number")
}

#[test]
fn memory_of_small_keys_goes_back_to_the_system() {
    const KEYS: usize = 600_000;
    // Tolerance for resident memory that contains no data. The first commands and new threads need
    // a varying amount of this memory.
    const OVERHEAD_BYTES: usize = 6 << 20;
    let dir = Dir::new("memory");
    let store = Store::start(&dir.0, &["--save", ""]);
    let mut client = store.client();
    let base = memory_field(&mut client, "used_memory_rss");
    let value = "v".repeat(64);
    send_all(
        &mut client,
        (0..KEYS).map(|number| format!("SET key:{number} {value}\r\n")),
    );
    let full = memory_field(&mut client, "used_memory_rss") - base;
    send_all(
        &mut client,
        (0..KEYS)
            .filter(|number| number % 10 != 3)
            .map(|number| format!("DEL key:{number}\r\n")),
    );
    assert_eq!(ask(&mut client, "MEMORY PURGE").expect("a reply"), "+OK");
    eventually("pages without a key go back", || {
        let used = memory_field(&mut client, "used_memory");
        let resident = memory_field(&mut client, "used_memory_rss").saturating_sub(base);
        let is_returned = resident * 10 <= used * 13 + 10 * OVERHEAD_BYTES;
        (used < full / 5 && is_returned).then_some(())
    });
    for number in (0..KEYS).filter(|number| number % 10 == 3) {
        let reply = ask(&mut client, &format!("STRLEN key:{number}")).expect("a reply");
        assert_eq!(reply, ":64", "key:{number}");
    }

    // Without `MEMORY PURGE`, the allocator retains freed pages for reuse, and returns them to the
    // kernel after some time.
    assert_eq!(ask(&mut client, "FLUSHALL").expect("a reply"), "+OK");
    eventually("the last pages go back", || {
        let resident = memory_field(&mut client, "used_memory_rss").saturating_sub(base);
        (resident <= OVERHEAD_BYTES).then_some(())
    });
}
