//! search2 and search3. With nothing to search for they page through the whole library, as players do who keep a copy.

use catalog::{Found, Limits};

use crate::fault::Fault;
use crate::server::{Call, Seen};
use crate::write::Writer;

/// Rows of one kind: found ones, or all there are.
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

pub(crate) fn search2(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let [artists, albums, songs] = found(call)?;
    out.object("searchResult2", |out| {
        out.list("artist", artists, |out, row| {
            call.artist_child(out, seen, row)
        });
        out.list("album", albums, |out, row| call.album_child(out, seen, row));
        out.list("song", songs, |out, row| call.song(out, seen, row));
    });
    Ok(())
}

pub(crate) fn search3(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let [artists, albums, songs] = found(call)?;
    out.object("searchResult3", |out| {
        out.list("artist", artists, |out, row| {
            call.artist_id3(out, seen, row)
        });
        out.list("album", albums, |out, row| call.album_id3(out, seen, row));
        out.list("song", songs, |out, row| call.song(out, seen, row));
    });
    Ok(())
}

/// Artists, albums and songs of the page that is asked for.
fn found(call: &Call<'_>) -> Result<[Vec<u32>; 3], Fault> {
    const USUAL: usize = 20;
    let max = call.server.limits.found_max;
    let pages = [
        call.page(("artistCount", "artistOffset"), USUAL, max)?,
        call.page(("albumCount", "albumOffset"), USUAL, max)?,
        call.page(("songCount", "songOffset"), USUAL, max)?,
    ];
    let query = call.params.first("query").unwrap_or("").trim();
    let query = query.trim_matches('"').trim_end_matches('*');
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
    Ok(rows.map(|rows| rows.page(pages.next().expect("a page for each kind"))))
}
