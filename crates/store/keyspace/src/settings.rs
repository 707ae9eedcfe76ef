//! What an operator sets: the names and defaults are those of `redis.conf`.

/// Bounds of this crate, and the settings that commands read at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Databases, numbered from 0.
    pub databases: usize,
    /// Longest string a command may build, in bytes: `proto-max-bulk-len`.
    pub string_bytes_max: usize,
    /// Due keys removed in one turn.
    pub expire_keys_per_turn: usize,
    /// Elements of removed collections freed in one turn.
    pub free_elements_per_turn: usize,
    /// Keys evicted before one command, or in one turn.
    pub evict_keys_per_turn: usize,
    /// Keys that are being made, in a database: `GETORLOCK` beyond that lets everybody build.
    pub locks_max: usize,
    /// Bytes that data may take, its overhead included; 0 is no bound: `maxmemory`.
    pub maxmemory_bytes: u64,
    /// Bytes that values of 16 KiB and more may take; then `maxmemory_bytes` bounds all others, and neither takes the
    /// other's room. 0 has both share that bound: `maxmemory-blobs`.
    pub maxmemory_blob_bytes: u64,
    /// What goes when that is too little: `maxmemory-policy`.
    pub policy: Policy,
    /// Keys compared for one eviction: `maxmemory-samples`.
    pub samples: usize,
    /// `lfu-log-factor`.
    pub lfu_log_factor: u32,
    /// Minutes until an unused key's counter falls by one: `lfu-decay-time`.
    pub lfu_decay_minutes: u32,
    /// When collections change their encoding.
    pub encodings: Encodings,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            databases: 16,
            string_bytes_max: 512 << 20,
            expire_keys_per_turn: 500,
            free_elements_per_turn: 4096,
            evict_keys_per_turn: 200,
            locks_max: 65_536,
            maxmemory_bytes: 0,
            maxmemory_blob_bytes: 0,
            policy: Policy::NoEviction,
            samples: 5,
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
            encodings: Encodings::default(),
        }
    }
}

/// Up to which size a collection is packed into one allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encodings {
    /// `hash-max-listpack-entries`.
    pub hash_entries_max: usize,
    /// `hash-max-listpack-value`, in bytes.
    pub hash_value_bytes_max: usize,
    /// `list-max-listpack-size`: elements of a node, or -1 … -5 for 4 … 64 KB.
    pub list_node_size: i64,
    /// `set-max-intset-entries`.
    pub set_intset_entries_max: usize,
    /// `set-max-listpack-entries`.
    pub set_entries_max: usize,
    /// `set-max-listpack-value`, in bytes.
    pub set_value_bytes_max: usize,
    /// `zset-max-listpack-entries`.
    pub zset_entries_max: usize,
    /// `zset-max-listpack-value`, in bytes.
    pub zset_value_bytes_max: usize,
}

impl Default for Encodings {
    fn default() -> Self {
        Self {
            hash_entries_max: 512,
            hash_value_bytes_max: 64,
            list_node_size: -2,
            set_intset_entries_max: 512,
            set_entries_max: 128,
            set_value_bytes_max: 64,
            zset_entries_max: 128,
            zset_value_bytes_max: 64,
        }
    }
}

/// Which keys are evicted: the policies of Redis, and SIEVE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// None; commands that need memory are refused.
    NoEviction,
    /// The least recently used.
    AllKeysLru,
    /// The least frequently used.
    AllKeysLfu,
    /// Any.
    AllKeysRandom,
    /// Of those with a deadline, the least recently used.
    VolatileLru,
    /// Of those with a deadline, the least frequently used.
    VolatileLfu,
    /// Of those with a deadline, any.
    VolatileRandom,
    /// The one that is due next.
    VolatileTtl,
    /// The one that a moving hand finds unused since it last passed; before those, a new one that takes a sixteenth of the
    /// room and was not used yet.
    AllKeysSieve,
}

impl Policy {
    const NAMES: [(&'static str, Self); 9] = [
        ("noeviction", Self::NoEviction),
        ("allkeys-lru", Self::AllKeysLru),
        ("allkeys-lfu", Self::AllKeysLfu),
        ("allkeys-random", Self::AllKeysRandom),
        ("volatile-lru", Self::VolatileLru),
        ("volatile-lfu", Self::VolatileLfu),
        ("volatile-random", Self::VolatileRandom),
        ("volatile-ttl", Self::VolatileTtl),
        ("allkeys-sieve", Self::AllKeysSieve),
    ];

    /// The policy of this name, whatever its case.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        let found = names.find(|(text, _)| name.eq_ignore_ascii_case(text.as_bytes()));
        found.map(|(_, policy)| *policy)
    }

    /// Its name in `redis.conf`.
    #[must_use]
    pub fn name(self) -> &'static str {
        let mut names = Self::NAMES.iter();
        let found = names.find(|(_, policy)| *policy == self);
        found
            .map(|(name, _)| *name)
            .expect("every policy has a name")
    }

    pub(crate) fn is_lfu(self) -> bool {
        matches!(self, Self::AllKeysLfu | Self::VolatileLfu)
    }
}
