//! Keyspace notifications: the enabled classes, and the events.

use bytes::Bytes;

/// Class of an event. The comment on each class begins with its letter in `notify-keyspace-events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `g`: commands that work on any type.
    Generic,
    /// `$`: commands on strings.
    String,
    /// `l`: commands on lists.
    List,
    /// `s`: commands on sets.
    Set,
    /// `h`: commands on hashes.
    Hash,
    /// `z`: commands on sorted sets.
    Zset,
    /// `x`: a key was removed because its deadline passed.
    Expired,
    /// `e`: a key was evicted.
    Evicted,
    /// `t`: commands on streams.
    Stream,
    /// `d`: key types of modules; never sent.
    Module,
    /// `m`: a read found no key; not among the classes that the letter `A` enables.
    KeyMiss,
    /// `n`: a key was created; not among the classes that the letter `A` enables.
    New,
}

const LETTERS: [(u8, Class); 12] = [
    (b'g', Class::Generic),
    (b'$', Class::String),
    (b'l', Class::List),
    (b's', Class::Set),
    (b'h', Class::Hash),
    (b'z', Class::Zset),
    (b'x', Class::Expired),
    (b'e', Class::Evicted),
    (b't', Class::Stream),
    (b'd', Class::Module),
    (b'm', Class::KeyMiss),
    (b'n', Class::New),
];
const KEYSPACE: u32 = 1 << 30;
const KEYEVENT: u32 = 1 << 31;
/// Mask of the classes that the letter `A` in `notify-keyspace-events` enables.
const ALL: u32 = (1 << 10) - 1;

/// Enabled classes and channels: the value of `notify-keyspace-events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notify(u32);

impl Notify {
    /// Parses the letters; `None` if one of them is unknown.
    #[must_use]
    pub fn parse(letters: &[u8]) -> Option<Self> {
        let mut mask = 0;
        for letter in letters {
            mask |= match letter {
                b'A' => ALL,
                b'K' => KEYSPACE,
                b'E' => KEYEVENT,
                _ => {
                    let (_, class) = LETTERS.iter().find(|(it, _)| it == letter)?;
                    1 << *class as u32
                }
            };
        }
        Some(Self(mask))
    }

    /// Returns the letters in the order in which CONFIG GET lists them.
    #[must_use]
    pub fn letters(self) -> String {
        let mut letters = String::new();
        let wants = |class: Class| self.0 & (1 << class as u32) != 0;
        let all = self.0 & ALL == ALL;
        if all {
            letters.push('A');
        }
        let in_all = |class: Class| ALL & (1 << class as u32) != 0;
        let of = |is_wanted: &dyn Fn(Class) -> bool| {
            let wanted = LETTERS.iter().filter(|(_, class)| is_wanted(*class));
            wanted
                .map(|(letter, _)| char::from(*letter))
                .collect::<String>()
        };
        letters += &of(&|class| wants(class) && in_all(class) && !all);
        if self.0 & KEYSPACE != 0 {
            letters.push('K');
        }
        if self.0 & KEYEVENT != 0 {
            letters.push('E');
        }
        letters += &of(&|class| wants(class) && !in_all(class));
        letters
    }

    /// Returns whether events are published on `__keyspace@DB__:KEY`.
    #[must_use]
    pub fn keyspace(self) -> bool {
        self.0 & KEYSPACE != 0
    }

    /// Returns whether events are published on `__keyevent@DB__:NAME`.
    #[must_use]
    pub fn keyevent(self) -> bool {
        self.0 & KEYEVENT != 0
    }

    pub(crate) fn wants(self, class: Class) -> bool {
        self.0 & (KEYSPACE | KEYEVENT) != 0 && self.0 & (1 << class as u32) != 0
    }
}

/// An event on a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Index of the database.
    pub db: usize,
    /// Class of the event.
    pub class: Class,
    /// Name of the event, such as `lpush`.
    pub name: &'static str,
    /// Key that the event concerns.
    pub key: Bytes,
}
