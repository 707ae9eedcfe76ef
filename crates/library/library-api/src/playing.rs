//! Tracks that players play at present.

use std::collections::HashMap;

use catalog::TrackId;

use crate::limits::Limits;

/// Tracks that players play at present, by user and player.
pub(crate) type Players = HashMap<(String, String), Playing>;

/// Track that a player reported as playing, and the time of the report.
#[derive(Clone, Debug)]
pub(crate) struct Playing {
    pub(crate) track: TrackId,
    pub(crate) since_ms: i64,
}

/// Makes room for another player of `user`: at the limit per user, removes one of the user's
/// players; at the total limit, removes one of all players. The removed player is the one whose
/// last report is the oldest.
pub(crate) fn make_room(playing: &mut Players, user: &str, limits: &Limits) {
    let own = playing.keys().filter(|(of, _)| of == user).count();
    let is_candidate: &dyn Fn(&str) -> bool = if limits.user_players_max <= own {
        &|of| of == user
    } else if limits.players_max <= playing.len() {
        &|_| true
    } else {
        return;
    };
    let candidates = playing.iter().filter(|((of, _), _)| is_candidate(of));
    let oldest = candidates.min_by_key(|(_, playing)| playing.since_ms);
    if let Some(oldest) = oldest.map(|(player, _)| player.clone()) {
        playing.remove(&oldest);
    }
}
