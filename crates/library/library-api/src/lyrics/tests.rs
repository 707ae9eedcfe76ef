use expect_test::{Expect, expect};

use super::{Lyrics, TEXT_BYTES_MAX};

fn check(bytes: impl AsRef<[u8]>, expected: Expect) {
    let lyrics = Lyrics::read(bytes.as_ref());
    let lines = lyrics.lines.iter().map(|line| match line.start_ms {
        Some(ms) => format!("{ms} {:?}\n", line.text),
        None => format!("- {:?}\n", line.text),
    });
    let offset = match lyrics.offset_ms {
        0 => String::new(),
        offset_ms => format!("offset {offset_ms}\n"),
    };
    expected.assert_eq(&(offset + &lines.collect::<String>()));
}

/// Encodes `text` in UTF-16, with a byte order mark.
fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let marked = format!("\u{feff}{text}");
    marked.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn whatever_the_encoding_no_line_is_lost() {
    let text = "[00:01.00]été\n[00:02.00]夜\n";
    check(
        text,
        expect![[r#"
            1000 "été"
            2000 "夜"
        "#]],
    );
    let same = |bytes: &[u8]| assert_eq!(Lyrics::read(bytes), Lyrics::read(text.as_bytes()));
    same(format!("\u{feff}{text}").as_bytes());
    same(&utf16(text, u16::to_le_bytes));
    same(&utf16(text, u16::to_be_bytes));
    check(
        b"[00:01.00]\xe9t\xe9 \x93\x9c\x94 \x80\x81\n",
        expect![[r#"
            1000 "été “œ” €\u{81}"
        "#]],
    );
    check(
        b"\xff\xfea\0\n\0\x00\xd8b\0c",
        expect![[r#"
            - "a"
            - "�b"
        "#]],
    );
    check(
        "\u{feff}plain\r\n\r\nwords\n",
        expect![[r#"
            - "plain"
            - ""
            - "words"
        "#]],
    );
    check(b"", expect![[""]]);
    check(b"\xef\xbb\xbf", expect![[""]]);
}

#[test]
fn a_line_is_sung_at_each_of_its_times() {
    check(
        "[00:01.00][00:03.00]chorus\n[00:02.00]verse\n[00:05.00] [00:04.00] end \n",
        expect![[r#"
            1000 "chorus"
            2000 "verse"
            3000 "chorus"
            4000 "end"
            5000 "end"
        "#]],
    );
    // Lines with the same timestamp keep their order in the file.
    check(
        "[00:01]b\n[00:01]a\n",
        expect![[r#"
            1000 "b"
            1000 "a"
        "#]],
    );
}

#[test]
fn times_are_those_that_programs_write() {
    check(
        "[00:01:50]colon\n[1:02]seconds\n[00:03.5]tenth\n[99:59.999]ms\n[00:04.1234]more\n[00:05.]none\n",
        expect![[r#"
            1500 "colon"
            3500 "tenth"
            4123 "more"
            5000 "none"
            62000 "seconds"
            5999999 "ms"
        "#]],
    );
    // None of these is a valid timestamp, so each is text.
    check(
        "[00:60]a\n[6000:00]b\n[+1:02]c\n[0:1e1]d\n[00:01.5\n[a:b]e\n[99999999999999999999:00]f\n",
        expect![[r#"
            - "[00:60]a"
            - "[6000:00]b"
            - "[+1:02]c"
            - "[0:1e1]d"
            - "[00:01.5"
            - "[a:b]e"
            - "[99999999999999999999:00]f"
        "#]],
    );
}

#[test]
fn times_of_words_are_no_text() {
    check(
        "[00:03.5]<00:03.60>three\n[00:04]<00:04.00> one <00:04.50> word <00:05:00>\n[00:06]a<00:06.5>b <c> <\n",
        expect![[r#"
            3500 "three"
            4000 "one word"
            6000 "ab <c> <"
        "#]],
    );
}

#[test]
fn headers_are_no_lines_and_one_of_them_moves_all() {
    check(
        "[ar:Somebody]\n[OFFSET: +500 ]\n[00:01.00]one\nwithout a time\n",
        expect![[r#"
            offset 500
            1000 "one"
        "#]],
    );
    check(
        "[offset:-250]\n[offset:soon]\n[00:01.00]one\n",
        expect![[r#"
            offset -250
            1000 "one"
        "#]],
    );
    check(
        "[ti:Title]\n[Chorus: all]\nplain\n",
        expect![[r#"
            - "[Chorus: all]"
            - "plain"
        "#]],
    );
}

#[test]
fn a_line_that_is_repeated_without_end_is_cut() {
    let text = "x".repeat(1000);
    let repeated = "[00:01]".repeat(2 * TEXT_BYTES_MAX / 1000);
    let lyrics = Lyrics::read(format!("{repeated}{text}\n").as_bytes());
    assert_eq!(lyrics.lines.len(), TEXT_BYTES_MAX / 1000);
}
