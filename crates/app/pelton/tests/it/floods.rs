//! HTTP/2 clients that attack the server. The server disconnects an attacker, or limits the memory
//! and CPU that the attacker uses. Other clients are still served.

use crate::harness::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, PING,
    RST_STREAM, SETTINGS, frame, get, request,
};
use crate::harness::{Frames, Home, Server, eventually};

/// Maximum memory that a flood may add to the server, in bytes: its buffers and sockets, and the
/// memory that the allocator retains.
const GROWTH_BYTES_MAX: u64 = 24 << 20;
/// Maximum number of repetitions of a flood, far above every limit of the server.
const TIMES_MAX: usize = 2_000_000;

fn served(flags: &[&str]) -> (Home, Server) {
    let large: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
    let home = Home::with(&[("digits.txt", b"0123456789"), ("large.txt", &large)]);
    let flags = &[&["--allowed-types", "txt"], flags].concat();
    let server = Server::plain(&home, flags);
    // Warms the cache, so that later growth of memory is due to the attack.
    assert_eq!(server.get("/large.txt").body, large);
    assert_eq!(server.get("/digits.txt").status, 200);
    (home, server)
}

/// Runs `attack`. Checks that the server closes the attacker's connection, serves other clients,
/// and uses a bounded amount of memory.
fn ended(attack: impl FnOnce(&mut Frames) -> usize) {
    let (_home, server) = served(&[]);
    let before = server.memory("VmRSS");
    let mut client = Frames::connect(server.address(), &[]);
    let times = attack(&mut client);
    assert!(times < TIMES_MAX, "the flood was never ended");
    assert_eq!(server.get("/digits.txt").body, b"0123456789");
    eventually("the connection is gone", || {
        // The only open connection is the one of this request for metrics. The attacker's
        // connection is closed.
        (server.metrics().get("pelton_connections") == 1).then_some(())
    });
    let grown = server.memory("VmHWM").saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes of memory");
}

/// Returns requests on `count` streams from `first` on, each followed by the reset of its stream.
fn requests_then_resets(first: u32, count: u32) -> Vec<u8> {
    let streams = (0..count).map(|number| first + 2 * number);
    streams
        .flat_map(|stream| {
            let asked = request(stream, "/large.txt");
            let reset = frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
            [asked, reset].concat()
        })
        .collect()
}

/// CVE-2023-44487, with many resets per packet.
#[test]
fn rapid_resets_are_ended() {
    ended(|client| {
        let sent = (0..100_000).find(|round| {
            client
                .send(&requests_then_resets(1 + 200 * round, 100))
                .is_err()
        });
        sent.map_or(TIMES_MAX, |rounds| rounds as usize)
    });
}

/// CVE-2023-44487, slowly: each response has started before its stream is reset.
#[test]
fn resets_after_responses_started_are_ended() {
    let (_home, server) = served(&[]);
    let mut client = Frames::connect(server.address(), &[(INITIAL_WINDOW_SIZE, 0)]);
    for number in 0.. {
        let stream = 1 + 2 * number;
        let asked = request(stream, "/large.txt");
        let begun = client.send(&asked).is_ok() && client.wait_for(HEADERS).is_some();
        if !begun
            || client
                .send(&frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()))
                .is_err()
        {
            // The default limit is 256 resets. The client may send a few further requests before it
            // detects the end of the connection.
            assert!((200..400).contains(&number), "ended after {number}");
            break;
        }
        assert!(number < 10_000, "never ended");
    }
    assert_eq!(server.get("/digits.txt").status, 200);
}

#[test]
fn pings_and_settings_are_ended() {
    for (kind, payload) in [(PING, &[0; 8][..]), (SETTINGS, &[0, 4, 0, 0, 0, 9][..])] {
        ended(|client| client.flood(&frame(kind, 0, 0, payload).repeat(100), TIMES_MAX));
    }
}

#[test]
fn frames_without_meaning_are_ended() {
    // Frames without effect: unknown types are ignored (RFC 9113 §4.1), PRIORITY is deprecated, and
    // WINDOW_UPDATE is useful only during a response.
    for (kind, payload) in [
        (0x42, &[0; 16][..]),
        (2, &[0, 0, 0, 0, 9]),
        (8, &[0, 0, 0, 1]),
    ] {
        let stream = if kind == 2 { 5 } else { 0 };
        ended(|client| client.flood(&frame(kind, 0, stream, payload).repeat(100), TIMES_MAX));
    }
}

/// CVE-2019-9518: empty DATA frames.
#[test]
fn empty_data_is_ended() {
    ended(|client| {
        let opened = frame(HEADERS, END_HEADERS, 1, &get("/digits.txt"));
        client.send(&opened).expect("the server listens");
        client.flood(&frame(DATA, 0, 1, b"").repeat(100), TIMES_MAX)
    });
}

/// RUSTSEC-2024-0332: heads whose CONTINUATION frames never end.
#[test]
fn heads_without_end_are_ended() {
    let fields = [&b"\x40\x01a\x7f\x80\x01"[..], &[b'x'; 255]].concat();
    ended(|client| {
        let begin = frame(HEADERS, END_STREAM, 1, &get("/digits.txt"));
        client.send(&begin).expect("the server listens");
        client.flood(&frame(CONTINUATION, 0, 1, &fields).repeat(10), TIMES_MAX)
    });
    ended(|client| {
        let begin = frame(HEADERS, END_STREAM, 1, &get("/digits.txt"));
        client.send(&begin).expect("the server listens");
        client.flood(&frame(CONTINUATION, 0, 1, b"").repeat(100), TIMES_MAX)
    });
}

/// The client adds a field of 3 KB to the dynamic table. Each later head refers to this field
/// thousands of times, with one byte per reference.
#[test]
fn compressed_bombs_are_refused() {
    let (_home, server) = served(&[]);
    let before = server.memory("VmRSS");
    let mut client = Frames::connect(server.address(), &[]);
    // RFC 7541 §6.2.1: a literal field with incremental indexing. Its length, 3000, is encoded as
    // 127 + 2873 in a prefix of seven bits.
    let field = [&b"\x40\x01a\x7f\xb9\x16"[..], &[b'x'; 3000]].concat();
    let head = [get("/digits.txt"), field].concat();
    let kept = frame(HEADERS, END_HEADERS | END_STREAM, 1, &head);
    client.send(&kept).expect("the server listens");
    let response = client.wait_for(HEADERS).expect("the stream is answered");
    assert_eq!(response.payload[0], 0x88);
    // 62 is the index of the newest entry of the dynamic table.
    let head = [get("/digits.txt"), vec![0x80 | 62; 16_000]].concat();
    for stream in (3..200).step_by(2) {
        let bomb = frame(HEADERS, END_HEADERS | END_STREAM, stream, &head);
        if client.send(&bomb).is_err() {
            break;
        }
    }
    // Each head would decode to 48 MB. The server responds with 431 or closes the connection. It
    // never responds with 200, which HPACK encodes as 0x88.
    for frame in client.until_quiet() {
        assert_ne!((frame.kind, frame.payload.first()), (HEADERS, Some(&0x88)));
    }
    assert_eq!(server.get("/digits.txt").status, 200);
    let grown = server.memory("VmHWM").saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes of memory");
}

/// CVE-2025-8671: the client provokes the server into resetting streams.
#[test]
fn resets_that_we_are_made_to_send_are_ended() {
    ended(|client| {
        for number in 0..100_000 {
            let stream = 1 + 2 * number;
            let asked = request(stream, "/large.txt");
            // RFC 9113 §6.9: an increment of zero is an error of the stream.
            let wrong = frame(8, 0, stream, &[0; 4]);
            if client.send(&[asked, wrong].concat()).is_err() {
                return number as usize;
            }
        }
        TIMES_MAX
    });
}

#[test]
fn windows_that_stay_shut_are_ended_and_cost_little() {
    const CLIENTS: u64 = 50;
    const STREAMS: u32 = 100;
    let (_home, server) = served(&["--limits-write-timeout", "3s"]);
    let before = server.memory("VmRSS");
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut client = Frames::connect(server.address(), &[(INITIAL_WINDOW_SIZE, 0)]);
            let asked: Vec<u8> = (0..STREAMS)
                .flat_map(|number| request(1 + 2 * number, "/large.txt"))
                .collect();
            client.send(&asked).expect("the server listens");
            client
        })
        .collect();
    for client in &mut clients {
        for _ in 0..STREAMS {
            assert!(client.wait_for(HEADERS).is_some());
        }
    }
    let grown = server.memory("VmRSS").saturating_sub(before);
    let each = grown / CLIENTS;
    // Each of a client's 100 streams may use 6.4 KiB of memory while it waits: a tenth of the 64
    // KiB that a slow reader of a response may use.
    assert!(each < 640 << 10, "{each} bytes each");
    assert_eq!(server.get("/digits.txt").status, 200);
    for client in &mut clients {
        let last = client.rest();
        assert!(
            last.iter().any(|it| it.kind == GOAWAY),
            "ended without a word"
        );
    }
    let timeouts = server
        .metrics()
        .get("pelton_timeouts_total{wait=\"write\"}");
    assert_eq!(timeouts, CLIENTS);
}

/// Each client permits the server to send a whole large response at once, and then does not read
/// it.
#[test]
fn slow_readers_cost_little_beyond_the_shared_body() {
    const CLIENTS: u64 = 200;
    let (_home, server) = served(&[]);
    let before = server.memory("VmRSS");
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let window = (INITIAL_WINDOW_SIZE, 0x7fff_ffff);
            let mut client = Frames::connect(server.address(), &[window]);
            let wide = frame(8, 0, 0, &0x7fff_0000_u32.to_be_bytes());
            client.send(&wide).expect("the server listens");
            let ask = request(1, "/large.txt");
            client.send(&ask).expect("the server listens");
            client
        })
        .collect();
    for client in &mut clients {
        assert!(client.wait_for(HEADERS).is_some());
    }
    let each = server.memory("VmRSS").saturating_sub(before) / CLIENTS;
    assert!(each < 64 << 10, "{each} bytes each");
}
