use std::io::Read as _;

use super::*;

#[test]
fn an_answer_in_pieces_is_read_to_its_end() {
    let head: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab";
    let mut stream = head.chain(&b"cde"[..]);
    let mut buffer = Vec::new();
    read_answer(&mut stream, &mut buffer).expect("it is whole");
    assert!(buffer.ends_with(b"\r\n\r\nabcde"));
}

#[test]
fn what_is_no_hit_is_an_error() {
    for bytes in [
        &b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc",
        b"",
    ] {
        let mut stream = bytes;
        let read = read_answer(&mut stream, &mut Vec::new());
        assert!(read.is_err(), "{bytes:?}");
    }
}
