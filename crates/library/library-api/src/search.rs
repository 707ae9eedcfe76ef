//! Endpoints `search`, `search2` and `search3`. For an empty query, `search2` and `search3` return
//! the whole library page by page, because players that keep a copy of the library fetch it this
//! way.

use catalog::{Found, Limits};

use crate::call::{Call, Seen};
use crate::fault::Fault;
use crate::songs;
use crate::write::Writer;

/// Rows of artists, albums or songs: all rows of the index, or the rows that a search found.
enum Rows {
    All(u32),
    Found(Vec<u32>),
}

impl Rows {
    fn page(&self, (offset, size): (usize, usize)) -> Vec<u32> {
        match self {
            Rows::All(count) => (0..*count).skip(offset).take(size).collect(),
            Rows::Found(rows) => rows.iter().copied().skip(offset).take(size).collect(),
        }
    }
}

/// Writes the songs that match all of the parameters `any`, `artist`, `album` and `title`.
/// Deprecated since version 1.4 of the API.
pub(crate) fn search(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    const USUAL: usize = 20;
    let max = call.context.limits.found_max;
    let (offset, size) = call.page(("count", "offset"), USUAL, max)?;
    let newer_ms: i64 = call.number("newerThan")?.unwrap_or(0);
    let names = ["any", "artist", "album", "title"].map(|name| call.params.first(name));
    let query = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let limits = Limits {
        found_max: max,
        ..Limits::default()
    };
    let mut rows = call.index.search(&query, &limits).tracks;
    rows.retain(|&row| {
        let file = call
            .index
            .track(row)
            .and_then(|track| call.index.file(track.file));
        file.is_some_and(|(_, stat)| newer_ms <= stat.mtime_ns.div_euclid(1_000_000))
    });
    out.object("searchResult", |out| {
        out.number("offset", offset as i64);
        out.number("totalHits", rows.len() as i64);
        let rows = rows.into_iter().skip(offset).take(size);
        out.list("match", rows, |out, row| {
            songs::write_song(call, out, seen, row)
        });
    });
    Ok(())
}

pub(crate) fn search2(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let [artists, albums, songs] = found(call)?;
    out.object("searchResult2", |out| {
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

pub(crate) fn search3(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let [artists, albums, songs] = found(call)?;
    out.object("searchResult3", |out| {
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

/// Returns the requested page of found artists, albums and songs.
fn found(call: &Call<'_>) -> Result<[Vec<u32>; 3], Fault> {
    const USUAL: usize = 20;
    let max = call.context.limits.found_max;
    let pages = [
        call.page(("artistCount", "artistOffset"), USUAL, max)?,
        call.page(("albumCount", "albumOffset"), USUAL, max)?,
        call.page(("songCount", "songOffset"), USUAL, max)?,
    ];
    let query = call.params.first("query").unwrap_or("").trim();
    let query = query.trim_matches('"');
    // Players append one `*` to search for prefixes. Further asterisks are part of the query: a
    // name may consist of them.
    let query = query.strip_suffix('*').unwrap_or(query);
    let rows = if query.is_empty() {
        let counts = call.index.counts();
        [counts.artists, counts.albums, counts.tracks].map(Rows::All)
    } else {
        let ends = pages
            .iter()
            .map(|(offset, size)| offset.saturating_add(*size));
        let limits = Limits {
            found_max: ends.max().unwrap_or(0).min(max),
            ..Limits::default()
        };
        let Found {
            artists,
            albums,
            tracks,
        } = call.index.search(query, &limits);
        [artists, albums, tracks].map(Rows::Found)
    };
    let mut pages = pages.into_iter();
    Ok(rows.map(|rows| rows.page(pages.next().expect("there is a page for each kind"))))
}
