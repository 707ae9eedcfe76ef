use super::{listing, percent_decoded};
use crate::{Limits, ReadAt};
use expect_test::{Expect, expect};

fn summary(bytes: &[u8]) -> String {
    match listing(bytes, bytes.len() as u64, &Limits::default()) {
        Ok(found) => {
            let entries = found.entries.iter();
            let entries =
                entries.map(|it| format!("{} ({})\n", it.target.escape_ascii(), it.title));
            format!("{:?}\n{}", found.name, entries.collect::<String>())
        }
        Err(err) => format!("{err}\n"),
    }
}

fn check(bytes: &[u8], expected: Expect) {
    expected.assert_eq(&summary(bytes));
}

#[test]
fn entries_names_and_titles() {
    let text = "#EXTM3U\n#PLAYLIST: Für unterwegs \n#EXTINF:213,Künstler - Lied, das erste\nA/1.flac\n\n\
                # a remark\n../B/2.mp3\n#EXTINF:-1\n/srv/music/3.ogg\nhttps://radio.example/live\n";
    check(
        text.as_bytes(),
        expect![[r#"
            Some("Für unterwegs")
            A/1.flac (Künstler - Lied, das erste)
            ../B/2.mp3 ()
            /srv/music/3.ogg ()
            https://radio.example/live ()
        "#]],
    );
}

#[test]
fn ends_of_lines_and_marks_of_bytes() {
    let lines = ["a.mp3", "#EXTINF:1,B", "b.mp3", "", "c.mp3"];
    let expected = summary(lines.join("\n").as_bytes());
    assert_eq!(expected, "None\na.mp3 ()\nb.mp3 (B)\nc.mp3 ()\n");
    for end in ["\r\n", "\r", "\n\n", " \t\r\n"] {
        assert_eq!(summary(lines.join(end).as_bytes()), expected, "{end:?}");
    }
    let marked = format!("\u{feff}{}", lines.join("\r\n"));
    assert_eq!(summary(marked.as_bytes()), expected);
}

#[test]
fn latin1_keeps_the_bytes_of_paths() {
    check(
        b"#EXTINF:1,K\xfcnstler\r\nK\xfcnstler/1.mp3\r\n",
        expect![[r#"
            None
            K\xfcnstler/1.mp3 (Künstler)
        "#]],
    );
}

#[test]
fn urls_of_files_are_paths() {
    check(
        b"file:///srv/My%20Music/1%252.mp3\nFILE://localhost/a.mp3\nfile%20not.mp3\n",
        expect![[r#"
            None
            /srv/My Music/1%2.mp3 ()
            /a.mp3 ()
            file%20not.mp3 ()
        "#]],
    );
    assert_eq!(percent_decoded(b"%"), b"%");
    assert_eq!(percent_decoded(b"%4"), b"%4");
    assert_eq!(percent_decoded(b"%zz%41%c3%BC"), "%zzAü".as_bytes());
}

#[test]
fn what_is_no_list_of_music_says_so() {
    check(b"", expect![["None\n"]]);
    check(
        b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n1.ts\n",
        expect![["the playlist lists segments of an HLS stream, not tracks\n"]],
    );
    check(b"\xff\xfea\0", expect![["playlist is in UTF-16\n"]]);
}

#[test]
fn limits_hold() {
    let limits = Limits {
        listing_bytes_max: 20,
        listing_entries_max: 2,
        value_bytes_max: 3,
        ..Limits::default()
    };
    let read = |bytes: &[u8]| listing(bytes, bytes.len() as u64, &limits);
    assert_eq!(read(b"a\nb\n").expect("within").entries.len(), 2);
    assert!(read(b"a\nb\nc\n").is_err());
    assert!(read(&[b'\n'; 21]).is_err());
    let named = read("#PLAYLIST:aüü\n".as_bytes()).expect("within");
    assert_eq!(named.name.as_deref(), Some("aü"));
}

/// Source that contains fewer bytes than the length that is passed to the reader.
struct Cut;

impl ReadAt for Cut {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        // Returns one byte per read, as a pipe might.
        b"a.mp3\nb.mp3"[..].read_at(offset, &mut buf[..1])
    }
}

#[test]
fn short_reads_are_joined_and_an_early_end_is_an_error() {
    let limits = Limits::default();
    assert_eq!(listing(&Cut, 11, &limits).expect("whole").entries.len(), 2);
    assert!(listing(&Cut, 12, &limits).is_err());
}
