//! Tables of test cases. A line that begins with `# ` names the clause of a specification that the
//! rows below it test, and a line that begins with `@ ` names the context of the rows below it. Any
//! other line is a row, `bytes ⇒ verdict`. The escapes `\r`, `\n`, `\t`, `\0`, `\\` and `\xHH` mean
//! the same as in Rust, and `{text*N}` is `text` repeated N times.

/// Test case: an input and its expected verdict.
#[derive(Clone, Debug)]
pub struct Row<'t> {
    /// Clause, and the row as written in the table; for messages of failed tests.
    pub name: String,
    /// Context in which the test judges the row, such as the framing of a body.
    pub context: &'t str,
    /// Input, with escapes and repetitions expanded.
    pub bytes: Vec<u8>,
    /// Expected verdict, with escapes as written.
    pub verdict: &'t str,
}

/// Parses a table and returns its rows.
///
/// # Panics
/// If a line is malformed: tables are source code, so this is a bug of the test.
#[must_use]
pub fn rows(table: &str) -> Vec<Row<'_>> {
    let mut clause = "";
    let mut context = "";
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty()) {
        if let Some(text) = line.strip_prefix("# ") {
            clause = text;
            continue;
        }
        if let Some(text) = line.strip_prefix("@ ") {
            context = text;
            continue;
        }
        let (bytes, verdict) = line.rsplit_once(" ⇒ ").expect("a row has an arrow");
        rows.push(Row {
            name: format!("{clause}\n  {line}"),
            context,
            bytes: unescape(bytes),
            verdict,
        });
    }
    rows
}

/// Calls `judge` on every row, and compares the result with the expected verdict. Reports all rows
/// with a difference in one message.
///
/// # Panics
/// If the verdicts of at least one row differ.
pub fn check(table: &str, judge: impl Fn(&Row<'_>) -> String) {
    let mut wrong = String::new();
    for row in rows(table) {
        let expected = String::from_utf8(unescape(row.verdict)).expect("a verdict is UTF-8");
        let verdict = judge(&row);
        if verdict != expected {
            wrong += &format!("{}\n  got: {verdict}\n", row.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Replaces the escapes and repetitions in `text`.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((part, count, after)) = repetition(rest) {
            bytes.extend_from_slice(&unescape(part).repeat(count));
            rest = after;
            continue;
        }
        let mut width = first.len_utf8();
        if first == '\\' {
            width = 2;
            bytes.push(match rest.as_bytes()[1] {
                b'r' => b'\r',
                b'n' => b'\n',
                b't' => b'\t',
                b'0' => b'\0',
                b'\\' => b'\\',
                b'x' => {
                    width = 4;
                    u8::from_str_radix(&rest[2..4], 16).expect("two hex digits")
                }
                other => panic!("unknown escape {other:#04x} in {text}"),
            });
        } else {
            bytes.extend_from_slice(&rest.as_bytes()[..width]);
        }
        rest = &rest[width..];
    }
    bytes
}

/// Parses `{text*N}` at the start of `text`. Returns the repeated text, N, and the rest of `text`.
fn repetition(text: &str) -> Option<(&str, usize, &str)> {
    let (inner, after) = text.strip_prefix('{')?.split_once('}')?;
    let (part, count) = inner.rsplit_once('*')?;
    Some((part, count.parse().ok()?, after))
}
