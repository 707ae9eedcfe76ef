//! Endpoints that list albums and songs, for example random albums, starred songs, or the songs of
//! a genre.

use std::cmp::Reverse;
use std::collections::HashMap;

use catalog::TrackId;

use crate::call::{Call, Seen};
use crate::fault::Fault;
use crate::ids::Id;
use crate::index::genres_named;
use crate::named;
use crate::songs;
use crate::write::Writer;

type Done = Result<(), Fault>;

/// Time for which a track counts as playing after a player reported it. Few tracks are longer.
const PLAYING_MS: i64 = 20 * 60_000;

pub(crate) fn albums(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let rows = album_page(call, seen)?;
    out.object("albumList", |out| {
        out.list("album", rows, |out, row| {
            songs::write_album_child(call, out, seen, row)
        });
    });
    Ok(())
}

pub(crate) fn albums2(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let rows = album_page(call, seen)?;
    out.object("albumList2", |out| {
        out.list("album", rows, |out, row| {
            songs::write_album_id3(call, out, seen, row)
        });
    });
    Ok(())
}

fn album_page(call: &Call<'_>, seen: &Seen<'_>) -> Result<Vec<u32>, Fault> {
    let (offset, size) = call.page(("size", "offset"), 10, call.context.limits.page_max)?;
    let all = 0..call.index.counts().albums;
    let rows = match call.text("type")? {
        "random" => {
            let mut rows: Vec<u32> = all.collect();
            let mut chance = fastrand::Rng::with_seed(call.fresh);
            return Ok(partly_shuffled(&mut rows, size, &mut chance).to_vec());
        }
        "newest" => call.derived.newest.clone(),
        "alphabeticalByName" => all.collect(),
        "alphabeticalByArtist" => call.derived.by_artist.clone(),
        "starred" => {
            let stars = seen.user.map(|user| &user.stars);
            marked(call, stars.into_iter().flatten())
        }
        "highest" => {
            let ratings = seen.user.map(|user| &user.ratings);
            marked(call, ratings.into_iter().flatten())
        }
        "frequent" => played(call, seen, |count, last_ms| (count, last_ms)),
        "recent" => played(call, seen, |count, last_ms| (last_ms, count)),
        "byYear" => by_year(call)?,
        "byGenre" => {
            let genres = genres_named(&call.index, call.text("genre")?);
            let has_it = |row: &u32| {
                let album = call.index.album(*row);
                album.is_some_and(|album| album.genres.iter().any(|row| genres.contains(row)))
            };
            all.filter(has_it).collect()
        }
        _ => return Err(Fault::bad("type")),
    };
    Ok(rows.into_iter().skip(offset).take(size).collect())
}

/// Moves `count` random rows, or all rows if there are fewer, to the front in random order, and
/// returns them.
fn partly_shuffled<'r>(rows: &'r mut [u32], count: usize, chance: &mut fastrand::Rng) -> &'r [u32] {
    let count = count.min(rows.len());
    for at in 0..count {
        rows.swap(at, chance.usize(at..rows.len()));
    }
    &rows[..count]
}

/// Returns the albums among the objects of `marks`, the highest mark first. A mark is a rating or
/// the time at which the object was starred.
fn marked<'m, V: Ord + Copy + 'm>(
    call: &Call<'_>,
    marks: impl Iterator<Item = (&'m Id, &'m V)>,
) -> Vec<u32> {
    let rows = marks.filter_map(|(&id, &mark)| Some((Reverse(mark), call.album_row(id).ok()?)));
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Returns the albums that the user played, sorted by `key`, the highest first. `key` computes the
/// sort key of an album from its play count and the time of the last play.
fn played<K: Ord>(call: &Call<'_>, seen: &Seen<'_>, key: impl Fn(i64, i64) -> K) -> Vec<u32> {
    let mut albums: HashMap<u32, (i64, i64)> = HashMap::new();
    for (&id, plays) in seen.user.iter().flat_map(|user| &user.plays) {
        let track = call.track_row(id).and_then(|row| call.index.track(row));
        if let Some(track) = track {
            let (count, last_ms) = albums.entry(track.album).or_default();
            *count += i64::from(plays.count);
            *last_ms = (*last_ms).max(plays.last_ms);
        }
    }
    let mut rows: Vec<(u32, (i64, i64))> = albums.into_iter().collect();
    rows.sort_by_key(|&(row, (count, last_ms))| (Reverse(key(count, last_ms)), row));
    rows.into_iter().map(|(row, _)| row).collect()
}

fn by_year(call: &Call<'_>) -> Result<Vec<u32>, Fault> {
    let year = |name| {
        call.number::<u16>(name)?
            .ok_or_else(|| Fault::missing(name))
    };
    let (from, to) = (year("fromYear")?, year("toYear")?);
    let years = from.min(to)..=from.max(to);
    let dated = (0..call.index.counts().albums).filter_map(|row| {
        let album = call.index.album(row)?;
        let year = album.original_date.or(album.date)?.year;
        years.contains(&year).then_some((year, row))
    });
    let mut rows: Vec<(u16, u32)> = dated.collect();
    rows.sort();
    if to < from {
        rows.reverse();
    }
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

pub(crate) fn random_songs(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let (_, size) = call.page(("size", ""), 10, call.context.limits.page_max)?;
    let genre = call.params.first("genre");
    let genres = genre.map(|genre| genres_named(&call.index, genre));
    let (from, to): (Option<u16>, Option<u16>) = (call.number("fromYear")?, call.number("toYear")?);
    let fits = |row: &u32| {
        let Some(track) = call.index.track(*row) else {
            return false;
        };
        let year = track.date.map(|date| date.year);
        from.is_none_or(|from| year.is_some_and(|year| from <= year))
            && to.is_none_or(|to| year.is_some_and(|year| year <= to))
            && genres
                .as_ref()
                .is_none_or(|genres| track.genres.iter().any(|row| genres.contains(row)))
    };
    let all = 0..call.index.counts().tracks;
    let is_narrowed = genres.is_some() || from.is_some() || to.is_some();
    let mut chance = fastrand::Rng::with_seed(call.fresh);
    let mut rows: Vec<u32> = all.filter(|row| !is_narrowed || fits(row)).collect();
    let rows = partly_shuffled(&mut rows, size, &mut chance);
    out.object("randomSongs", |out| {
        out.list("song", rows, |out, &row| {
            songs::write_song(call, out, seen, row)
        });
    });
    Ok(())
}

pub(crate) fn songs_by_genre(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let (offset, size) = call.page(("count", "offset"), 10, call.context.limits.page_max)?;
    let genres = genres_named(&call.index, call.text("genre")?);
    let has_it = |row: &u32| {
        let track = call.index.track(*row);
        track.is_some_and(|track| track.genres.iter().any(|row| genres.contains(row)))
    };
    let rows = (0..call.index.counts().tracks).filter(has_it);
    out.object("songsByGenre", |out| {
        out.list("song", rows.skip(offset).take(size), |out, row| {
            songs::write_song(call, out, seen, row);
        });
    });
    Ok(())
}

/// Writes random tracks that share an artist or a genre with the artist, album or song in the
/// parameter `id`. The library has no other data on similarity.
fn similar(call: &Call<'_>, seen: &Seen<'_>, name: &str, out: &mut Writer) -> Done {
    let (_, count) = call.page(("count", ""), 50, call.context.limits.page_max)?;
    let (artists, genres) = match call.id("id")? {
        Id::Artist(id) => {
            let row = call
                .index
                .artist_row(id)
                .ok_or_else(|| Fault::not_found("artist"))?;
            let artist = call.index.artist(row);
            let albums = artist.iter().flat_map(|artist| &artist.albums);
            let genres = albums.filter_map(|&row| Some(call.index.album(row)?.genres));
            (vec![row], genres.flatten().collect())
        }
        id @ Id::Album(_) => {
            let album = call.index.album(call.album_row(id)?);
            album.map_or_else(Default::default, |album| (album.artists, album.genres))
        }
        id => {
            let row = call.track_row(id).ok_or_else(|| Fault::not_found("song"))?;
            let track = call.index.track(row);
            track.map_or_else(Default::default, |track| (track.artists, track.genres))
        }
    };
    let is_alike = |row: &u32| {
        let track = call.index.track(*row);
        track.is_some_and(|track| {
            track.artists.iter().any(|row| artists.contains(row))
                || track.genres.iter().any(|row| genres.contains(row))
        })
    };
    let mut rows: Vec<u32> = (0..call.index.counts().tracks).filter(is_alike).collect();
    let mut chance = fastrand::Rng::with_seed(call.fresh);
    let rows = partly_shuffled(&mut rows, count, &mut chance);
    out.object(name, |out| {
        out.list("song", rows, |out, &row| {
            songs::write_song(call, out, seen, row)
        });
    });
    Ok(())
}

pub(crate) fn similar_songs(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    similar(call, seen, "similarSongs", out)
}

pub(crate) fn similar_songs2(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    similar(call, seen, "similarSongs2", out)
}

/// Writes the tracks of an artist, those with the most plays by all users first.
pub(crate) fn top_songs(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let (_, count) = call.page(("count", ""), 50, call.context.limits.page_max)?;
    let name = call.text("artist")?;
    let artist = named::artist(&call.index, &call.derived, name);
    let by_artist = (0..call.index.counts().tracks).filter_map(|row| {
        let track = call.index.track(row)?;
        let artists = &track.artists;
        artist
            .is_some_and(|artist| artists.contains(&artist))
            .then(|| {
                let plays = seen.state.users.values();
                let plays = plays.filter_map(|user| user.plays.get(&Id::Track(track.id)));
                let count: u64 = plays.map(|plays| u64::from(plays.count)).sum();
                (Reverse(count), row)
            })
    });
    let mut rows: Vec<_> = by_artist.collect();
    rows.sort();
    out.object("topSongs", |out| {
        out.list("song", rows.iter().take(count), |out, &(_, row)| {
            songs::write_song(call, out, seen, row);
        });
    });
    Ok(())
}

pub(crate) fn now_playing(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let playing: Vec<(String, String, TrackId, i64)> = call.context.playing(|playing| {
        playing.retain(|_, it| call.now_ms - it.since_ms < PLAYING_MS);
        let each = playing.iter();
        let each =
            each.map(|((user, client), it)| (user.clone(), client.clone(), it.track, it.since_ms));
        each.collect()
    });
    let known = playing
        .into_iter()
        .filter_map(|(user, client, track, since_ms)| {
            Some((user, client, call.index.track_row(track)?, since_ms))
        });
    out.object("nowPlaying", |out| {
        out.list(
            "entry",
            known.zip(1..),
            |out, ((user, client, row, since_ms), player)| {
                out.text("username", &user);
                out.number("minutesAgo", (call.now_ms - since_ms) / 60_000);
                out.number("playerId", player);
                out.text("playerName", &client);
                songs::write_song(call, out, seen, row);
            },
        );
    });
    Ok(())
}

pub(crate) fn starred(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let [artists, albums, songs] = stars(call, seen);
    out.object("starred", |out| {
        out.list("artist", artists, |out, row| {
            songs::write_artist_child(call, out, seen, row)
        });
        out.list("album", albums, |out, row| {
            songs::write_album_child(call, out, seen, row)
        });
        out.list("song", songs, |out, row| {
            songs::write_song(call, out, seen, row)
        });
    });
    Ok(())
}

pub(crate) fn starred2(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let [artists, albums, songs] = stars(call, seen);
    out.object("starred2", |out| {
        out.list("artist", artists, |out, row| {
            songs::write_artist_id3(call, out, seen, row)
        });
        out.list("album", albums, |out, row| {
            songs::write_album_id3(call, out, seen, row)
        });
        out.list("song", songs, |out, row| {
            songs::write_song(call, out, seen, row)
        });
    });
    Ok(())
}

/// Returns the rows of starred artists, albums and songs, the latest star first.
fn stars(call: &Call<'_>, seen: &Seen<'_>) -> [Vec<u32>; 3] {
    let mut stars: Vec<(Reverse<i64>, Id)> = seen
        .user
        .iter()
        .flat_map(|user| &user.stars)
        .map(|(&id, &at_ms)| (Reverse(at_ms), id))
        .collect();
    stars.sort();
    let mut rows = [const { Vec::new() }; 3];
    for (_, id) in stars {
        let (kind, row) = match id {
            Id::Artist(id) => (0, call.index.artist_row(id)),
            Id::Album(id) => (1, call.index.album_row(id)),
            Id::Track(id) => (2, call.index.track_row(id)),
            Id::Playlist(_) | Id::Listing(_) | Id::Photo(_) => continue,
        };
        rows[kind].extend(row);
    }
    rows
}
