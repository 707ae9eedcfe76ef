/// Limits on the entries of a response and on the data of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum entries per page. Default 500, which is the protocol's maximum for albums and random
    /// songs.
    pub page_max: usize,
    /// Maximum photographs per page of the timeline. Default 1,000.
    pub photos_max: usize,
    /// Maximum entries of each kind per search. Default 20,000.
    pub found_max: usize,
    /// Maximum tracks per playlist or queue. Default 100,000.
    pub tracks_max: usize,
    /// Maximum number of users, of radio stations, and of each user's playlists, bookmarks and
    /// shares. Each kind is counted separately. Default 10,000.
    pub kept_max: usize,
    /// Default lifetime, in days, of a share that is created through the JSON API. Default 30.
    pub share_days: u32,
    /// Maximum lifetime, in days, of a share that is created through the JSON API. Default 366.
    pub share_days_max: u32,
    /// Maximum estimated memory of all data of one user, in bytes. Default 16 MiB.
    pub user_bytes_max: usize,
    /// Maximum bytes of a name or a comment. Default 4,096.
    pub text_bytes_max: usize,
    /// Maximum duration of a track that may be transcoded, in milliseconds; 0 disables transcoding.
    /// Default 1 hour.
    pub transcoded_ms_max: u64,
    /// Maximum number of players whose current track is remembered. Above this limit, the player
    /// whose last report of a track is the oldest is forgotten. Default 1,000.
    pub players_max: usize,
    /// Maximum number of players of one user whose current track is remembered. Default 16.
    pub user_players_max: usize,
    /// Maximum failed logins from one address for one name. Once it is reached, further logins must
    /// wait. Default 10.
    pub failures_max: u32,
    /// Waiting time after the last failed login, in seconds. Once `failures_max` is reached,
    /// further logins are refused during this time. Default 60.
    pub failures_wait_s: u32,
    /// Maximum number of failed-login counters for names of users. The counters for all other names
    /// have a separate limit of the same size. Default 10,000.
    pub failures_kept: usize,
    /// Maximum sessions of browsers per user. Above this limit, the session that has been unused
    /// for the longest time ends. Default 50.
    pub sessions_max: usize,
    /// Time without use after which a session ends, in seconds. Default 30 days.
    pub session_idle_s: u32,
    /// Maximum bytes of the User-Agent stored with a session; further bytes are cut off. Default
    /// 256.
    pub agent_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            page_max: 500,
            photos_max: 1000,
            found_max: 20_000,
            tracks_max: 100_000,
            kept_max: 10_000,
            share_days: 30,
            share_days_max: 366,
            user_bytes_max: 16 << 20,
            text_bytes_max: 4096,
            transcoded_ms_max: 3_600_000,
            players_max: 1000,
            user_players_max: 16,
            failures_max: 10,
            failures_wait_s: 60,
            failures_kept: 10_000,
            sessions_max: 50,
            session_idle_s: 30 * 24 * 3600,
            agent_bytes_max: 256,
        }
    }
}
