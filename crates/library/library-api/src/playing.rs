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

/// Makes room for another player of `user`. If the user has too many players, removes the one of
/// them whose last report is the oldest. Otherwise, if all users together have too many players,
/// removes the one of all players whose last report is the oldest.
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
