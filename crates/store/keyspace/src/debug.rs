//! DEBUG's harmless parts, as far as they are about data.

use std::collections::BTreeSet;

use bytes::Bytes;
use resp::Out;

use crate::dict::Seed;
use crate::keyspace::Keyspace;
use crate::rdb::{Writer, write_value};
use crate::session::Session;
use crate::value::Value;

/// Hashes of a digest are under this key, so that every server computes the same.
const SEED: Seed = Seed(0, 0);

impl Keyspace {
    /// Runs DEBUG with these arguments, `DEBUG` itself being the first; `false` if it is not one of ours, with nothing
    /// written.
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
            // What is longer than a node of a list stands alone here at one size only.
            (Some(b"quicklist-packed-threshold"), [_, _, _]) => out.ok(),
            _ => return false,
        }
        true
    }

    /// A hash of all data; the order in which it is kept does not matter.
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

/// Forty hexadecimal digits, as many as a SHA-1 has, which is what Redis answers with.
fn text(hash: u64) -> String {
    format!("{hash:040x}")
}

fn serialized(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, false);
    write_value(value, &mut writer);
    bytes
}

/// A hash of a value, the same for all orders and encodings in which it may be kept.
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
        Value::Str(_) | Value::List(_) | Value::Zset(_) => return SEED.hash(&serialized(value)),
    }
    let hashes = parts.iter().map(|part| SEED.hash(part));
    hashes.fold(parts.len() as u64, |sum, hash| sum.wrapping_add(hash))
}
