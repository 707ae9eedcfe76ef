//! Playlists of two kinds: playlist files of the library, which are read-only, and stored playlists
//! of users. Players read and change the stored playlists too, through the Subsonic API.
//!
//! A position in a request counts only the tracks that are in the library. Missing tracks keep
//! their places in the playlist, since they may return, for example when a disk is mounted again.

use super::playlist_edit::{Edit, Position};
use super::{ApiCall, Refusal};
use crate::ids::Id;
use crate::index::{TracksError, parse_tracks, track_row, track_rows};
use crate::store::{Change, Playlist, Role, State};
use crate::time::iso;
use crate::write::Writer;

/// Playlist in a list: a playlist of a user, or the row of a playlist file.
pub(super) enum ListedPlaylist<'s> {
    Stored(u64, &'s Playlist),
    File(u32),
}

impl ApiCall<'_> {
    /// Returns the user's own playlists sorted by name, then the public playlists of other users
    /// sorted by name, then the playlist files. A client without a login gets only the playlist
    /// files.
    pub(super) fn playlists<'s>(&self, state: &'s State) -> Vec<ListedPlaylist<'s>> {
        let mut stored = Vec::new();
        if let Ok(user) = self.user(state) {
            let playlists = state.playlists.iter();
            let visible = playlists.filter(|(_, it)| it.is_visible_to(&user));
            stored.extend(visible.map(|(&id, it)| (it.owner != user, it.name.to_lowercase(), id)));
        }
        stored.sort_unstable();
        let stored = stored.into_iter().map(|(_, _, id)| id);
        let stored =
            stored.filter_map(|id| Some(ListedPlaylist::Stored(id, state.playlists.get(&id)?)));
        let in_files = (0..self.index.counts().playlists).map(ListedPlaylist::File);
        stored.chain(in_files).collect()
    }

    /// Writes one entry of the list of playlists: a playlist without its tracks.
    pub(super) fn write_listed_playlist(
        &self,
        out: &mut Writer,
        state: &State,
        listed: &ListedPlaylist<'_>,
    ) {
        match *listed {
            ListedPlaylist::Stored(id, playlist) => {
                self.write_stored_playlist(out, state, (id, playlist))
            }
            ListedPlaylist::File(row) => self.write_playlist_file(out, row),
        }
    }

    /// Writes a playlist of a user without its tracks. Guests do not get the name of its owner.
    fn write_stored_playlist(
        &self,
        out: &mut Writer,
        state: &State,
        (id, playlist): (u64, &Playlist),
    ) {
        let user = self.user(state).ok();
        let is_own = user.as_ref() == Some(&playlist.owner);
        let rows = track_rows(&self.index, &playlist.tracks);
        let durations_ms = rows.iter().filter_map(|&row| self.index.track(row));
        let durations_ms = durations_ms.map(|track| i64::from(track.duration_ms));
        out.text("id", &Id::Playlist(id).to_string());
        out.text("name", &playlist.name);
        out.text("kind", "user");
        if user.is_some() {
            out.text("owner", &playlist.owner);
        }
        out.flag("public", playlist.public);
        out.flag("changeable", is_own && self.may_edit_playlists(state));
        out.text("changed", &iso(playlist.changed_ms));
        out.number("trackCount", rows.len() as u32);
        out.number("durationMs", durations_ms.sum::<i64>());
        out.number("missingCount", (playlist.tracks.len() - rows.len()) as u32);
    }

    /// Writes the playlist with this id, a page of its tracks, and its missing entries.
    pub(super) fn write_whole_playlist(
        &self,
        out: &mut Writer,
        state: &State,
        id: &str,
    ) -> Result<(), Refusal> {
        let (rows, missing): (Vec<u32>, Vec<String>) = match Id::parse(id) {
            Some(Id::Listing(id)) => {
                let row = self.index.playlist_row(id).ok_or(Refusal::NotFound)?;
                let playlist = self.index.playlist(row).ok_or(Refusal::NotFound)?;
                self.write_playlist_file(out, row);
                (playlist.tracks, self.index.missing_of(row))
            }
            Some(Id::Playlist(id)) => {
                let playlist = self.visible_playlist(state, id)?;
                self.write_stored_playlist(out, state, (id, playlist));
                let tracks = playlist.tracks.iter();
                let missing = tracks.filter(|&&id| !self.has_track(id));
                (
                    track_rows(&self.index, &playlist.tracks),
                    missing.map(Id::to_string).collect(),
                )
            }
            _ => return Err(Refusal::NotFound),
        };
        out.list("tracks", self.part(rows)?, |out, row| {
            self.write_track(out, state, row)
        });
        out.texts("missing", self.part(missing.iter().map(String::as_str))?);
        Ok(())
    }

    /// Returns a stored playlist, if it is public or belongs to the user of the request.
    fn visible_playlist<'s>(&self, state: &'s State, id: u64) -> Result<&'s Playlist, Refusal> {
        let found = state.playlists.get(&id).ok_or(Refusal::NotFound)?;
        let is_visible = match self.user(state) {
            Ok(user) => found.is_visible_to(&user),
            Err(_) => found.public,
        };
        is_visible.then_some(found).ok_or(Refusal::NotFound)
    }

    fn may_edit_playlists(&self, state: &State) -> bool {
        let user = self.user(state).ok();
        let user = user.and_then(|name| state.users.get(&name));
        user.is_some_and(|user| user.may(Role::Playlist))
    }

    /// Creates a playlist from the parameters `name` and `track`, and returns the playlist without
    /// its tracks.
    pub(super) fn create_playlist(&self) -> Result<String, Refusal> {
        let id = fastrand::u64(..);
        let now_ms = self.request.now_ms;
        let (name, tracks) = (self.playlist_name()?, self.parse_tracks()?);
        let mut document = String::new();
        self.context.store.change(|state| {
            let owner = self.user(state)?;
            if !self.may_edit_playlists(state) {
                return Err(Refusal::MayNotCreatePlaylists);
            }
            let own = state.playlists.values().filter(|it| it.owner == owner);
            if self.context.limits.kept_max <= own.count() {
                return Err(Refusal::Full);
            }
            let playlist = Playlist {
                name,
                tracks,
                created_ms: now_ms,
                changed_ms: now_ms,
                owner,
                ..Playlist::default()
            };
            document = self.playlist_document(state, id, &playlist);
            self.compose_change(state, id, playlist)
        })??;
        Ok(document)
    }

    /// Applies `edit` to a playlist of the user, and returns the playlist without its tracks.
    pub(super) fn change_playlist(&self, id: &str, edit: Edit) -> Result<String, Refusal> {
        let tracks_max = self.context.limits.tracks_max;
        // The response is composed while the store is still locked. Otherwise the time `changed` in
        // the response could be the time of a later change by another client.
        let mut document = String::new();
        self.context.store.change(|state| {
            let (id, stored) = self.own_playlist(state, id)?;
            let mut playlist = stored.clone();
            edit.apply(&mut playlist, tracks_max, |id| self.has_track(id))?;
            playlist.changed_ms = stored.next_changed_ms(self.request.now_ms);
            document = self.playlist_document(state, id, &playlist);
            self.compose_change(state, id, playlist)
        })??;
        Ok(document)
    }

    pub(super) fn delete_playlist(&self, id: &str) -> Result<String, Refusal> {
        self.context.store.change(|state| {
            let (id, _) = self.own_playlist(state, id)?;
            let playlist = None;
            Ok::<_, Refusal>(vec![Change::Playlist { id, playlist }])
        })??;
        Ok("{}".to_owned())
    }

    /// Returns the playlist with this id if the user may change it, and if it has not changed since
    /// the time in the parameter `changed`.
    fn own_playlist<'s>(&self, state: &'s State, id: &str) -> Result<(u64, &'s Playlist), Refusal> {
        let user = self.user(state)?;
        let id = match Id::parse(id) {
            Some(Id::Playlist(id)) => id,
            Some(Id::Listing(id)) if self.index.playlist_row(id).is_some() => {
                return Err(Refusal::ReadOnly);
            }
            _ => return Err(Refusal::NotFound),
        };
        let playlist = self.visible_playlist(state, id)?;
        if playlist.owner != user || !self.may_edit_playlists(state) {
            return Err(Refusal::ReadOnly);
        }
        match self.request.params.first("changed") {
            Some(changed) if changed != iso(playlist.changed_ms) => Err(Refusal::Changed),
            _ => Ok((id, playlist)),
        }
    }

    /// Returns the change that stores a playlist, unless it exceeds the limit on its owner's data.
    fn compose_change(
        &self,
        state: &State,
        id: u64,
        playlist: Playlist,
    ) -> Result<Vec<Change>, Refusal> {
        let playlist = Some(playlist);
        self.check_quota(state, Change::Playlist { id, playlist })
    }

    /// Returns a playlist without its tracks as JSON.
    fn playlist_document(&self, state: &State, id: u64, playlist: &Playlist) -> String {
        let mut out = Writer::new(false);
        out.braced(|out| self.write_stored_playlist(out, state, (id, playlist)));
        out.finish()
    }

    /// Returns an edit that inserts the tracks in the parameters `track` at the position in the
    /// parameter `at`, or appends them.
    pub(super) fn parse_insertion(&self) -> Result<Edit, Refusal> {
        let tracks = self.parse_tracks()?;
        match tracks.is_empty() {
            true => Err(Refusal::Bad("track")),
            false => Ok(Edit::Insert {
                tracks,
                at: self.number("at")?,
            }),
        }
    }

    /// Returns an edit that removes the tracks at the positions in the parameters `index`. The
    /// request may name the tracks at these positions by parameters `track` in the same order.
    pub(super) fn parse_removal(&self) -> Result<Edit, Refusal> {
        let indices = self.request.params.all("index").map(str::parse);
        let indices: Result<Vec<usize>, _> = indices.collect();
        let indices = indices.map_err(|_| Refusal::Bad("index"))?;
        let expected = self.expected_tracks()?;
        if indices.is_empty() {
            return Err(Refusal::Bad("index"));
        }
        if !expected.is_empty() && expected.len() != indices.len() {
            return Err(Refusal::Bad("track"));
        }
        let positions = indices.into_iter().enumerate().map(|(at, index)| Position {
            index,
            expected: expected.get(at).copied(),
        });
        Ok(Edit::Remove(positions.collect()))
    }

    /// Returns an edit that moves the track at the position `index` to the position in the
    /// parameter `to`. The request may name the track by the parameter `track`.
    pub(super) fn parse_move(&self, index: &str) -> Result<Edit, Refusal> {
        let from = Position {
            index: index.parse().map_err(|_| Refusal::NotFound)?,
            expected: self.expected_tracks()?.first().copied(),
        };
        let to = self.number("to")?.ok_or(Refusal::Bad("to"))?;
        Ok(Edit::Move { from, to })
    }

    /// Returns the ids in the parameters `track` of a request that removes or moves tracks.
    fn expected_tracks(&self) -> Result<Vec<Id>, Refusal> {
        let ids = self.request.params.all("track").map(Id::parse);
        ids.collect::<Option<_>>().ok_or(Refusal::Bad("track"))
    }

    /// Returns the name in the parameter `name`.
    pub(super) fn playlist_name(&self) -> Result<String, Refusal> {
        let name = self.request.params.first("name").map(str::trim);
        let bytes_max = self.context.limits.text_bytes_max;
        let name = name.filter(|name| !name.is_empty() && name.len() <= bytes_max);
        name.map(str::to_owned).ok_or(Refusal::Bad("name"))
    }

    /// Returns the tracks in the parameters `track`; the id of an album stands for its tracks.
    pub(super) fn parse_tracks(&self) -> Result<Vec<Id>, Refusal> {
        let tracks_max = self.context.limits.tracks_max;
        let found = parse_tracks(&self.index, self.request.params.all("track"), tracks_max);
        found.map_err(|err| match err {
            TracksError::UnknownTrack | TracksError::UnknownAlbum => Refusal::Bad("track"),
            TracksError::TooMany => Refusal::Full,
        })
    }

    fn has_track(&self, id: Id) -> bool {
        track_row(&self.index, id).is_some()
    }
}
