//! Fuzz target for CGI: the output of programs, and the variables they receive.

use cgi::{Limits, Request, Response};

/// Checks `bytes` as the output of a CGI program: the head of the output must not break the head of
/// the response. Also checks `bytes` as the path and as a field of a request: no part of `bytes`
/// may become an additional variable of the program.
pub fn cgi(bytes: &[u8]) {
    let limits = Limits::default();
    if let Ok(Response::Document {
        status,
        fields,
        body_at,
    }) = Response::parse(bytes, &limits)
    {
        assert!((200..=599).contains(&status));
        assert!(body_at <= bytes.len().min(limits.head_bytes_max));
        assert!(fields.len() <= limits.fields_max);
        for (name, value) in fields {
            assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()));
            assert!(!name.contains(':') && !value.contains(['\r', '\n', '\0']));
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let path = format!("/x{text}");
    let request = Request {
        method: "GET",
        script: "/x",
        path: &path,
        query: Some(text),
        fields: &[("host", bytes), ("x-a", bytes), (text, b"1")],
        content_type: Some(bytes),
        body_bytes: 1,
        peer: "192.0.2.1",
        secure: true,
    };
    if let Ok(variables) = request.variables() {
        let ended = variables
            .strip_suffix(b"\0")
            .expect("every variable ends with a NUL");
        let names = ended.split(|byte| *byte == 0).map(|one| {
            one.split(|byte| *byte == b'=')
                .next()
                .expect("a split yields at least one part")
        });
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "a variable occurs twice");
        for name in names {
            assert!(
                name.iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            );
        }
    }
}
