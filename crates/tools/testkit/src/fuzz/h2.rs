//! HTTP/2 connections.

use http2::{Connection, Event, Fault, Limits, PREFACE, hpack};

/// An empty SETTINGS, which comes first.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Bytes that one frame of a client's may be answered with: two window updates, a PING, a reset, a GOAWAY.
const ANSWER_BYTES_MAX: usize = 128;

/// Whatever a client sends behind its greeting: the same comes of it in whatever pieces it arrives, no more streams are
/// open than allowed, and no frame is answered with more than a few.
pub fn h2(bytes: &[u8]) {
    let greeting = [&PREFACE[..], &SETTINGS].concat();
    let whole = run(&[&greeting, bytes]);
    let cut = 1 + bytes.first().map_or(0, |&byte| usize::from(byte) % 40);
    let pieces: Vec<_> = greeting.chunks(1).chain(bytes.chunks(cut)).collect();
    assert_eq!(run(&pieces), whole, "in pieces of {cut}");
    // Without the greeting, too.
    run(&[bytes]);
}

/// Answers `pieces` in turn, and gives what was said and what came of it.
fn run(pieces: &[&[u8]]) -> (Vec<u8>, String, Option<Fault>) {
    let limits = Limits {
        streams_max: 5,
        head_bytes_max: 600,
        head_frames_max: 8,
    };
    let (mut connection, mut out) = (Connection::new(limits), Vec::new());
    let (mut input, mut told) = (Vec::new(), String::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        let mut begin = 0;
        loop {
            let before = out.len();
            match connection.receive(&input[begin..], &mut out) {
                Ok(None) => break,
                Ok(Some(received)) => {
                    begin += received.bytes;
                    assert!(out.len() - before <= ANSWER_BYTES_MAX, "answered at length");
                    if let Some(event) = received.event {
                        told.push_str(&format!("{event:?}\n"));
                        answer(&mut connection, event, &mut out);
                    }
                    assert!(connection.streams() <= 5, "more streams than allowed");
                }
                Err(fault) => {
                    connection.fail(fault, &mut out);
                    return (out, told, Some(fault));
                }
            }
        }
        input.drain(..begin);
    }
    (out, told, None)
}

/// Answers some streams at once, others when their body is whole, and others never.
fn answer(connection: &mut Connection, event: Event<'_>, out: &mut Vec<u8>) {
    match event {
        Event::Request { stream, .. } => {
            let head = connection.head();
            let kept: usize = head
                .fields()
                .map(|(name, value)| name.len() + value.len())
                .sum();
            assert!(kept <= 600, "{kept} bytes of fields");
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
