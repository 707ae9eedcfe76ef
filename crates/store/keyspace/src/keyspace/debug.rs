//! Subcommands of DEBUG that describe the stored data and do not change it.

use std::collections::BTreeSet;

use bytes::Bytes;
use resp::Out;

use super::Keyspace;
use crate::dict::Seed;
use crate::rdb::{Writer, write_value};
use crate::session::Session;
use crate::stream::Id;
use crate::value::Value;

/// Fixed hash key of digests, so that every server computes the same digest.
const SEED: Seed = Seed(0, 0);

impl Keyspace {
    /// Runs DEBUG; `args[0]` is `DEBUG` itself. If this crate does not have the subcommand, returns
    /// `false` and writes nothing.
    pub fn debug(&mut self, session: &Session, args: &[Bytes], out: &mut Out) -> bool {
        let name = args.get(1).map(|arg| arg.to_ascii_lowercase());
        match (name.as_deref(), args) {
            (Some(b"object"), [_, _, key]) => match self.dbs[session.db].dict.get(key) {
                Some(entry) => {
                    let encoding = entry.value.encoding();
                    let bytes = serialized(&entry.value).len();
                    out.simple(&format!(
                        "Value at:0x0 refcount:1 encoding:{encoding} serializedlength:{bytes} lru:0 lru_seconds_idle:0"
                    ));
                }
                None => out.error("ERR no such key"),
            },
            (Some(b"digest"), [_, _]) => out.simple(&self.digest()),
            (Some(b"digest-value"), [_, _, keys @ ..]) => {
                out.array(keys.len());
                for key in keys {
                    let entry = self.dbs[session.db].dict.get(key);
                    let hash = entry.map_or(0, |entry| value_hash(&entry.value));
                    out.simple(&text(hash));
                }
            }
            // This setting has no effect. In Redis, an element of a list gets its own node from
            // this length on. In this store, the length is fixed.
            (Some(b"quicklist-packed-threshold"), [_, _, _]) => out.ok(),
            _ => return false,
        }
        true
    }

    /// Returns a hash of all data. The hash does not depend on the storage order.
    fn digest(&self) -> String {
        let mut digest = 0u64;
        for (number, db) in self.dbs.iter().enumerate() {
            for entry in db.dict.iter() {
                let parts = [
                    SEED.hash(entry.key.bytes()),
                    value_hash(&entry.value),
                    entry.deadline_ms as u64,
                    number as u64,
                ];
                digest ^= SEED.hash(&parts.map(u64::to_le_bytes).concat());
            }
        }
        text(digest)
    }
}

/// Formats a hash as forty hexadecimal digits, as many as the SHA-1 digests in replies of Redis
/// have.
fn text(hash: u64) -> String {
    format!("{hash:040x}")
}

fn serialized(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, false);
    write_value(value, &mut writer);
    bytes
}

/// Returns a hash of a value. For hashes and sets, the result does not depend on the order of the
/// elements or on the encoding.
fn value_hash(value: &Value) -> u64 {
    let mut parts: BTreeSet<Vec<u8>> = BTreeSet::new();
    match value {
        Value::Hash(hash) => hash.each(|name, value| {
            let value = value.bytes(&mut itoa::Buffer::new()).to_vec();
            parts.insert([name, b"\0", &value].concat());
        }),
        Value::Set(set) => set.each(|name| {
            parts.insert(name.to_vec());
            true
        }),
        // Groups are left out, as in Redis, because their times depend on the clock.
        Value::Stream(stream) => {
            for entry in stream.range(Id::MIN, Id::MAX) {
                let mut part = entry.id.to_bytes().to_vec();
                for (name, value) in entry.fields() {
                    let lengths = [name.len(), value.len()].map(usize::to_le_bytes);
                    part.extend([&lengths.concat(), name, value].concat());
                }
                parts.insert(part);
            }
        }
        Value::Str(_) | Value::List(_) | Value::Zset(_) => return SEED.hash(&serialized(value)),
    }
    let hashes = parts.iter().map(|part| SEED.hash(part));
    hashes.fold(parts.len() as u64, |sum, hash| sum.wrapping_add(hash))
}
