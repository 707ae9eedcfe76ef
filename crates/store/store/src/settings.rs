//! Limits of the parser and of the keyspace, derived from the configuration.

use keyspace::Encodings;
use resp::BlobAllocator;

use crate::config::Config;

/// Maximum number of keys compared per eviction, even if `maxmemory-samples` is higher. This bounds
/// the time for which an eviction occupies the core.
const SAMPLES_MAX: usize = 64;

/// Returns the limits that `config` sets on the keyspace.
pub(crate) fn keyspace_limits(config: &Config) -> keyspace::Limits {
    let size = |value: i64| usize::try_from(value).unwrap_or(0);
    let bytes = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    keyspace::Limits {
        databases: size(config.databases.0),
        string_bytes_max: config.proto_max_bulk_len.0 as usize,
        maxmemory_bytes: config.maxmemory.0,
        maxmemory_blob_bytes: config.maxmemory_blobs.0,
        policy: config.maxmemory_policy.0,
        samples: size(config.maxmemory_samples.0).min(SAMPLES_MAX),
        lfu_log_factor: config.lfu_log_factor.0 as u32,
        lfu_decay_minutes: config.lfu_decay_time.0 as u32,
        encodings: Encodings {
            hash_entries_max: size(config.hash_max_listpack_entries.0),
            hash_value_bytes_max: bytes(config.hash_max_listpack_value.0),
            list_node_size: config.list_max_listpack_size.0,
            set_intset_entries_max: size(config.set_max_intset_entries.0),
            set_entries_max: size(config.set_max_listpack_entries.0),
            set_value_bytes_max: bytes(config.set_max_listpack_value.0),
            zset_entries_max: size(config.zset_max_listpack_entries.0),
            zset_value_bytes_max: bytes(config.zset_max_listpack_value.0),
            stream_node_bytes_max: bytes(config.stream_node_max_bytes.0),
            stream_node_entries_max: size(config.stream_node_max_entries.0),
        },
        ..keyspace::Limits::default()
    }
}

/// Returns the limits that `config` sets on requests.
pub(crate) fn parser_limits(config: &Config) -> resp::Limits {
    resp::Limits {
        bulk_bytes_max: config.proto_max_bulk_len.0 as usize,
        query_bytes_max: config.client_query_buffer_limit.0 as usize,
        ..resp::Limits::default()
    }
}

/// Allocator for blobs (large arguments). The memory of a blob can later be sent without a copy.
pub(crate) const ZERO_COPY_ALLOCATOR: BlobAllocator = BlobAllocator {
    make: reactor::allocate_buffer,
    keep: reactor::zero_copy_within,
};
