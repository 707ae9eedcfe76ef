//! Albums, tracks, playlists, artists and pictures as JSON objects.

use std::path::Path;

use catalog::{Content, CoverOwner};
use image_plan::Placeholder;

use super::{ApiCall, Refusal};
use crate::ids::Id;
use crate::index::{own_albums, tracks};
use crate::params::encoded;
use crate::people::contributors;
use crate::songs::write_gains;
use crate::store::{Plays, State};
use crate::time::iso;
use crate::write::Writer;

impl ApiCall<'_> {
    pub(super) fn write_album(&self, out: &mut Writer, state: &State, row: u32) {
        let Some(album) = self.index.album(row) else {
            return;
        };
        let id = Id::Album(album.id);
        out.text("id", &id.to_string());
        out.text("title", album.title);
        out.text("artist", album.artist);
        self.write_artist_ids(out, &album.artists);
        out.text_if("date", album.date.map(date).as_deref());
        out.text_if("originalDate", album.original_date.map(date).as_deref());
        let added_ms = self.derived.album_ms.get(row as usize);
        out.text("added", &iso(added_ms.copied().unwrap_or(0)));
        out.number("trackCount", album.tracks);
        out.number("durationSeconds", album.duration_s);
        out.flag("compilation", album.compilation);
        out.texts("genres", self.genres(&album.genres));
        self.write_cover(out, id, CoverOwner::Album(row));
        self.write_cover_placeholder(out, CoverOwner::Album(row));
        let plays = tracks(&album)
            .filter_map(|row| Some(Id::Track(self.index.track(row)?.id)))
            .map(|id| plays_of(state, id).0)
            .sum::<u32>();
        out.number("plays", plays);
    }

    pub(super) fn write_track(&self, out: &mut Writer, state: &State, row: u32) {
        let Some(track) = self.index.track(row) else {
            return;
        };
        let id = Id::Track(track.id);
        out.text("id", &id.to_string());
        out.text("title", track.title);
        out.text("artist", track.artist);
        self.write_artist_ids(out, &track.artists);
        if let Some(album) = self.index.album(track.album) {
            out.text("albumId", &Id::Album(album.id).to_string());
            out.text("album", album.title);
        }
        out.number("disc", track.disc);
        out.number("number", track.number);
        out.number("durationMs", track.duration_ms);
        out.number("kbps", track.bitrate_kbps);
        out.text_if("date", track.date.map(date).as_deref());
        out.texts("genres", self.genres(&track.genres));
        self.write_tags(out, track.file);
        if let Some((path, stat)) = self.index.file(track.file) {
            out.number("bytes", stat.size as i64);
            out.text("file", &format!("/{}", encoded(&path)));
        }
        self.write_cover(out, id, CoverOwner::Track(row));
        let (plays, last_ms) = plays_of(state, id);
        out.number("plays", plays);
        out.text_if("played", last_ms.map(iso).as_deref());
        let ratings = state
            .users
            .values()
            .filter_map(|user| user.ratings.get(&id));
        let ratings: Vec<f64> = ratings.map(|&rating| f64::from(rating)).collect();
        if !ratings.is_empty() {
            out.float("rating", ratings.iter().sum::<f64>() / ratings.len() as f64);
        }
    }

    pub(super) fn write_playlist_file(&self, out: &mut Writer, row: u32) {
        let Some(playlist) = self.index.playlist(row) else {
            return;
        };
        out.text("id", &Id::Listing(playlist.id).to_string());
        out.text("name", playlist.name);
        out.text("kind", "file");
        out.flag("public", true);
        out.flag("changeable", false);
        if let Some((path, stat)) = self.index.file(playlist.file) {
            out.text("file", &format!("/{}", encoded(&path)));
            out.text("changed", &iso(stat.mtime_ns.div_euclid(1_000_000)));
        }
        let tracks = playlist.tracks.iter();
        let durations_ms = tracks.filter_map(|&row| Some(self.index.track(row)?.duration_ms));
        out.number("trackCount", playlist.tracks.len() as u32);
        out.number("durationMs", durations_ms.map(i64::from).sum::<i64>());
        out.number("missingCount", playlist.missing);
    }

    pub(super) fn write_artist(&self, out: &mut Writer, row: u32) {
        let Some(artist) = self.index.artist(row) else {
            return;
        };
        let id = Id::Artist(artist.id);
        out.text("id", &id.to_string());
        out.text("name", artist.name);
        out.text(
            "sortName",
            if artist.sort.is_empty() {
                artist.name
            } else {
                artist.sort
            },
        );
        out.number(
            "albumCount",
            own_albums(&self.index, row, &artist).len() as u32,
        );
        out.number("trackCount", artist.tracks);
        self.write_cover(out, id, CoverOwner::Artist(row));
        self.write_cover_placeholder(out, CoverOwner::Artist(row));
    }

    /// If the object `of` has a cover, writes the URL path of the cover. `id` is the id of the
    /// object.
    fn write_cover(&self, out: &mut Writer, id: Id, of: CoverOwner) {
        if self.context.library.has_cover(&self.index, of) {
            out.text("cover", &format!("/-/cover/{id}"));
        }
    }

    fn write_cover_placeholder(&self, out: &mut Writer, of: CoverOwner) {
        write_placeholder(out, self.context.library.placeholder(&self.index, of));
    }

    /// Returns the rows of all pictures, the latest first. If the request names a folder, returns
    /// only the pictures of this folder, ordered by name.
    pub(super) fn pictures(&self) -> Result<Vec<u32>, Refusal> {
        let all = 0..self.index.counts().photos;
        let Some(folder) = self.request.params.first("folder") else {
            return Ok(all.rev().collect());
        };
        let folder = folder.trim_matches('/').as_bytes();
        let within = all.filter_map(|row| {
            let (path, _) = self.index.file(self.index.photo(row)?.file)?;
            let name = path.rsplit(|&byte| byte == b'/').next()?.len();
            let parent = path[..path.len() - name].strip_suffix(b"/").unwrap_or(b"");
            (parent == folder).then_some((path, row))
        });
        let mut rows: Vec<_> = within.collect();
        rows.sort();
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    pub(super) fn write_picture(&self, out: &mut Writer, row: u32) {
        let Some(shown) = self.index.photo(row) else {
            return;
        };
        let Some(entry) = self.index.entry(shown.file) else {
            return;
        };
        let Content::Photo(photo) = &entry.content else {
            return;
        };
        let path = String::from_utf8_lossy(&entry.path);
        let folder = Path::new(&*path)
            .parent()
            .map(|parent| parent.to_string_lossy());
        out.text("id", &Id::Photo(shown.id).to_string());
        out.text("file", &format!("/{}", encoded(&entry.path)));
        out.text("name", path.rsplit('/').next().unwrap_or(&path));
        out.text("folder", folder.as_deref().unwrap_or(""));
        out.text(
            "taken",
            iso(shown.taken_s.saturating_mul(1000)).trim_end_matches(".000Z"),
        );
        out.number("width", photo.width_px);
        out.number("height", photo.height_px);
        out.number("bytes", entry.stat.size as i64);
        let camera = [&photo.metadata.make, &photo.metadata.model]
            .into_iter()
            .flatten();
        let camera: Vec<&str> = camera.map(String::as_str).collect();
        if !camera.is_empty() {
            out.text("camera", &camera.join(" "));
        }
        if let Some(position) = &photo.metadata.position {
            out.float("latitude", f64::from(position.latitude_e7) / 1e7);
            out.float("longitude", f64::from(position.longitude_e7) / 1e7);
        }
        write_placeholder(out, self.context.library.placeholder_of_file(&entry.path));
    }

    /// Writes the contributors and the ReplayGain that the tags of a track's file name.
    fn write_tags(&self, out: &mut Writer, file: u32) {
        let Some(entry) = self.index.entry(file) else {
            return;
        };
        let Content::Music(media) = &entry.content else {
            return;
        };
        let tagged = tags::Track::new(media, &entry.path, &self.context.splits);
        let contributors = contributors(&tagged, &self.derived);
        out.list("contributors", contributors, |out, person| {
            out.text("role", person.role);
            out.text("name", person.name);
            out.text_if("part", person.part);
            let artist = person.row.and_then(|row| self.index.artist(row));
            let id = artist.map(|artist| Id::Artist(artist.id).to_string());
            out.text_if("artistId", id.as_deref());
        });
        let gains = [tagged.track_gain_cdb, tagged.album_gain_cdb];
        if gains.iter().any(Option::is_some) {
            out.object("replayGain", |out| write_gains(out, &tagged));
        }
    }

    fn write_artist_ids(&self, out: &mut Writer, rows: &[u32]) {
        let artists = rows.iter().filter_map(|&row| self.index.artist(row));
        let ids: Vec<String> = artists
            .map(|artist| Id::Artist(artist.id).to_string())
            .collect();
        out.texts("artistIds", ids.iter().map(String::as_str));
    }

    fn genres<'c>(&'c self, rows: &'c [u32]) -> impl Iterator<Item = &'c str> {
        rows.iter()
            .filter_map(|&row| Some(self.index.genre(row)?.name))
    }
}

/// Writes the placeholder that clients show until a picture is loaded, if the placeholder is known.
fn write_placeholder(out: &mut Writer, placeholder: Option<Placeholder>) {
    if let Some(placeholder) = placeholder {
        out.object("placeholder", |out| {
            out.text("colour", &placeholder.colour());
            out.text("blurhash", placeholder.blurhash());
            out.text("thumbhash", &placeholder.thumbhash());
        });
    }
}

/// Returns the number of plays of an object by all users, and the time of the last play.
fn plays_of(state: &State, id: Id) -> (u32, Option<i64>) {
    let plays = state.users.values().filter_map(|user| user.plays.get(&id));
    plays.fold((0, None), |(count, last_ms), plays: &Plays| {
        (count + plays.count, last_ms.max(Some(plays.last_ms)))
    })
}

/// Formats a date as year, year and month, or full date, as far as it is known.
fn date(date: tags::Date) -> String {
    match (date.month, date.day) {
        (0, _) => format!("{:04}", date.year),
        (month, 0) => format!("{:04}-{month:02}", date.year),
        (month, day) => format!("{:04}-{month:02}-{day:02}", date.year),
    }
}
