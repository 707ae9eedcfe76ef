//! Playlists that are stored for users, and the playlist files of the library. All users can see
//! playlist files, but none can change them.

use std::borrow::Cow;

use crate::call::{Call, Changes, Seen};
use crate::fault::Fault;
use crate::ids::Id;
use crate::songs;
use crate::store::{Change, Playlist, Role};
use crate::time::{iso, seconds};
use crate::write::Writer;

/// Playlist for display: a playlist that is stored for a user, or a playlist file of the library.
pub(crate) struct Shown<'s> {
    id: Id,
    pub(crate) name: &'s str,
    comment: Cow<'s, str>,
    /// Name of the owner; empty for a playlist file.
    owner: &'s str,
    public: bool,
    created_ms: i64,
    changed_ms: i64,
    /// Rows of the tracks that are in the library.
    pub(crate) rows: Vec<u32>,
    is_file: bool,
}

/// Returns a stored playlist that this user may see: a public playlist, one of the user's own,
/// or, for an admin, any playlist.
fn visible_playlist<'s>(
    call: &Call<'_>,
    seen: &Seen<'s>,
    id: Id,
) -> Result<(u64, &'s Playlist), Fault> {
    let found = match id {
        Id::Playlist(id) => seen.state.playlists.get_key_value(&id),
        _ => None,
    };
    let may_see = |playlist: &Playlist| playlist.is_visible_to(&call.user) || seen.admin().is_ok();
    match found {
        Some((&id, playlist)) if may_see(playlist) => Ok((id, playlist)),
        _ => Err(Fault::not_found("playlist")),
    }
}

/// Returns the stored playlist that the parameter `name` identifies, if this user may change
/// it.
fn own_playlist<'s>(
    call: &Call<'_>,
    seen: &Seen<'s>,
    name: &str,
) -> Result<(u64, &'s Playlist), Fault> {
    let id = call.id(name)?;
    if let Id::Listing(_) = id {
        shown(call, seen, id)?;
        return Err(Fault::not_allowed());
    }
    let (id, playlist) = visible_playlist(call, seen, id)?;
    match playlist.owner == call.user {
        true => Ok((id, playlist)),
        false => Err(Fault::not_allowed()),
    }
}

/// Returns a stored playlist or a playlist file, if this user may see it.
pub(crate) fn shown<'s>(call: &'s Call<'_>, seen: &Seen<'s>, id: Id) -> Result<Shown<'s>, Fault> {
    match id {
        Id::Listing(id) => {
            let row = call.index.playlist_row(id);
            let found = row.and_then(|row| shown_file(call, row));
            found.ok_or_else(|| Fault::not_found("playlist"))
        }
        id => {
            let (id, playlist) = visible_playlist(call, seen, id)?;
            Ok(shown_stored(call, id, playlist))
        }
    }
}

/// Returns a stored playlist for display.
fn shown_stored<'s>(call: &Call<'_>, id: u64, playlist: &'s Playlist) -> Shown<'s> {
    Shown {
        id: Id::Playlist(id),
        name: &playlist.name,
        comment: (&*playlist.comment).into(),
        owner: &playlist.owner,
        public: playlist.public,
        created_ms: playlist.created_ms,
        changed_ms: playlist.changed_ms,
        rows: call.rows(&playlist.tracks),
        is_file: false,
    }
}

/// Returns the playlist file in this row for display.
fn shown_file<'c>(call: &'c Call<'_>, row: u32) -> Option<Shown<'c>> {
    let found = call.index.playlist(row)?;
    let (path, stat) = call.index.file(found.file)?;
    let changed_ms = stat.mtime_ns.div_euclid(1_000_000);
    Some(Shown {
        id: Id::Listing(found.id),
        name: found.name,
        comment: String::from_utf8_lossy(&path).into_owned().into(),
        owner: "",
        public: true,
        created_ms: changed_ms,
        changed_ms,
        rows: found.tracks,
        is_file: true,
    })
}

fn describe(call: &Call<'_>, out: &mut Writer, shown: &Shown<'_>) {
    let tracks = shown.rows.iter().filter_map(|&row| call.index.track(row));
    let durations = tracks.map(|track| i64::from(seconds(track.duration_ms)));
    out.text("id", &shown.id.to_string());
    out.text("name", shown.name);
    out.text("comment", &shown.comment);
    out.text("owner", shown.owner);
    out.flag("public", shown.public);
    out.flag("readonly", shown.is_file || shown.owner != call.user);
    out.number("songCount", shown.rows.len() as u32);
    out.number("duration", durations.sum::<i64>());
    out.text("created", &iso(shown.created_ms));
    out.text("changed", &iso(shown.changed_ms));
    if !shown.rows.is_empty() {
        out.text("coverArt", &shown.id.to_string());
    }
}

/// Writes the playlists that the user may see. An admin may request the playlists that another user
/// may see.
pub(crate) fn list(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let named = call.params.first("username").filter(|it| !it.is_empty());
    let known = named.and_then(|name| Some(seen.state.user_named(name)?.0));
    let user = known.or(named).unwrap_or(&call.user);
    if user != call.user {
        seen.admin()?;
        known.ok_or_else(|| Fault::not_found("user"))?;
    }
    let playlists = seen.state.playlists.iter();
    out.object("playlists", |out| {
        let visible = playlists.filter(|(_, playlist)| playlist.is_visible_to(user));
        let visible = visible.map(|(&id, playlist)| shown_stored(call, id, playlist));
        let in_files = 0..call.index.counts().playlists;
        let in_files = in_files.filter_map(|row| shown_file(call, row));
        out.list("playlist", visible.chain(in_files), |out, shown| {
            describe(call, out, &shown);
        });
    });
    Ok(())
}

pub(crate) fn one(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    whole(call, seen, out, call.id("id")?)
}

/// Writes the playlist that [`create`] changed or created.
pub(crate) fn made(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let id = match call.params.first("playlistId") {
        Some(_) => call.id("playlistId")?,
        None => Id::Playlist(call.fresh),
    };
    whole(call, seen, out, id)
}

fn whole(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer, id: Id) -> Result<(), Fault> {
    let shown = shown(call, seen, id)?;
    out.object("playlist", |out| {
        describe(call, out, &shown);
        out.list("entry", shown.rows.iter(), |out, &row| {
            songs::write_song(call, out, seen, row);
        });
    });
    Ok(())
}

/// Returns the change that creates a playlist, or replaces the tracks of an existing playlist.
pub(crate) fn create(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.may(Role::Playlist)?;
    let tracks = call.tracks("songId")?;
    let name = call.kept_text("name")?;
    let (id, playlist) = if call.params.first("playlistId").is_some() {
        let (id, playlist) = own_playlist(call, seen, "playlistId")?;
        let changed = Playlist {
            name: name.unwrap_or_else(|| playlist.name.clone()),
            changed_ms: playlist.next_changed_ms(call.now_ms),
            tracks,
            ..playlist.clone()
        };
        (id, changed)
    } else {
        let playlists = seen.state.playlists.values();
        let own = playlists.filter(|playlist| playlist.owner == call.user);
        if call.context.limits.kept_max <= own.count() {
            return Err(Fault::full());
        }
        let made = Playlist {
            owner: call.user.clone(),
            name: name.ok_or_else(|| Fault::missing("name"))?,
            created_ms: call.now_ms,
            changed_ms: call.now_ms,
            tracks,
            ..Playlist::default()
        };
        (call.fresh, made)
    };
    Ok(vec![Change::Playlist {
        id,
        playlist: Some(playlist),
    }])
}

/// Returns the change that adds or removes tracks, or sets name, comment or visibility. The indices
/// of tracks to remove refer to the playlist before the request.
pub(crate) fn update(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.may(Role::Playlist)?;
    let (id, playlist) = own_playlist(call, seen, "playlistId")?;
    let removed = call
        .params
        .all("songIndexToRemove")
        .map(str::parse::<usize>);
    let removed: Vec<usize> = removed
        .collect::<Result<_, _>>()
        .map_err(|_| Fault::bad("songIndexToRemove"))?;
    // Tracks that are not in the library are hidden from clients, and keep their places.
    let shown = playlist.shown_indices(|id| call.has_track(id));
    let removed = removed.iter().filter_map(|&at| shown.get(at).copied());
    let mut changed = playlist.clone();
    changed.remove_tracks(&removed.collect());
    changed.tracks.extend(call.tracks("songIdToAdd")?);
    if call.context.limits.tracks_max < changed.tracks.len() {
        return Err(Fault::bad("songIdToAdd"));
    }
    if let Some(name) = call.kept_text("name")? {
        changed.name = name;
    }
    if let Some(comment) = call.kept_text("comment")? {
        changed.comment = comment;
    }
    if let Some(public) = call.flag("public")? {
        changed.public = public;
    }
    changed.changed_ms = playlist.next_changed_ms(call.now_ms);
    Ok(vec![Change::Playlist {
        id,
        playlist: Some(changed),
    }])
}

pub(crate) fn delete(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.may(Role::Playlist)?;
    let (id, _) = own_playlist(call, seen, "id")?;
    Ok(vec![Change::Playlist { id, playlist: None }])
}
