//! Limits of requests and replies.

/// Minimum length of a blob. A blob is an argument or value that has its own allocation and is
/// passed by reference. A shorter argument or value is copied, because a copy costs less than a
/// reference count, an allocation and one more part in the vectored write.
pub const BLOB_BYTES_MIN: usize = 16 * 1024;

/// Limits of one request; the defaults are those of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes per argument: `proto-max-bulk-len`. Default 512 MiB.
    pub bulk_bytes_max: usize,
    /// Maximum number of arguments per command. Default 2³¹ − 1, as in Redis, where in effect only
    /// the limit of the query buffer bounds the number.
    pub args_max: usize,
    /// Maximum bytes of all arguments of one unfinished command: `client-query-buffer-limit`.
    /// Default 1 GiB.
    pub query_bytes_max: usize,
    /// Maximum bytes of an inline command, or of a line that states a length, such as `$3`. Default
    /// 64 KiB.
    pub line_bytes_max: usize,
    /// Maximum number of arguments per command before the client has authenticated. Default 10.
    pub unauthenticated_args_max: usize,
    /// Maximum bytes per argument before the client has authenticated. Default 16,384.
    pub unauthenticated_bulk_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bulk_bytes_max: 512 << 20,
            args_max: i32::MAX as usize,
            query_bytes_max: 1 << 30,
            line_bytes_max: 64 << 10,
            unauthenticated_args_max: 10,
            unauthenticated_bulk_bytes_max: 16_384,
        }
    }
}

/// Limits of one reply that a client parses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// Maximum bytes per string. Default 512 MiB.
    pub bulk_bytes_max: usize,
    /// Maximum number of elements per aggregate. Default 2²⁴.
    pub elements_max: usize,
    /// Maximum nesting depth of aggregates. Default 32.
    pub depth_max: usize,
}

impl Default for ReplyLimits {
    fn default() -> ReplyLimits {
        ReplyLimits {
            bulk_bytes_max: 512 << 20,
            elements_max: 1 << 24,
            depth_max: 32,
        }
    }
}
