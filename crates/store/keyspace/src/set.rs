//! Sets. A small set is a sorted list of integers or a packed list of strings; a large set is a
//! hash table.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use resp::Out;

use crate::dict::{Dict, Node};
use crate::memory::reallocate_vec;
use crate::memory::{allocated, room_bytes};
use crate::packed::Packed;
use crate::settings::Growth;
use crate::text::Key;

/// A set in one of its encodings.
#[derive(Clone, Debug)]
pub(crate) enum Set {
    Ints(Vec<i64>),
    Packed(Packed),
    Table(Dict<Member>),
}

/// A member of a set in table encoding.
type Member = Node<()>;

impl Set {
    pub(crate) fn new() -> Self {
        Self::Ints(Vec::new())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ints(ints) => ints.len(),
            Self::Packed(packed) => packed.len(),
            Self::Table(table) => table.len(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(size_of::<Self>())
            + match self {
                Self::Ints(ints) => room_bytes::<i64>(ints.capacity()),
                Self::Packed(packed) => packed.heap_bytes(),
                Self::Table(table) => table.heap_bytes(),
            }
    }

    /// Reallocates the heap memory of members, starting at slot `from`. Visits at most `left`
    /// slots, and subtracts their number from `left`. Returns the slot at which the next call
    /// continues, or `None` at the end of the set.
    pub(crate) fn reallocate(&mut self, from: usize, left: &mut usize) -> Option<usize> {
        match self {
            Self::Ints(ints) => {
                reallocate_vec(ints);
                None
            }
            Self::Packed(packed) => {
                packed.reallocate();
                None
            }
            Self::Table(table) => table.reallocate(from, left, |member| member.name.reallocate()),
        }
    }

    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Ints(_) => "intset",
            Self::Packed(_) => "listpack",
            Self::Table(_) => "hashtable",
        }
    }

    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        match self {
            Self::Ints(ints) => {
                resp::parse_int(name).is_some_and(|number| ints.binary_search(&number).is_ok())
            }
            Self::Packed(packed) => packed.iter().any(|member| member.bytes == name),
            Self::Table(table) => table.find(name).is_some(),
        }
    }

    /// Adds a member. Returns whether the member is new.
    pub(crate) fn add(&mut self, name: &[u8], growth: Growth) -> bool {
        if let Self::Ints(ints) = self {
            if let Some(number) = resp::parse_int(name) {
                let Err(at) = ints.binary_search(&number) else {
                    return false;
                };
                ints.insert(at, number);
                if growth.encodings.set_intset_entries_max < ints.len() {
                    self.unpack_ints(growth, 0);
                }
                return true;
            }
            self.unpack_ints(growth, name.len());
        }
        if let Self::Packed(packed) = self {
            if packed.iter().any(|member| member.bytes == name) {
                return false;
            }
            let is_long = growth.encodings.set_value_bytes_max < name.len();
            if !is_long && packed.len() < growth.encodings.set_entries_max {
                packed.push_back(name);
                return true;
            }
            let mut table = Dict::new(growth.seed);
            for member in packed.iter() {
                table.insert(Member::new(member.bytes, ()));
            }
            *self = Self::Table(table);
        }
        let Self::Table(table) = self else {
            unreachable!("other encodings became a table above");
        };
        if table.find(name).is_some() {
            return false;
        }
        table.insert(Member::new(name, ()));
        true
    }

    /// Converts a set of integers to an encoding for strings that can hold a member of `name_bytes`
    /// bytes.
    fn unpack_ints(&mut self, growth: Growth, name_bytes: usize) {
        let Self::Ints(ints) = self else {
            return;
        };
        let mut buffer = itoa::Buffer::new();
        let encodings = growth.encodings;
        let is_long = encodings.set_value_bytes_max < name_bytes;
        if !is_long && ints.len() < encodings.set_entries_max {
            let mut packed = Packed::default();
            for &number in ints.iter() {
                packed.push_back(buffer.format(number).as_bytes());
            }
            *self = Self::Packed(packed);
            return;
        }
        let mut table = Dict::new(growth.seed);
        for &number in ints.iter() {
            table.insert(Member::new(buffer.format(number).as_bytes(), ()));
        }
        *self = Self::Table(table);
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        match self {
            Self::Ints(ints) => {
                let number = resp::parse_int(name);
                let at = number.and_then(|number| ints.binary_search(&number).ok());
                at.map(|at| ints.remove(at)).is_some()
            }
            Self::Packed(packed) => {
                let mut members = packed.iter();
                let at = members
                    .find(|member| member.bytes == name)
                    .map(|member| member.at);
                if let Some(at) = at {
                    packed.remove(at);
                }
                at.is_some()
            }
            Self::Table(table) => table.remove(name).is_some(),
        }
    }

    /// Visits members until `visit` returns `false`.
    pub(crate) fn each(&self, mut visit: impl FnMut(&[u8]) -> bool) {
        match self {
            Self::Ints(ints) => {
                let mut buffer = itoa::Buffer::new();
                ints.iter()
                    .all(|&number| visit(buffer.format(number).as_bytes()));
            }
            Self::Packed(packed) => {
                packed.iter().all(|member| visit(member.bytes));
            }
            Self::Table(table) => {
                table.iter().all(|member| visit(member.name.bytes()));
            }
        }
    }

    /// Visits members from `position` on (0 is the start) until `visit` returns `false`. Returns
    /// the next position, unless the end was reached. Positions are valid until the set changes; a
    /// small set is visited as a whole.
    pub(crate) fn each_from(
        &self,
        position: usize,
        mut visit: impl FnMut(&[u8]) -> bool,
    ) -> Option<usize> {
        match self {
            Self::Ints(_) | Self::Packed(_) => {
                self.each(|name| {
                    visit(name);
                    true
                });
                None
            }
            Self::Table(table) => table
                .iter_from(position)
                .find(|(_, member)| !visit(member.name.bytes()))
                .map(|it| it.0),
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self, Self::Table(_))
    }

    /// Starts to protect the members of a table at `position` and all later positions, for
    /// [`Set::take_guarded`]: each member is copied before its removal.
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

    /// Passes members to `visit`, in their state at the call of [`Set::guard`]. Stops when `visit`
    /// returns `false`; the next call continues with the next member. Returns whether all members
    /// were passed.
    pub(crate) fn take_guarded(&mut self, mut visit: impl FnMut(&[u8]) -> bool) -> bool {
        match self {
            Self::Table(table) => table.take_guarded(|member| visit(member.name.bytes())),
            Self::Ints(_) | Self::Packed(_) => unreachable!("only tables are guarded"),
        }
    }

    /// Frees up to `left` members of a removed set. Returns whether the set is now small enough to
    /// be dropped.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        match self {
            Self::Ints(_) | Self::Packed(_) => true,
            Self::Table(table) => table.free_some(left),
        }
    }

    /// Visits the members of one bucket, and returns the next cursor.
    pub(crate) fn scan(&self, cursor: u64, mut visit: impl FnMut(&[u8])) -> u64 {
        match self {
            Self::Ints(_) | Self::Packed(_) => {
                self.each(|name| {
                    visit(name);
                    true
                });
                0
            }
            Self::Table(table) => table.scan(cursor, |_, member| visit(member.name.bytes())),
        }
    }

    /// Returns a random member; all members are equally likely.
    pub(crate) fn random(&self, rng: &mut fastrand::Rng) -> Option<Key> {
        match self {
            Self::Ints(ints) => {
                let number = rng.choice(ints)?;
                Some(Key::new(itoa::Buffer::new().format(*number).as_bytes()))
            }
            Self::Packed(packed) if packed.is_empty() => None,
            Self::Packed(packed) => {
                let index = rng.usize(..packed.len());
                packed.get(index).map(Key::new)
            }
            Self::Table(table) => Some(table.at(table.random(rng)?).name.clone()),
        }
    }

    pub(crate) fn send(&self, out: &mut Out) {
        out.set(self.len());
        self.each(|name| {
            out.bulk(name);
            true
        });
    }
}
