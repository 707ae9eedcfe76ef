//! Libraries of functions.

use expect_test::expect;

use crate::LibraryHead;

#[test]
fn the_first_line_names_the_library() {
    let mut shown = String::new();
    for line in [
        "#!lua name=lib\n",
        "#!LUA  NAME='lib'\n",
        "#!lua name=lib",
        "return 1\n",
        "#!lua\n",
        "#!lua name=\n",
        "#!lua name=a-b\n",
        "#!lua name=a name=b\n",
        "#!lua name=a other\n",
        "#!js name=a\n",
    ] {
        let parsed = LibraryHead::parse(line.as_bytes());
        shown += &match parsed {
            Ok(head) => format!("{} {}\n", head.name, head.bytes),
            Err(error) => format!("{error}\n"),
        };
    }
    expect![[r#"
        lib 14
        lib 17
        ERR Invalid library metadata
        ERR Missing library metadata
        ERR Library name was not given
        ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long
        ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long
        ERR Invalid metadata value, name argument was given multiple times
        ERR Invalid metadata value given: other
        ERR Engine 'js' not found
    "#]]
    .assert_eq(&shown);
}
