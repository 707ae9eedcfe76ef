//! Tests of the client's errors. Each error must close either the stream or the connection, with
//! the expected error code.

use super::frames::*;
use crate::{ErrorCode, PREFACE};

/// Expected outcome of sending the frames of a row.
enum Outcome {
    /// The connection ends with this code.
    Fault(ErrorCode),
    /// The stream ends with this code.
    Reset(u32, ErrorCode),
    /// The frames cause no error, and this number of events is reported.
    Events(usize),
}
use ErrorCode::{
    Compression, EnhanceYourCalm, FlowControl, FrameSize, Protocol, RefusedStream, StreamClosed,
};
use Outcome::{Events, Fault, Reset};

fn settings(id: u16, value: u32) -> Vec<u8> {
    [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

fn head(fields: &[u8]) -> Vec<u8> {
    frame(HEADERS, WHOLE, 1, &[GET, fields].concat())
}

fn check(clause: &str, frames: &[Vec<u8>], expected: &Outcome) {
    let mut peer = Peer::greeted();
    let outcome = peer.send(&frames.concat());
    match expected {
        Fault(code) => {
            let fault = outcome.expect_err(clause);
            assert_eq!(fault.code, *code, "{clause}: {}", fault.reason);
        }
        Reset(stream, code) => {
            outcome.expect(clause);
            let expected_reset = format!(
                "RST_STREAM 0 {stream} 4 {:x?}",
                (*code as u32).to_be_bytes()
            );
            let replies = peer.replies();
            assert!(replies.contains(&expected_reset), "{clause}: {replies:?}");
            assert!(!peer.connection.is_open(*stream), "{clause}");
        }
        Events(count) => {
            outcome.expect(clause);
            assert_eq!(peer.events.len(), *count, "{clause}: {:?}", peer.events);
        }
    }
}

#[test]
fn frames_are_judged_by_their_form() {
    // Each row: the clause of RFC 9113 with the case, the frames that the client sends, and the
    // outcome.
    let get = || frame(HEADERS, WHOLE, 1, GET);
    let post = || frame(HEADERS, END_HEADERS, 1, POST);
    let rows: &[(&str, Vec<Vec<u8>>, Outcome)] = &[
        (
            "4.1 unknown types are ignored",
            vec![frame(0x42, 0xff, 9, b"what?")],
            Events(0),
        ),
        (
            "4.1 unknown flags are ignored",
            vec![frame(PING, 0xfe, 0, &[0; 8])],
            Events(0),
        ),
        (
            "4.1 the reserved bit is ignored",
            vec![frame(PING, 0, 1 << 31, &[0; 8])],
            Events(0),
        ),
        (
            "4.2 too long",
            vec![frame(DATA, 0, 1, &[0; 16_385])],
            Fault(FrameSize),
        ),
        (
            "4.3 an unknown index",
            vec![frame(HEADERS, WHOLE, 1, b"\xff\x00")],
            Fault(Compression),
        ),
        (
            "5.1 DATA on an idle stream",
            vec![frame(DATA, 0, 1, b"")],
            Fault(Protocol),
        ),
        (
            "5.1 RST_STREAM on an idle stream",
            vec![frame(RST_STREAM, 0, 1, &[0; 4])],
            Fault(Protocol),
        ),
        (
            "5.1 WINDOW_UPDATE on an idle stream",
            vec![frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])],
            Fault(Protocol),
        ),
        (
            "5.1 DATA behind the end",
            vec![get(), frame(DATA, 0, 1, b"x")],
            Reset(1, StreamClosed),
        ),
        (
            "5.1 HEADERS behind the end",
            vec![get(), get()],
            Reset(1, StreamClosed),
        ),
        (
            "5.1 DATA after RST_STREAM",
            vec![
                post(),
                frame(RST_STREAM, 0, 1, &[0; 4]),
                frame(DATA, 0, 1, b"x"),
            ],
            Reset(1, StreamClosed),
        ),
        (
            "5.1 WINDOW_UPDATE after RST_STREAM",
            vec![
                post(),
                frame(RST_STREAM, 0, 1, &[0; 4]),
                frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]),
            ],
            Events(2),
        ),
        (
            "5.1.1 an even stream",
            vec![frame(HEADERS, WHOLE, 2, GET)],
            Fault(Protocol),
        ),
        (
            "5.1.1 a lower stream",
            vec![frame(HEADERS, WHOLE, 5, GET), frame(HEADERS, WHOLE, 3, GET)],
            Fault(Protocol),
        ),
        (
            "5.1.2 too many streams",
            (0..4)
                .map(|n| frame(HEADERS, END_HEADERS, 2 * n + 1, POST))
                .collect(),
            Reset(7, RefusedStream),
        ),
        (
            "5.3.2 PRIORITY is ignored",
            vec![frame(PRIORITY, 0, 9, &[0, 0, 0, 1, 0])],
            Events(0),
        ),
        (
            "6.1 DATA on no stream",
            vec![frame(DATA, 0, 0, b"x")],
            Fault(Protocol),
        ),
        (
            "6.1 padding as long as its frame",
            vec![post(), frame(DATA, PADDED, 1, &[3, b'x', 0, 0])],
            Events(2),
        ),
        (
            "6.1 padding longer than its frame",
            vec![post(), frame(DATA, PADDED, 1, &[4, b'x', 0, 0])],
            Fault(Protocol),
        ),
        (
            "6.1 padding without a length",
            vec![post(), frame(DATA, PADDED, 1, b"")],
            Fault(FrameSize),
        ),
        (
            "6.2 HEADERS on no stream",
            vec![frame(HEADERS, WHOLE, 0, GET)],
            Fault(Protocol),
        ),
        (
            "6.2 with padding and priority",
            vec![frame(
                HEADERS,
                WHOLE | PADDED | WITH_PRIORITY,
                1,
                &[b"\x02\x00\x00\x00\x00\x10", GET, &[0, 0]].concat(),
            )],
            Events(1),
        ),
        (
            "6.2 interrupted by another stream",
            vec![
                frame(HEADERS, END_STREAM, 1, GET),
                frame(HEADERS, WHOLE, 3, GET),
            ],
            Fault(Protocol),
        ),
        (
            "6.2 interrupted by an unknown frame",
            vec![frame(HEADERS, END_STREAM, 1, GET), frame(0x42, 0, 0, b"")],
            Fault(Protocol),
        ),
        (
            "6.3 PRIORITY on no stream",
            vec![frame(PRIORITY, 0, 0, &[0; 5])],
            Fault(Protocol),
        ),
        (
            "6.3 PRIORITY too short",
            vec![get(), frame(PRIORITY, 0, 1, &[0; 4])],
            Reset(1, FrameSize),
        ),
        (
            "7540 5.3.1 depends on itself",
            vec![get(), frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 0])],
            Reset(1, Protocol),
        ),
        (
            "7540 5.3.1 depends on itself from its begin",
            vec![frame(
                HEADERS,
                WHOLE | WITH_PRIORITY,
                1,
                &[b"\x00\x00\x00\x01\x10", GET].concat(),
            )],
            Reset(1, Protocol),
        ),
        (
            "6.4 RST_STREAM on no stream",
            vec![frame(RST_STREAM, 0, 0, &[0; 4])],
            Fault(Protocol),
        ),
        (
            "6.4 RST_STREAM too short",
            vec![get(), frame(RST_STREAM, 0, 1, &[0; 3])],
            Fault(FrameSize),
        ),
        (
            "6.4 RST_STREAM ends it",
            vec![get(), frame(RST_STREAM, 0, 1, &[0; 4])],
            Events(2),
        ),
        (
            "6.5 SETTINGS on a stream",
            vec![frame(SETTINGS, 0, 1, b"")],
            Fault(Protocol),
        ),
        (
            "6.5 SETTINGS of odd length",
            vec![frame(SETTINGS, 0, 0, &[0; 5])],
            Fault(FrameSize),
        ),
        (
            "6.5 an acknowledgement with settings",
            vec![frame(SETTINGS, ACK, 0, &[0; 6])],
            Fault(FrameSize),
        ),
        (
            "6.5.2 ENABLE_PUSH of 2",
            vec![frame(SETTINGS, 0, 0, &settings(2, 2))],
            Fault(Protocol),
        ),
        (
            "6.5.2 INITIAL_WINDOW_SIZE too large",
            vec![frame(SETTINGS, 0, 0, &settings(4, 1 << 31))],
            Fault(FlowControl),
        ),
        (
            "6.5.2 MAX_FRAME_SIZE too small",
            vec![frame(SETTINGS, 0, 0, &settings(5, 16_383))],
            Fault(Protocol),
        ),
        (
            "6.5.2 MAX_FRAME_SIZE too large",
            vec![frame(SETTINGS, 0, 0, &settings(5, 1 << 24))],
            Fault(Protocol),
        ),
        (
            "6.5.2 unknown settings are ignored",
            vec![frame(SETTINGS, 0, 0, &settings(0x99, 9))],
            Events(0),
        ),
        (
            "6.6 a client that pushes",
            vec![frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2])],
            Fault(Protocol),
        ),
        (
            "6.7 PING on a stream",
            vec![frame(PING, 0, 1, &[0; 8])],
            Fault(Protocol),
        ),
        (
            "6.7 PING too short",
            vec![frame(PING, 0, 0, &[0; 7])],
            Fault(FrameSize),
        ),
        (
            "6.8 GOAWAY on a stream",
            vec![frame(GOAWAY, 0, 1, &[0; 8])],
            Fault(Protocol),
        ),
        (
            "6.8 GOAWAY too short",
            vec![frame(GOAWAY, 0, 0, &[0; 7])],
            Fault(FrameSize),
        ),
        (
            "6.8 GOAWAY with an unknown code",
            vec![frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 9, 9, 9, 9, b'?'])],
            Events(0),
        ),
        (
            "6.9 WINDOW_UPDATE too short",
            vec![frame(WINDOW_UPDATE, 0, 0, &[0; 3])],
            Fault(FrameSize),
        ),
        (
            "6.9 WINDOW_UPDATE by nothing",
            vec![frame(WINDOW_UPDATE, 0, 0, &[0; 4])],
            Fault(Protocol),
        ),
        (
            "6.9 WINDOW_UPDATE by nothing on a stream",
            vec![get(), frame(WINDOW_UPDATE, 0, 1, &[0; 4])],
            Reset(1, Protocol),
        ),
        (
            "6.9.1 a window too large",
            vec![frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])],
            Fault(FlowControl),
        ),
        (
            "6.9.1 a stream's window too large",
            vec![get(), frame(WINDOW_UPDATE, 0, 1, &[0x7f, 0xff, 0xff, 0xff])],
            Reset(1, FlowControl),
        ),
        (
            "6.9.2 grown by settings",
            vec![
                get(),
                frame(WINDOW_UPDATE, 0, 1, &[0x7f, 0xff, 0, 0]),
                frame(SETTINGS, 0, 0, &settings(4, 0x7fff_ffff)),
            ],
            Fault(FlowControl),
        ),
        (
            "6.10 CONTINUATION of nothing",
            vec![frame(CONTINUATION, END_HEADERS, 1, GET)],
            Fault(Protocol),
        ),
        (
            "6.10 CONTINUATION behind a whole head",
            vec![get(), frame(CONTINUATION, END_HEADERS, 1, GET)],
            Fault(Protocol),
        ),
        (
            "6.10 a head in three frames",
            vec![
                frame(HEADERS, END_STREAM, 1, &GET[..1]),
                frame(CONTINUATION, 0, 1, &GET[1..3]),
                frame(CONTINUATION, END_HEADERS, 1, &GET[3..]),
            ],
            Events(1),
        ),
        (
            "10.5.1 a head that never ends",
            (0..5)
                .map(|n| {
                    frame(
                        if n == 0 { HEADERS } else { CONTINUATION },
                        0,
                        1,
                        &[0; 8_000],
                    )
                })
                .collect(),
            Fault(EnhanceYourCalm),
        ),
        (
            "10.5 a head of empty frames",
            (0..70)
                .map(|n| frame(if n == 0 { HEADERS } else { CONTINUATION }, 0, 1, b""))
                .collect(),
            Fault(EnhanceYourCalm),
        ),
    ];
    for (clause, frames, expected) in rows {
        check(clause, frames, expected);
    }
}

#[test]
fn heads_are_judged_by_their_fields() {
    // Each row: the clause of RFC 9113 with a description, the frames that the client sends, and
    // the outcome. Heads are encoded in HPACK. An indexed field is one byte: \x82 and \x83 are the
    // methods GET and POST, \x84 is the path "/", \x86 is the scheme "http", \x88 is the status
    // 200. A literal field is the byte \x00, the length of the name, the name, the length of the
    // value, and the value. If the name is indexed, its index replaces \x00 and the name with its
    // length: \x01 is :authority, \x02 is :method, \x04 is :path, \x0f\x0d is content-length.
    let rows: &[(&str, Vec<Vec<u8>>, Outcome)] = &[
        (
            "8.2 a capital",
            vec![head(b"\x00\x01A\x01b")],
            Reset(1, Protocol),
        ),
        (
            "8.2 a name that is no token",
            vec![head(b"\x00\x03a b\x01b")],
            Reset(1, Protocol),
        ),
        (
            "8.2 no name",
            vec![head(b"\x00\x00\x01b")],
            Reset(1, Protocol),
        ),
        (
            "8.2.1 a line break in a value",
            vec![head(b"\x00\x01a\x04b\r\nc")],
            Reset(1, Protocol),
        ),
        (
            "8.2.1 NUL in a value",
            vec![head(b"\x00\x01a\x01\x00")],
            Reset(1, Protocol),
        ),
        (
            "8.2.1 white space around a value",
            vec![head(b"\x00\x01a\x02 b")],
            Reset(1, Protocol),
        ),
        (
            "8.2.2 Connection",
            vec![head(b"\x00\x0aconnection\x05close")],
            Reset(1, Protocol),
        ),
        (
            "8.2.2 Transfer-Encoding",
            vec![head(b"\x00\x11transfer-encoding\x07chunked")],
            Reset(1, Protocol),
        ),
        (
            "8.2.2 TE: gzip",
            vec![head(b"\x00\x02te\x04gzip")],
            Reset(1, Protocol),
        ),
        (
            "8.2.2 TE: trailers",
            vec![head(b"\x00\x02te\x08trailers")],
            Events(1),
        ),
        (
            "8.3 an unknown pseudo-field",
            vec![head(b"\x00\x05:what\x01b")],
            Reset(1, Protocol),
        ),
        (
            "8.3 a pseudo-field of answers",
            vec![head(b"\x88")],
            Reset(1, Protocol),
        ),
        (
            "8.3 a pseudo-field behind a field",
            vec![frame(HEADERS, WHOLE, 1, b"\x82\x86\x00\x01a\x01b\x84")],
            Reset(1, Protocol),
        ),
        (
            "8.3.1 a pseudo-field twice",
            vec![head(b"\x84")],
            Reset(1, Protocol),
        ),
        (
            "8.3.1 no :method",
            vec![frame(HEADERS, WHOLE, 1, b"\x86\x84")],
            Reset(1, Protocol),
        ),
        (
            "8.3.1 no :scheme",
            vec![frame(HEADERS, WHOLE, 1, b"\x82\x84")],
            Reset(1, Protocol),
        ),
        (
            "8.3.1 no :path",
            vec![frame(HEADERS, WHOLE, 1, b"\x82\x86")],
            Reset(1, Protocol),
        ),
        (
            "8.3.1 an empty :path",
            vec![frame(HEADERS, WHOLE, 1, b"\x82\x86\x04\x00")],
            Reset(1, Protocol),
        ),
        (
            "8.5 CONNECT with a path",
            vec![frame(HEADERS, WHOLE, 1, b"\x02\x07CONNECT\x84\x01\x01h")],
            Reset(1, Protocol),
        ),
        (
            "8.5 CONNECT",
            vec![frame(HEADERS, WHOLE, 1, b"\x02\x07CONNECT\x01\x01h")],
            Events(1),
        ),
        (
            "8.1.1 a length and no body",
            vec![head(b"\x0f\x0d\x011")],
            Reset(1, Protocol),
        ),
        (
            "8.1.1 a length that is no number",
            vec![head(b"\x0f\x0d\x021x")],
            Reset(1, Protocol),
        ),
        (
            "8.1.1 two lengths",
            vec![head(b"\x0f\x0d\x010\x0f\x0d\x011")],
            Reset(1, Protocol),
        ),
        (
            "8.1.1 less than the length",
            vec![
                frame(HEADERS, END_HEADERS, 1, &[POST, b"\x0f\x0d\x012"].concat()),
                frame(DATA, END_STREAM, 1, b"x"),
            ],
            Reset(1, Protocol),
        ),
        (
            "8.1.1 more than the length",
            vec![
                frame(HEADERS, END_HEADERS, 1, &[POST, b"\x0f\x0d\x012"].concat()),
                frame(DATA, 0, 1, b"xyz"),
            ],
            Reset(1, Protocol),
        ),
        (
            "8.1.1 the length, in two frames",
            vec![
                frame(HEADERS, END_HEADERS, 1, &[POST, b"\x0f\x0d\x012"].concat()),
                frame(DATA, 0, 1, b"x"),
                frame(DATA, END_STREAM, 1, b"y"),
            ],
            Events(3),
        ),
        (
            "8.1.1 less than the length, then trailers",
            vec![
                frame(HEADERS, END_HEADERS, 1, &[POST, b"\x0f\x0d\x012"].concat()),
                frame(HEADERS, WHOLE, 1, b"\x00\x01a\x01b"),
            ],
            Reset(1, Protocol),
        ),
        (
            "8.1 trailers",
            vec![
                frame(HEADERS, END_HEADERS, 1, POST),
                frame(HEADERS, WHOLE, 1, b"\x00\x01a\x01b"),
            ],
            Events(2),
        ),
        (
            "8.1 trailers that do not end",
            vec![
                frame(HEADERS, END_HEADERS, 1, POST),
                frame(HEADERS, END_HEADERS, 1, b"\x00\x01a\x01b"),
            ],
            Reset(1, Protocol),
        ),
        (
            "8.1 a pseudo-field in trailers",
            vec![
                frame(HEADERS, END_HEADERS, 1, POST),
                frame(HEADERS, WHOLE, 1, b"\x82"),
            ],
            Reset(1, Protocol),
        ),
    ];
    for (clause, frames, expected) in rows {
        check(clause, frames, expected);
    }
}

#[test]
fn a_connection_begins_with_the_preface_and_settings() {
    for (bytes, reason) in [
        (
            b"GET / HTTP/1.1\r\n".to_vec(),
            "the connection does not begin with the preface of HTTP/2",
        ),
        (
            [&PREFACE[..], &frame(PING, 0, 0, &[0; 8])].concat(),
            "the first frame is not SETTINGS",
        ),
        (
            [&PREFACE[..], &frame(SETTINGS, ACK, 0, b"")].concat(),
            "the first frame is not SETTINGS",
        ),
    ] {
        let fault = Peer::silent().send(&bytes).expect_err(reason);
        assert_eq!((fault.code, fault.reason), (Protocol, reason));
    }
    // The preface may arrive byte by byte; an incomplete one is not consumed.
    let greeting = [&PREFACE[..], &frame(SETTINGS, 0, 0, b"")].concat();
    let mut peer = Peer::silent();
    for end in 0..PREFACE.len() {
        let received = peer.connection.receive(&greeting[..end], &mut peer.out);
        assert!(received.expect("sound so far").is_none());
    }
    peer.send(&greeting).expect("a greeting");
    assert_eq!(peer.replies(), ["SETTINGS 1 0 0 []"]);
}

#[test]
fn heads_are_stored_up_to_their_limit() {
    let mut peer = Peer::greeted();
    // A field of 3 kB is added to the table once. The next head refers to it 16,000 times, with one
    // byte each, so it decodes to 48 MB.
    let field = [&b"\x40\x01a\x7f\xb9\x16"[..], &[b'x'; 3000]].concat();
    peer.send(&frame(HEADERS, WHOLE, 1, &[GET, &field].concat()))
        .expect("sound");
    assert!(!peer.connection.head().is_too_large());
    let bomb = [GET, &[0xbe; 16_000]].concat();
    peer.send(&frame(HEADERS, WHOLE, 3, &bomb))
        .expect("the stream's mistake");
    let head = peer.connection.head();
    assert!(head.is_too_large());
    let kept: usize = head
        .fields()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    assert!(kept <= 16 << 10, "{kept} bytes");
}

/// RFC 9113 §10.5.1: the request can be answered with 431, and the connection stays open.
#[test]
fn a_head_of_28_kib_in_several_frames_is_an_error_of_the_stream() {
    let mut peer = Peer::greeted();
    // A literal field without indexing. The name `cookie` is in the static table; the value has
    // 28,672 bytes.
    let cookie = [&b"\x0f\x11\x7f\x81\xdf\x01"[..], &[b'c'; 28_672]].concat();
    let (first, rest) = cookie.split_at(16_000);
    let frames = [
        frame(HEADERS, 0, 1, &[GET, first].concat()),
        frame(CONTINUATION, END_HEADERS, 1, rest),
    ];
    for frame in frames {
        peer.send(&frame).expect("the stream's mistake");
    }
    assert!(peer.connection.head().is_too_large());
    peer.send(&frame(HEADERS, WHOLE, 3, GET)).expect("sound");
    assert!(!peer.connection.head().is_too_large());
}
