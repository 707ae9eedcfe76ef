//! Endpoints for stars, ratings and plays.

use crate::call::{Call, Changes, Seen};
use crate::fault::Fault;
use crate::ids::Id;
use crate::playing::{Playing, make_room};
use crate::store::Change;

/// Maximum time by which a player's clock may be ahead of the server's: one day.
const AHEAD_MS_MAX: i64 = 24 * 3600 * 1000;

/// Returns the ids in the parameters of a `star` or `unstar` request.
fn starrable(call: &Call<'_>) -> Result<Vec<Id>, Fault> {
    let names = ["id", "albumId", "artistId"];
    let texts = names.iter().flat_map(|name| call.params.all(name));
    let ids: Vec<Id> = texts
        .map(|text| Id::parse(text).filter(|&id| is_there(call, id)))
        .collect::<Option<_>>()
        .ok_or_else(|| Fault::not_found("id"))?;
    match ids.is_empty() {
        true => Err(Fault::missing("id")),
        false => Ok(ids),
    }
}

fn is_there(call: &Call<'_>, id: Id) -> bool {
    match id {
        Id::Artist(id) => call.index.artist_row(id).is_some(),
        Id::Album(id) => call.index.album_row(id).is_some(),
        Id::Track(id) => call.index.track_row(id).is_some(),
        Id::Playlist(_) | Id::Listing(_) | Id::Photo(_) => false,
    }
}

fn set_stars(call: &Call<'_>, at_ms: Option<i64>) -> Changes {
    let star = |id| Change::Star {
        user: call.user.clone(),
        id,
        at_ms,
    };
    Ok(starrable(call)?.into_iter().map(star).collect())
}

pub(crate) fn star(call: &Call<'_>, _: &Seen<'_>) -> Changes {
    set_stars(call, Some(call.now_ms))
}

pub(crate) fn unstar(call: &Call<'_>, _: &Seen<'_>) -> Changes {
    set_stars(call, None)
}

pub(crate) fn set_rating(call: &Call<'_>, _: &Seen<'_>) -> Changes {
    let id = call.id("id")?;
    if !is_there(call, id) {
        return Err(Fault::not_found("id"));
    }
    let rating: Option<u8> = call.number("rating")?;
    let rating = rating.ok_or_else(|| Fault::missing("rating"))?;
    if 5 < rating {
        return Err(Fault::bad("rating"));
    }
    Ok(vec![Change::Rating {
        user: call.user.clone(),
        id,
        rating,
    }])
}

/// Returns the changes that count plays. With `submission=false` no play is counted: the server
/// only records the track that the player started.
pub(crate) fn scrobble(call: &Call<'_>, _: &Seen<'_>) -> Changes {
    let ids = call.params.all("id").map(Id::parse);
    let ids: Option<Vec<Id>> = ids.collect();
    let ids = ids.ok_or_else(|| Fault::not_found("song"))?;
    if ids.is_empty() {
        return Err(Fault::missing("id"));
    }
    if !ids.iter().all(|&id| call.has_track(id)) {
        return Err(Fault::not_found("song"));
    }
    if call.flag("submission")? == Some(false) {
        playing(call, ids.last().copied())?;
        return Ok(Vec::new());
    }
    let times = call.params.all("time").map(str::parse::<i64>);
    let times: Vec<i64> = times
        .collect::<Result<_, _>>()
        .map_err(|_| Fault::bad("time"))?;
    // Players' clocks may be ahead by minutes or by a time zone. A time that is further in the
    // future is an error.
    let sound = 0..=call.now_ms.saturating_add(AHEAD_MS_MAX);
    if !times.iter().all(|time| sound.contains(time)) {
        return Err(Fault::bad("time"));
    }
    let plays = ids.into_iter().enumerate().map(|(at, id)| Change::Play {
        user: call.user.clone(),
        id,
        // A time after the server's present time is replaced by the present time. Otherwise a play
        // from a player whose clock is ahead would stay the latest play for a while.
        at_ms: times
            .get(at)
            .map_or(call.now_ms, |&time| time.min(call.now_ms)),
    });
    Ok(plays.collect())
}

/// Records the track that a player plays at present. Only `scrobble` counts plays.
pub(crate) fn report_playback(call: &Call<'_>, _: &Seen<'_>) -> Changes {
    let id = match call.params.first("mediaId") {
        Some(text) => Id::parse(text).filter(|&id| call.has_track(id)),
        None => return Err(Fault::missing("mediaId")),
    };
    let id = id.ok_or_else(|| Fault::not_found("song"))?;
    match call.text("state")? {
        "starting" | "playing" => playing(call, Some(id))?,
        "paused" => {}
        "stopped" => playing(call, None)?,
        _ => return Err(Fault::bad("state")),
    }
    Ok(Vec::new())
}

/// Records that the user's player plays the track `id`, or, if `id` is `None`, that the player
/// stopped.
fn playing(call: &Call<'_>, id: Option<Id>) -> Result<(), Fault> {
    let client = call.kept_text("c")?.unwrap_or_default();
    let player = (call.user.clone(), client);
    call.context.playing(|playing| match id {
        Some(Id::Track(track)) => {
            if !playing.contains_key(&player) {
                make_room(playing, &call.user, &call.context.limits);
            }
            let since_ms = call.now_ms;
            playing.insert(player, Playing { track, since_ms });
        }
        _ => drop(playing.remove(&player)),
    });
    Ok(())
}
