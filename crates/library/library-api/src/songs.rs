//! Descriptions of tracks, albums and artists in responses of the Subsonic protocol.

use catalog::{Album, Content, Entry, Track};
use tags::{Codec, Date, Field, Media, Role};

use crate::call::{Call, Seen};
use crate::derived::changed_ms;
use crate::ids::Id;
use crate::index::{albums_of, tracks};
use crate::people::contributors;
use crate::store::{Plays, User};
use crate::time::{iso, seconds};
use crate::transcoding;
use crate::write::Writer;

/// Writes the members of the object that describes a track.
pub(crate) fn write_song(call: &Call<'_>, out: &mut Writer, seen: &Seen<'_>, row: u32) {
    let Some(track) = call.index.track(row) else {
        return;
    };
    let Some(entry) = call.index.entry(track.file) else {
        return;
    };
    let Content::Music(media) = &entry.content else {
        return;
    };
    let album = call.index.album(track.album);
    let id = Id::Track(track.id);
    out.text("id", &id.to_string());
    if let Some(album) = &album {
        out.text("parent", &Id::Album(album.id).to_string());
    }
    out.flag("isDir", false);
    out.text("title", track.title);
    if let Some(album) = &album {
        out.text("album", album.title);
    }
    out.text("artist", track.artist);
    write_numbers(call, out, &track, &entry);
    transcoding::write_transcoded_members(call, out, seen, media, &track);
    out.text_if("genre", genre_names(call, &track.genres).next());
    if album.as_ref().is_some_and(|album| album.cover.is_some()) || media.cover().is_some() {
        out.text("coverArt", &id.to_string());
    }
    out.flag("isVideo", false);
    out.text("type", "music");
    out.text("mediaType", "song");
    if let Some(album) = &album {
        out.text("albumId", &Id::Album(album.id).to_string());
    }
    write_first_artist(call, out, "artistId", &track.artists);
    write_marks(call, out, seen, id);
    let tagged = tags::Track::new(media, &entry.path, &call.context.splits);
    write_extensions(call, out, &track, media, &tagged);
}

/// Writes the members of a track's object that OpenSubsonic added to the protocol.
fn write_extensions(
    call: &Call<'_>,
    out: &mut Writer,
    track: &Track<'_>,
    media: &Media,
    tagged: &tags::Track,
) {
    out.number("bitDepth", media.audio.bits);
    out.number("samplingRate", media.audio.sample_rate_hz);
    out.number("channelCount", media.audio.channels);
    out.number("bpm", tagged.bpm);
    out.text("sortName", tagged.title_sort.as_deref().unwrap_or(""));
    out.text(
        "musicBrainzId",
        tagged.recording_id.as_deref().unwrap_or(""),
    );
    out.text(
        "explicitStatus",
        if track.explicit { "explicit" } else { "" },
    );
    out.text("displayArtist", track.artist);
    out.text("displayAlbumArtist", &tagged.album_artist);
    let composers: Vec<&str> = people(tagged, Role::Composer).map(|it| &*it.name).collect();
    out.text("displayComposer", &composers.join(", "));
    out.texts("isrc", media.tags.all(Field::Isrc));
    let genres = genre_names(call, &track.genres);
    out.list("genres", genres, |out, name| out.text("name", name));
    out.list("artists", &track.artists, |out, &row| {
        write_artist_name(call, out, row)
    });
    let album = call.index.album(track.album);
    let artists = album.as_ref().map_or(&[][..], |album| &album.artists);
    out.list("albumArtists", artists, |out, &row| {
        write_artist_name(call, out, row)
    });
    write_contributors(call, out, tagged);
    out.texts("moods", tagged.moods.iter().map(String::as_str));
    out.texts("groupings", media.tags.all(Field::Grouping));
    out.object("replayGain", |out| write_gains(out, tagged));
}

fn write_numbers(call: &Call<'_>, out: &mut Writer, track: &Track<'_>, entry: &Entry) {
    out.number_if("track", some(track.number));
    out.number_if("discNumber", some(track.disc));
    out.number_if("year", track.date.map(|date| date.year));
    out.number("size", entry.stat.size as i64);
    out.text("contentType", media_type(track.codec, &entry.path));
    out.text("suffix", &suffix(&entry.path));
    out.number("duration", seconds(track.duration_ms));
    out.number("bitRate", track.bitrate_kbps);
    out.text("path", &String::from_utf8_lossy(&entry.path));
    out.text("created", &iso(changed_ms(&entry.stat, call.now_ms)));
}

fn write_contributors(call: &Call<'_>, out: &mut Writer, tagged: &tags::Track) {
    let contributors = contributors(tagged, &call.derived);
    out.list("contributors", contributors, |out, person| {
        out.text("role", person.role);
        out.text_if("subRole", person.part);
        out.object("artist", |out| match person.row {
            Some(row) => write_artist_name(call, out, row),
            None => {
                out.text("id", &Id::Artist(person.id()).to_string());
                out.text("name", person.name);
            }
        });
    });
}

/// Writes the members of an album's object, for endpoints that browse by tags.
pub(crate) fn write_album_id3(call: &Call<'_>, out: &mut Writer, seen: &Seen<'_>, row: u32) {
    let Some(album) = call.index.album(row) else {
        return;
    };
    let id = Id::Album(album.id);
    out.text("id", &id.to_string());
    out.text("name", album.title);
    write_album_artist(call, out, &album);
    write_album_common(call, out, seen, row, &album);
    out.text("sortName", album.sort);
    out.text("displayArtist", album.artist);
    out.flag("isCompilation", album.compilation);
    let first = call.index.track(album.first_track);
    let entry = first.and_then(|track| call.index.entry(track.file));
    let media = entry.as_ref().and_then(|entry| match &entry.content {
        Content::Music(media) => Some((media, &entry.path)),
        _ => None,
    });
    let tagged = media.map(|(media, path)| tags::Track::new(media, path, &call.context.splits));
    let release = tagged
        .as_ref()
        .and_then(|track| track.release_id.as_deref());
    out.text("musicBrainzId", release.unwrap_or(""));
    let of_first = |field| {
        media
            .into_iter()
            .flat_map(move |(media, _)| media.tags.all(field))
    };
    out.text("version", of_first(Field::Subtitle).next().unwrap_or(""));
    out.list("recordLabels", of_first(Field::Label), |out, label| {
        out.text("name", label);
    });
    let genres = genre_names(call, &album.genres);
    out.list("genres", genres, |out, name| out.text("name", name));
    out.list("artists", &album.artists, |out, &row| {
        write_artist_name(call, out, row)
    });
    let types = tagged.iter().flat_map(|track| &track.release_types);
    out.texts("releaseTypes", types.map(String::as_str));
    out.texts(
        "moods",
        tagged
            .iter()
            .flat_map(|track| &track.moods)
            .map(String::as_str),
    );
    out.object("originalReleaseDate", |out| date(out, album.original_date));
    out.object("releaseDate", |out| date(out, album.date));
    write_disc_titles(call, out, &album);
}

fn write_album_artist(call: &Call<'_>, out: &mut Writer, album: &Album<'_>) {
    out.text("artist", album.artist);
    write_first_artist(call, out, "artistId", &album.artists);
}

fn write_album_common(
    call: &Call<'_>,
    out: &mut Writer,
    seen: &Seen<'_>,
    row: u32,
    album: &Album<'_>,
) {
    let id = Id::Album(album.id);
    if album.cover.is_some() {
        out.text("coverArt", &id.to_string());
    }
    out.number("songCount", album.tracks);
    out.number("duration", album.duration_s);
    let created_ms = call.derived.album_ms.get(row as usize);
    out.text("created", &iso(created_ms.copied().unwrap_or(0)));
    let year = album.original_date.or(album.date);
    out.number_if("year", year.map(|date| date.year));
    out.text_if("genre", genre_names(call, &album.genres).next());
    write_marks(call, out, seen, id);
}

fn write_disc_titles(call: &Call<'_>, out: &mut Writer, album: &Album<'_>) {
    let mut titles: Vec<(u16, String)> = Vec::new();
    // Reads the tags of the tracks only if the album has several discs, which few albums have.
    // Tracks are sorted, so the last one has the highest disc number.
    let last = tracks(album).last().and_then(|row| call.index.track(row));
    let has_discs = last.is_some_and(|track| 1 < track.disc);
    for row in tracks(album).filter(|_| has_discs) {
        let entry = call
            .index
            .track(row)
            .and_then(|track| call.index.entry(track.file));
        if let Some(Entry {
            content: Content::Music(media),
            ..
        }) = entry
            && let Some(title) = media.tags.first(Field::DiscSubtitle)
        {
            let disc = call.index.track(row).map_or(0, |track| track.disc.into());
            if titles.last().is_none_or(|(last, _)| *last != disc) {
                titles.push((disc, title.to_owned()));
            }
        }
    }
    out.list("discTitles", titles, |out, (disc, title)| {
        out.number("disc", disc);
        out.text("title", &title);
    });
}

/// Writes the members of an album's object, for endpoints that browse by folders.
pub(crate) fn write_album_child(call: &Call<'_>, out: &mut Writer, seen: &Seen<'_>, row: u32) {
    let Some(album) = call.index.album(row) else {
        return;
    };
    out.text("id", &Id::Album(album.id).to_string());
    write_first_artist(call, out, "parent", &album.artists);
    out.flag("isDir", true);
    out.text("title", album.title);
    out.text("album", album.title);
    write_album_artist(call, out, &album);
    write_album_common(call, out, seen, row, &album);
}

/// Writes the members of an artist's object, for endpoints that browse by tags.
pub(crate) fn write_artist_id3(call: &Call<'_>, out: &mut Writer, seen: &Seen<'_>, row: u32) {
    let Some(artist) = call.index.artist(row) else {
        return;
    };
    write_artist_child(call, out, seen, row);
    let albums = albums_of(&call.index, row, &artist);
    out.number("albumCount", albums.len() as u32);
    let id = call.derived.musicbrainz_id(&call.context.splits, row);
    out.text("musicBrainzId", id.unwrap_or(""));
    out.text("sortName", artist.sort);
    let roles = [
        (Role::Artist, "artist"),
        (Role::AlbumArtist, "albumartist"),
        (Role::Composer, "composer"),
        (Role::Conductor, "conductor"),
    ];
    let roles = roles.into_iter().filter(|(role, _)| artist.has_role(*role));
    out.texts("roles", roles.map(|(_, name)| name));
}

/// Writes the members of an artist's object, for endpoints that browse by folders.
pub(crate) fn write_artist_child(call: &Call<'_>, out: &mut Writer, seen: &Seen<'_>, row: u32) {
    let Some(artist) = call.index.artist(row) else {
        return;
    };
    let id = Id::Artist(artist.id);
    out.text("id", &id.to_string());
    out.text("name", artist.name);
    let mut albums = artist
        .albums
        .iter()
        .filter_map(|&row| call.index.album(row));
    if albums.any(|album| album.cover.is_some()) {
        out.text("coverArt", &id.to_string());
    }
    if let Some(user) = seen.user {
        out.text_if(
            "starred",
            user.stars.get(&id).map(|&at_ms| iso(at_ms)).as_deref(),
        );
        out.number_if("userRating", user.ratings.get(&id).copied());
    }
}

/// Writes the id of the first of `artists`, for members that can hold only one artist.
pub(crate) fn write_first_artist(
    call: &Call<'_>,
    out: &mut Writer,
    key: &'static str,
    artists: &[u32],
) {
    let first = artists.first().and_then(|&row| call.index.artist(row));
    let id = first.map(|artist| Id::Artist(artist.id).to_string());
    out.text_if(key, id.as_deref());
}

fn write_artist_name(call: &Call<'_>, out: &mut Writer, row: u32) {
    if let Some(artist) = call.index.artist(row) {
        out.text("id", &Id::Artist(artist.id).to_string());
        out.text("name", artist.name);
    }
}

fn genre_names<'c>(call: &'c Call<'_>, rows: &'c [u32]) -> impl Iterator<Item = &'c str> {
    rows.iter()
        .filter_map(|&row| Some(call.index.genre(row)?.name))
}

/// Writes the user's play count, rating and star of an object.
fn write_marks(call: &Call<'_>, out: &mut Writer, seen: &Seen<'_>, id: Id) {
    let Some(user) = seen.user else {
        return;
    };
    let plays = match id {
        Id::Album(_) => album_plays(call, user, id),
        _ => user.plays.get(&id).copied(),
    };
    if let Some(plays) = plays {
        out.number("playCount", plays.count);
        out.text("played", &iso(plays.last_ms));
    } else {
        out.number("playCount", 0);
    }
    out.number_if("userRating", user.ratings.get(&id).copied());
    out.text_if(
        "starred",
        user.stars.get(&id).map(|&at_ms| iso(at_ms)).as_deref(),
    );
}

/// Returns the user's play count of an album: the average over its tracks, rounded up.
fn album_plays(call: &Call<'_>, user: &User, id: Id) -> Option<Plays> {
    if user.plays.is_empty() {
        return None;
    }
    let Id::Album(id) = id else {
        return None;
    };
    let album = call.index.album(call.index.album_row(id)?)?;
    let plays = tracks(&album).filter_map(|row| {
        let track = call.index.track(row)?;
        user.plays.get(&Id::Track(track.id))
    });
    let all = plays.fold(Plays::default(), |all, plays| Plays {
        count: all.count.saturating_add(plays.count),
        last_ms: all.last_ms.max(plays.last_ms),
        ..all
    });
    let count = all.count.div_ceil(album.tracks.max(1));
    (count != 0).then_some(Plays { count, ..all })
}

fn people(track: &tags::Track, role: Role) -> impl Iterator<Item = &tags::Person> {
    track
        .people
        .iter()
        .filter(move |person| person.role == role)
}

/// Writes the gains and peaks that the tags of a track contain.
pub(crate) fn write_gains(out: &mut Writer, track: &tags::Track) {
    let mut gain = |name, value: Option<i16>| {
        if let Some(value) = value {
            out.float(name, f64::from(value) / 100.0);
        }
    };
    gain("trackGain", track.track_gain_cdb);
    gain("albumGain", track.album_gain_cdb);
    let mut peak = |name, value: Option<u32>| {
        if let Some(value) = value {
            out.float(name, f64::from(value) / 1e6);
        }
    };
    peak("trackPeak", track.track_peak_ppm);
    peak("albumPeak", track.album_peak_ppm);
}

fn date(out: &mut Writer, date: Option<Date>) {
    if let Some(date) = date {
        out.number("year", date.year);
        out.number_if("month", some(date.month));
        out.number_if("day", some(date.day));
    }
}

fn some<T: Into<i64> + Copy>(number: T) -> Option<i64> {
    Some(number.into()).filter(|number| *number != 0)
}

/// Returns the extension of a file's name, in lower case.
pub(crate) fn suffix(path: &[u8]) -> String {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let dot = name.iter().rposition(|&byte| byte == b'.');
    let suffix = dot.map_or(&b""[..], |dot| &name[dot + 1..]);
    String::from_utf8_lossy(suffix).to_ascii_lowercase()
}

/// Returns the media type with which the server sends a music file.
fn media_type(codec: Codec, path: &[u8]) -> &'static str {
    match (codec, &*suffix(path)) {
        (_, "mka") => "audio/x-matroska",
        (_, "weba" | "webm") => "audio/webm",
        (Codec::Flac, "flac") => "audio/flac",
        (Codec::Mp1 | Codec::Mp2 | Codec::Mp3, _) => "audio/mpeg",
        (Codec::Aac, "aac") => "audio/aac",
        (Codec::Aac | Codec::Alac, _) => "audio/mp4",
        (Codec::Vorbis | Codec::Opus | Codec::Flac | Codec::Speex, _) => "audio/ogg",
        (Codec::WavPack, _) => "audio/x-wavpack",
        (Codec::Monkey, _) => "audio/x-ape",
        (Codec::Musepack, _) => "audio/x-musepack",
        (Codec::Dsd, _) => "audio/x-dsf",
        (Codec::TrueAudio, _) => "audio/x-tta",
        (_, "wma") => "audio/x-ms-wma",
        (_, "bwf" | "wav" | "wave") => "audio/wav",
        (_, "aif" | "aiff" | "aifc") => "audio/aiff",
        _ => "application/octet-stream",
    }
}
