//! Fuzz target for the heads of HTTP requests.

mod naive;

use http1::{FIELDS_BOUND, Framing, Limits, Reject, Request, parse};

/// Limits small enough for short inputs to exceed them.
const TIGHT: Limits = Limits {
    head_bytes_max: 96,
    fields_max: 4,
    target_bytes_max: 24,
    body_bytes_max: 64,
    chunk_line_bytes_max: 24,
    trailer_bytes_max: 32,
};

/// Maximum length in bytes of an input of which every prefix is tried. Of a longer input, only
/// prefixes at equal steps are tried.
const EVERY_CUT_BYTES_MAX: usize = 192;

/// Checks `bytes` as the first bytes of a connection. Once the parser has given a verdict, further
/// bytes must not change the verdict. The verdict must equal that of a naive parser.
pub fn request(bytes: &[u8]) {
    for limits in [Limits::default(), TIGHT] {
        assert_verdict_is_final(bytes, &limits);
        if let Ok(Some(request)) = parse(bytes, &limits) {
            assert_sound(&request, bytes, &limits);
        }
    }
    let limits = Limits::default();
    let head_fits = bytes.len() < limits.target_bytes_max;
    let lines = bytes.windows(2).filter(|window| window == b"\r\n").count();
    if head_fits && lines < limits.fields_max {
        assert_naive(bytes, &parse(bytes, &limits));
    }
}

/// Checks all prefixes of the input. The parser requests more bytes until it gives a verdict, and
/// later bytes do not change the verdict.
fn assert_verdict_is_final(bytes: &[u8], limits: &Limits) {
    let longer = [bytes, b"GET /behind HTTP/1.1\r\n\r\n \0"].concat();
    let whole = parse(&longer, limits);
    let step = 1 + longer.len() / EVERY_CUT_BYTES_MAX;
    for end in (0..longer.len()).step_by(step) {
        match (parse(&longer[..end], limits), &whole) {
            (Ok(None), Ok(Some(whole))) => assert!(end < whole.head_bytes, "cut at {end}"),
            (Ok(None), _) => {}
            (Ok(Some(request)), Ok(Some(whole))) => assert_same(&request, whole),
            (Err(reject), Err(whole)) => assert_eq!(reject, *whole, "cut at {end}"),
            (early, whole) => panic!("cut at {end}: {early:?}, but whole: {whole:?}"),
        }
    }
}

fn assert_same(one: &Request<'_>, other: &Request<'_>) {
    assert_eq!(
        (one.method, one.target, one.version, one.host),
        (other.method, other.target, other.version, other.host)
    );
    assert_eq!(
        (one.connection(), one.framing, one.expect_continue),
        (other.connection(), other.framing, other.expect_continue)
    );
    assert_eq!(one.head_bytes, other.head_bytes);
    assert!(one.fields().eq(other.fields()));
}

/// Checks the properties that every accepted request must have.
fn assert_sound(request: &Request<'_>, bytes: &[u8], limits: &Limits) {
    assert!(request.head_bytes <= bytes.len().min(limits.head_bytes_max));
    assert!(bytes[..request.head_bytes].ends_with(b"\r\n\r\n"));
    let target = request.target;
    assert!(target.path.starts_with('/') || target.path == "*");
    assert!(request.fields().count() <= limits.fields_max.min(FIELDS_BOUND));
    assert!(!request.expect_continue || request.framing != Framing::None);
    for (name, value) in request.fields() {
        assert!(!name.is_empty());
        assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)));
    }
    for (name, known) in [
        ("accept", request.accept()),
        ("range", request.range()),
        ("if-range", request.if_range()),
        ("if-match", request.if_match()),
        ("if-none-match", request.if_none_match()),
        ("if-modified-since", request.if_modified_since()),
        ("if-unmodified-since", request.if_unmodified_since()),
    ] {
        let walked = super::values(request, name);
        assert!(known.into_iter().eq(walked.iter().copied()), "{name}");
        assert_eq!(known.len(), walked.len(), "{name}");
        assert_eq!(known.is_empty(), walked.is_empty(), "{name}");
        assert_eq!(
            known.only(),
            walked.first().copied().filter(|_| walked.len() == 1)
        );
    }
}

fn assert_naive(bytes: &[u8], verdict: &Result<Option<Request<'_>>, Reject>) {
    let expected = naive::read(bytes);
    let Ok(Some(request)) = verdict else {
        assert_eq!(expected, None, "{verdict:?}");
        return;
    };
    let read = naive::Head {
        method: request.method,
        path: request.target.path,
        query: request.target.query,
        version: request.version,
        host: request.host.map(str::to_owned),
        framing: request.framing,
        connection: request.connection(),
        head_bytes: request.head_bytes,
    };
    assert_eq!(Some(read), expected);
}
