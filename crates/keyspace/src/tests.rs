//! Commands in, replies out, as a client sees them.

use bytes::Bytes;
use expect_test::{Expect, expect};
use resp::{Out, Proto};

use super::*;

/// One client of a store, at a time that tests choose.
struct Client {
    keyspace: Keyspace,
    session: Session,
    proto: Proto,
    now_ms: u64,
}

impl Client {
    fn new() -> Self {
        Self {
            keyspace: Keyspace::new(Limits::default(), 1),
            session: Session::new(),
            proto: Proto::Resp2,
            now_ms: 1_700_000_000_000,
        }
    }

    /// Sends a line, and returns what comes back with its line ends visible.
    fn send(&mut self, line: &str) -> String {
        let args = resp::split_line(line.as_bytes()).expect("a test's line is sound");
        let mut out = Out::new(self.proto);
        self.run(&args, &mut out);
        String::from_utf8_lossy(&out.to_bytes())
            .replace("\r\n", " ")
            .trim_end()
            .to_owned()
    }

    fn run(&mut self, args: &[Bytes], out: &mut Out) {
        match self
            .keyspace
            .execute(&mut self.session, args, self.now_ms, out)
        {
            Outcome::Done => {}
            Outcome::Block(block) => out.simple(&format!("waits for {:?}", block.keys)),
            Outcome::Service(command) => out.simple(&format!("service {}", command.name)),
            Outcome::Exec(commands) => {
                commands.iter().for_each(|args| self.run(args, out));
                self.session.exec_done();
            }
        }
    }

    /// Runs a script, a command a line, and compares it with the replies behind it.
    fn check(&mut self, script: &str, expected: Expect) {
        let mut transcript = String::new();
        for line in script
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let reply = self.send(line);
            transcript.push_str(&format!("{line}\n    {reply}\n"));
        }
        expected.assert_eq(&transcript);
    }
}

#[test]
fn watch_sees_changes_and_deadlines() {
    let mut client = Client::new();
    client.check(
        "SET k 1
        WATCH k
        SET k 2
        MULTI
        GET k
        EXEC
        WATCH k
        MULTI
        INCR k
        NOSUCH
        EXEC
        MULTI
        INCR k
        LPUSH k x
        EXEC",
        expect![[r#"
            SET k 1
                +OK
            WATCH k
                +OK
            SET k 2
                +OK
            MULTI
                +OK
            GET k
                +QUEUED
            EXEC
                *-1
            WATCH k
                +OK
            MULTI
                +OK
            INCR k
                +QUEUED
            NOSUCH
                -ERR unknown command 'NOSUCH', with args beginning with:
            EXEC
                -EXECABORT Transaction discarded because of previous errors.
            MULTI
                +OK
            INCR k
                +QUEUED
            LPUSH k x
                +QUEUED
            EXEC
                *2 :3 -WRONGTYPE Operation against a key holding the wrong kind of value
        "#]],
    );
}

#[test]
fn every_member_is_drawn() {
    let mut client = Client::new();
    client.send("ZADD z 1 a 2 b 3 c");
    client.send("SADD s a b c");
    client.send("HSET h a 1 b 2 c 3");
    for draw in [
        "ZRANDMEMBER z",
        "SRANDMEMBER s",
        "HRANDFIELD h",
        "ZRANDMEMBER z 1",
        "SRANDMEMBER s -1",
    ] {
        let drawn: std::collections::BTreeSet<String> =
            (0..100).map(|_| client.send(draw)).collect();
        assert_eq!(drawn.len(), 3, "{draw}: {drawn:?}");
    }
}
