//! Commands of the store, from the bytes of a request to the bytes of its reply.

use bytes::BytesMut;
use keyspace::{Keyspace, Limits, Outcome, Session};
use resp::{Out, Parser, Proto};

use crate::Operation;

/// Number of distinct keys. All keys exist before the measurement.
const KEYS: usize = 500;
const COUNT: usize = 2 * KEYS;
const NOW_MS: u64 = 1_000_000;
const SEED: u64 = 7;

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "store-set",
        count: COUNT,
        run: |count| {
            repeat(count, "SET", |n| {
                vec![key("s", n), "value of a key".to_owned()]
            })
        },
    },
    Operation {
        name: "store-get",
        count: COUNT,
        run: |count| repeat(count, "GET", |n| vec![key("s", n)]),
    },
    Operation {
        name: "store-incr",
        count: COUNT,
        run: |count| repeat(count, "INCR", |n| vec![key("i", n)]),
    },
    Operation {
        name: "store-expire",
        count: COUNT,
        run: |count| repeat(count, "EXPIRE", |n| vec![key("s", n), "100".to_owned()]),
    },
    Operation {
        name: "store-hset",
        count: COUNT,
        run: |count| {
            repeat(count, "HSET", |n| {
                vec![key("h", n % 20), key("f", n), "1".to_owned()]
            })
        },
    },
    Operation {
        name: "store-zadd",
        count: COUNT,
        run: |count| {
            repeat(count, "ZADD", |n| {
                vec!["z".to_owned(), (n * 7 % KEYS).to_string(), key("m", n)]
            })
        },
    },
    Operation {
        name: "store-lrange",
        count: COUNT,
        run: |count| {
            repeat(count, "LRANGE", |_| {
                vec!["l".to_owned(), "0".to_owned(), "9".to_owned()]
            })
        },
    },
];

fn key(prefix: &str, n: usize) -> String {
    format!("{prefix}:{:06}", n % KEYS)
}

/// Returns the bytes of a request.
fn request(command: &str, arguments: &[String]) -> Vec<u8> {
    let mut bytes = format!(
        "*{}\r\n${}\r\n{command}\r\n",
        arguments.len() + 1,
        command.len()
    );
    for argument in arguments {
        bytes += &format!("${}\r\n{argument}\r\n", argument.len());
    }
    bytes.into_bytes()
}

fn repeat(count: usize, command: &str, arguments: fn(usize) -> Vec<String>) -> u64 {
    let mut server = Server::new();
    for n in 0..KEYS {
        server.call(&request("SET", &[key("s", n), "first value".to_owned()]));
        server.call(&request("RPUSH", &["l".to_owned(), key("e", n)]));
    }
    let requests: Vec<_> = (0..KEYS).map(|n| request(command, &arguments(n))).collect();
    // Before the measured calls, one call per key creates the values that the command needs.
    for request in &requests {
        server.call(request);
    }
    let calls = requests.iter().cycle().take(count);
    calls.map(|request| server.call(request)).sum()
}

/// Parser, keyspace and reply buffer, as one connection uses them.
struct Server {
    parser: Parser,
    keyspace: Keyspace,
    session: Session,
    input: BytesMut,
}

impl Server {
    fn new() -> Server {
        Server {
            parser: Parser::new(resp::Limits::default()),
            keyspace: Keyspace::new(Limits::default(), SEED),
            session: Session::new(),
            input: BytesMut::with_capacity(64 * 1024),
        }
    }

    /// Executes one request, and returns the length of the reply.
    fn call(&mut self, request: &[u8]) -> u64 {
        self.input.extend_from_slice(request);
        let mut out = Out::new(Proto::Resp2);
        while self.parser.next(&mut self.input).expect("a sound request") {
            let args = self.parser.args();
            let outcome = self
                .keyspace
                .execute(&mut self.session, args, NOW_MS, &mut out);
            assert!(
                matches!(outcome, Outcome::Done),
                "the command is executed at once"
            );
        }
        self.parser.release();
        assert_eq!(out.errors(), 0, "the command succeeds");
        out.len() as u64
    }
}
