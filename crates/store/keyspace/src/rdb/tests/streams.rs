//! Streams in files: our own files, files as Redis 5 to 7.2 write them, and corrupt files.

use super::versions::{entry, file as file_of, string};
use super::*;
use crate::listpack::Listpack;
use crate::rdb::{Position, Writer, write_part};
use crate::stream::{Delivery, Group, Id, NodeLimits, Stream};
use crate::value::Kind;

/// Elements of a listpack.
enum Element {
    Int(i64),
    Text(&'static str),
}

use Element::{Int, Text};

fn listpack(elements: &[Element]) -> Vec<u8> {
    let mut pack = Listpack::new();
    for element in elements {
        match element {
            Int(number) => pack.push_int(*number),
            Text(text) => pack.push_text(text.as_bytes()),
        }
    }
    pack.finish()
}

/// Returns a node with the entries 5-1 (removed), 5-2 and 6-0. Entry 6-0 does not have the node's
/// fields.
fn node() -> Vec<Element> {
    vec![
        // Two live entries, one removed entry, and one field: `f`.
        Int(2),
        Int(1),
        Int(1),
        Text("f"),
        Int(0),
        Int(3),
        Int(0),
        Int(0),
        Text("gone"),
        Int(4),
        Int(2),
        Int(0),
        Int(1),
        Text("17"),
        Int(4),
        Int(0),
        Int(1),
        Int(-1),
        Int(1),
        Text("g"),
        Text("w"),
        Int(6),
    ]
}

fn pending(id: Id, time_ms: i64, count: u8) -> Vec<u8> {
    [&id.to_bytes()[..], &time_ms.to_le_bytes(), &[count]].concat()
}

/// Returns a stream of the RDB type `kind` with this node, and a group with one pending entry.
fn stream(kind: u8, node: &[Element]) -> Vec<u8> {
    let mut value = vec![1];
    value.extend(string(&Id::new(5, 1).to_bytes()));
    value.extend(string(&listpack(node)));
    value.extend([2, 6, 0]);
    if 15 < kind {
        value.extend([5, 2, 5, 1, 3]);
    }
    value.extend([1]);
    value.extend(string(b"group"));
    value.extend([5, 2]);
    if 15 < kind {
        value.extend([2]);
    }
    value.extend([1]);
    value.extend(pending(Id::new(5, 2), NOW_MS as i64 - 9, 4));
    value.extend([1]);
    value.extend(string(b"consumer"));
    value.extend((NOW_MS as i64 - 7).to_le_bytes());
    if 19 < kind {
        value.extend((NOW_MS as i64 - 8).to_le_bytes());
    }
    value.extend([1]);
    value.extend(Id::new(5, 2).to_bytes());
    value
}

#[test]
fn the_types_of_redis_5_to_7_2_are_read() {
    for (version, kind, inactive) in [(9, 15, 7), (10, 19, 7), (11, 21, 8)] {
        let file = file_of(version, &[&entry(kind, "s", &stream(kind, &node()))]);
        let mut keyspace = load(&file, 7).expect("sound");
        let mut check = |line: &str, expected: &str| {
            let reply = run(&mut keyspace, line);
            let reply = String::from_utf8_lossy(&reply).replace("\r\n", " ");
            assert_eq!(reply.trim_end(), expected, "{line} of type {kind}");
        };
        check(
            "XRANGE s - +",
            "*2 *2 $3 5-2 *2 $1 f $2 17 *2 $3 6-0 *2 $1 g $1 w",
        );
        check("XPENDING s group - + 9", "*1 *4 $3 5-2 $8 consumer :9 :4");
        check(
            "XINFO CONSUMERS s group",
            &format!("*1 *8 $4 name $8 consumer $7 pending :1 $4 idle :7 $8 inactive :{inactive}"),
        );
        check(
            "XADD s 6-0 f v",
            "-ERR The ID specified in XADD is equal or smaller than the target stream top item",
        );
    }
}

#[test]
fn a_written_stream_is_read_with_its_groups() {
    const ENTRIES: usize = if cfg!(miri) { 300 } else { 3000 };
    let mut keyspace = Keyspace::new(Limits::default(), 1);
    for number in 0..ENTRIES {
        let fields = ["f v", "g 1 h -70000", "f 18446744073709551615"][number % 3];
        run(
            &mut keyspace,
            &format!("XADD s {}-{} {fields}", number / 2 + 5, number % 2),
        );
    }
    run(&mut keyspace, "XDEL s 5-0 700-1");
    run(&mut keyspace, "XGROUP CREATE s all 0");
    run(&mut keyspace, "XGROUP CREATE s none $ ENTRIESREAD 7");
    run(
        &mut keyspace,
        "XREADGROUP GROUP all a COUNT 1000 STREAMS s >",
    );
    run(
        &mut keyspace,
        "XREADGROUP GROUP all b COUNT 1000 STREAMS s >",
    );
    run(&mut keyspace, "XGROUP CREATECONSUMER s all idle");
    let mut changes = 0;
    let before: Vec<Bytes> = LINES.iter().map(|line| run(&mut keyspace, line)).collect();
    // The stream changes while it is written, but the file has its state at the start.
    let begun = keyspace.start_snapshot(Options {
        version: 11,
        compress: true,
        aof_base: false,
        now_ms: NOW_MS,
    });
    assert!(begun);
    let mut file = Vec::new();
    while !keyspace.write_snapshot_part(2000, &mut file) {
        changes += 1;
        let keyspace = &mut keyspace;
        run(keyspace, &format!("XADD s 99999-{changes} f v"));
        run(keyspace, "XREADGROUP GROUP all c COUNT 3 STREAMS s >");
        run(keyspace, &format!("XACK s all {}-0", 6 + changes));
        run(keyspace, &format!("XDEL s {}-1", 60 + changes));
    }
    assert!(20 < changes || cfg!(miri));
    let mut restored = load(&file, 1000).expect("sound");
    let after: Vec<Bytes> = LINES.iter().map(|line| run(&mut restored, line)).collect();
    assert!(before == after);
}

#[test]
fn a_stream_is_the_same_in_one_part_and_in_many() {
    let mut stream = Stream::new();
    let limits = NodeLimits {
        bytes_max: 0,
        entries_max: 0,
    };
    stream.append(Id::new(1, 0), &["f", "v"].map(Bytes::from), limits);
    assert!(stream.add_group(Group::new(b"empty", Id::MIN, None)));
    assert!(stream.add_group(Group::new(b"full", Id::MIN, None)));
    let delivered = stream.edit_group(b"full", |group| {
        let numbers = [b"a", b"b"].map(|name| group.add_consumer(name, 1));
        let [Some(consumer), Some(_)] = numbers else {
            return false;
        };
        for ms in 0..200 {
            let delivery = Delivery {
                time_ms: 1,
                count: 1,
                consumer,
            };
            group.deliver(Id::new(ms, 0), delivery);
        }
        true
    });
    assert_eq!(delivered, Some(true));
    let value = stream.into_value();
    let mut whole = Vec::new();
    let mut writer = Writer::new(&mut whole, false);
    let rest = write_part(&value, Position::default(), usize::MAX, &mut writer);
    assert_eq!(rest, None);
    let (mut parts, mut calls) = (Vec::new(), 0);
    let mut position = Some(Position::default());
    while let Some(at) = position {
        position = write_part(&value, at, 1, &mut Writer::new(&mut parts, false));
        calls += 1;
    }
    assert!(parts == whole);
    // The node, two groups, two parts of deliveries in the group and in the consumer, two
    // consumers, and the end.
    assert_eq!(calls, 10);
}

/// Commands whose replies show everything that a stream holds.
const LINES: &[&str] = &[
    "XRANGE s - +",
    "XINFO STREAM s FULL COUNT 0",
    "XPENDING s all - + 10000",
    "XINFO CONSUMERS s all",
];

#[test]
fn corrupt_streams_are_refused() {
    let refused = |kind: u8, value: &[u8]| {
        let file = file_of(11, &[&entry(kind, "s", value)]);
        let error = load(&file, 1000).expect_err("refused");
        error.to_string().split(": ").nth(1).map(str::to_owned)
    };
    let with = |at: usize, element: Element| {
        let mut elements = node();
        elements[at] = element;
        refused(19, &stream(19, &elements)).expect("a message")
    };
    let key = ", at key s";
    for (at, element, text) in [
        (
            0,
            Int(3),
            "the number of entries in a node of a stream differs from the count in the node",
        ),
        (0, Int(i64::MAX), "a node of a stream has an invalid count"),
        (
            0,
            Text("x"),
            "a node of a stream contains a text in place of a number",
        ),
        (
            2,
            Int(0),
            "a node of a stream contains a text in place of a number",
        ),
        (
            4,
            Int(1),
            "the list of fields in a node of a stream has no end mark",
        ),
        (
            12,
            Int(0),
            "the entries of a stream are not in ascending order",
        ),
        (14, Int(5), "the length of an entry of a stream is wrong"),
        (
            16,
            Int(-1),
            "the entries of a stream are not in ascending order",
        ),
        (
            16,
            Int(-6),
            "an entry of a stream has an id above the last id of the stream",
        ),
        (
            16,
            Int(2),
            "an entry of a stream has an id above the last id of the stream",
        ),
        (18, Int(0), "an entry of a stream has no fields"),
        (18, Int(9), "a node of a stream has an invalid count"),
    ] {
        assert_eq!(with(at, element), format!("{text}{key}"));
    }
    let mut elements = node();
    elements.pop();
    let text = refused(19, &stream(19, &elements));
    assert_eq!(text, Some(format!("a node of a stream is incomplete{key}")));
    // The last byte belongs to the id of the consumer's only pending entry.
    let mut other = stream(19, &node());
    *other.last_mut().expect("not empty") = 3;
    let text = refused(19, &other);
    assert_eq!(
        text,
        Some(format!(
            "a pending entry of a consumer is not in the consumer group{key}"
        ))
    );
    let mut unowned = stream(19, &node());
    unowned.truncate(unowned.len() - 17);
    unowned.push(0);
    let text = refused(19, &unowned);
    assert_eq!(
        text,
        Some(format!(
            "a pending entry of a consumer group has no consumer{key}"
        ))
    );
}
