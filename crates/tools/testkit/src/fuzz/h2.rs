//! Fuzz target for HTTP/2 connections.

use http2::{Connection, Event, Fault, Limits, PREFACE, hpack};

/// Empty SETTINGS frame, which must be the first frame of a connection.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Maximum number of bytes that the server may send in reaction to one frame: two window updates, a
/// PING, a reset and a GOAWAY.
const ANSWER_BYTES_MAX: usize = 128;

/// Checks `bytes` as the frames after a client's preface. The outcome does not depend on how the
/// input is cut into pieces. The number of open streams never exceeds the limit. The reaction to
/// one frame is short.
pub fn h2(bytes: &[u8]) {
    let greeting = [&PREFACE[..], &SETTINGS].concat();
    let whole = run(&[&greeting, bytes]);
    let cut = 1 + bytes.first().map_or(0, |&byte| usize::from(byte) % 40);
    let pieces: Vec<_> = greeting.chunks(1).chain(bytes.chunks(cut)).collect();
    assert_eq!(
        run(&pieces),
        whole,
        "the result differs if the input comes in pieces of {cut} bytes"
    );
    // Checks the same bytes also as the very first bytes of a connection, with no preface before
    // them.
    run(&[bytes]);
}

/// Passes `pieces` to a connection, one after the other. Returns the bytes that the connection
/// sends, the events as text, and the fault, if any.
fn run(pieces: &[&[u8]]) -> (Vec<u8>, String, Option<Fault>) {
    let limits = Limits {
        streams_max: 5,
        head_bytes_max: 600,
        head_frames_max: 8,
    };
    let (mut connection, mut out) = (Connection::new(limits), Vec::new());
    let (mut input, mut events) = (Vec::new(), String::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        let mut begin = 0;
        loop {
            let before = out.len();
            match connection.receive(&input[begin..], &mut out) {
                Ok(None) => break,
                Ok(Some(received)) => {
                    begin += received.bytes;
                    assert!(
                        out.len() - before <= ANSWER_BYTES_MAX,
                        "the reaction to one frame is too long"
                    );
                    if let Some(event) = received.event {
                        events.push_str(&format!("{event:?}\n"));
                        answer(&mut connection, event, &mut out);
                    }
                    assert!(connection.streams() <= 5, "more streams than allowed");
                }
                Err(fault) => {
                    connection.fail(fault, &mut out);
                    return (out, events, Some(fault));
                }
            }
        }
        input.drain(..begin);
    }
    (out, events, None)
}

/// Responds to some streams immediately, to others when their body is complete, and to others
/// never.
fn answer(connection: &mut Connection, event: Event<'_>, out: &mut Vec<u8>) {
    match event {
        Event::Request { stream, .. } => {
            let head = connection.head();
            let kept: usize = head
                .fields()
                .map(|(name, value)| name.len() + value.len())
                .sum();
            assert!(
                kept <= 600,
                "the fields take {kept} bytes, more than allowed"
            );
            assert!(
                head.fields()
                    .all(|(name, _)| !name.is_empty() && name[0] != b':')
            );
            if stream % 4 == 1 {
                connection.send_head(stream, stream % 8 == 1, out, |block, _| {
                    hpack::status(block, 200);
                });
            }
        }
        Event::Data {
            stream,
            bytes,
            ends,
        } => {
            connection.release(stream, bytes.len(), out);
            let room = connection.room(stream);
            assert!(room <= http2::FRAME_BYTES_MAX);
            if ends && room != 0 {
                connection.send_data(stream, 1, true, out);
                out.push(b'x');
                connection.sent(stream, out);
            }
        }
        Event::Reset { stream } => assert!(!connection.is_open(stream)),
    }
}
