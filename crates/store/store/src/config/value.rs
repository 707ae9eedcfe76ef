//! Types of directive values: how they are parsed and printed.

use std::fmt::Display;

/// A value of a directive, which is parsed from the words of a line and shown in the form of
/// `CONFIG GET`. Errors have the same text as in Redis.
pub(super) trait Value: Sized {
    fn read(words: &[String]) -> Result<Self, String>;
    fn show(&self) -> String;
}

fn one(words: &[String]) -> Result<&str, String> {
    match words {
        [word] => Ok(word),
        _ => Err("wrong number of arguments".to_owned()),
    }
}

pub(super) fn boolean(word: &str) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("argument must be 'yes' or 'no'".to_owned()),
    }
}

/// Parses an integer as Redis does: a plus sign or leading zeros are errors.
pub(super) fn integer(word: &str, min: i64, max: i64) -> Result<i64, String> {
    let number = word.parse::<i64>().ok();
    let number = number.filter(|number| number.to_string() == word);
    let number = number.ok_or("argument couldn't be parsed into an integer")?;
    within(number, min, max)
}

fn within<N: PartialOrd + Display>(number: N, min: N, max: N) -> Result<N, String> {
    match (&min..=&max).contains(&&number) {
        true => Ok(number),
        false => Err(format!(
            "argument must be between {min} and {max} inclusive"
        )),
    }
}

impl Value for bool {
    fn read(words: &[String]) -> Result<bool, String> {
        boolean(one(words)?)
    }

    fn show(&self) -> String {
        if *self { "yes" } else { "no" }.to_owned()
    }
}

impl Value for String {
    fn read(words: &[String]) -> Result<String, String> {
        Ok(one(words)?.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

/// A file name without a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) String);

impl Value for Name {
    fn read(words: &[String]) -> Result<Name, String> {
        match one(words)? {
            "" => Err("argument must not be empty".to_owned()),
            path if path.contains('/') => Err("can't be a path, just a filename".to_owned()),
            "." | ".." => Err("can't be a path, just a filename".to_owned()),
            name => Ok(Name(name.to_owned())),
        }
    }

    fn show(&self) -> String {
        self.0.clone()
    }
}

/// An integer within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Int<const MIN: i64, const MAX: i64>(pub(crate) i64);

impl<const MIN: i64, const MAX: i64> Value for Int<MIN, MAX> {
    fn read(words: &[String]) -> Result<Self, String> {
        integer(one(words)?, MIN, MAX).map(Int)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// A frequency in hertz. Values out of range are clamped to 1 or 500.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hertz(pub(crate) i64);

impl Value for Hertz {
    fn read(words: &[String]) -> Result<Hertz, String> {
        let hertz = integer(one(words)?, 0, i64::from(i32::MAX))?;
        Ok(Hertz(hertz.clamp(1, 500)))
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// A number of bytes, with an optional unit: `1k` is 1000, `1kb` is 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory<const MIN: u64 = 0, const MAX: u64 = { u64::MAX }>(pub(crate) u64);

impl<const MIN: u64, const MAX: u64> Value for Memory<MIN, MAX> {
    fn read(words: &[String]) -> Result<Self, String> {
        memory(one(words)?, MIN, MAX).map(Memory)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// Parses a number of bytes, with an optional unit, between `min` and `max`.
pub(super) fn memory(word: &str, min: u64, max: u64) -> Result<u64, String> {
    let bytes = size(word).ok_or("argument must be a memory value")?;
    within(bytes, min, max)
}

fn size(word: &str) -> Option<u64> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = word.split_at(digits);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1_000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

/// An octal file mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode(pub(crate) u32);

impl Value for Mode {
    fn read(words: &[String]) -> Result<Mode, String> {
        let mode = u32::from_str_radix(one(words)?, 8)
            .map_err(|_| "argument couldn't be parsed as an octal number".to_owned())?;
        match mode <= 0o777 {
            true => Ok(Mode(mode)),
            false => Err("argument must be between 0 and 777 inclusive".to_owned()),
        }
    }

    fn show(&self) -> String {
        format!("{:o}", self.0)
    }
}

/// Any number of words, shown separated by spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) Vec<String>);

impl Value for Words {
    fn read(words: &[String]) -> Result<Words, String> {
        let words = words.iter().flat_map(|word| word.split_ascii_whitespace());
        Ok(Words(words.map(str::to_owned).collect()))
    }

    fn show(&self) -> String {
        self.0.join(" ")
    }
}

/// The policy that picks the keys to evict when memory is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EvictionPolicy(pub(crate) keyspace::Policy);

impl Value for EvictionPolicy {
    fn read(words: &[String]) -> Result<EvictionPolicy, String> {
        keyspace::Policy::from_name(one(words)?.as_bytes())
            .map(EvictionPolicy)
            .ok_or_else(|| {
                "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, \
                 volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, allkeys-sieve, noeviction"
                    .to_owned()
            })
    }

    fn show(&self) -> String {
        self.0.name().to_owned()
    }
}

/// Classes of keyspace events that are published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Events(pub(crate) keyspace::Notify);

impl Value for Events {
    fn read(words: &[String]) -> Result<Events, String> {
        keyspace::Notify::parse(one(words)?.as_bytes())
            .map(Events)
            .ok_or_else(|| "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".to_owned())
    }

    fn show(&self) -> String {
        self.0.letters()
    }
}

/// A condition for a snapshot: at least `changes` changes and `seconds` seconds since the last
/// snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SavePoint {
    /// Minimum number of seconds since the last snapshot.
    pub(crate) seconds: u64,
    /// Minimum number of changes since the last snapshot.
    pub(crate) changes: u64,
}

impl Value for Vec<SavePoint> {
    fn read(words: &[String]) -> Result<Vec<SavePoint>, String> {
        let words = Words::read(words)?.0;
        if words.len() % 2 == 1 {
            return Err("Invalid save parameters".to_owned());
        }
        let number = |word: &String, min| match word.parse() {
            Ok(number) if min <= number => Ok(number),
            _ => Err("Invalid save parameters".to_owned()),
        };
        words
            .chunks_exact(2)
            .map(|pair| {
                Ok(SavePoint {
                    seconds: number(&pair[0], 1)?,
                    changes: number(&pair[1], 0)?,
                })
            })
            .collect()
    }

    fn show(&self) -> String {
        let points = self.iter();
        let points = points.map(|point| format!("{} {}", point.seconds, point.changes));
        points.collect::<Vec<_>>().join(" ")
    }
}

/// Limits on the output that waits for a client of one class. 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputLimit {
    /// Number of bytes of waiting output above which the connection is closed at once.
    pub(crate) hard_bytes: u64,
    /// Number of bytes of waiting output above which the connection is closed after `soft_seconds`.
    pub(crate) soft_bytes: u64,
    /// Seconds for which `soft_bytes` may be exceeded.
    pub(crate) soft_seconds: u64,
}

/// Output limits per class of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputLimits {
    /// Limit for clients that are neither subscribers nor replicas. Clients in `MONITOR` mode are
    /// included.
    pub(crate) normal: OutputLimit,
    /// Limit for replicas. It is only stored and shown, because replication is not supported.
    pub(crate) replica: OutputLimit,
    /// Limit for clients in pub/sub mode.
    pub(crate) pubsub: OutputLimit,
}

impl Default for OutputLimits {
    fn default() -> OutputLimits {
        let limit = |hard_bytes, soft_bytes| OutputLimit {
            hard_bytes,
            soft_bytes,
            soft_seconds: 60,
        };
        OutputLimits {
            normal: OutputLimit::default(),
            replica: limit(256 << 20, 64 << 20),
            pubsub: limit(32 << 20, 8 << 20),
        }
    }
}

impl OutputLimits {
    /// Returns the smallest limit over all classes, hard or soft. A client with less waiting output
    /// exceeds no limit. The class of replicas is ignored, because replication is not supported.
    pub(crate) fn least_bytes(&self) -> u64 {
        let bounds = [self.normal, self.pubsub].map(|it| [it.hard_bytes, it.soft_bytes]);
        let set = bounds.into_iter().flatten().filter(|bytes| 0 < *bytes);
        set.min().unwrap_or(u64::MAX)
    }

    /// Replaces the limits of the classes that `words` name.
    pub(super) fn update(&mut self, words: &[String]) -> Result<(), String> {
        let words = Words::read(words)?.0;
        if words.len() % 4 != 0 {
            return Err("Wrong number of arguments in buffer limit configuration.".to_owned());
        }
        let bad = || {
            "Error in hard, soft or soft_seconds setting in buffer limit configuration.".to_owned()
        };
        let mut updated = *self;
        for group in words.chunks_exact(4) {
            let class = match group[0].to_ascii_lowercase().as_str() {
                "normal" => &mut updated.normal,
                "slave" | "replica" => &mut updated.replica,
                "pubsub" => &mut updated.pubsub,
                _ => {
                    return Err(
                        "Invalid client class specified in buffer limit configuration.".to_owned(),
                    );
                }
            };
            *class = OutputLimit {
                hard_bytes: size(&group[1]).ok_or_else(bad)?,
                soft_bytes: size(&group[2]).ok_or_else(bad)?,
                soft_seconds: group[3].parse().map_err(|_| bad())?,
            };
        }
        *self = updated;
        Ok(())
    }

    pub(super) fn show(&self) -> String {
        let class = |name: &str, limit: &OutputLimit| {
            let OutputLimit {
                hard_bytes,
                soft_bytes,
                soft_seconds,
            } = limit;
            format!("{name} {hard_bytes} {soft_bytes} {soft_seconds}")
        };
        [
            class("normal", &self.normal),
            class("slave", &self.replica),
            class("pubsub", &self.pubsub),
        ]
        .join(" ")
    }
}

pub(super) fn not_among(choices: &[&str]) -> String {
    format!(
        "argument(s) must be one of the following: {}",
        choices.join(", ")
    )
}

/// Defines an enum whose variants are the words that a directive accepts.
macro_rules! choice {
    ($(#[$doc:meta])* $vis:vis $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$variant_doc])* $variant),+
        }

        impl Value for $name {
            fn read(words: &[String]) -> Result<$name, String> {
                match one(words)?.to_ascii_lowercase().as_str() {
                    $($word => Ok($name::$variant),)+
                    _ => Err(not_among(&[$($word),+])),
                }
            }

            fn show(&self) -> String {
                match self { $($name::$variant => $word),+ }.to_owned()
            }
        }
    };
}

choice! {
    /// The policy for syncing the AOF to disk.
    pub(crate) Fsync {
        /// Sync once a second.
        EverySecond = "everysec",
        /// Sync before the reply is sent.
        Always = "always",
        /// Never sync: the kernel chooses when to write the data back.
        No = "no",
    }
}

choice! {
    /// The lowest level of messages that are logged.
    pub LogLevel {
        /// All messages.
        Debug = "debug",
        /// Important events and further details.
        Verbose = "verbose",
        /// Important events.
        Notice = "notice",
        /// Problems only.
        Warning = "warning",
    }
}

choice! {
    /// Clients that may use `DEBUG`.
    pub(crate) Allowed {
        /// No client.
        No = "no",
        /// All clients.
        Yes = "yes",
        /// Clients that connect from this machine.
        Local = "local",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn units_of_memory() {
        for (text, bytes) in [
            ("0", 0),
            ("1k", 1000),
            ("1KB", 1024),
            ("2gb", 2 << 30),
            ("3b", 3),
        ] {
            assert_eq!(Memory::<0>::read(&words(text)), Ok(Memory(bytes)), "{text}");
        }
        for text in ["", "k", "-1", "1x", "99999999999gb"] {
            assert_eq!(
                Memory::<0>::read(&words(text)),
                Err("argument must be a memory value".to_owned())
            );
        }
    }

    #[test]
    fn invalid_values_get_the_errors_of_redis() {
        assert_eq!(
            Int::<0, 9>::read(&words("10")),
            Err("argument must be between 0 and 9 inclusive".to_owned())
        );
        assert_eq!(
            Fsync::read(&words("sometimes")),
            Err("argument(s) must be one of the following: everysec, always, no".to_owned())
        );
        assert_eq!(
            bool::read(&words("maybe")),
            Err("argument must be 'yes' or 'no'".to_owned())
        );
    }

    #[test]
    fn save_points() {
        let points = Vec::<SavePoint>::read(&words("3600 1 300 100")).expect("two points");
        assert_eq!(points.show(), "3600 1 300 100");
        assert_eq!(
            Vec::<SavePoint>::read(&words("")).map(|points| points.len()),
            Ok(0)
        );
        assert!(Vec::<SavePoint>::read(&words("10")).is_err());
    }

    #[test]
    fn output_limits_name_their_class() {
        let mut limits = OutputLimits::default();
        limits
            .update(&words("normal 1mb 2kb 60 replica 3 4 5"))
            .expect("two classes");
        assert_eq!(
            limits.show(),
            "normal 1048576 2048 60 slave 3 4 5 pubsub 33554432 8388608 60"
        );
        assert!(limits.update(&words("other 1 1 1")).is_err());
    }
}
