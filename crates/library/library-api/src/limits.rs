/// What answers list, and what users keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Entries of one page. Default 500, as the protocol has it, for albums and random songs.
    pub page_max: usize,
    /// Entries of each kind that one search lists. Default 20,000.
    pub found_max: usize,
    /// Tracks of a playlist or a queue. Default 100,000.
    pub tracks_max: usize,
    /// Playlists of a user, bookmarks of a user, radio stations, and users. Default 10,000.
    pub kept_max: usize,
    /// Memory of all that one user keeps, estimated. Default 16 MiB.
    pub user_bytes_max: usize,
    /// Bytes of a name or a comment. Default 4,096.
    pub text_bytes_max: usize,
    /// Longest track that is transcoded, in milliseconds; 0 for none. Default 1 hour.
    pub transcoded_ms_max: u64,
    /// Players whose present track is remembered; beyond, the oldest is forgotten. Default 1,000.
    pub players_max: usize,
    /// The same, of one user. Default 16.
    pub user_players_max: usize,
    /// Failed logins of one address for one name before it has to wait. Default 10.
    pub failures_max: u32,
    /// How long it waits then, in seconds after the last one. Default 60.
    pub failures_wait_s: u32,
    /// Addresses and names whose failures are remembered. Default 10,000.
    pub failures_kept: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            page_max: 500,
            found_max: 20_000,
            tracks_max: 100_000,
            kept_max: 10_000,
            user_bytes_max: 16 << 20,
            text_bytes_max: 4096,
            transcoded_ms_max: 3_600_000,
            players_max: 1000,
            user_players_max: 16,
            failures_max: 10,
            failures_wait_s: 60,
            failures_kept: 10_000,
        }
    }
}
