//! Endpoints for files: downloads, covers and lyrics.

use catalog::CoverOwner;

use crate::call::{Call, Seen};
use crate::downloads::{attachment, below_common_folder, numbered};
use crate::fault::Fault;
use crate::ids::Id;
use crate::index::{own_albums, tracks};
use crate::lyrics::Lyrics;
use crate::named;
use crate::params::encoded;
use crate::playlists;
use crate::response::Response;
use crate::store::Role;
use crate::write::Writer;

/// Maximum side length of a cover in pixels. Larger requested sizes are reduced to this size.
const SIZE_PX_MAX: u32 = 4096;
/// Maximum tracks of a playlist that are searched for a cover.
const PLAYLIST_COVERS_MAX: usize = 32;

fn file_of(call: &Call<'_>, row: u32) -> Option<Vec<u8>> {
    let track = call.index.track(row)?;
    Some(call.index.file(track.file)?.0)
}

/// Returns the non-empty lyrics of a track, those with timestamps first.
fn lyrics_of(call: &Call<'_>, row: u32) -> Vec<Lyrics> {
    let path = file_of(call, row).unwrap_or_default();
    Lyrics::of_file(&*call.context.library, &path)
}

/// Returns the target (path and query) of the cover of an object. The cover of a playlist is the
/// cover of its first track that has one.
fn cover_target(call: &Call<'_>, seen: &Seen<'_>, id: Id, query: &str) -> Option<String> {
    let of = match id {
        Id::Album(id) => CoverOwner::Album(call.index.album_row(id)?),
        Id::Artist(id) => CoverOwner::Artist(call.index.artist_row(id)?),
        Id::Track(id) => CoverOwner::Track(call.index.track_row(id)?),
        Id::Photo(_) => return None,
        Id::Playlist(_) | Id::Listing(_) => {
            let rows = playlists::shown(call, seen, id).ok()?.rows.into_iter();
            let mut covers = rows.take(PLAYLIST_COVERS_MAX).map(CoverOwner::Track);
            return covers.find_map(|of| call.context.library.cover(&call.index, of, query));
        }
    };
    call.context.library.cover(&call.index, of, query)
}

/// Returns the original file of a song, or a ZIP archive of the songs of an album, artist or
/// playlist.
pub(crate) fn download(call: &Call<'_>, seen: &Seen<'_>) -> Result<Response, Fault> {
    seen.may(Role::Download)?;
    let id = call.id("id")?;
    let Id::Track(_) = id else {
        return archive(call, seen, id);
    };
    let path = call.track_row(id).and_then(|row| file_of(call, row));
    let path = path.ok_or_else(|| Fault::not_found("song"))?;
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&path);
    Ok(Response::File {
        target: format!("/{}", encoded(&path)),
        disposition: Some(attachment(name)),
    })
}

/// Returns an archive of the songs of an album, artist or playlist.
fn archive(call: &Call<'_>, seen: &Seen<'_>, id: Id) -> Result<Response, Fault> {
    let index = &call.index;
    let of_albums = |albums: Vec<u32>| {
        let albums = albums.into_iter().filter_map(|row| index.album(row));
        albums.flat_map(|album| tracks(&album)).collect()
    };
    let (name, rows, is_list): (String, Vec<u32>, bool) = match id {
        Id::Album(_) => {
            let row = call.album_row(id)?;
            let title = index.album(row).map(|album| album.title.to_owned());
            (title.unwrap_or_default(), of_albums(vec![row]), false)
        }
        Id::Artist(_) => {
            let row = call.artist_row(id)?;
            let artist = index.artist(row);
            let artist = artist.ok_or_else(|| Fault::not_found("artist"))?;
            let albums = own_albums(index, row, &artist);
            (artist.name.to_owned(), of_albums(albums), false)
        }
        _ => {
            let shown = playlists::shown(call, seen, id)?;
            (shown.name.to_owned(), shown.rows, true)
        }
    };
    let paths = rows.into_iter().filter_map(|row| file_of(call, row));
    let paths: Vec<Vec<u8>> = paths.collect();
    if paths.is_empty() {
        return Err(Fault::not_found("song"));
    }
    let names = match is_list {
        true => numbered(&paths),
        false => below_common_folder(&paths),
    };
    let targets = paths.iter().map(|path| format!("/{}", encoded(path)));
    let name = format!("{}.zip", name.replace(['/', '\\'], "_"));
    Ok(Response::Archive {
        files: targets.zip(names).collect(),
        disposition: attachment(name.as_bytes()),
    })
}

pub(crate) fn cover_art(call: &Call<'_>, seen: &Seen<'_>) -> Result<Response, Fault> {
    // Players send 0 for a cover in its original size.
    let size: Option<u32> = call.number("size")?.filter(|size| *size != 0);
    let query = size.map_or_else(String::new, |size| {
        let size = size.min(SIZE_PX_MAX);
        format!("w={size}&h={size}&fit=inside")
    });
    let target = cover_target(call, seen, call.id("id")?, &query);
    Ok(Response::File {
        target: target.ok_or_else(|| Fault::not_found("cover"))?,
        disposition: None,
    })
}

/// Writes the lyrics of a song that the client identifies by artist and title.
pub(crate) fn lyrics(call: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let artist = call.params.first("artist").unwrap_or("");
    let title = call.params.first("title").unwrap_or("");
    let row = named::song(&call.index, title, artist);
    let track = row.and_then(|row| call.index.track(row));
    let lyrics = row.and_then(|row| lyrics_of(call, row).into_iter().next());
    out.object("lyrics", |out| {
        let Some((track, lyrics)) = track.zip(lyrics) else {
            // OpenSubsonic requires a text, so send an empty one if there are no lyrics.
            return out.value("");
        };
        out.text("artist", track.artist);
        out.text("title", track.title);
        let lines: Vec<&str> = lyrics.lines.iter().map(|line| &*line.text).collect();
        out.value(&lines.join("\n"));
    });
    Ok(())
}

pub(crate) fn lyrics_by_song(call: &Call<'_>, _: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let row = call.track_row(call.id("id")?);
    let row = row.ok_or_else(|| Fault::not_found("song"))?;
    let lyrics = lyrics_of(call, row);
    let track = call.index.track(row);
    out.object("lyricsList", |out| {
        out.list("structuredLyrics", lyrics, |out, lyrics| {
            out.text("lang", "und");
            out.flag("synced", lyrics.is_synced());
            // The offset has the same sign in LRC and OpenSubsonic: positive values make lines
            // appear sooner.
            let offset_ms = Some(lyrics.offset_ms).filter(|ms| *ms != 0);
            out.number_if("offset", offset_ms);
            if let Some(track) = &track {
                out.text("displayArtist", track.artist);
                out.text("displayTitle", track.title);
            }
            out.list("line", lyrics.lines, |out, line| {
                if let Some(ms) = line.start_ms {
                    out.number("start", ms as i64);
                }
                out.value(&line.text);
            });
        });
    });
    Ok(())
}
