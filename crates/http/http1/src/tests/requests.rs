use crate::{Connection, Framing, Limits, Method, Reject, Request, Version, parse};
use std::collections::BTreeSet;
use testkit::table::{check, rows};

/// Renders the result of `parse` in one line.
fn render(verdict: &Result<Option<Request<'_>>, Reject>, bytes: usize) -> String {
    match verdict {
        Err(reject) => format!("{} {}", reject.status, reject.reason),
        Ok(None) => "more".to_owned(),
        Ok(Some(request)) if request.head_bytes == bytes => line(request),
        Ok(Some(request)) => format!("{} rest={}", line(request), bytes - request.head_bytes),
    }
}

/// Renders a request in one line, without the properties that have their usual value.
pub(super) fn line(request: &Request<'_>) -> String {
    let method = match request.method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Options => "OPTIONS",
        Method::Other => "Other",
    };
    let mut line = format!("{method} {}", request.target.path);
    if let Some(query) = request.target.query {
        line += &format!("?{query}");
    }
    line += &format!(" {}", request.host.unwrap_or("-"));
    if request.version == Version::Http10 {
        line += " 1.0";
    }
    match request.connection() {
        Connection::Persistent => {}
        Connection::KeepAlive => line += " keep-alive",
        Connection::Close => line += " close",
    }
    if request.expect_continue {
        line += " continue";
    }
    match request.framing {
        Framing::None => {}
        Framing::Length(length) => line += &format!(" length={length}"),
        Framing::Chunked => line += " chunked",
    }
    line
}

const TABLE: &str = include_str!("requests.txt");

#[test]
fn every_row_gets_its_verdict() {
    let limits = Limits::default();
    check(TABLE, |row| {
        render(&parse(&row.bytes, &limits), row.bytes.len())
    });
}

#[test]
fn table_rows_keep_the_invariants() {
    // Many prefixes of a row are parsed. Miri takes seconds for that, so under Miri only the first
    // short row with each verdict is parsed.
    let mut verdicts = BTreeSet::new();
    for row in rows(TABLE) {
        if cfg!(miri) && (200 <= row.bytes.len() || !verdicts.insert(row.verdict)) {
            continue;
        }
        testkit::fuzz::request(&row.bytes);
    }
}
