//! Flags of scripts and functions.

/// Set of rules that a script declares in its first line (`#!lua flags=no-writes`), or a function
/// when it is registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// The script or function may not change data.
    pub const NO_WRITES: Flags = Flags(1);
    /// The script or function may run although the memory limit is reached.
    pub const ALLOW_OOM: Flags = Flags(1 << 1);
    /// The flags are declared. Without a line `#!`, a script declares nothing, and each of its
    /// commands is checked on its own.
    pub const DECLARED: Flags = Flags(1 << 2);
    const ALLOW_STALE: Flags = Flags(1 << 3);
    const NO_CLUSTER: Flags = Flags(1 << 4);
    const ALLOW_CROSS_SLOT_KEYS: Flags = Flags(1 << 5);

    /// Names of the flags. The last three concern replicas and clusters, which the store does not
    /// have.
    const NAMES: [(&'static str, Flags); 5] = [
        ("no-writes", Flags::NO_WRITES),
        ("allow-oom", Flags::ALLOW_OOM),
        ("allow-stale", Flags::ALLOW_STALE),
        ("no-cluster", Flags::NO_CLUSTER),
        ("allow-cross-slot-keys", Flags::ALLOW_CROSS_SLOT_KEYS),
    ];

    /// Returns the flag of a name, if it is known.
    pub(crate) fn named(name: &[u8]) -> Option<Flags> {
        let found = Flags::NAMES
            .iter()
            .find(|(known, _)| known.as_bytes() == name);
        found.map(|(_, flag)| *flag)
    }

    /// Returns whether all flags of `other` are set.
    #[must_use]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn add(&mut self, other: Flags) {
        self.0 |= other.0;
    }

    /// Returns the names of the flags, in the order in which Redis lists them.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let set = Flags::NAMES
            .into_iter()
            .filter(move |(_, flag)| self.has(*flag));
        set.map(|(name, _)| name)
    }

    /// Returns the flags that the source of a script declares, or `None` if its first line is not
    /// valid.
    #[must_use]
    pub fn of_source(source: &[u8]) -> Option<Flags> {
        Flags::parse(source).ok().map(|(flags, _)| flags)
    }

    /// Parses the first line of a script, and returns the flags and the length of that line. A
    /// script without a line `#!` has no flags.
    pub(crate) fn parse(source: &[u8]) -> Result<(Flags, usize), String> {
        if !source.starts_with(b"#!") {
            return Ok((Flags::default(), 0));
        }
        let end = source.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or("ERR Invalid script shebang")?;
        let line = String::from_utf8_lossy(&source[..end]);
        let mut words = line.split_ascii_whitespace();
        let engine = words.next().unwrap_or_default();
        if engine != "#!lua" {
            return Err(format!("ERR Unexpected engine in script shebang: {engine}"));
        }
        let mut flags = Flags::DECLARED;
        for word in words {
            let Some(names) = word.strip_prefix("flags=") else {
                return Err(format!("ERR Unknown lua shebang option: {word}"));
            };
            for name in names.split(',').filter(|name| !name.is_empty()) {
                let flag = Flags::named(name.as_bytes());
                flags.add(
                    flag.ok_or_else(|| format!("ERR Unexpected flag in script shebang: {name}"))?,
                );
            }
        }
        Ok((flags, end))
    }
}
