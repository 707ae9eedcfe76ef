//! Streams in the RDB format.
//!
//! ```text
//! stream:    node count │ node … │ entry count │ last id
//!            │ [first id │ max deleted id │ entries added] │ group count │ group …
//! node:      first id as a string of 16 bytes │ listpack as a string
//! group:     name │ last id │ [entries read] │ count │ delivery … │ consumer count │ consumer …
//! delivery:  id as 16 bytes │ time as 8 bytes │ delivery count
//! consumer:  name │ time of its last command as 8 bytes │ [time of its last delivery as 8 bytes]
//!            │ count │ id as 16 bytes …
//! listpack:  live │ removed │ field count │ name … │ 0 │ entry …
//! entry:     flags │ ms │ seq │ [field count] │ text … │ number of elements before this one
//! ```
//!
//! The parts in brackets exist since Redis 7.0, the time of the last delivery since 7.2. `ms` and
//! `seq` of an entry count from the node's first id. An entry with the flag `SAME_FIELDS` has no
//! field count, and its texts are values only.

use std::borrow::Cow;

use super::decode::Reading;
use super::packs::{self, Piece};
use super::{Cursor, Position, Stop, Writer, kind};
use crate::listpack::Listpack;
use crate::stream::{Consumer, Delivery, Group, Id, IdMap, Node, Stream};

/// Format version from which on streams have the time of each consumer's last delivery.
pub(super) const ACTIVE_TIME_VERSION: u16 = 11;

/// Flag of an entry that was removed but is still in its listpack.
const REMOVED: i64 = 1;
/// Flag of an entry that has the fields of its node.
const SAME_FIELDS: i64 = 2;
/// Value of a group's number of read entries, if that number is unknown.
const UNKNOWN: u64 = u64::MAX;

/// Part of a stream that is written as a whole.
enum Part<'a> {
    Node(&'a Node),
    /// The fields between the nodes and the groups: the length, and several ids and counters.
    Ids(&'a Stream),
    /// The group up to its number of deliveries.
    Group(&'a Group),
    Deliveries(&'a [(Id, Delivery)]),
    ConsumerCount(&'a Group),
    /// The consumer up to its number of pending entries.
    Consumer(&'a Consumer),
    Pending(&'a [(Id, ())]),
}

/// Writes parts of the stream from `position` on until the work of the writer reaches `work_max`.
/// Returns the next position, or `None` if the stream is complete.
pub(super) fn write_part(
    stream: &Stream,
    mut position: Position,
    work_max: usize,
    writer: &mut Writer<'_>,
) -> Option<Position> {
    while let Some((part, next)) = part_at(stream, position) {
        part.write(writer);
        if work_max <= writer.work {
            return Some(next);
        }
        position = next;
    }
    None
}

/// Returns the part at a position, and the position of the part after it.
fn part_at(stream: &Stream, at: Position) -> Option<(Part<'_>, Position)> {
    let after = Position::at(at.index + 1);
    if let Some(node) = stream.nodes().get(at.index) {
        return Some((Part::Node(node), after));
    }
    let Some(index) = (at.index - stream.nodes().len()).checked_sub(1) else {
        return Some((Part::Ids(stream), after));
    };
    let group = stream.groups().get(index)?;
    let next_part = Position {
        part: at.part + 1,
        chunk: 0,
        ..at
    };
    // The parts of a group: its head, its deliveries, the number of its consumers, its consumers.
    let Some(part) = at.part.checked_sub(1) else {
        return Some((Part::Group(group), next_part));
    };
    let Some(part) = part.checked_sub(group.pending().chunks()) else {
        return Some((Part::Deliveries(group.pending().chunk(part)), next_part));
    };
    let Some(place) = part.checked_sub(1) else {
        let next = match group.consumers_len() {
            0 => after,
            _ => next_part,
        };
        return Some((Part::ConsumerCount(group), next));
    };
    let consumer = group.consumer_at(place);
    let next = if at.chunk < consumer.pending.chunks() {
        Position {
            chunk: at.chunk + 1,
            ..at
        }
    } else if place + 1 < group.consumers_len() {
        next_part
    } else {
        after
    };
    Some(match at.chunk.checked_sub(1) {
        None => (Part::Consumer(consumer), next),
        Some(chunk) => (Part::Pending(consumer.pending.chunk(chunk)), next),
    })
}

impl Part<'_> {
    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Node(node) => {
                writer.string(&node.first().to_bytes());
                writer.string(&listpack(node));
            }
            Self::Ids(stream) => {
                writer.len(stream.len());
                for id in [stream.last_id, stream.first_id(), stream.max_deleted_id] {
                    write_id(id, writer);
                }
                writer.len(stream.entries_added as usize);
                writer.len(stream.groups().len());
            }
            Self::Group(group) => {
                writer.string(&group.name);
                write_id(group.last_id, writer);
                writer.len(group.entries_read.unwrap_or(UNKNOWN) as usize);
                writer.len(group.pending().len());
            }
            Self::Deliveries(deliveries) => {
                for (id, delivery) in *deliveries {
                    writer.raw(&id.to_bytes());
                    writer.raw(&delivery.time_ms.to_le_bytes());
                    writer.len(delivery.count as usize);
                }
            }
            Self::ConsumerCount(group) => writer.len(group.consumers_len()),
            Self::Consumer(consumer) => {
                writer.string(&consumer.name);
                writer.raw(&consumer.seen_ms.to_le_bytes());
                if ACTIVE_TIME_VERSION <= writer.version {
                    writer.raw(&consumer.active_ms.unwrap_or(-1).to_le_bytes());
                }
                writer.len(consumer.pending.len());
            }
            Self::Pending(ids) => ids.iter().for_each(|(id, ())| writer.raw(&id.to_bytes())),
        }
    }
}

fn write_id(id: Id, writer: &mut Writer<'_>) {
    writer.len(id.ms as usize);
    writer.len(id.seq as usize);
}

fn listpack(node: &Node) -> Vec<u8> {
    let mut pack = Listpack::new();
    pack.push_int(node.len() as i64);
    pack.push_int(0);
    pack.push_int(node.field_names().count() as i64);
    node.field_names().for_each(|name| pack.push_text(name));
    pack.push_int(0);
    for entry in node.entries() {
        let first = node.first();
        let len = entry.len as i64;
        let has_node_fields = entry.has_node_fields();
        pack.push_int(if has_node_fields { SAME_FIELDS } else { 0 });
        // Differences wrap, as in Redis: `seq` may be below that of the first id.
        pack.push_int(entry.id.ms.wrapping_sub(first.ms) as i64);
        pack.push_int(entry.id.seq.wrapping_sub(first.seq) as i64);
        if !has_node_fields {
            pack.push_int(len);
        }
        for (name, value) in entry.fields() {
            if !has_node_fields {
                pack.push_text(name);
            }
            pack.push_text(value);
        }
        pack.push_int(if has_node_fields {
            3 + len
        } else {
            4 + 2 * len
        });
    }
    pack.finish()
}

/// Reads a stream of the RDB type `kind`.
pub(super) fn read(kind: u8, from: &mut Cursor<'_>, reading: Reading) -> Result<Stream, Stop> {
    let mut stream = Stream::new();
    let mut last = Id::MIN;
    for _ in 0..from.len()? {
        let first = from.string(reading.string_bytes_max)?.into_bytes();
        let first = <[u8; 16]>::try_from(&first[..]);
        let first = first.map_err(|_| Stop::Bad("a node of a stream has no id"))?;
        let pack = from.string(reading.string_bytes_max)?.into_bytes();
        let pieces = packs::listpack(&pack).ok_or(Stop::Bad("a node of a stream is corrupt"))?;
        let mut entries = NodeReader {
            pieces: pieces.iter(),
            first: Id::from_bytes(first),
            last,
        };
        if let Some(node) = entries.read()? {
            stream.push_node(node);
        }
        last = entries.last;
    }
    stream.recount();
    read_ids(kind, from, &mut stream)?;
    if stream.last_id < last {
        return Err(Stop::Bad(
            "an entry of a stream has an id above the last id of the stream",
        ));
    }
    for _ in 0..from.len()? {
        let group = read_group(kind, from, reading, &stream)?;
        if !stream.add_group(group) {
            return Err(Stop::Bad("a stream contains a duplicate consumer group"));
        }
    }
    Ok(stream)
}

fn read_id(from: &mut Cursor<'_>) -> Result<Id, Stop> {
    Ok(Id::new(from.len()? as u64, from.len()? as u64))
}

/// Reads a number, and refuses one above `i64::MAX`: the commands of the append-only file, which
/// repeat these numbers, take signed integers.
fn read_number(from: &mut Cursor<'_>) -> Result<u64, Stop> {
    let number = from.len()? as u64;
    match i64::try_from(number) {
        Ok(_) => Ok(number),
        Err(_) => Err(Stop::Bad("a number in a stream is too large")),
    }
}

fn read_ids(kind: u8, from: &mut Cursor<'_>, stream: &mut Stream) -> Result<(), Stop> {
    if from.len()? != stream.len() {
        return Err(Stop::Bad(
            "a stream contains more or fewer entries than its count says",
        ));
    }
    stream.last_id = read_id(from)?;
    stream.entries_added = stream.len() as u64;
    if kind != kind::STREAM {
        // The first id is ignored, because the entries determine it.
        read_id(from)?;
        stream.max_deleted_id = read_id(from)?;
        stream.entries_added = read_number(from)?;
    }
    Ok(())
}

/// Reader of the entries in the listpack of one node.
struct NodeReader<'a> {
    pieces: std::slice::Iter<'a, Piece<'a>>,
    /// First id of the node; the file stores the ids of entries as differences from it.
    first: Id,
    /// Last id that was read, in this node or an earlier one.
    last: Id,
}

impl<'a> NodeReader<'a> {
    fn piece(&mut self) -> Result<&'a Piece<'a>, Stop> {
        self.pieces
            .next()
            .ok_or(Stop::Bad("a node of a stream is incomplete"))
    }

    fn int(&mut self) -> Result<i64, Stop> {
        match self.piece()? {
            Piece::Int(number) => Ok(*number),
            Piece::Text(_) => Err(Stop::Bad(
                "a node of a stream contains a text in place of a number",
            )),
        }
    }

    /// Reads a number of elements of the node, which cannot exceed the elements that are left.
    fn count(&mut self) -> Result<usize, Stop> {
        let count = usize::try_from(self.int()?).ok();
        let count = count.filter(|&count| count <= self.pieces.len());
        count.ok_or(Stop::Bad("a node of a stream has an invalid count"))
    }

    /// Returns the node, or `None` if all of its entries were removed.
    fn read(&mut self) -> Result<Option<Node>, Stop> {
        let (live, removed) = (self.count()?, self.count()?);
        let names = (0..self.count()?).map(|_| Ok(self.piece()?.text()));
        let names = names.collect::<Result<Vec<Cow<'a, [u8]>>, Stop>>()?;
        if self.int()? != 0 {
            return Err(Stop::Bad(
                "the list of fields in a node of a stream has no end mark",
            ));
        }
        let (mut node, mut found_removed): (Option<Node>, _) = (None, 0);
        while self.pieces.len() != 0 {
            let (flags, id, fields) = self.entry(&names)?;
            if flags & REMOVED != 0 {
                found_removed += 1;
            } else {
                // The node keeps the names of the file, even if the first entry has other names or
                // was removed. Otherwise each of the other entries would store its own names.
                let node = node.get_or_insert_with(|| Node::with_names(id, &names));
                node.append(id, &fields);
            }
        }
        let found_live = node.as_ref().map_or(0, Node::len);
        match (live, removed) == (found_live, found_removed) {
            true => Ok(node),
            false => Err(Stop::Bad(
                "the number of entries in a node of a stream differs from the count in the node",
            )),
        }
    }

    /// Reads an entry: its flags, its id, and its fields with their values.
    #[expect(clippy::type_complexity, reason = "the three parts are used at once")]
    fn entry(&mut self, names: &[Cow<'a, [u8]>]) -> Result<(i64, Id, Vec<Cow<'a, [u8]>>), Stop> {
        let before = self.pieces.len();
        let flags = self.int()?;
        let ms = self.first.ms.wrapping_add(self.int()? as u64);
        let id = Id::new(ms, self.first.seq.wrapping_add(self.int()? as u64));
        if id <= self.last || id < self.first {
            return Err(Stop::Bad(
                "the entries of a stream are not in ascending order",
            ));
        }
        self.last = id;
        let has_node_fields = flags & SAME_FIELDS != 0;
        let len = match has_node_fields {
            true => names.len(),
            false => self.count()?,
        };
        if len == 0 {
            return Err(Stop::Bad("an entry of a stream has no fields"));
        }
        let mut fields = Vec::new();
        let mut shared = has_node_fields.then(|| names.iter().cloned());
        for _ in 0..len {
            fields.push(match &mut shared {
                Some(names) => names.next().expect("`len` is the number of names"),
                None => self.piece()?.text(),
            });
            fields.push(self.piece()?.text());
        }
        let elements = before - self.pieces.len();
        match usize::try_from(self.int()?) == Ok(elements) {
            true => Ok((flags, id, fields)),
            false => Err(Stop::Bad("the length of an entry of a stream is wrong")),
        }
    }
}

fn read_group(
    kind: u8,
    from: &mut Cursor<'_>,
    reading: Reading,
    stream: &Stream,
) -> Result<Group, Stop> {
    let name = from.string(reading.string_bytes_max)?.into_bytes();
    let last_id = read_id(from)?;
    let entries_read = match kind {
        kind::STREAM => stream.entries_until(last_id),
        _ => match from.len()? as u64 {
            UNKNOWN => None,
            count if i64::try_from(count).is_ok() => Some(count),
            _ => {
                return Err(Stop::Bad(
                    "a number in a consumer group of a stream is too large",
                ));
            }
        },
    };
    let mut deliveries = IdMap::new();
    for _ in 0..from.len()? {
        let id = Id::from_bytes(from.array()?);
        let time_ms = i64::from_le_bytes(from.array()?);
        if deliveries
            .insert(id, (time_ms, read_number(from)?))
            .is_some()
        {
            return Err(Stop::Bad(
                "a consumer group contains a duplicate pending entry",
            ));
        }
    }
    let mut group = Group::new(&name, last_id, entries_read);
    for _ in 0..from.len()? {
        read_consumer(kind, from, reading, (&deliveries, &mut group))?;
    }
    match group.pending().len() == deliveries.len() {
        true => Ok(group),
        false => Err(Stop::Bad(
            "a pending entry of a consumer group has no consumer",
        )),
    }
}

/// Reads a consumer into its group. `deliveries` are the times and counts of all pending entries.
fn read_consumer(
    kind: u8,
    from: &mut Cursor<'_>,
    reading: Reading,
    (deliveries, group): (&IdMap<(i64, u64)>, &mut Group),
) -> Result<(), Stop> {
    let name = from.string(reading.string_bytes_max)?.into_bytes();
    let seen_ms = i64::from_le_bytes(from.array()?);
    let active_ms = match kind {
        kind::STREAM_3 => Some(i64::from_le_bytes(from.array()?)).filter(|&time| 0 <= time),
        _ => Some(seen_ms),
    };
    let consumer = group.add_consumer(&name, seen_ms);
    let consumer = consumer.ok_or(Stop::Bad("a consumer group contains a duplicate consumer"))?;
    group.set_active(consumer, active_ms);
    for _ in 0..from.len()? {
        let id = Id::from_bytes(from.array()?);
        let &(time_ms, count) = deliveries.get(id).ok_or(Stop::Bad(
            "a pending entry of a consumer is not in the consumer group",
        ))?;
        if group.pending().get(id).is_some() {
            return Err(Stop::Bad("a pending entry belongs to two consumers"));
        }
        group.deliver(
            id,
            Delivery {
                time_ms,
                count,
                consumer,
            },
        );
    }
    Ok(())
}
