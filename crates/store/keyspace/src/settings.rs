//! Settings of the store. Settings that are directives of `redis.conf` have the same defaults as
//! there.

use crate::dict::Seed;

/// Limits of the store's size and work, and the settings that commands read at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of databases, which are numbered from 0.
    pub databases: usize,
    /// Maximum length of a string that a command builds, in bytes: `proto-max-bulk-len`.
    pub string_bytes_max: usize,
    /// Maximum number of expired keys removed per turn of the event loop.
    pub expire_keys_per_turn: usize,
    /// Maximum number of elements that are freed per turn of the event loop after their collections
    /// were removed.
    pub free_elements_per_turn: usize,
    /// Maximum number of keys that are evicted before one command, or in the background work of one
    /// turn of the event loop.
    pub evict_keys_per_turn: usize,
    /// Maximum number of build locks (`GETORLOCK`) per database. While this many locks exist,
    /// `GETORLOCK` lets every client compute the value itself.
    pub locks_max: usize,
    /// Maximum bytes for data and its overhead (`maxmemory`); 0 means unlimited.
    pub maxmemory_bytes: u64,
    /// Maximum bytes for blobs, which are values of at least 16 KiB (`maxmemory-blobs`). If 0,
    /// `maxmemory_bytes` bounds all data together. Otherwise `maxmemory_bytes` bounds only the
    /// other data: neither kind of data can then use memory that the other kind leaves free.
    pub maxmemory_blob_bytes: u64,
    /// Choice of the keys to evict when memory exceeds its limit: `maxmemory-policy`.
    pub policy: Policy,
    /// Number of keys compared per eviction: `maxmemory-samples`.
    pub samples: usize,
    /// Factor that slows the growth of the LFU counters: `lfu-log-factor`.
    pub lfu_log_factor: u32,
    /// Number of minutes without use after which the LFU counter of a key falls by one
    /// (`lfu-decay-time`); 0 for never.
    pub lfu_decay_minutes: u32,
    /// Sizes at which collections change their encoding.
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

/// Maximum sizes of collections that are packed into one allocation, and of the nodes of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encodings {
    /// Maximum number of fields of a packed hash: `hash-max-listpack-entries`.
    pub hash_entries_max: usize,
    /// Maximum bytes of a field or value in a packed hash: `hash-max-listpack-value`.
    pub hash_value_bytes_max: usize,
    /// Maximum size of a list node: `list-max-listpack-size`. A positive value is a number of
    /// elements; -1, -2, -3, -4 and -5 mean 4, 8, 16, 32 and 64 KiB.
    pub list_node_size: i64,
    /// Maximum number of members of a set that is stored as sorted integers:
    /// `set-max-intset-entries`.
    pub set_intset_entries_max: usize,
    /// Maximum number of members of a packed set: `set-max-listpack-entries`.
    pub set_entries_max: usize,
    /// Maximum bytes of a member in a packed set: `set-max-listpack-value`.
    pub set_value_bytes_max: usize,
    /// Maximum number of members of a packed sorted set: `zset-max-listpack-entries`.
    pub zset_entries_max: usize,
    /// Maximum bytes of a member in a packed sorted set: `zset-max-listpack-value`.
    pub zset_value_bytes_max: usize,
    /// Maximum bytes of a node of a stream (`stream-node-max-bytes`); 0 means 1 GiB.
    pub stream_node_bytes_max: usize,
    /// Maximum number of entries of a node of a stream (`stream-node-max-entries`); 0 for no limit.
    pub stream_node_entries_max: usize,
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
            stream_node_bytes_max: 4096,
            stream_node_entries_max: 100,
        }
    }
}

/// Choice of the keys to evict: the policies of Redis, and SIEVE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Evict no key; commands that need memory are refused.
    NoEviction,
    /// The least recently used key.
    AllKeysLru,
    /// The least frequently used key.
    AllKeysLfu,
    /// A random key.
    AllKeysRandom,
    /// The least recently used key among the keys with a deadline.
    VolatileLru,
    /// The least frequently used key among the keys with a deadline.
    VolatileLfu,
    /// A random key among the keys with a deadline.
    VolatileRandom,
    /// The key with the nearest deadline.
    VolatileTtl,
    /// SIEVE: first a new key whose value uses more than a sixteenth of the memory limit, and that
    /// was not used since its creation. If there is none, a circular walk over all keys continues
    /// to the next key that was not used since the walk last passed it.
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

    /// Returns the policy of this name, ignoring case.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        let found = names.find(|(text, _)| name.eq_ignore_ascii_case(text.as_bytes()));
        found.map(|(_, policy)| *policy)
    }

    /// Returns the name in `redis.conf`.
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

/// Settings and hash seed that a collection needs to grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    pub(crate) encodings: Encodings,
    pub(crate) seed: Seed,
}
