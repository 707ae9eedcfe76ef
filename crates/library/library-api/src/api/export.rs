//! Export of playlists as M3U files, which most players read.
//!
//! ```text
//! #EXTM3U
//! #PLAYLIST:name
//! #EXTINF:seconds,artist - title
//! path below the library's root
//! ```

use super::{ApiCall, Refusal};
use crate::ids::Id;
use crate::index::track_rows;
use crate::store::State;

/// Media type of extended M3U files in UTF-8.
pub(super) const MEDIA_TYPE: &str = "audio/x-mpegurl; charset=utf-8";
/// Suffix of a playlist's id in the path of its M3U file.
pub(super) const EXTENSION: &str = ".m3u8";

impl ApiCall<'_> {
    /// Returns a playlist as M3U: a playlist file of the library, a public playlist, or a playlist
    /// of the user who sent the request. Paths are relative to the library's root, so that a scan
    /// finds the tracks if the M3U is stored in the root.
    pub(super) fn export(&self, id: &str) -> Result<String, Refusal> {
        let id = Id::parse(id).ok_or(Refusal::NotFound)?;
        self.context.store.read(|state| self.m3u(state, id))?
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
                (&*playlist.name, track_rows(&self.index, &playlist.tracks))
            }
            _ => return Err(Refusal::NotFound),
        };
        let mut out = format!("#EXTM3U\n#PLAYLIST:{}\n", in_a_line(name));
        for track in rows.iter().filter_map(|&row| self.index.track(row)) {
            let Some((path, _)) = self.index.file(track.file) else {
                continue;
            };
            // The M3U is in UTF-8, so a track whose path is not valid UTF-8 is left out.
            let Ok(path) = String::from_utf8(path) else {
                continue;
            };
            // M3U cannot represent a line break in a path, so a track with such a path is left out.
            if path.contains(['\n', '\r']) {
                continue;
            }
            let seconds = track.duration_ms.div_ceil(1000);
            let (artist, title) = (in_a_line(track.artist), in_a_line(track.title));
            out += &format!("#EXTINF:{seconds},{artist} - {title}\n");
            // A line that begins with `#` would be a comment, so `./` is put in front of the path.
            if path.starts_with('#') {
                out += "./";
            }
            out += &path;
            out.push('\n');
        }
        Ok(out)
    }
}

/// Replaces all control characters with spaces. Line breaks are among them; they would begin
/// another entry.
fn in_a_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
