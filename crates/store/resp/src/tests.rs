//! Tests of the parser and of the output: bytes of requests become arguments, and replies become
//! bytes.

use std::fmt::Write;
use std::io::IoSlice;

use bytes::{Bytes, BytesMut};

use crate::{
    BLOB_BYTES_MIN, Limits, Out, Parser, Proto, Reply, ReplyLimits, double, parse_int, split_line,
};

mod prop;

/// Returns the parsed requests, one per line, then the error, or `…` if more bytes are needed.
fn parsed(bytes: &[u8], limits: Limits) -> String {
    let mut parser = Parser::new(limits);
    let mut input = BytesMut::from(bytes);
    let mut seen = String::new();
    loop {
        match parser.next(&mut input) {
            Ok(true) => writeln!(seen, "{:?}", parser.args()).expect("a string"),
            Ok(false) if input.is_empty() && parser.held_bytes() == 0 => return seen,
            Ok(false) => return seen + "…\n",
            Err(error) => return seen + &error.to_string() + "\n",
        }
    }
}

fn check(bytes: &str, expected: &str) {
    assert_eq!(
        parsed(bytes.as_bytes(), Limits::default()),
        expected,
        "{bytes:?}"
    );
}

#[test]
fn inline_and_array_requests_are_parsed() {
    check("*1\r\n$4\r\nPING\r\n", "[b\"PING\"]\n");
    check("PING\r\nPING\n", "[b\"PING\"]\n[b\"PING\"]\n");
    check("*2\r\n$3\r\nGET\r\n$0\r\n\r\n", "[b\"GET\", b\"\"]\n");
    check("*2\r\n$3\r\nGET\r\n$4\r\nab", "…\n");
    check("*2\r\n$3\r\nGET\r", "…\n");
    check("*0\r\n*-1\r\n\r\n  \r\nPING\r\n", "[b\"PING\"]\n");
    check(
        "SET 'a b' \"\\x41\\n\"\r\n",
        "[b\"SET\", b\"a b\", b\"A\\n\"]\n",
    );
}

#[test]
fn malformed_requests_get_the_texts_of_redis() {
    check(
        "*3000000000\r\n",
        "Protocol error: invalid multibulk length\n",
    );
    check("*abc\r\n", "Protocol error: invalid multibulk length\n");
    check("*1\r\nfoo\r\n", "Protocol error: expected '$', got 'f'\n");
    check("*1\r\n$-10\r\n", "Protocol error: invalid bulk length\n");
    check(
        "*1\r\n$2000000000\r\n",
        "Protocol error: invalid bulk length\n",
    );
    check("*1\r\n$01\r\n", "Protocol error: invalid bulk length\n");
    check(
        "SET \"a\r\n",
        "Protocol error: unbalanced quotes in request\n",
    );
    check(
        "SET \"a\"b\r\n",
        "Protocol error: unbalanced quotes in request\n",
    );
    let line = |first: &str| first.to_owned() + &"1".repeat(70_000);
    check(&line(""), "Protocol error: too big inline request\n");
    check(&line("*"), "Protocol error: too big mbulk count string\n");
    check(
        &line("*1\r\n$"),
        "Protocol error: too big bulk count string\n",
    );
}

#[test]
fn unauthenticated_clients_have_strict_limits() {
    let mut parser = Parser::new(Limits::default());
    parser.set_authenticated(false);
    let mut refused = |bytes: &str| {
        let error = parser.next(&mut BytesMut::from(bytes));
        error.expect_err("refused").to_string()
    };
    assert_eq!(
        refused("*11\r\n"),
        "Protocol error: unauthenticated multibulk length"
    );
    assert_eq!(
        refused("*1\r\n$16385\r\n"),
        "Protocol error: unauthenticated bulk length"
    );
}

#[test]
fn the_arguments_of_one_request_are_bounded_together() {
    let limits = Limits {
        query_bytes_max: 10 + 2 * size_of::<Bytes>(),
        ..Limits::default()
    };
    assert_eq!(
        parsed(b"*2\r\n$6\r\nabcdef\r\n$6\r\n", limits),
        "Protocol error: query buffer limit reached\n"
    );
    // Each empty argument counts too, because its entry in `args` uses memory.
    let empty = [&b"*5\r\n"[..], &b"$0\r\n\r\n".repeat(5)].concat();
    assert_eq!(
        parsed(&empty, limits),
        "Protocol error: query buffer limit reached\n"
    );
    let mut parser = Parser::new(Limits::default());
    let mut input = BytesMut::from(&empty[..empty.len() - 6]);
    assert_eq!(parser.next(&mut input), Ok(false));
    assert_eq!(parser.held_bytes(), 4 * size_of::<Bytes>());
}

#[test]
fn a_blob_is_read_into_its_own_allocation() {
    let blob = vec![b'b'; BLOB_BYTES_MIN];
    let mut parser = Parser::new(Limits::default());
    let mut input = BytesMut::from(format!("*2\r\n$4\r\nECHO\r\n${}\r\nbb", blob.len()).as_str());
    assert_eq!(parser.next(&mut input), Ok(false));
    assert!(input.is_empty());

    let buffer = parser.blob_mut().expect("a blob is on its way");
    let address = buffer.get_ref().as_ptr();
    bytes::BufMut::put_slice(buffer, &blob[2..]);
    assert_eq!(parser.next(&mut BytesMut::from("\r")), Ok(false));
    let mut input = BytesMut::from("\nPING\r\n");
    assert_eq!(parser.next(&mut input), Ok(true));
    assert_eq!(parser.args()[1], blob);
    assert_eq!(parser.args()[1].as_ptr(), address);
    assert_eq!(parser.next(&mut input), Ok(true));
    assert_eq!(parser.args(), ["PING"]);
}

#[test]
fn requests_parsed_ahead_precede_a_protocol_error() {
    let mut parser = Parser::new(Limits::default());
    let mut input = BytesMut::from("PING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\nfoo\r\n");
    parser.parse_ahead(&mut input, 8);
    let found: Vec<_> = parser.ahead().map(<[Bytes]>::to_vec).collect();
    assert_eq!(found, [vec!["PING"], vec!["GET", "k"]]);
    assert!(!parser.is_between_requests());
    assert_eq!(parser.next(&mut input), Ok(true));
    // The buffer may be released while parsed requests still wait to run. The requests must be
    // kept.
    parser.release();
    assert_eq!(parser.held_bytes(), 4 + 2 * size_of::<Bytes>());
    assert_eq!(parser.next(&mut input), Ok(true));
    assert_eq!(parser.args(), ["GET", "k"]);
    let fault = parser.next(&mut input).expect_err("what follows is none");
    assert_eq!(fault.to_string(), "Protocol error: expected '$', got 'f'");
}

#[test]
fn an_incomplete_request_does_not_keep_the_read_buffer() {
    let mut parser = Parser::new(Limits::default());
    let mut buffer = BytesMut::with_capacity(64);
    buffer.extend_from_slice(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1");
    let address = buffer.as_ptr();
    let mut input = buffer.split();
    assert_eq!(parser.next(&mut input), Ok(false));
    parser.release();
    let rest = input.to_vec();
    drop(input);
    buffer.reserve(64);
    assert_eq!(buffer.as_ptr(), address, "the buffer came back");

    let mut input = BytesMut::from(&rest[..]);
    input.extend_from_slice(b"\r\nv\r\n");
    assert_eq!(parser.next(&mut input), Ok(true));
    assert_eq!(parser.args(), ["SET", "k", "v"]);
}

#[test]
fn lines_are_split_into_words() {
    let words = |line: &str| split_line(line.as_bytes()).map(|words| format!("{words:?}"));
    assert_eq!(
        words("a  b\t c\u{b}"),
        Some(r#"[b"a", b"b", b"c"]"#.to_owned())
    );
    assert_eq!(words(r#"save """#), Some(r#"[b"save", b""]"#.to_owned()));
    assert_eq!(
        words(r#"'it\'s' "\t\q\x4""#),
        Some(r#"[b"it's", b"\tqx4"]"#.to_owned())
    );
    assert_eq!(words("a\0b"), Some(r#"[b"a"]"#.to_owned()));
    assert_eq!(words("'a"), None);
    assert_eq!(words("\"a\\\""), None);
}

#[test]
fn replies_in_both_protocols() {
    let both = |write: fn(&mut Out)| {
        [Proto::Resp2, Proto::Resp3].map(|proto| {
            let mut out = Out::new(proto);
            write(&mut out);
            out.to_bytes()
        })
    };
    assert_eq!(both(|out| out.simple("OK")), ["+OK\r\n", "+OK\r\n"]);
    assert_eq!(
        both(|out| out.error("ERR a\r\nb")),
        ["-ERR a  b\r\n", "-ERR a  b\r\n"]
    );
    assert_eq!(both(|out| out.int(-12)), [":-12\r\n", ":-12\r\n"]);
    assert_eq!(
        both(|out| out.bulk_int(10)),
        ["$2\r\n10\r\n", "$2\r\n10\r\n"]
    );
    assert_eq!(both(Out::null), ["$-1\r\n", "_\r\n"]);
    assert_eq!(both(Out::null_array), ["*-1\r\n", "_\r\n"]);
    assert_eq!(both(|out| out.map(2)), ["*4\r\n", "%2\r\n"]);
    assert_eq!(both(|out| out.set(2)), ["*2\r\n", "~2\r\n"]);
    assert_eq!(both(|out| out.push(2)), ["*2\r\n", ">2\r\n"]);
    assert_eq!(both(|out| out.double(1.5)), ["$3\r\n1.5\r\n", ",1.5\r\n"]);
    assert_eq!(both(|out| out.bool(true)), [":1\r\n", "#t\r\n"]);
    assert_eq!(
        both(|out| out.big_number("12")),
        ["$2\r\n12\r\n", "(12\r\n"]
    );
    assert_eq!(
        both(|out| out.verbatim(*b"txt", b"hi")),
        ["$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"]
    );
}

#[test]
fn doubles_as_redis_prints_them() {
    for (value, expected) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (3.0, "3"),
        (-3.5, "-3.5"),
        (1.1, "1.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e15, "1000000000000000"),
        (1e17, "1e+17"),
        (1e21, "1e+21"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.0001, "0.0001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
    ] {
        let mut text = Vec::new();
        double(value, &mut text);
        assert_eq!(String::from_utf8(text).expect("ASCII"), expected);
    }
}

#[test]
fn only_canonical_integers_are_parsed() {
    assert_eq!(parse_int(b"0"), Some(0));
    assert_eq!(parse_int(b"9223372036854775807"), Some(i64::MAX));
    assert_eq!(parse_int(b"-9223372036854775808"), Some(i64::MIN));
    for none in [
        "",
        "-",
        "+1",
        "01",
        "-0",
        " 1",
        "1 ",
        "9223372036854775808",
        "99999999999999999999",
    ] {
        assert_eq!(parse_int(none.as_bytes()), None, "{none}");
    }
}

#[test]
fn a_blob_is_sent_by_reference() {
    let blob = Bytes::from(vec![b'b'; BLOB_BYTES_MIN]);
    let mut out = Out::new(Proto::Resp2);
    out.ok();
    out.blob(&blob);
    out.blob(&Bytes::from_static(b"small"));
    let mut parts = [IoSlice::new(&[]); 8];
    assert_eq!(out.parts(&mut parts, usize::MAX), 3);
    assert_eq!(parts[1].as_ptr(), blob.as_ptr());
    assert_eq!(&*parts[2], b"\r\n$5\r\nsmall\r\n");

    assert_eq!(out.parts(&mut parts, 20), 2);
    assert_eq!((parts[0].len(), parts[1].len()), (13, 7));
    assert_eq!(out.parts(&mut parts[..1], 20), 1);
    assert_eq!(out.parts(&mut parts, 0), 0);

    let all = out.to_bytes();
    let total = out.len();
    for written in (0..=total).step_by(if cfg!(miri) { 100 } else { 1 }) {
        let mut rest = Out::default();
        rest.append(&out);
        rest.advance(written);
        assert_eq!(rest.len(), total - written);
        if written % 1000 == 0 {
            assert_eq!(rest.to_bytes(), all.slice(written..));
        }
    }
}

#[test]
fn a_reply_can_be_truncated() {
    let mut out = Out::new(Proto::Resp2);
    out.ok();
    let mark = out.mark();
    out.error("ERR no");
    assert_eq!(out.error_at(mark), Some(&b"ERR no"[..]));
    out.blob(&Bytes::from(vec![b'b'; BLOB_BYTES_MIN]));
    out.truncate(mark);
    assert_eq!(out.to_bytes(), "+OK\r\n");
}

#[test]
fn a_reply_between_others_can_be_replaced_with_an_error() {
    let blob = |letter: u8| Bytes::from(vec![letter; BLOB_BYTES_MIN]);
    let replies = |second: &dyn Fn(&mut Out)| {
        let mut out = Out::new(Proto::Resp2);
        out.blob(&blob(b'a'));
        let from = out.mark();
        second(&mut out);
        let to = out.mark();
        out.int(7);
        out.blob(&blob(b'c'));
        out.ok();
        (out, from, to)
    };
    let (expected, ..) = replies(&|out| out.error("ERR no"));
    let with_blob = |out: &mut Out| {
        out.array(2);
        out.blob(&blob(b'b'));
        out.int(1);
    };
    for second in [&with_blob as &dyn Fn(&mut Out), &Out::ok] {
        let (mut out, from, to) = replies(second);
        out.replace_with_error(from, to, "ERR no");
        assert_eq!(out.to_bytes(), expected.to_bytes());
        assert_eq!(out.len(), expected.len());
    }
}

#[test]
fn replies_are_parsed() {
    let read = |bytes: &str| {
        let mut input = BytesMut::from(bytes);
        Reply::take(&mut input, &ReplyLimits::default()).map(|reply| format!("{reply:?}"))
    };
    let ok = |text: &str| Ok(text.to_owned());
    assert_eq!(
        read("*2\r\n:1\r\n$-1\r\n"),
        ok("Some(Array([Int(1), Null]))")
    );
    assert_eq!(
        read("%1\r\n+k\r\n~1\r\n,1.5\r\n"),
        ok("Some(Map([(Simple(b\"k\"), Set([Double(b\"1.5\")]))]))")
    );
    assert_eq!(read(">1\r\n#t\r\n"), ok("Some(Push([Bool(true)]))"));
    assert_eq!(read("=5\r\ntxt:a\r\n"), ok("Some(Verbatim(b\"txt:a\"))"));
    assert_eq!(read("$3\r\nab"), ok("None"));
    assert_eq!(read("*2\r\n:1\r\n"), ok("None"));
    let bad = |bytes: &str| read(bytes).expect_err("refused").to_string();
    assert_eq!(bad("?\r\n"), "the reply starts with an unknown byte '?'");
    assert_eq!(
        bad("$-2\r\n"),
        "a number in the reply is invalid or too large"
    );
    assert_eq!(bad(&"*1\r\n".repeat(40)), "the reply is nested too deeply");
}
