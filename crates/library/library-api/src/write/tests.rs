use expect_test::{Expect, expect};

use super::Writer;

fn check(describe: impl Fn(&mut Writer), xml: Expect, json: Expect) {
    let mut out = Writer::new(true);
    out.object("r", &describe);
    xml.assert_eq(&out.finish());
    let mut out = Writer::new(false);
    out.braced(|out| out.object("r", &describe));
    json.assert_eq(&out.finish());
}

#[test]
fn both_forms_say_the_same() {
    check(
        |out| {
            out.text("a", "1 < \"2\" & 3\n\0\u{2028}");
            out.number("n", -4);
            out.flag("b", true);
            out.float("f", -7.25);
            out.text_if("none", None);
            out.list("g", [1, 2], |out, number| {
                out.number("n", number);
                out.value("Pop");
            });
            out.list("empty", [0; 0], |_, _| {});
            out.texts("m", ["x", "y>"]);
            out.object("o", |_| {});
        },
        expect![[
            r#"<r a="1 &lt; &quot;2&quot; &amp; 3&#10; " n="-4" b="true" f="-7.25"><g n="1">Pop</g><g n="2">Pop</g><m>x</m><m>y&gt;</m><o/></r>"#
        ]],
        expect![[
            r#"{"r":{"a":"1 < \"2\" & 3\u000a\u0000\u2028","n":-4,"b":true,"f":-7.25,"g":[{"n":1,"value":"Pop"},{"n":2,"value":"Pop"}],"empty":[],"m":["x","y>"],"o":{}}}"#
        ]],
    );
}
