use super::{Case, cases, unexpected};

const REPORT: &str = r#"<testsuites>
  <testsuite name="3.5" package="http2/3.5" tests="2">
    <testcase package="http2/3.5" classname="Sends client connection preface" time="0.1"></testcase>
    <testcase package="http2/3.5" classname="Sends invalid connection preface" time="0.1">
      <error>Connection closed</error>
    </testcase>
    <testcase package="http2/6.9.2" classname="Sends a window" time="0.1">
      <skipped></skipped>
    </testcase>
  </testsuite>
</testsuites>"#;

#[test]
fn what_did_not_pass_and_was_not_expected_is_found() {
    let cases = cases(REPORT);
    let named = |name: &str, passed| Case {
        name: name.to_owned(),
        passed,
    };
    assert_eq!(
        cases,
        [
            named("Sends client connection preface", true),
            named("Sends invalid connection preface", false),
            named("Sends a window", false),
        ]
    );
    assert_eq!(
        unexpected("http", &cases),
        ["h2spec over http: failed: Sends a window"]
    );
    assert_eq!(unexpected("https", &cases).len(), 2);
    let passes = [named("Sends invalid connection preface", true)];
    assert_eq!(
        unexpected("http", &passes),
        [
            "h2spec over http: remove this case from EXPECTED, because it passes now: Sends invalid connection preface"
        ]
    );
    assert_eq!(unexpected("http", &[]), ["h2spec over http: no case ran"]);
}
