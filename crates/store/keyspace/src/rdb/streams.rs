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
use super::{Cursor, Stop, Writer, kind};
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
    /// Everything between the nodes and the groups.
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
    position: usize,
    work_max: usize,
    writer: &mut Writer<'_>,
) -> Option<usize> {
    let nodes = stream.nodes();
    let first = position.min(nodes.len());
    let rest = parts_after_nodes(stream).skip(position - first);
    let parts = nodes
        .range(first..)
        .map(|node| Part::Node(node))
        .chain(rest);
    for (index, part) in parts.enumerate() {
        part.write(writer);
        if work_max <= writer.work {
            return Some(position + index + 1);
        }
    }
    None
}

fn parts_after_nodes(stream: &Stream) -> impl Iterator<Item = Part<'_>> {
    let groups = stream.groups().iter().flat_map(|group| {
        let consumers = group.consumers().flat_map(|consumer| {
            let ids = chunks(&consumer.pending).map(Part::Pending);
            std::iter::once(Part::Consumer(consumer)).chain(ids)
        });
        std::iter::once(Part::Group(group))
            .chain(chunks(group.pending()).map(Part::Deliveries))
            .chain(std::iter::once(Part::ConsumerCount(group)))
            .chain(consumers)
    });
    std::iter::once(Part::Ids(stream)).chain(groups)
}

fn chunks<V: Clone>(map: &IdMap<V>) -> impl Iterator<Item = &[(Id, V)]> {
    (0..map.chunks()).map(|index| map.chunk(index))
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
