//! Endpoints of the Subsonic protocol for shares. They create shares of tracks only. The JSON API
//! for shares is in `api/shares.rs`, and the responses to visitors are in `shares/visit.rs`.

pub(crate) mod content;
mod page;
mod texts;
mod visit;

pub use visit::ShareRequest;
pub(crate) use visit::respond;

use std::ops::Bound::{Included, Unbounded};

use crate::auth::equals_in_constant_time;
use crate::call::{Call, Changes, Seen};
use crate::fault::Fault;
use crate::ids::Id;
use crate::index::{Index, own_albums, tracks};
use crate::playlists;
use crate::songs;
use crate::store::{Change, Role, Share, State, new_key};
use crate::time::iso;
use crate::write::Writer;

/// Number of hexadecimal digits of a share's id. The id, 128 random bits, is the only secret in the
/// link.
const TOKEN_DIGITS: usize = 32;

/// Returns the id of the share that this request creates.
fn share_token<'c>(call: &'c Call<'_>) -> &'c str {
    call.token.get_or_init(new_token)
}

/// Returns the id of a new share.
pub(crate) fn new_token() -> String {
    let mut token = new_key();
    token.truncate(TOKEN_DIGITS);
    token
}

/// Returns the share with this id, if any. The first half of the digits is looked up in the map, in
/// variable time. The whole id is compared in constant time, so the 64 bits of its second half stay
/// secret.
pub(crate) fn find<'s>(state: &'s State, token: &str) -> Option<(&'s str, &'s Share)> {
    let first = token.get(..TOKEN_DIGITS / 2)?;
    let near = state.shares.range::<str, _>((Included(first), Unbounded));
    let mut near = near.take_while(|(known, _)| known.starts_with(first));
    let found = near.find(|(known, _)| equals_in_constant_time(known.as_bytes(), token.as_bytes()));
    found.map(|(known, share)| (known.as_str(), share))
}

/// Returns the share with this id if visitors may open it at `now_ms`: the share has not expired,
/// and its owner has the permission to share.
fn find_open<'s>(state: &'s State, token: &str, now_ms: i64) -> Option<&'s Share> {
    let (_, share) = find(state, token)?;
    let has_expired = share.expires_ms.is_some_and(|end_ms| end_ms <= now_ms);
    let owner = state.users.get(&share.owner);
    let may_share = owner.is_some_and(|owner| owner.may(Role::Share));
    (!has_expired && may_share).then_some(share)
}

fn describe_share(
    call: &Call<'_>,
    out: &mut Writer,
    seen: &Seen<'_>,
    (token, share): (&str, &Share),
) {
    let visits = call.context.visits(|visits| visits.get(token).copied());
    let visits = visits.unwrap_or_default();
    out.text("id", token);
    out.text("url", &format!("{}/-/share/{token}", call.base));
    out.text("description", &share.description);
    out.text("username", &share.owner);
    out.text("created", &iso(share.created_ms));
    out.text_if("expires", share.expires_ms.map(iso).as_deref());
    if visits.count != 0 {
        out.text("lastVisited", &iso(visits.last_ms));
    }
    out.number("visitCount", visits.count);
    let rows = content::tracks(&call.index, seen.state, share);
    out.list("entry", rows, |out, row| {
        songs::write_song(call, out, seen, row);
    });
}

/// Returns the share that the parameter `id` names, if this user may change it: the user's own
/// share, or, for an admin, any share.
fn own_share<'s>(call: &Call<'_>, seen: &Seen<'s>) -> Result<(&'s str, &'s Share), Fault> {
    let found = seen.state.shares.get_key_value(call.text("id")?);
    let own = found.filter(|(_, share)| share.owner == call.user || seen.admin().is_ok());
    let (token, share) = own.ok_or_else(|| Fault::not_found("share"))?;
    Ok((token, share))
}

/// Returns the tracks of all ids in the request: songs, albums, artists and playlists.
fn shared_tracks(call: &Call<'_>, seen: &Seen<'_>) -> Result<Vec<Id>, Fault> {
    let mut tracks = Vec::new();
    for text in call.params.all("id") {
        let rows = match Id::parse(text) {
            Some(id @ Id::Track(_)) => call.track_row(id).into_iter().collect(),
            Some(id @ Id::Album(_)) => rows_of(&call.index, vec![call.album_row(id)?]),
            Some(id @ Id::Artist(_)) => {
                let row = call.artist_row(id)?;
                let artist = call.index.artist(row);
                let albums = artist.map(|artist| own_albums(&call.index, row, &artist));
                rows_of(&call.index, albums.unwrap_or_default())
            }
            Some(id) => playlists::shown(call, seen, id)?.rows,
            None => Vec::new(),
        };
        if rows.is_empty() {
            return Err(Fault::not_found("song"));
        }
        // A request may repeat the id of a long list, so reject it as soon as its tracks exceed
        // the limit.
        let room = call.context.limits.tracks_max - tracks.len();
        if room < rows.len() {
            return Err(Fault::bad("id"));
        }
        let ids = rows.into_iter();
        tracks.extend(ids.filter_map(|row| Some(Id::Track(call.index.track(row)?.id))));
    }
    Ok(tracks)
}

/// Returns the expiry time in the request, if any. The inner `None`, which clients send as 0,
/// means that the share never expires.
fn expires_ms(call: &Call<'_>) -> Result<Option<Option<i64>>, Fault> {
    let expires_ms: Option<i64> = call.number("expires")?;
    Ok(expires_ms.map(|ms| Some(ms).filter(|ms| *ms != 0)))
}

/// Returns the rows of all tracks of these albums.
fn rows_of(index: &Index, albums: Vec<u32>) -> Vec<u32> {
    let albums = albums.into_iter().filter_map(|row| index.album(row));
    albums.flat_map(|album| tracks(&album)).collect()
}

/// Lists the user's shares; for an admin, the shares of all users.
pub(crate) fn list(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let is_admin = seen.admin().is_ok();
    let shares = seen.state.shares.iter();
    let shown = shares.filter(|(_, share)| is_admin || share.owner == call.user);
    out.object("shares", |out| {
        out.list("share", shown, |out, (token, share)| {
            describe_share(call, out, seen, (token, share));
        });
    });
    Ok(())
}

pub(crate) fn create(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.may(Role::Share)?;
    let shares = seen.state.shares.values();
    let own = shares.filter(|share| share.owner == call.user);
    if call.context.limits.kept_max <= own.count() {
        return Err(Fault::full());
    }
    // Drop the visit counts of shares that no longer exist.
    let all = &seen.state.shares;
    call.context
        .visits(|visits| visits.retain(|token, _| all.contains_key(token)));
    let share = Share {
        owner: call.user.clone(),
        description: call.kept_text("description")?.unwrap_or_default(),
        created_ms: call.now_ms,
        expires_ms: expires_ms(call)?.flatten(),
        tracks: shared_tracks(call, seen)?,
        ..Share::default()
    };
    if share.tracks.is_empty() {
        return Err(Fault::missing("id"));
    }
    Ok(vec![Change::Share {
        token: share_token(call).to_owned(),
        share: Some(share),
    }])
}

/// Writes the share that this request created.
pub(crate) fn made(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let made = seen.state.shares.get_key_value(share_token(call));
    out.object("shares", |out| {
        out.list("share", made, |out, (token, share)| {
            describe_share(call, out, seen, (token, share));
        });
    });
    Ok(())
}

pub(crate) fn update(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.may(Role::Share)?;
    let (token, share) = own_share(call, seen)?;
    let description = call.kept_text("description")?;
    let changed = Share {
        description: description.unwrap_or_else(|| share.description.clone()),
        expires_ms: expires_ms(call)?.unwrap_or(share.expires_ms),
        ..share.clone()
    };
    Ok(vec![Change::Share {
        token: token.to_owned(),
        share: Some(changed),
    }])
}

pub(crate) fn delete(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    let (token, _) = own_share(call, seen)?;
    Ok(vec![Change::Share {
        token: token.to_owned(),
        share: None,
    }])
}
