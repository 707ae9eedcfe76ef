//! Tests of responses, windows and graceful shutdown.

use super::frames::*;
use crate::hpack;
use crate::{ErrorCode, Limits};

fn response(peer: &mut Peer, stream: u32, ends: bool) {
    peer.connection
        .send_head(stream, ends, &mut peer.out, |block, _| {
            hpack::status(block, 200)
        });
}

fn window(stream: u32, bytes: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

#[test]
fn windows_bound_what_is_sent() {
    let mut peer = Peer::greeted();
    // RFC 9113 §6.9.2: a stream starts with the initial window of the latest settings.
    let small = [&4_u16.to_be_bytes()[..], &3_u32.to_be_bytes()].concat();
    peer.send(&frame(SETTINGS, 0, 0, &small)).expect("settings");
    peer.send(&frame(HEADERS, WHOLE, 1, GET))
        .expect("a request");
    assert_eq!(peer.connection.room(1), 3);
    response(&mut peer, 1, false);
    peer.connection.send_data(1, 3, false, &mut peer.out);
    assert_eq!(peer.connection.room(1), 0);
    // A later setting changes the windows of open streams; windows may become negative.
    let smaller = [&4_u16.to_be_bytes()[..], &1_u32.to_be_bytes()].concat();
    peer.send(&frame(SETTINGS, 0, 0, &smaller))
        .expect("settings");
    peer.send(&window(1, 2)).expect("room");
    assert_eq!(peer.connection.room(1), 0);
    peer.send(&window(1, 100_000)).expect("room");
    // The window of the stream is large now. First the maximum size of a frame limits `room`, then
    // the window of the connection.
    assert_eq!(peer.connection.room(1), 16_384);
    for _ in 0..3 {
        peer.connection.send_data(1, 16_384, false, &mut Vec::new());
    }
    assert_eq!(peer.connection.room(1), 65_535 - 3 - 3 * 16_384);
    let rest = peer.connection.room(1);
    peer.connection.send_data(1, rest, false, &mut Vec::new());
    assert_eq!(peer.connection.room(1), 0);
    peer.send(&window(0, 5)).expect("room");
    assert_eq!(peer.connection.room(1), 5);
}

#[test]
fn consumed_bytes_are_returned_to_the_windows() {
    let mut peer = Peer::greeted();
    peer.send(&frame(HEADERS, END_HEADERS, 1, POST))
        .expect("a request");
    let part = frame(DATA, 0, 1, &[0; 16_384]);
    for _ in 0..3 {
        peer.send(&part).expect("allowed");
    }
    assert_eq!(peer.replies(), Vec::<String>::new());
    // None of the received data was released, so the client's window is still used up.
    let fault = peer.send(&part).expect_err("more than 65,535 bytes");
    assert_eq!(fault.code, ErrorCode::FlowControl);

    let mut peer = Peer::greeted();
    peer.send(&frame(HEADERS, END_HEADERS, 1, POST))
        .expect("a request");
    for _ in 0..100 {
        peer.send(&part).expect("allowed");
        peer.connection.release(1, 16_384, &mut peer.out);
    }
    let replies = peer.replies();
    assert!(
        replies.iter().all(|it| it.starts_with("WINDOW_UPDATE")),
        "{replies:?}"
    );
    assert_eq!(replies.len(), 100);
}

/// The client's windows are enlarged at once by the bytes of padding and by the bytes of data for a
/// stream that has ended.
#[test]
fn unread_bytes_are_returned_to_the_windows() {
    let mut peer = Peer::greeted();
    peer.send(&frame(HEADERS, END_HEADERS, 1, POST))
        .expect("a request");
    response(&mut peer, 1, true);
    assert_eq!(
        peer.replies(),
        ["HEADERS 5 1 1 [88]", "RST_STREAM 0 1 4 [0, 0, 0, 0]"]
    );
    for _ in 0..100 {
        peer.send(&frame(DATA, 0, 1, &[0; 16_384]))
            .expect("it may not know yet");
    }
    assert!(peer.events.len() == 1, "{:?}", peer.events);
    let mut peer = Peer::greeted();
    peer.send(&frame(HEADERS, END_HEADERS, 1, POST))
        .expect("a request");
    for _ in 0..1_000 {
        let padded = [&[250][..], &[0; 250]].concat();
        peer.send(&frame(DATA, PADDED, 1, &padded))
            .expect("nothing but padding");
    }
}

#[test]
fn a_long_head_is_continued_in_further_frames() {
    let mut peer = Peer::greeted();
    peer.send(&frame(HEADERS, WHOLE, 1, GET))
        .expect("a request");
    let value = [b'\x01'; 20_000];
    peer.connection
        .send_head(1, true, &mut peer.out, |block, _| {
            hpack::status(block, 200);
            hpack::field(block, b"a", &value);
        });
    let replies = peer.replies();
    assert!(replies[0].starts_with("HEADERS 1 1 16384"), "{replies:?}");
    assert!(replies[1].starts_with("CONTINUATION 4 1 "), "{replies:?}");
    assert_eq!(replies.len(), 2);
    assert!(!peer.connection.is_open(1));
}

/// RFC 9113 §6.8: streams that are in flight when the first GOAWAY is sent are still processed.
#[test]
fn a_graceful_shutdown_takes_two_steps() {
    let mut peer = Peer::greeted();
    peer.send(&frame(HEADERS, WHOLE, 1, GET))
        .expect("a request");
    peer.connection.leave(&mut peer.out);
    let replies = peer.replies();
    assert_eq!(replies[0], "GOAWAY 0 0 8 [7f, ff, ff, ff, 0, 0, 0, 0]");
    assert!(replies[1].starts_with("PING 0 0 8"));
    peer.send(&frame(HEADERS, WHOLE, 3, GET))
        .expect("a request that was on its way");
    assert_eq!(peer.events.len(), 2);
    peer.send(&frame(PING, ACK, 0, b"leaving."))
        .expect("the echo");
    assert_eq!(peer.replies(), ["GOAWAY 0 0 8 [0, 0, 0, 3, 0, 0, 0, 0]"]);
    // The client opens this stream after the final GOAWAY, so the stream and all its frames are
    // ignored.
    peer.send(&frame(HEADERS, END_HEADERS, 5, POST))
        .expect("too late");
    peer.send(&frame(DATA, 0, 5, b"x")).expect("too late");
    peer.send(&window(5, 1)).expect("too late");
    peer.send(&frame(RST_STREAM, 0, 5, &[0; 4]))
        .expect("too late");
    assert_eq!(peer.events.len(), 2);
    for stream in [1, 3] {
        assert!(!peer.connection.is_over());
        response(&mut peer, stream, true);
    }
    assert!(peer.connection.is_over());
}

#[test]
fn goaway_contains_the_reason() {
    let mut peer = Peer::greeted();
    peer.send(&frame(HEADERS, WHOLE, 1, GET))
        .expect("a request");
    let fault = peer
        .send(&frame(PING, 0, 3, &[0; 8]))
        .expect_err("PING on a stream");
    peer.connection.fail(fault, &mut peer.out);
    assert!(
        peer.out
            .ends_with(b"the client sent PING on a stream other than 0")
    );
    assert_eq!(peer.replies(), ["GOAWAY 0 0 53 [0, 0, 0, 1, 0, 0, 0, 1]"]);
}

/// Ended streams are forgotten: a connection may open streams until their numbers are used up.
#[test]
fn streams_are_forgotten() {
    const STREAMS: u32 = if cfg!(miri) { 1_000 } else { 10_000 };
    let mut peer = Peer::greeted();
    for number in 0..STREAMS {
        let stream = 2 * number + 1;
        peer.send(&frame(HEADERS, WHOLE, stream, GET))
            .expect("a request");
        response(&mut peer, stream, true);
    }
    assert_eq!(peer.connection.streams(), 0);
    assert_eq!(peer.events.len(), STREAMS as usize);
    // Recently ended streams are remembered; older ones are treated like streams that were never
    // opened.
    let late = peer
        .send(&frame(DATA, 0, 2 * STREAMS - 1, b"x"))
        .expect_err("a stream that has ended");
    assert_eq!(late.code, ErrorCode::StreamClosed);
    let mut peer = Peer::greeted();
    assert!(Limits::default().streams_max >= 100);
    peer.send(&frame(PING, 0, 0, b"12345678")).expect("sound");
    assert_eq!(
        peer.replies(),
        ["PING 1 0 8 [31, 32, 33, 34, 35, 36, 37, 38]"]
    );
}
