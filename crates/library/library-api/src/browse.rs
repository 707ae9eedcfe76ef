//! Endpoints that browse artists, albums, songs and genres, by tags or in the form of folders.

use crate::call::{Call, Seen};
use crate::derived::ARTICLES;
use crate::fault::Fault;
use crate::ids::Id;
use crate::index::{albums_of, tracks};
use crate::songs;
use crate::write::Writer;

type Done = Result<(), Fault>;

pub(crate) fn music_folders(_: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Done {
    out.object("musicFolders", |out| {
        out.list("musicFolder", [1], |out, id| {
            out.number("id", id);
            out.text("name", "Music");
        });
    });
    Ok(())
}

pub(crate) fn artists(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    out.object("artists", |out| {
        out.text("ignoredArticles", ARTICLES);
        out.list("index", &call.derived.letters, |out, (letter, rows)| {
            out.text("name", letter);
            out.list("artist", rows, |out, &row| {
                songs::write_artist_id3(call, out, seen, row)
            });
        });
    });
    Ok(())
}

pub(crate) fn indexes(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let since_ms: i64 = call.number("ifModifiedSince")?.unwrap_or(0);
    let changed_ms = call.derived.changed_ms;
    out.object("indexes", |out| {
        out.number("lastModified", changed_ms);
        out.text("ignoredArticles", ARTICLES);
        let is_new = since_ms == 0 || since_ms < changed_ms;
        let letters = call.derived.letters.iter().filter(|_| is_new);
        out.list("index", letters, |out, (letter, rows)| {
            out.text("name", letter);
            out.list("artist", rows, |out, &row| {
                songs::write_artist_child(call, out, seen, row)
            });
        });
    });
    Ok(())
}

pub(crate) fn music_directory(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    match call.id("id")? {
        id @ Id::Artist(_) => {
            let row = call.artist_row(id)?;
            let artist = call.index.artist(row);
            let artist = artist.ok_or_else(|| Fault::not_found("directory"))?;
            out.object("directory", |out| {
                songs::write_artist_child(call, out, seen, row);
                let albums = albums_of(&call.index, row, &artist);
                out.list("child", albums, |out, row| {
                    songs::write_album_child(call, out, seen, row)
                });
            });
        }
        id => {
            let album = call.index.album(call.album_row(id)?);
            let album = album.ok_or_else(|| Fault::not_found("directory"))?;
            out.object("directory", |out| {
                out.text("id", &id.to_string());
                songs::write_first_artist(call, out, "parent", &album.artists);
                out.text("name", album.title);
                out.list("child", tracks(&album), |out, row| {
                    songs::write_song(call, out, seen, row)
                });
            });
        }
    }
    Ok(())
}

pub(crate) fn genres(call: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Done {
    let genres = (0..call.index.counts().genres).filter_map(|row| call.index.genre(row));
    out.object("genres", |out| {
        out.list("genre", genres, |out, genre| {
            out.number("songCount", genre.tracks);
            out.number("albumCount", genre.albums);
            out.value(genre.name);
        });
    });
    Ok(())
}

pub(crate) fn artist(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let row = call.artist_row(call.id("id")?)?;
    let artist = call.index.artist(row);
    let artist = artist.ok_or_else(|| Fault::not_found("artist"))?;
    out.object("artist", |out| {
        songs::write_artist_id3(call, out, seen, row);
        let albums = albums_of(&call.index, row, &artist);
        out.list("album", albums, |out, row| {
            songs::write_album_id3(call, out, seen, row)
        });
    });
    Ok(())
}

pub(crate) fn album(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let row = call.album_row(call.id("id")?)?;
    let album = call.index.album(row);
    let album = album.ok_or_else(|| Fault::not_found("album"))?;
    out.object("album", |out| {
        songs::write_album_id3(call, out, seen, row);
        out.list("song", tracks(&album), |out, row| {
            songs::write_song(call, out, seen, row)
        });
    });
    Ok(())
}

pub(crate) fn song(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Done {
    let row = call.track_row(call.id("id")?);
    let row = row.ok_or_else(|| Fault::not_found("song"))?;
    out.object("song", |out| songs::write_song(call, out, seen, row));
    Ok(())
}

/// Writes an empty description of an artist or album. The library contains no descriptions, and no
/// outside service is queried.
fn info(call: &Call<'_>, name: &str, out: &mut Writer) -> Done {
    call.id("id")?;
    out.object(name, |_| {});
    Ok(())
}

pub(crate) fn artist_info(call: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Done {
    info(call, "artistInfo", out)
}

pub(crate) fn artist_info2(call: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Done {
    info(call, "artistInfo2", out)
}

pub(crate) fn album_info(call: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Done {
    info(call, "albumInfo", out)
}

pub(crate) fn videos(_: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Done {
    out.object("videos", |out| out.list("video", [0; 0], |_, _| {}));
    Ok(())
}
