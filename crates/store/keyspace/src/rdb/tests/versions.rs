//! RDB files of each supported version, assembled by hand in the encodings of that version.

use bytes::Bytes;

use super::{NOW_MS, load, run};
use crate::rdb::crc64;

/// Returns a file of this version with the given entries and a checksum.
pub(super) fn file(version: u32, entries: &[&[u8]]) -> Vec<u8> {
    let mut file = format!("REDIS{version:04}").into_bytes();
    file.extend(entries.concat());
    file.push(0xff);
    let crc = crc64(0, &file);
    file.extend(crc.to_le_bytes());
    file
}

pub(super) fn string(bytes: &[u8]) -> Vec<u8> {
    match u8::try_from(bytes.len()).expect("short") {
        len @ 0..64 => [&[len], bytes].concat(),
        len => [&[0x40, len], bytes].concat(),
    }
}

pub(super) fn entry(kind: u8, key: &str, value: &[u8]) -> Vec<u8> {
    [&[kind], &string(key.as_bytes())[..], value].concat()
}

/// Encodes strings of at most 63 bytes as a ziplist.
fn ziplist(elements: &[&[u8]]) -> Vec<u8> {
    let (mut body, mut before) = (Vec::new(), 0);
    for element in elements {
        let begin = body.len();
        body.push(before);
        // An element that is a single byte from 0xf1 to 0xfd stands for the small number with this
        // encoding.
        match element {
            [number @ 0xf1..=0xfd] => body.push(*number),
            text => body.extend(string(text)),
        }
        before = (body.len() - begin) as u8;
    }
    let total = 10 + body.len() as u32 + 1;
    let last = total - 1 - u32::from(before);
    let count = elements.len() as u16;
    [
        &total.to_le_bytes()[..],
        &last.to_le_bytes(),
        &count.to_le_bytes(),
        &body,
        &[0xff],
    ]
    .concat()
}

/// Encodes strings of at most 63 bytes as a listpack.
fn listpack(elements: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    for element in elements {
        let len = element.len() as u8;
        body.push(0x80 | len);
        body.extend_from_slice(element);
        body.push(len + 1);
    }
    let total = 6 + body.len() as u32 + 1;
    let count = elements.len() as u16;
    [
        &total.to_le_bytes()[..],
        &count.to_le_bytes(),
        &body,
        &[0xff],
    ]
    .concat()
}

/// Loads a file and compares the replies to commands on its keys.
fn check(file: &[u8], queries: &[(&str, &str)]) {
    let mut loaded = load(file, 7).expect("sound");
    for (line, expected) in queries {
        let found = run(&mut loaded, line);
        assert_eq!(
            found,
            Bytes::from(expected.replace(' ', "\r\n") + "\r\n"),
            "{line}"
        );
    }
}

#[test]
fn version_5_and_6_with_ziplists_zipmaps_and_texts_of_scores() {
    let deadline_s = (NOW_MS / 1000 + 100) as u32;
    let expires = [&[0xfd], &deadline_s.to_le_bytes()[..]].concat();
    let intset = [
        &2u32.to_le_bytes()[..],
        &2u32.to_le_bytes(),
        &[0xff, 0xff, 7, 0],
    ]
    .concat();
    let entries = [
        [&[0xfe, 3], &entry(0, "text", &string(b"value"))[..]].concat(),
        // Integers of 8, 16 and 32 bits, and a string compressed with LZF.
        entry(0, "byte", &[0xc0, 0x85]),
        entry(0, "short", &[0xc1, 0x39, 0x30]),
        entry(0, "int", &[0xc2, 0x15, 0xcd, 0x5b, 0x07]),
        entry(0, "lzf", &[0xc3, 5, 12, 0x00, b'a', 0xe0, 2, 0x00]),
        [&expires[..], &entry(0, "due", &string(b"later"))].concat(),
        entry(
            1,
            "list",
            &[&[2], &string(b"one")[..], &string(b"two")].concat(),
        ),
        entry(
            10,
            "packed-list",
            &string(&ziplist(&[b"one", &[0xf5], b"three"])),
        ),
        entry(2, "set", &[&[1], &string(b"member")[..]].concat()),
        entry(11, "ints", &string(&intset)),
        entry(
            3,
            "zset",
            &[&[2], &string(b"a")[..], &[3], b"1.5", &string(b"b"), &[254]].concat(),
        ),
        entry(
            12,
            "packed-zset",
            &string(&ziplist(&[b"a", &[0xf3], b"b", b"2.5"])),
        ),
        entry(
            4,
            "hash",
            &[&[1], &string(b"field")[..], &string(b"value")].concat(),
        ),
        entry(9, "zipmap", &string(b"\x01\x05field\x05\x02value..\xff")),
        entry(13, "packed-hash", &string(&ziplist(&[b"field", b"value"]))),
    ];
    let entries = entries.each_ref().map(|entry| &entry[..]);
    let mut queries = vec![("DBSIZE", ":0")];
    let in_third = [
        ("GET text", "$5 value"),
        ("GET byte", "$4 -123"),
        ("GET short", "$5 12345"),
        ("GET int", "$9 123456789"),
        ("GET lzf", "$12 aaaaaaaaaaaa"),
        ("TTL due", ":100"),
        ("LRANGE list 0 -1", "*2 $3 one $3 two"),
        ("LRANGE packed-list 0 -1", "*3 $3 one $1 4 $5 three"),
        ("SMEMBERS set", "*1 $6 member"),
        ("SMEMBERS ints", "*2 $2 -1 $1 7"),
        ("ZRANGE zset 0 -1 WITHSCORES", "*4 $1 a $3 1.5 $1 b $3 inf"),
        (
            "ZRANGE packed-zset 0 -1 WITHSCORES",
            "*4 $1 a $1 2 $1 b $3 2.5",
        ),
        ("HGETALL hash", "*2 $5 field $5 value"),
        ("HGETALL zipmap", "*2 $5 field $5 value"),
        ("HGETALL packed-hash", "*2 $5 field $5 value"),
    ];
    queries.push(("SWAPDB 0 3", "+OK"));
    queries.extend(in_third);
    for version in [5, 6] {
        check(&file(version, &entries), &queries);
    }
}

#[test]
fn version_7_with_lists_of_ziplists_and_fields_about_the_file() {
    let about = [&[0xfa], &string(b"redis-ver")[..], &string(b"3.2.0")].concat();
    let sizes = [0xfb, 1, 0];
    let nodes = [
        string(&ziplist(&[b"one"])),
        string(&ziplist(&[b"two", &[0xf4]])),
    ]
    .concat();
    let list = entry(14, "list", &[&[2], &nodes[..]].concat());
    check(
        &file(7, &[&about, &[0xfe, 0], &sizes, &list]),
        &[
            ("DBSIZE", ":1"),
            ("LRANGE list 0 -1", "*3 $3 one $3 two $1 3"),
        ],
    );
}

#[test]
fn version_8_with_scores_of_eight_bytes() {
    let members = [
        &[2],
        &string(b"a")[..],
        &0.1f64.to_le_bytes(),
        &string(b"b"),
        &7f64.to_le_bytes(),
    ];
    check(
        &file(8, &[&entry(5, "zset", &members.concat())]),
        &[("ZRANGE zset 0 -1 WITHSCORES", "*4 $1 a $3 0.1 $1 b $1 7")],
    );
}

#[test]
fn version_9_with_last_uses() {
    let idle = [&[0xf8, 9], &entry(0, "idle", &string(b"a"))[..]].concat();
    let deadline = [&[0xfc], &(NOW_MS + 5_000).to_le_bytes()[..]].concat();
    let often = [
        &deadline[..],
        &[0xf9, 200],
        &entry(0, "often", &string(b"b"))[..],
    ]
    .concat();
    check(
        &file(9, &[&idle, &often]),
        &[("MGET idle often", "*2 $1 a $1 b"), ("PTTL often", ":5000")],
    );
}

#[test]
fn version_10_with_listpacks_and_functions() {
    let function = [&[0xf5], &string(b"#!lua name=lib")[..]].concat();
    let packed = [&[2], &string(&listpack(&[b"one", b"two"]))[..]].concat();
    let plain = [&[1], &string(b"three")[..]].concat();
    let list = entry(18, "list", &[&[2], &packed[..], &plain].concat());
    let hash = entry(16, "hash", &string(&listpack(&[b"field", b"value"])));
    let zset = entry(17, "zset", &string(&listpack(&[b"a", b"1.5"])));
    check(
        &file(10, &[&function, &list, &hash, &zset]),
        &[
            ("LRANGE list 0 -1", "*3 $3 one $3 two $5 three"),
            ("HGETALL hash", "*2 $5 field $5 value"),
            ("ZRANGE zset 0 -1 WITHSCORES", "*2 $1 a $3 1.5"),
        ],
    );
}

#[test]
fn versions_11_and_12_with_sets_in_listpacks() {
    let set = entry(20, "set", &string(&listpack(&[b"member"])));
    for version in [11, 12] {
        check(&file(version, &[&set]), &[("SMEMBERS set", "*1 $6 member")]);
    }
}

#[test]
fn unsupported_types_are_refused_with_their_offset() {
    let refused = |file: &[u8]| load(file, 1000).expect_err("refused").to_string();
    let fields = entry(22, "hash", &[1]);
    for (file, words) in [
        (
            file(13, &[]),
            ["the version of the RDB format is not supported", "9"],
        ),
        (file(12, &[&fields]), ["hashes whose fields expire", "15"]),
    ] {
        let text = refused(&file);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}
