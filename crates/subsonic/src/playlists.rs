//! Playlists.

use crate::fault::Fault;
use crate::ids::Id;
use crate::server::{Call, Changes, Seen};
use crate::songs::{iso, seconds};
use crate::store::{Change, Playlist};
use crate::write::Writer;

impl Call<'_> {
    /// The playlist of this id, if this user may see it.
    pub(crate) fn playlist<'s>(
        &self,
        seen: &Seen<'s>,
        id: Id,
    ) -> Result<(u64, &'s Playlist), Fault> {
        let found = match id {
            Id::Playlist(id) => seen.state.playlists.get_key_value(&id),
            _ => None,
        };
        match found {
            Some((&id, playlist)) if playlist.public || playlist.owner == self.user => {
                Ok((id, playlist))
            }
            _ => Err(Fault::not_found("playlist")),
        }
    }

    /// The same, if this user may change it.
    fn own_playlist<'s>(&self, seen: &Seen<'s>, name: &str) -> Result<(u64, &'s Playlist), Fault> {
        let (id, playlist) = self.playlist(seen, self.id(name)?)?;
        match playlist.owner == self.user {
            true => Ok((id, playlist)),
            false => Err(Fault::not_allowed()),
        }
    }

    /// A text to keep.
    pub(crate) fn kept_text(&self, name: &str) -> Result<Option<String>, Fault> {
        match self.params.first(name) {
            Some(text) if self.server.limits.text_bytes_max < text.len() => Err(Fault::bad(name)),
            text => Ok(text.map(str::to_owned)),
        }
    }

    fn describe(&self, out: &mut Writer, id: u64, playlist: &Playlist) {
        let rows = self.rows(&playlist.tracks);
        let tracks = rows.iter().filter_map(|&row| self.index.track(row));
        let durations = tracks.map(|track| i64::from(seconds(track.duration_ms)));
        out.text("id", &Id::Playlist(id).to_string());
        out.text("name", &playlist.name);
        out.text("comment", &playlist.comment);
        out.text("owner", &playlist.owner);
        out.flag("public", playlist.public);
        out.number("songCount", rows.len() as u32);
        out.number("duration", durations.sum::<i64>());
        out.text("created", &iso(playlist.created_ms));
        out.text("changed", &iso(playlist.changed_ms));
        if !rows.is_empty() {
            out.text("coverArt", &Id::Playlist(id).to_string());
        }
    }
}

pub(crate) fn list(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let may_see = |playlist: &Playlist| playlist.public || playlist.owner == call.user;
    let playlists = seen.state.playlists.iter();
    out.object("playlists", |out| {
        let playlists = playlists.filter(|(_, playlist)| may_see(playlist));
        out.list("playlist", playlists, |out, (&id, playlist)| {
            call.describe(out, id, playlist);
        });
    });
    Ok(())
}

/// The playlist that `id` names, or `playlistId`, or the one just made.
pub(crate) fn one(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let named = ["id", "playlistId"].into_iter();
    let mut named = named.filter_map(|name| call.params.first(name));
    let id = match named.next() {
        Some(text) => Id::parse(text).ok_or_else(|| Fault::not_found("playlist"))?,
        None => Id::Playlist(call.fresh),
    };
    let (id, playlist) = call.playlist(seen, id)?;
    out.object("playlist", |out| {
        call.describe(out, id, playlist);
        out.list("entry", call.rows(&playlist.tracks), |out, row| {
            call.song(out, seen, row);
        });
    });
    Ok(())
}

/// Makes a playlist, or gives one other tracks.
pub(crate) fn create(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    let tracks = call.tracks("songId")?;
    let name = call.kept_text("name")?;
    let (id, playlist) = if call.params.first("playlistId").is_some() {
        let (id, playlist) = call.own_playlist(seen, "playlistId")?;
        let changed = Playlist {
            name: name.unwrap_or_else(|| playlist.name.clone()),
            changed_ms: call.now_ms,
            tracks,
            ..playlist.clone()
        };
        (id, changed)
    } else {
        if call.server.limits.kept_max <= seen.state.playlists.len() {
            return Err(Fault::not_allowed());
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

/// Adds, removes, renames. What is removed is numbered as before the call.
pub(crate) fn update(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    let (id, playlist) = call.own_playlist(seen, "playlistId")?;
    let removed = call
        .params
        .all("songIndexToRemove")
        .map(str::parse::<usize>);
    let removed: Vec<usize> = removed
        .collect::<Result<_, _>>()
        .map_err(|_| Fault::bad("songIndexToRemove"))?;
    // Numbers count what clients see, which leaves out what is gone from the library.
    let shown = playlist.tracks.iter().filter(|&&id| call.has_track(id));
    let kept = shown.enumerate().filter(|(at, _)| !removed.contains(at));
    let gone = playlist.tracks.iter().filter(|&&id| !call.has_track(id));
    let mut tracks: Vec<Id> = if removed.is_empty() {
        playlist.tracks.clone()
    } else {
        kept.map(|(_, &id)| id).chain(gone.copied()).collect()
    };
    tracks.extend(call.tracks("songIdToAdd")?);
    if call.server.limits.tracks_max < tracks.len() {
        return Err(Fault::bad("songIdToAdd"));
    }
    let changed = Playlist {
        name: call
            .kept_text("name")?
            .unwrap_or_else(|| playlist.name.clone()),
        comment: call
            .kept_text("comment")?
            .unwrap_or_else(|| playlist.comment.clone()),
        public: call.flag("public")?.unwrap_or(playlist.public),
        changed_ms: call.now_ms,
        tracks,
        ..playlist.clone()
    };
    Ok(vec![Change::Playlist {
        id,
        playlist: Some(changed),
    }])
}

pub(crate) fn delete(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    let (id, _) = call.own_playlist(seen, "id")?;
    Ok(vec![Change::Playlist { id, playlist: None }])
}
