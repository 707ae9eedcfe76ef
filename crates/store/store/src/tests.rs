//! Tests of clients over in-memory streams, with paused time. Tests of the store's files are in
//! `files.rs`.
//!
//! A script has one step per line: `a> GET k` makes client *a* send an inline command. `a< "v"`
//! expects this reply to *a* next, `a~ text` expects a reply that contains `text`, `a<` expects no
//! reply, and `a closed` expects the end of the connection. `a closes` closes it from the client's
//! side. `wait 50` advances time by 50 ms.

mod compute;
mod docs;
mod embedded;
mod eval;
mod files;
mod functions;
mod pauses;
mod scripts;
mod streams;

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use keyspace::Keyspace;
use reactor::{Stop, ZeroCopyWriter};
use resp::{Reply, ReplyLimits};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

use crate::client::Peer;
use crate::connection::{Stream, serve};
use crate::housekeeping::run_housekeeping;
use crate::persist::Persist;
use crate::script_task::run_busy_scripts;
use crate::shared::Shared;
use crate::state::State;
use crate::{Config, Limits, settings};

/// Runs a script against a server with the given directives of redis.conf, and checks the replies
/// that the script expects.
fn check(directives: &str, script: &str) {
    last_reply(directives, script, None);
}

/// Runs a script, then returns the next reply to the client called `name`. Tests use the result for
/// replies that differ from run to run. If `name` is `None`, returns an empty string.
fn last_reply(directives: &str, script: &str, name: Option<&str>) -> String {
    let mut config = Config::default();
    config
        .read(directives, "directives".as_ref())
        .expect("sound");
    last_reply_with(config, script, name)
}

fn last_reply_with(config: Config, script: &str, name: Option<&str>) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        let mut test_server = TestServer::new(config);
        for (index, line) in script.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() {
                test_server.run_step(line, index + 1).await;
            }
        }
        match name {
            Some(name) => test_server.test_client(name).next_reply().await,
            None => String::new(),
        }
    })
}

impl Stream for DuplexStream {
    fn poll_write_zero_copy(
        &mut self,
        _zero_copy_writer: &ZeroCopyWriter,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
        _more: bool,
    ) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write_vectored(context, parts)
    }
}

/// A server and its clients.
struct TestServer {
    shared: Rc<Shared>,
    clients: BTreeMap<String, TestClient>,
}

struct TestClient {
    stream: DuplexStream,
    input: BytesMut,
}

impl TestServer {
    fn new(config: Config) -> TestServer {
        let keyspace = Keyspace::new(settings::keyspace_limits(&config), 7);
        let persist = Persist::without_journal(0, Stop::new());
        let state = State::new(config, Limits::default(), keyspace, persist);
        let shared = Rc::new(Shared::new(state));
        spawn_local(run_housekeeping(Rc::clone(&shared)));
        spawn_local(run_busy_scripts(Rc::clone(&shared)));
        TestServer {
            shared,
            clients: BTreeMap::new(),
        }
    }

    async fn run_step(&mut self, line: &str, number: usize) {
        if let Some(ms) = line.strip_prefix("wait ") {
            let ms = ms.parse().expect("milliseconds");
            return tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        if let Some(name) = line.strip_suffix(" closed") {
            let reply_text = self.test_client(name).next_reply().await;
            return assert_eq!(reply_text, "closed", "line {number}: {line}");
        }
        if let Some(name) = line.strip_suffix(" closes") {
            drop(self.clients.remove(name).expect("the client exists"));
            return tokio::task::yield_now().await;
        }
        if let Some((name, command)) = line.split_once("> ")
            && !name.contains('<')
        {
            let test_client = self.test_client(name);
            let line = format!("{command}\r\n");
            return test_client
                .stream
                .write_all(line.as_bytes())
                .await
                .expect("it listens");
        }
        if let Some((name, part)) = line.split_once("~ ") {
            let reply_text = self.test_client(name).next_reply().await;
            return assert!(
                reply_text.contains(part),
                "line {number}: {line}: {reply_text}"
            );
        }
        let (name, expected) = line.split_once('<').expect("a step");
        let reply_text = self.test_client(name).next_reply().await;
        assert_eq!(
            reply_text.trim_end(),
            expected.trim(),
            "line {number}: {line}"
        );
    }

    fn test_client(&mut self, name: &str) -> &mut TestClient {
        self.clients.entry(name.to_owned()).or_insert_with(|| {
            let (stream, other) = duplex(1 << 20);
            let peer = Peer {
                address: format!("{name}:1"),
                local: "server:1".to_owned(),
                descriptor: 0,
                is_local: name != "stranger",
                is_unix: false,
            };
            spawn_local(serve(Rc::clone(&self.shared), other, peer));
            TestClient {
                stream,
                input: BytesMut::new(),
            }
        })
    }
}

impl TestClient {
    /// Returns the next reply as text, or an empty string if no reply has arrived and no task can
    /// continue.
    async fn next_reply(&mut self) -> String {
        loop {
            let reply = Reply::take(&mut self.input, &ReplyLimits::default());
            if let Some(reply) = reply.expect("a reply") {
                return format_reply(&reply);
            }
            let read = self.stream.read_buf(&mut self.input);
            match timeout(Duration::from_millis(1), read).await {
                Err(_) => return String::new(),
                Ok(Ok(0)) => return "closed".to_owned(),
                Ok(read) => drop(read.expect("a stream in memory")),
            }
        }
    }
}

fn format_reply(reply: &Reply) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = |replies: &[Reply]| {
        replies
            .iter()
            .map(format_reply)
            .collect::<Vec<_>>()
            .join(" ")
    };
    match reply {
        Reply::Simple(word) => text(word),
        Reply::Error(error) => format!("-{}", text(error)),
        Reply::Int(number) => number.to_string(),
        Reply::Bulk(bytes) => format!("{:?}", text(bytes)),
        Reply::Null => "nil".to_owned(),
        Reply::Array(replies) => format!("[{}]", all(replies)),
        Reply::Set(replies) => format!("~[{}]", all(replies)),
        Reply::Push(replies) => format!(">[{}]", all(replies)),
        Reply::Map(pairs) => {
            let pairs = pairs.iter();
            let pairs =
                pairs.map(|(key, value)| format!("{}: {}", format_reply(key), format_reply(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        Reply::Double(digits) | Reply::BigNumber(digits) => text(digits),
        Reply::Bool(value) => value.to_string(),
        Reply::Verbatim(bytes) => format!("={:?}", text(bytes)),
    }
}
