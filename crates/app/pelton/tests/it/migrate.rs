//! Migration from Redis 7 to `pelton store` and back. Each program reads the data directory that
//! the other program has written.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use resp::Reply;
use rustix::process::Signal;

use crate::harness::{Home, eventually, signal};

/// Redis or `pelton store` on a data directory, killed when dropped.
struct Running {
    child: Child,
    address: SocketAddr,
}

impl Running {
    fn start(mut command: Command, dir: &Path, directives: &[&str]) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        drop(listener);
        let child = command
            .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
            .arg("--dir")
            .arg(dir)
            .args(directives)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server is installed: cargo xtask test sees to it");
        let running = Running { child, address };
        eventually("it listens", || TcpStream::connect(address).ok());
        let ping = [vec![Bytes::from_static(b"PING")]];
        eventually("it has loaded its data", || {
            let replies = running.remote().run(&ping).expect("it answers");
            (replies[0] == Reply::Simple("PONG".into())).then_some(())
        });
        running
    }

    fn redis(dir: &Path, directives: &[&str]) -> Running {
        Running::start(Command::new("redis-server"), dir, directives)
    }

    fn ours(dir: &Path, directives: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
        command.arg("store");
        Running::start(command, dir, directives)
    }

    fn remote(&self) -> store::Remote {
        let url = format!("redis://{}", self.address);
        store::Remote::new(url.parse().expect("a URL"), Duration::from_secs(60))
    }

    fn ask(&self, commands: &[Vec<String>]) -> Vec<Reply> {
        let remote = self.remote();
        let bytes = |words: &Vec<String>| words.iter().cloned().map(Bytes::from).collect();
        let commands: Vec<Vec<Bytes>> = commands.iter().map(bytes).collect();
        let replies = remote.run(&commands).expect("it answers");
        for (reply, words) in replies.iter().zip(&commands) {
            assert!(!matches!(reply, Reply::Error(_)), "{words:?}: {reply:?}");
        }
        replies
    }

    /// Stops the server with SIGTERM. If the directives request snapshots, the server writes one
    /// before it ends.
    fn stop(mut self) {
        signal(self.child.id(), Signal::TERM);
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error is ignored: the server may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Returns commands that create each type in its small and its large encoding, and keys with
/// deadlines, in two databases.
fn data() -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for db in [0, 5] {
        commands.push(words(&format!("SELECT {db}")));
        for (suffix, elements) in [("small", 5), ("large", 3_000)] {
            for number in 0..elements {
                let lines = [
                    format!(
                        "SET string:{suffix}:{number} value{number} EX {}",
                        10_000 + number
                    ),
                    format!("RPUSH list:{suffix} element{number} {number}"),
                    format!("SADD set:{suffix} member{number}"),
                    format!("SADD ints:{suffix} {}", number * 7_919),
                    format!("HSET hash:{suffix} field{number} {number}"),
                    format!("ZADD zset:{suffix} {number}.25 member{number}"),
                ];
                commands.extend(lines.iter().map(|line| words(line)));
            }
        }
        commands.push(words(&format!("SET blob {}", "b".repeat(100_000))));
        commands.push(words(&format!(
            "HSET hash:small blob {}",
            "h".repeat(20_000)
        )));
        commands.push(words("SETBIT bits 70001 1"));
        commands.push(words("INCRBY counter -12345678901"));
    }
    commands
}

/// Returns commands that read all data that the commands of [`data`] have created.
fn reads() -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for db in [0, 5] {
        lines.extend([format!("SELECT {db}"), "DBSIZE".to_owned()]);
        for suffix in ["small", "large"] {
            lines.extend([
                format!("SORT list:{suffix} BY nothing"),
                format!("SORT set:{suffix} ALPHA"),
                format!("SORT ints:{suffix}"),
                format!("ZRANGE zset:{suffix} 0 -1 WITHSCORES"),
                format!("HLEN hash:{suffix}"),
            ]);
            for number in [0, 4, 2_999] {
                lines.push(format!("GET string:{suffix}:{number}"));
                lines.push(format!("EXPIRETIME string:{suffix}:{number}"));
                lines.push(format!("HGET hash:{suffix} field{number}"));
            }
        }
        lines.extend(
            [
                "GET blob",
                "HGET hash:small blob",
                "BITCOUNT bits",
                "GET counter",
            ]
            .map(str::to_owned),
        );
    }
    lines.iter().map(|line| words(line)).collect()
}

/// Writes data with Redis and reads it with `pelton store`. Then changes the data with `pelton
/// store` and reads it with Redis.
fn there_and_back(directives: &[&str]) {
    let home = Home::with(&[]);
    let dir = home.directory();
    let redis = Running::redis(dir, directives);
    redis.ask(&data());
    let expected = redis.ask(&reads());
    redis.stop();

    let ours = Running::ours(dir, directives);
    assert_eq!(ours.ask(&reads()), expected);
    ours.ask(
        &[
            "DEL list:small",
            "ZADD zset:small 7 new",
            "HSET hash:large new value",
            "SPOP set:large 10",
        ]
        .map(words),
    );
    let expected = ours.ask(&reads());
    ours.stop();

    let redis = Running::redis(dir, directives);
    assert_eq!(redis.ask(&reads()), expected);
    redis.stop();
}

#[test]
fn a_snapshot_goes_there_and_back() {
    there_and_back(&["--save", "3600 1"]);
}

#[test]
fn a_journal_goes_there_and_back() {
    there_and_back(&["--appendonly", "yes", "--save", ""]);
}

#[test]
fn a_journal_of_commands_alone_goes_there_and_back() {
    there_and_back(&[
        "--appendonly",
        "yes",
        "--save",
        "",
        "--aof-use-rdb-preamble",
        "no",
    ]);
}
