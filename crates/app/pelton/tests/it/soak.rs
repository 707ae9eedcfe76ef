//! Many responses of all sizes, whole and partial, single and pipelined, while clients reset some
//! of the connections: each body must be the one that was requested.
//!
//! `cargo xtask conform soak` sends ten million requests.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::harness::{Caller, Home, Server, repetitions};

/// Sizes of files in bytes: from bodies that are copied, to bodies that `sendfile` sends in several
/// slices.
const SIZES: [usize; 7] = [1, 150, 2_000, 20_000, 70_000, 200_000, 1_500_000];
const CLIENTS: usize = 4;

/// Returns bytes that differ by file and by position.
fn content(file: usize, size: usize) -> Vec<u8> {
    let mut state = file as u32 + 1;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(size).collect()
}

/// Pseudo-random choices. The same seed yields the same choices, so that failures can be
/// reproduced.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Request for a file, or for a part of it.
#[derive(Debug)]
struct FileRequest {
    file: usize,
    part: Option<Range<usize>>,
}

impl FileRequest {
    fn choose(chance: &mut Chance) -> FileRequest {
        // Chooses small files more often. Otherwise the largest file would take most of the time.
        let file = chance.below(SIZES.len()).min(chance.below(SIZES.len()));
        let size = SIZES[file];
        let part = (chance.below(3) == 0).then(|| {
            let begin = chance.below(size);
            begin..begin + 1 + chance.below(size - begin)
        });
        FileRequest { file, part }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let range = match &self.part {
            Some(part) => format!("range: bytes={}-{}\r\n", part.start, part.end - 1),
            None => String::new(),
        };
        let file = self.file;
        out.extend(format!("GET /{file}.bin HTTP/1.1\r\nhost: h\r\n{range}\r\n").bytes());
    }
}

/// Sends requests until `left`, the number of remaining requests, is zero, and checks every body.
fn soak(address: SocketAddr, seed: u64, contents: &[Vec<u8>], left: &AtomicUsize) {
    let mut chance = Chance(seed);
    let mut kept = None;
    let count = |batch: usize| {
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(batch)
        });
        taken.is_ok()
    };
    loop {
        let row = 1 + [0, 0, 15][chance.below(3)];
        let batch: Vec<_> = (0..row).map(|_| FileRequest::choose(&mut chance)).collect();
        let mut caller: Caller = kept
            .take()
            .unwrap_or_else(|| Caller::connect(address).expect("the server listens"));
        let mut requests = Vec::new();
        batch.iter().for_each(|one| one.write(&mut requests));
        caller.send(&requests).expect("the server reads");
        // The client resets some connections before it has read all responses.
        let breaks = chance.below(50) == 0;
        let read = if breaks { chance.below(row) } else { row };
        let mut closes = false;
        for one in &batch[..read] {
            let reply = caller.reply();
            let reply = match reply {
                // The server closes a connection after its maximum number of requests, as the last
                // response has announced. The test then continues on a new connection.
                Err(err) if closes && err.kind() == io::ErrorKind::UnexpectedEof => break,
                reply => reply.expect("a response"),
            };
            let whole = &contents[one.file];
            let (status, expected) = match &one.part {
                Some(part) => (206, &whole[part.clone()]),
                None => (200, &whole[..]),
            };
            assert_eq!(reply.status, status, "{one:?} of seed {seed}");
            assert!(
                reply.body == expected,
                "another body for {one:?} of seed {seed}"
            );
            closes = reply.closes;
        }
        if breaks {
            caller.reset().expect("a socket can be reset");
        } else if !closes {
            kept = Some(caller);
        }
        if !count(read.max(1)) {
            return;
        }
    }
}

#[test]
fn no_byte_is_wrong() {
    let contents: Vec<_> = SIZES
        .iter()
        .enumerate()
        .map(|(file, size)| content(file, *size))
        .collect();
    let home = Home::new();
    for (file, content) in contents.iter().enumerate() {
        home.put(&format!("{file}.bin"), content);
    }
    let flags = [
        ["--allowed-types", "bin"],
        ["--limits-connection-requests-max", "1000"],
    ];
    let server = Server::plain(&home, &flags.concat());
    let left = AtomicUsize::new(repetitions(20_000));
    thread::scope(|scope| {
        for seed in 1..=CLIENTS {
            let (address, contents, left) = (server.address(), &contents, &left);
            scope.spawn(move || soak(address, seed as u64, contents, left));
        }
    });
    let metrics = server.metrics();
    println!("{} answers", metrics.sum("pelton_http_responses_total"));
    server.stop();
}
