//! Keyspace notifications: which are wanted, and what happened.

use bytes::Bytes;

/// What an event is about; its letter in `notify-keyspace-events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `g`: commands that work on any type.
    Generic,
    /// `$`
    String,
    /// `l`
    List,
    /// `s`
    Set,
    /// `h`
    Hash,
    /// `z`
    Zset,
    /// `x`: a deadline passed.
    Expired,
    /// `e`: memory was needed.
    Evicted,
    /// `t`
    Stream,
    /// `d`
    Module,
    /// `m`: a read of a key that is not there; not part of `A`.
    KeyMiss,
    /// `n`: a key that was not there before; not part of `A`.
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
/// All classes that `A` stands for.
const ALL: u32 = (1 << 10) - 1;

/// The value of `notify-keyspace-events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notify(u32);

impl Notify {
    /// Reads the letters; `None` if one of them is unknown.
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

    /// The letters as CONFIG GET prints them.
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

    /// Whether an event goes to `__keyspace@DB__:KEY`.
    #[must_use]
    pub fn keyspace(self) -> bool {
        self.0 & KEYSPACE != 0
    }

    /// Whether an event goes to `__keyevent@DB__:NAME`.
    #[must_use]
    pub fn keyevent(self) -> bool {
        self.0 & KEYEVENT != 0
    }

    pub(crate) fn wants(self, class: Class) -> bool {
        self.0 & (KEYSPACE | KEYEVENT) != 0 && self.0 & (1 << class as u32) != 0
    }
}

/// Something that happened to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The database.
    pub db: usize,
    /// What it is about.
    pub class: Class,
    /// Its name, such as `lpush`.
    pub name: &'static str,
    /// The key.
    pub key: Bytes,
}
