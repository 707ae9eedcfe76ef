//! http1's tables over the wire: what is refused there is refused here, with the same status, and then closed.

use testkit::table::{Row, rows};

use crate::harness::{Home, Server};

const REQUESTS: &str = include_str!("../../../../http/http1/src/tests/requests.txt");
const STREAMS: &str = include_str!("../../../../http/http1/src/tests/streams.txt");

/// Longer rows are sent in larger pieces.
const BYTE_BY_BYTE_MAX: usize = 200;

/// The status that a verdict names, if it refuses.
fn refusal(verdict: &str) -> Option<u16> {
    verdict.split(' ').next()?.parse().ok()
}

/// What a row comes to.
struct Expected {
    /// The answers' statuses; `None` may be any.
    answers: Vec<Option<u16>>,
    /// Whether the server ends the connection, even if the client does not.
    ends: bool,
}

/// Whether a connection begins as HTTP/2 does: then it is that, and the table is about what else comes.
fn is_http2(row: &Row<'_>) -> bool {
    row.bytes.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
}

fn check(server: &Server, row: &Row<'_>, piece_bytes: usize, expected: &Expected) {
    let mut client = server.connect();
    for piece in row.bytes.chunks(piece_bytes) {
        client.send(piece);
    }
    if !expected.ends {
        client.end_sending();
    }
    for status in &expected.answers {
        let answer = client.answer();
        assert_eq!(
            answer.status,
            status.unwrap_or(answer.status),
            "{}",
            row.name
        );
    }
    assert!(client.is_ended(), "{}", row.name);
}

fn piece_bytes(row: &Row<'_>) -> usize {
    match row.bytes.len() {
        ..=BYTE_BY_BYTE_MAX => 1,
        _ => 1_021,
    }
}

#[test]
fn every_refused_row_is_told_and_closed_in_any_pieces() {
    let home = Home::new();
    let server = Server::plain(&home, &[]);
    let rows = rows(REQUESTS).into_iter().filter(|row| !is_http2(row));
    let refused: Vec<_> = rows
        .filter_map(|row| Some((refusal(row.verdict)?, row)))
        .collect();
    assert!(200 < refused.len(), "{} rows", refused.len());
    for (status, row) in refused {
        let expected = Expected {
            answers: vec![Some(status)],
            ends: true,
        };
        check(&server, &row, row.bytes.len(), &expected);
        check(&server, &row, piece_bytes(&row), &expected);
    }
    server.stop();
}

#[test]
fn every_connection_gets_as_many_answers_as_it_has_requests() {
    let home = Home::new();
    let server = Server::plain(&home, &[]);
    for row in rows(STREAMS).into_iter().filter(|row| !is_http2(row)) {
        let parts: Vec<&str> = row.verdict.split(" | ").collect();
        // HEAD is answered in a shape of its own, an expectation ends the connection, and what is not whole waits.
        let is_special = |part: &&str| part.starts_with("HEAD") || part.contains(" continue");
        let last = *parts.last().expect("a verdict has parts");
        if parts.iter().any(is_special) || matches!(last, "more" | "body") {
            continue;
        }
        let mut answers: Vec<_> = parts.iter().map(|part| refusal(part)).collect();
        let body = last.strip_prefix("body ");
        if let Some(body) = body {
            // One answer. It is about the body, unless that is only too long: no answer of the library depends on it.
            answers.truncate(parts.len() - 2);
            answers.push(refusal(body).filter(|status| *status != 413));
        }
        let is_refused = body.is_some() || answers.last().is_some_and(Option::is_some);
        let closes = last.contains(" close");
        let expected = Expected {
            answers,
            ends: is_refused || closes,
        };
        check(&server, &row, row.bytes.len(), &expected);
        if !closes {
            check(&server, &row, piece_bytes(&row), &expected);
        }
    }
    server.stop();
}
