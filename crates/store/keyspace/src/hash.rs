//! Hashes: packed while they are small, then a table.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use resp::Out;

use crate::dict::{Dict, Node, Seed};
use crate::memory::allocated;
use crate::packed::Packed;
use crate::settings::Growth;
use crate::string::Str;

/// A hash in one of its encodings.
#[derive(Clone, Debug)]
pub(crate) enum Hash {
    Packed(Packed),
    Table(Dict<Field>),
}

/// A field of a hash in table encoding, with its value.
type Field = Node<Str>;

/// A reference to a field's value in either encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldValue<'a> {
    Short(&'a [u8]),
    Str(&'a Str),
}

impl<'a> FieldValue<'a> {
    pub(crate) fn send(self, out: &mut Out) {
        match self {
            Self::Short(bytes) => out.bulk(bytes),
            Self::Str(value) => value.send(out),
        }
    }

    pub(crate) fn len(self) -> usize {
        match self {
            Self::Short(bytes) => bytes.len(),
            Self::Str(value) => value.len(),
        }
    }

    pub(crate) fn bytes(self, buffer: &'a mut itoa::Buffer) -> &'a [u8] {
        match self {
            Self::Short(bytes) => bytes,
            Self::Str(value) => value.bytes(buffer),
        }
    }
}

impl Hash {
    pub(crate) fn new() -> Self {
        Self::Packed(Packed::default())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Packed(packed) => packed.len() / 2,
            Self::Table(table) => table.len(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>())
            + match self {
                Self::Packed(packed) => packed.heap_bytes(),
                Self::Table(table) => table.heap_bytes(),
            }
    }

    /// Reallocates the heap memory of fields, starting at slot `from`. Visits at most `left` slots,
    /// and subtracts their number from `left`. Returns the slot at which the next call continues,
    /// or `None` at the end of the hash.
    pub(crate) fn reallocate(&mut self, from: usize, left: &mut usize) -> Option<usize> {
        match self {
            Self::Packed(packed) => {
                packed.reallocate();
                None
            }
            Self::Table(table) => table.reallocate(from, left, |field| {
                field.name.reallocate();
                field.value.reallocate();
            }),
        }
    }

    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Packed(_) => "listpack",
            Self::Table(_) => "hashtable",
        }
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<FieldValue<'_>> {
        match self {
            Self::Packed(packed) => {
                let mut pairs = packed.pairs();
                let found = pairs.find(|(field, _)| field.bytes == name);
                found.map(|(_, value)| FieldValue::Short(value))
            }
            Self::Table(table) => table.get(name).map(|field| FieldValue::Str(&field.value)),
        }
    }

    /// Sets a field. Returns whether the field is new.
    pub(crate) fn set(&mut self, name: &[u8], value: Str, growth: Growth) -> bool {
        let Growth { encodings, seed } = growth;
        let is_long = encodings.hash_value_bytes_max < name.len().max(value.len());
        if let Self::Packed(packed) = self {
            let at = packed
                .iter()
                .step_by(2)
                .position(|field| field.bytes == name);
            let is_full = at.is_none() && encodings.hash_entries_max < packed.len() / 2 + 1;
            if is_long || is_full {
                self.unpack(seed);
            } else {
                let mut buffer = itoa::Buffer::new();
                let value = value.bytes(&mut buffer);
                if let Some(at) = at {
                    let offset = packed
                        .element(at * 2 + 1)
                        .expect("each field has a value")
                        .at;
                    packed.replace(offset, value);
                } else {
                    packed.push_back(name);
                    packed.push_back(value);
                }
                return at.is_none();
            }
        }
        let Self::Table(table) = self else {
            unreachable!("unpacked above");
        };
        if let Some(slot) = table.find(name) {
            let field = table.change(slot);
            let before = std::mem::replace(&mut field.value, value).heap_bytes();
            let after = field.value.heap_bytes();
            table.resized(before, after);
            return false;
        }
        table.insert(Field::new(name, value));
        true
    }

    fn unpack(&mut self, seed: Seed) {
        let Self::Packed(packed) = self else {
            return;
        };
        let mut table = Dict::new(seed);
        for (name, value) in packed.pairs() {
            table.insert(Field::new(name.bytes, Str::copied(value)));
        }
        *self = Self::Table(table);
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        match self {
            Self::Packed(packed) => {
                let at = packed
                    .iter()
                    .step_by(2)
                    .position(|field| field.bytes == name);
                if let Some(at) = at {
                    packed.remove_range(at * 2..at * 2 + 2);
                }
                at.is_some()
            }
            Self::Table(table) => table.remove(name).is_some(),
        }
    }

    pub(crate) fn each<'a>(&'a self, mut visit: impl FnMut(&'a [u8], FieldValue<'a>)) {
        match self {
            Self::Packed(packed) => {
                for (name, value) in packed.pairs() {
                    visit(name.bytes, FieldValue::Short(value));
                }
            }
            Self::Table(table) => {
                for field in table.iter() {
                    visit(field.name.bytes(), FieldValue::Str(&field.value));
                }
            }
        }
    }

    /// Visits fields from `position` on (0 is the start) until `visit` returns `false`. Returns the
    /// next position, unless the end was reached. Positions are valid until the hash changes; a
    /// packed hash is visited as a whole.
    pub(crate) fn each_from<'a>(
        &'a self,
        position: usize,
        mut visit: impl FnMut(&'a [u8], FieldValue<'a>) -> bool,
    ) -> Option<usize> {
        match self {
            Self::Packed(_) => {
                self.each(|name, value| _ = visit(name, value));
                None
            }
            Self::Table(table) => table
                .iter_from(position)
                .find(|(_, field)| !visit(field.name.bytes(), FieldValue::Str(&field.value)))
                .map(|it| it.0),
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self, Self::Table(_))
    }

    /// Starts to protect the fields of a table at `position` and all later positions, for
    /// [`Hash::take_guarded`]: each field is copied before its first change.
    pub(crate) fn guard(&mut self, position: usize, copied_bytes: &Arc<AtomicUsize>) {
        if let Self::Table(table) = self {
            table.guard(position, copied_bytes);
        }
    }

    pub(crate) fn unguard(&mut self) {
        if let Self::Table(table) = self {
            table.unguard();
        }
    }

    /// Passes the fields, as they were when [`Hash::guard`] was called, to `visit`. Stops when
    /// `visit` returns `false`; the next call continues with the next field. Returns whether all
    /// fields were passed.
    pub(crate) fn take_guarded(
        &mut self,
        mut visit: impl FnMut(&[u8], FieldValue<'_>) -> bool,
    ) -> bool {
        match self {
            Self::Table(table) => {
                table.take_guarded(|field| visit(field.name.bytes(), FieldValue::Str(&field.value)))
            }
            Self::Packed(_) => unreachable!("only tables are guarded"),
        }
    }

    /// Frees up to `left` fields of a removed hash. Returns whether the hash is now small enough to
    /// be dropped.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        match self {
            Self::Packed(_) => true,
            Self::Table(table) => table.free_some(left),
        }
    }

    /// Visits the fields of one bucket, and returns the next cursor.
    pub(crate) fn scan<'a>(
        &'a self,
        cursor: u64,
        mut visit: impl FnMut(&'a [u8], FieldValue<'a>),
    ) -> u64 {
        match self {
            Self::Packed(_) => {
                self.each(visit);
                0
            }
            Self::Table(table) => table.scan(cursor, |_, field| {
                visit(field.name.bytes(), FieldValue::Str(&field.value));
            }),
        }
    }

    /// Returns a random field; all fields are equally likely.
    pub(crate) fn random(&self, rng: &mut fastrand::Rng) -> Option<(&[u8], FieldValue<'_>)> {
        match self {
            Self::Packed(packed) if packed.is_empty() => None,
            Self::Packed(packed) => {
                let index = rng.usize(..packed.len() / 2);
                let (name, value) = packed.pairs().nth(index)?;
                Some((name.bytes, FieldValue::Short(value)))
            }
            Self::Table(table) => {
                let field = table.at(table.random(rng)?);
                Some((field.name.bytes(), FieldValue::Str(&field.value)))
            }
        }
    }
}
