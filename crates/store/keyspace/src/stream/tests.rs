use std::collections::BTreeMap;

use bytes::Bytes;
use fastrand::Rng;

use super::*;

const LIMITS: NodeLimits = NodeLimits {
    bytes_max: 200,
    entries_max: 7,
};

/// Number of random changes of a stream.
const CHANGES: usize = if cfg!(miri) { 100 } else { 3000 };
/// Number of random changes of a map.
const MAP_CHANGES: usize = if cfg!(miri) { 500 } else { 10_000 };

/// Model of a stream: a plain list of its entries.
type Plain = Vec<(Id, Vec<Bytes>)>;

fn fields(rng: &mut Rng) -> Vec<Bytes> {
    let names = ["a", "b", "a long name of a field"];
    let count = rng.usize(1..4);
    let fields = (0..count).flat_map(|at| {
        let value = match rng.u8(..4) {
            0 => rng.i64(..).to_string(),
            1 => "x".repeat(rng.usize(..300)),
            _ => rng.u8(..).to_string(),
        };
        [names[at].to_owned(), value]
    });
    fields.map(Bytes::from).collect()
}

fn plain<'a>(entries: impl Iterator<Item = Entry<'a>>) -> Plain {
    let texts = |entry: Entry<'a>| entry.fields().flat_map(|(name, value)| [name, value]);
    let copied = |entry: Entry<'a>| texts(entry).map(Bytes::copy_from_slice).collect();
    entries.map(|entry| (entry.id, copied(entry))).collect()
}

fn random_id(rng: &mut Rng, last: Id) -> Id {
    Id::new(rng.u64(..=last.ms), rng.u64(..4))
}

/// Checks the stream against the plain list, and its counters against its nodes.
fn assert_same(stream: &Stream, expected: &Plain) {
    assert_eq!(&plain(stream.range(Id::MIN, Id::MAX)), expected);
    let mut reversed = plain(stream.range_back(Id::MIN, Id::MAX));
    reversed.reverse();
    assert_eq!(&reversed, expected);
    assert_eq!(stream.len(), expected.len());
    let nodes_bytes: usize = stream.nodes.iter().map(|node| node.heap_bytes()).sum();
    assert_eq!(stream.nodes_bytes, nodes_bytes);
    assert!(stream.nodes.iter().all(|node| 0 < node.len()));
    assert_eq!(
        stream.first_id(),
        expected.first().map_or(Id::MIN, |it| it.0)
    );
    assert_eq!(stream.last_entry_id(), expected.last().map(|it| it.0));
}

fn assert_same_range(stream: &Stream, expected: &Plain, start: Id, end: Id) {
    let within = expected.iter().filter(|(id, _)| start <= *id && *id <= end);
    let within: Plain = within.cloned().collect();
    assert_eq!(plain(stream.range(start, end)), within);
    assert_eq!(stream.count(start, end, usize::MAX), within.len());
    assert_eq!(stream.count(start, end, 2), within.len().min(2));
    let mut reversed = plain(stream.range_back(start, end));
    reversed.reverse();
    assert_eq!(reversed, within);
}

#[test]
fn random_changes_agree_with_a_plain_list() {
    let mut rng = Rng::with_seed(1);
    let (mut stream, mut expected) = (Stream::new(), Plain::new());
    for step in 0..CHANGES {
        let shared = (rng.u8(..20) == 0).then(|| (stream.share(), expected.clone()));
        match rng.u8(..11) {
            0 => {
                let id = random_id(&mut rng, stream.last_id);
                let before = expected.len();
                expected.retain(|it| it.0 != id);
                assert_eq!(stream.remove(id), expected.len() < before);
            }
            1 if step % 7 == 0 => {
                let count = rng.usize(..40);
                let excess = expected.len().saturating_sub(count);
                let trimmed = stream.trim(Kept::Newest(count), Precision::Exact);
                assert_eq!(trimmed.entries, excess);
                expected.drain(..excess);
            }
            2 if step % 7 == 0 => {
                let id = random_id(&mut rng, stream.last_id);
                let before = expected.len();
                expected.retain(|it| id <= it.0);
                let removed = stream.trim(Kept::From(id), Precision::Exact);
                assert_eq!(removed.entries, before - expected.len());
            }
            3 => {
                let (start, end) = (random_id(&mut rng, stream.last_id), stream.last_id);
                assert_same_range(&stream, &expected, start, random_id(&mut rng, end));
            }
            4 => {
                // As XSETID does, which may also lower the id after the last entries were removed.
                let lowest = stream.last_entry_id().unwrap_or(Id::MIN);
                stream.last_id = match rng.bool() {
                    true => lowest,
                    false => Id::new(stream.last_id.ms, stream.last_id.seq + 1),
                };
            }
            _ => {
                let last = stream.last_id;
                let id = match rng.bool() {
                    true => last.next().expect("far from the end"),
                    false => Id::new(last.ms + rng.u64(1..3), rng.u64(..3)),
                };
                let fields = fields(&mut rng);
                stream.append(id, &fields, LIMITS);
                expected.push((id, fields));
            }
        }
        assert_same(&stream, &expected);
        if let Some((stream, expected)) = shared {
            assert_same(&stream, &expected);
        }
    }
}

#[test]
fn approximate_trimming_removes_whole_nodes() {
    let mut stream = Stream::new();
    for ms in 1..=30 {
        stream.append(
            Id::new(ms, 0),
            &[Bytes::from("f"), Bytes::from("v")],
            LIMITS,
        );
    }
    let whole = |entries_max| Precision::WholeNodes { entries_max };
    assert_eq!(stream.nodes().len(), 5);
    assert_eq!(stream.trim(Kept::Newest(17), whole(None)).entries, 7);
    assert_eq!(stream.trim(Kept::Newest(0), whole(Some(10))).entries, 7);
    assert_eq!(
        stream.trim(Kept::From(Id::new(21, 0)), whole(None)).entries,
        0
    );
    assert_eq!(
        stream.trim(Kept::From(Id::new(22, 0)), whole(None)).entries,
        7
    );
    assert_eq!(stream.first_id(), Id::new(22, 0));
}

#[test]
fn the_memory_of_removed_entries_is_freed() {
    let mut stream = Stream::new();
    let limits = NodeLimits {
        bytes_max: 0,
        entries_max: 100,
    };
    let fields = [Bytes::from("f"), Bytes::from(vec![b'v'; 1_000])];
    for ms in 1..=200 {
        stream.append(Id::new(ms, 0), &fields, limits);
    }
    assert_eq!(stream.nodes().len(), 2);
    // In a node to which no entries are appended any more, entries are freed at once.
    let before = stream.nodes[0].heap_bytes();
    for ms in 41..=50 {
        assert!(stream.remove(Id::new(ms, 0)));
    }
    assert!(stream.nodes[0].heap_bytes() + 8_000 < before);
    stream.trim(Kept::From(Id::new(91, 0)), Precision::Exact);
    assert!(stream.nodes[0].heap_bytes() < 13_000);
    // The last node keeps at most twice the bytes of its entries.
    for ms in 101..=190 {
        stream.remove(Id::new(ms, 0));
    }
    assert!(stream.nodes[1].heap_bytes() < 25_000);
    let nodes_bytes: usize = stream.nodes.iter().map(|node| node.heap_bytes()).sum();
    assert_eq!(stream.nodes_bytes, nodes_bytes);
}

#[test]
fn ids_end_at_the_largest_one() {
    assert_eq!(Id::MAX.next(), None);
    assert_eq!(Id::MIN.previous(), None);
    assert_eq!(Id::new(5, u64::MAX).next(), Some(Id::new(6, 0)));
    assert_eq!(Id::new(6, 0).previous(), Some(Id::new(5, u64::MAX)));
    assert_eq!(Id::parse(b"18446744073709551616-0", 0), None);
    assert_eq!(Id::parse(b"007-08", 0), Some(Id::new(7, 8)));
    assert_eq!(Id::parse(b"7", 9), Some(Id::new(7, 9)));
    let invalid = [&b""[..], b"-", b"-1", b"1-", b"+1", b"1-2-3", b"1 "];
    assert!(invalid.iter().all(|text| Id::parse(text, 0).is_none()));
}

#[test]
fn entries_with_the_largest_ids_keep_them() {
    let mut stream = Stream::new();
    let ids = [
        Id::new(0, u64::MAX),
        Id::new(1, 0),
        Id::new(u64::MAX, 0),
        Id::new(u64::MAX, u64::MAX - 1),
        Id::MAX,
    ];
    for id in ids {
        stream.append(id, &[Bytes::from("f"), Bytes::from("v")], LIMITS);
    }
    let found: Vec<Id> = stream.range(Id::MIN, Id::MAX).map(|it| it.id).collect();
    assert_eq!(found, ids);
    assert!(ids.iter().all(|&id| stream.get(id).is_some()));
}

/// Checks the map against the plain map, from `start` on.
fn assert_same_map(map: &IdMap<u32>, expected: &BTreeMap<Id, u32>, start: Id) {
    let found: Vec<(Id, u32)> = map.iter_from(start).map(|(id, it)| (id, *it)).collect();
    let wanted = expected.range(start..).map(|(id, it)| (*id, *it));
    assert_eq!(found, wanted.collect::<Vec<_>>());
    assert_eq!(map.len(), expected.len());
    assert_eq!(map.first(), expected.keys().next().copied());
    assert_eq!(map.last(), expected.keys().next_back().copied());
    let mut chunks = (0..map.chunks()).map(|at| map.chunk(at).len());
    assert!(chunks.all(|len| (1..=128).contains(&len)));
}

#[test]
fn pending_entries_agree_with_a_plain_map() {
    let mut rng = Rng::with_seed(2);
    let (mut map, mut expected) = (IdMap::new(), BTreeMap::new());
    let mut shared = (map.clone(), expected.clone());
    for step in 0..MAP_CHANGES {
        let id = Id::new(rng.u64(..2000), 0);
        match rng.u8(..3) {
            0 => assert_eq!(map.remove(id), expected.remove(&id)),
            1 => assert_eq!(map.get(id), expected.get(&id)),
            _ => {
                let value = rng.u32(..);
                assert_eq!(map.insert(id, value), expected.insert(id, value));
            }
        }
        if step % 100 == 0 {
            let start = Id::new(rng.u64(..2000), 0);
            assert_same_map(&map, &expected, start);
            assert_same_map(&shared.0, &shared.1, start);
            shared = (map.clone(), expected.clone());
        }
    }
}

#[test]
fn the_number_of_a_removed_consumer_is_used_again() {
    let mut group = Group::new(b"group", Id::MIN, None);
    let numbers = [b"a", b"b", b"c"].map(|name| group.add_consumer(name, 1));
    let [a, b, _] = numbers.map(|number| number.expect("the name is new"));
    let delivery = Delivery {
        time_ms: 1,
        count: 1,
        consumer: b,
    };
    group.deliver(Id::new(1, 0), delivery);
    assert_eq!(group.remove_consumer(b), 1);
    assert_eq!(group.remove_consumer(a), 0);
    assert_eq!(group.add_consumer(b"c", 1), None);
    let mut reused = [b"d", b"e", b"f"].map(|name| group.add_consumer(name, 1));
    assert_eq!(reused[..2], [Some(a), Some(b)]);
    assert!(
        reused[2]
            .take()
            .is_some_and(|number| number != a && number != b)
    );
    let names: Vec<&[u8]> = group.consumers().map(|consumer| &*consumer.name).collect();
    assert_eq!(names, [b"c", b"d", b"e", b"f"]);
    assert!(
        group
            .consumers()
            .all(|consumer| consumer.pending.len() == 0)
    );
}

#[test]
fn a_shared_group_copies_only_the_consumers_that_change() {
    let mut stream = Stream::new();
    for name in [b"g", b"h"] {
        assert!(stream.add_group(Group::new(name, Id::MIN, None)));
        let added = stream.edit_group(name, |group| {
            [b"a", b"b"].map(|name| group.add_consumer(name, 1).is_some())
        });
        assert_eq!(added, Some([true, true]));
    }
    let shared = stream.share();
    stream.edit_group(b"g", |group| {
        let consumer = group.find_consumer(b"a").expect("it was added");
        group.set_seen(consumer, 2);
    });
    let consumer = |stream: &Stream, group: &[u8], name| {
        let group = stream.group(group).expect("it was added");
        let number = group.find_consumer(name).expect("it was added");
        std::ptr::from_ref(group.consumer(number))
    };
    let is_same = |group, name| consumer(&stream, group, name) == consumer(&shared, group, name);
    assert!(!is_same(b"g", b"a"));
    assert!(is_same(b"g", b"b") && is_same(b"h", b"a"));
    let seen = |stream: &Stream| {
        let group = stream.group(b"g").expect("it was added");
        let times = group.consumers().map(|consumer| consumer.seen_ms);
        times.collect::<Vec<_>>()
    };
    assert_eq!((seen(&stream), seen(&shared)), (vec![2, 1], vec![1, 1]));
    let bytes: usize = stream.groups.iter().map(|group| group.heap_bytes()).sum();
    assert_eq!(stream.groups_bytes, bytes);
    let removed = stream.remove_group(b"h").expect("it was added");
    assert_eq!(removed.groups_bytes + stream.groups_bytes, bytes);
    drop(shared);
    let mut left = 100;
    assert!(
        [removed, stream]
            .iter_mut()
            .all(|part| part.free_some(&mut left))
    );
}

/// A file may have a node whose first entry has other fields than the node, or was removed.
#[test]
fn entries_share_the_names_of_their_node_whatever_the_first_entry_has() {
    let name = [b'n'; 1_000];
    let mut node = Node::with_names(Id::new(1, 1), &[name]);
    node.append(Id::new(1, 1), &["a", "b"]);
    for seq in 2..12 {
        node.append(Id::new(1, seq), &[&name[..], b"v"]);
    }
    node.shrink();
    assert!(node.heap_bytes() < 3_000, "{}", node.heap_bytes());
    let last = node.entries().next_back().expect("it was appended");
    let fields: Vec<_> = last.fields().collect();
    assert_eq!(fields, [(&name[..], &b"v"[..])]);
}
