//! Playlists as files that any player reads.
//!
//! ```text
//! #EXTM3U
//! #PLAYLIST:name
//! #EXTINF:seconds,artist - title
//! path below the library's root
//! ```

use super::{Ask, Refusal};
use crate::ids::Id;
use crate::store::State;

/// Of an extended M3U in UTF-8.
pub(super) const MEDIA_TYPE: &str = "audio/x-mpegurl; charset=utf-8";
/// What an id ends with where the file is asked for.
pub(super) const EXTENSION: &str = ".m3u8";

impl Ask<'_> {
    /// A playlist in a file of the library, a public one, or one of the user whose key was sent. A file that lies in the
    /// library's root has these paths, so that a scan finds its tracks again.
    pub(super) fn export(&self, id: &str) -> Result<String, Refusal> {
        let id = Id::parse(id).ok_or(Refusal::NotFound)?;
        self.server.store.read(|state| self.m3u(state, id))?
    }

    fn m3u(&self, state: &State, id: Id) -> Result<String, Refusal> {
        let (name, rows) = match id {
            Id::Listing(id) => {
                let row = self.index.playlist_row(id);
                let found = row.and_then(|row| self.index.playlist(row));
                let found = found.ok_or(Refusal::NotFound)?;
                (found.name, found.tracks)
            }
            Id::Playlist(id) => {
                let playlist = state.playlists.get(&id).ok_or(Refusal::NotFound)?;
                if !playlist.public && self.user(state)? != playlist.owner {
                    return Err(Refusal::NotFound);
                }
                let tracks = playlist.tracks.iter().filter_map(|id| match id {
                    Id::Track(id) => self.index.track_row(*id),
                    _ => None,
                });
                (&*playlist.name, tracks.collect())
            }
            _ => return Err(Refusal::NotFound),
        };
        let mut out = format!("#EXTM3U\n#PLAYLIST:{}\n", in_a_line(name));
        for track in rows.iter().filter_map(|&row| self.index.track(row)) {
            let Some((path, _)) = self.index.file(track.file) else {
                continue;
            };
            // A file is text here; a name that is none leads nowhere.
            let Ok(path) = String::from_utf8(path) else {
                continue;
            };
            // One with a line's end in it cannot be told.
            if path.contains(['\n', '\r']) {
                continue;
            }
            let seconds = track.duration_ms.div_ceil(1000);
            let (artist, title) = (in_a_line(track.artist), in_a_line(track.title));
            out += &format!("#EXTINF:{seconds},{artist} - {title}\n");
            // A sign that begins a comment does not where a folder comes before it.
            if path.starts_with('#') {
                out += "./";
            }
            out += &path;
            out.push('\n');
        }
        Ok(out)
    }
}

/// Line ends would begin an entry, and other control characters are for terminals, not for names.
fn in_a_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
