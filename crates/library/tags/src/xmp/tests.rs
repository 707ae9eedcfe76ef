//! Tests of the XML reader.

use super::{Event, Text, events};
use proptest::prelude::*;

/// Returns the events of a text, one per line.
fn shown(text: &str) -> String {
    let mut out = String::new();
    for event in events(text) {
        match event {
            Event::Start(tag) => {
                out += &format!("<{}:{}\n", tag.name.prefix, tag.name.local);
                for (name, value) in tag.attributes() {
                    out += &format!("  {}:{}={}\n", name.prefix, name.local, value.decoded());
                }
            }
            Event::End => out += ">\n",
            Event::Text(text) => out += &format!("{:?}\n", text.decoded()),
        }
    }
    out
}

#[test]
fn tags_attributes_and_texts_are_read() {
    expect_test::expect![[r#"
        "\u{feff}"
        <x:xmpmeta
          xmlns:x=adobe:ns:meta/
        "\n"
        <a:b
          c:d=1 > 0
          :e=it's
        >
        <:f
        "x < y"
        " & z"
        >
        >
    "#]]
    .assert_eq(&shown(
        "\u{feff}<?xpacket begin='' id='W5M0'?><x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n\
         <a:b c:d = '1 > 0'\n e=\"it's\"/><!-- <g> --><f ><![CDATA[x < y]]> &amp; z</f></x:xmpmeta>",
    ));
}

#[test]
fn character_references_are_replaced() {
    for (text, expected) in [
        ("plain", "plain"),
        ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"),
        ("Z&#xFC;rich, K&#246;ln", "Zürich, Köln"),
        ("&amp;amp;", "&amp;"),
        (
            "a & b; &nbsp; &#xD800; &#x110000; &#; &",
            "a & b; &nbsp; &#xD800; &#x110000; &#; &",
        ),
        ("&é;", "&é;"),
    ] {
        assert_eq!(Text::Escaped(text).decoded(), expected);
    }
    assert_eq!(Text::Literal("&amp;").decoded(), "&amp;");
}

#[test]
fn a_text_without_its_end_has_the_events_before() {
    for text in [
        "<a/><b c='",
        "<a/><b",
        "<a/><!-- <b/>",
        "<a/><![CDATA[",
        "<a/><?xpacket",
    ] {
        assert_eq!(shown(text), "<:a\n>\n", "{text}");
    }
}

proptest! {
    /// Any text has events, and their values are not longer than the text.
    #[test]
    fn any_text_is_read(text in "[<>/=!?'\" :&;#xa9é\\[\\]CDAT-]{0,60}") {
        for event in events(&text) {
            match event {
                Event::Start(tag) => {
                    let bytes: usize = tag.attributes().map(|(_, it)| it.decoded().len()).sum();
                    prop_assert!(bytes < text.len());
                }
                Event::End => {}
                Event::Text(part) => prop_assert!(part.decoded().len() <= text.len()),
            }
        }
    }
}
